"""S3 errors: transient or permanent, and the remedy."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError

from neurigraph_pipelines.model.errors import AbsentObjectError, StorageError, TransientError
from resources.storage.s3_errors import EndsBeforeError, UploadGoneError, translated


def error_of(code: str, status: int, message: str = "Words.", key: str | None = "a/b") -> TransientError | StorageError:
    answer = {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return translated(ClientError(answer, "PutObject"), "s3://b/p/", key)


@pytest.mark.parametrize(
    ("code", "status"),
    [("SlowDown", 503), ("InternalError", 500), ("TooManyRequests", 429), ("RequestTimeout", 400), ("BadDigest", 400)],
)
def test_transient_errors(code: str, status: int) -> None:
    assert type(error_of(code, status)) is TransientError


@pytest.mark.parametrize(
    ("code", "status", "remedy"),
    [
        ("NoSuchBucket", 404, "create the bucket"),
        ("AccessDenied", 403, "give the key the rights"),
        ("InvalidAccessKeyId", 403, "correct the access key id"),
        ("ExpiredToken", 400, "renew the credentials"),
        ("RequestTimeTooSkewed", 403, "set the clock of this machine"),
        ("PermanentRedirect", 301, "NEURIGRAPH_S3_REGION"),
        ("InvalidStorageClass", 400, "unset NEURIGRAPH_S3_COLD_STORAGE_CLASS"),
        ("InvalidObjectState", 403, "restore the object"),
        ("EntityTooLarge", 413, "raise the server's limit"),
        ("XMinioStorageFull", 507, "free space"),
        ("SomethingNew", 400, "docs/object-storage.md"),
    ],
)
def test_permanent_errors_name_remedy(code: str, status: int, remedy: str) -> None:
    error = error_of(code, status)
    assert type(error) is StorageError
    assert str(error).startswith(f"s3://b/p/ answered {code} ({status}): Words: ")
    assert remedy in str(error)


def test_missing_objects_are_distinguished() -> None:
    assert type(error_of("NoSuchKey", 404)) is AbsentObjectError
    assert type(error_of("404", 404)) is AbsentObjectError
    assert type(error_of("404", 404, key=None)) is StorageError
    assert type(error_of("InvalidRange", 416)) is EndsBeforeError
    assert type(error_of("NoSuchUpload", 404)) is UploadGoneError


def test_server_message_is_one_line() -> None:
    error = str(error_of("Strange\ncode", 400, "line\r\nafter line " * 1_000))
    assert "\n" not in error
    assert len(error) < 400
