"""What a fault of S3 means: wait, or change something, and what.

Codes are those of Amazon's list of S3 error responses; other servers use the same.
"""

from __future__ import annotations

from typing import Any

from neurigraph_pipelines.errors import AbsentObjectError, StorageError, TransientError

_ABSENT_CODES = {"NoSuchKey", "404", "NotFound"}
_RANGE_STATUS = 416
_FULL_STATUS = 507

_PASSING_CODES = {
    "RequestTimeout",
    "IncompleteBody",
    "BadDigest",
    "XAmzContentSHA256Mismatch",
    "OperationAborted",
    "ConditionalRequestConflict",
    "PreconditionFailed",
}
"""Codes with a status below 500 that another attempt may turn into an answer."""

_BY_CODE = {
    "NoSuchBucket": "make the bucket, or correct its name",
    "AccessDenied": "give the key the rights that docs/object-storage.md names",
    "403": "give the key the rights that docs/object-storage.md names",
    "InvalidAccessKeyId": "correct the access key id",
    "SignatureDoesNotMatch": "correct the secret access key",
    "ExpiredToken": "renew the credentials",
    "RequestTimeTooSkewed": "set the clock of this machine",
    "AuthorizationHeaderMalformed": "set NEURIGRAPH_S3_REGION to the bucket's region",
    "PermanentRedirect": "set NEURIGRAPH_S3_REGION to the bucket's region, and the endpoint to its own",
    "InvalidStorageClass": "unset NEURIGRAPH_S3_COLD_STORAGE_CLASS: this server does not know the class",
    "InvalidObjectState": "restore the object from the archive, and take the rule away that put it there",
    "EntityTooLarge": "raise the server's limit, or lower NEURIGRAPH_MAX_UPLOAD_BYTES",
}
_FULL = "make room on the server"
_OTHERWISE = "see docs/object-storage.md"
_NO_CREDENTIALS = "set NEURIGRAPH_S3_ACCESS_KEY_ID and NEURIGRAPH_S3_SECRET_ACCESS_KEY, or what boto3 looks for"


class EndsBeforeError(StorageError):
    """The object has no such byte."""


class UploadGoneError(TransientError):
    """An upload in parts was completed or ended; not the same request may help, but another upload."""


def as_ours(error: Any, bucket: str, key: str | None) -> TransientError | StorageError:
    """An error of boto3, or of the library below it, in our words.

    Args:
        error: ClientError, BotoCoreError or urllib3's HTTPError.
        bucket: Its address, for the message.
        key: Of the object that was asked for, if one was.
    """
    answer = getattr(error, "response", None)
    if answer is None:
        return _unanswered(error, bucket)
    status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    code = str(answer.get("Error", {}).get("Code", ""))
    if key is not None and code in _ABSENT_CODES:
        return AbsentObjectError(f"There is no object {key!r}.")
    if key is not None and status == _RANGE_STATUS:
        return EndsBeforeError(f"Object {key!r} ends before.")
    if code == "NoSuchUpload":
        return UploadGoneError(f"{bucket} has ended an upload of {key!r}: try again.")
    what = f"{bucket} answered {_line(code)} ({status}): {_line(str(answer.get('Error', {}).get('Message', '')))}"
    if status == _FULL_STATUS:
        return StorageError(f"{what}: {_FULL}.")
    if status == 429 or status >= 500 or code in _PASSING_CODES:
        return TransientError(what)
    return StorageError(f"{what}: {_BY_CODE.get(code, _OTHERWISE)}.")


def _unanswered(error: Exception, bucket: str) -> TransientError | StorageError:
    """A fault on the way to the server, or before."""
    from botocore import exceptions
    from urllib3.exceptions import HTTPError

    what = f"{bucket} cannot be reached: {_line(str(error))}"
    if "CERTIFICATE_VERIFY_FAILED" in what:
        return StorageError(f"{what}: see to the server's certificate.")
    if isinstance(error, exceptions.NoCredentialsError | exceptions.PartialCredentialsError):
        return StorageError(f"{what}: {_NO_CREDENTIALS}.")
    passing = (
        exceptions.HTTPClientError,
        exceptions.ConnectionError,
        exceptions.IncompleteReadError,
        exceptions.CredentialRetrievalError,
        HTTPError,
    )
    return TransientError(what) if isinstance(error, passing) else StorageError(f"{what}: {_OTHERWISE}.")


def _line(message: str) -> str:
    """A server's message on one line, short enough for a log, without what would end our sentence."""
    line = " ".join(message.split()).rstrip(".")
    return line if len(line) <= 200 else f"{line[:199]}…"
