"""Translate errors of S3 into ours: temporary, or permanent with a remedy.

The codes come from Amazon's list of S3 error responses; other servers use the same.
"""

from __future__ import annotations

import logging
from typing import Any

from neurigraph_pipelines.model.errors import AbsentObjectError, StorageError, TransientError
from resources.storage.keys import shown

_log = logging.getLogger(__name__)
_ABSENT_CODES = {"NoSuchKey", "404", "NotFound"}
_RANGE_STATUS = 416
_FULL_STATUS = 507

_TEMPORARY_CODES = {
    "RequestTimeout",
    "IncompleteBody",
    "BadDigest",
    "XAmzContentSHA256Mismatch",
    "OperationAborted",
    "ConditionalRequestConflict",
    "PreconditionFailed",
}
"""Codes with a status below 500 that are worth a retry."""

_BY_CODE = {
    "NoSuchBucket": "create the bucket, or correct its name",
    "AccessDenied": "give the key the rights that docs/object-storage.md names",
    "403": "give the key the rights that docs/object-storage.md names",
    "InvalidAccessKeyId": "correct the access key id",
    "SignatureDoesNotMatch": "correct the secret access key",
    "ExpiredToken": "renew the credentials",
    "RequestTimeTooSkewed": "set the clock of this machine",
    "AuthorizationHeaderMalformed": "set NEURIGRAPH_S3_REGION to the bucket's region",
    "PermanentRedirect": "set NEURIGRAPH_S3_REGION to the bucket's region, and the endpoint to its own",
    "InvalidStorageClass": "unset NEURIGRAPH_S3_COLD_STORAGE_CLASS: this server does not know the class",
    "InvalidObjectState": "restore the object from the archive, and remove the rule that archived it",
    "EntityTooLarge": "raise the server's limit, or lower NEURIGRAPH_MAX_UPLOAD_BYTES",
}
_FULL = "free space on the server"
_OTHERWISE = "see docs/object-storage.md"
_NO_CREDENTIALS = (
    "set NEURIGRAPH_S3_ACCESS_KEY_ID and NEURIGRAPH_S3_SECRET_ACCESS_KEY, or provide credentials that boto3 finds"
)


class EndsBeforeError(StorageError):
    """The object is shorter than the requested offset."""


class UploadGoneError(TransientError):
    """An upload in parts was completed or aborted; a new upload may succeed, a retry of the request cannot."""


def translated(error: Any, bucket: str, key: str | None) -> TransientError | StorageError:
    """Translate an error of boto3 or urllib3 into one of ours.

    Args:
        error: ClientError, BotoCoreError or urllib3's HTTPError.
        bucket: Its address, for the message.
        key: Key of the requested object, if any.
    """
    answer = getattr(error, "response", None)
    if answer is None:
        return _unanswered(error, bucket)
    status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    code = str(answer.get("Error", {}).get("Code", ""))
    if key is not None and code in _ABSENT_CODES:
        return AbsentObjectError(f"There is no object {shown(key)}.")
    if key is not None and status == _RANGE_STATUS:
        return EndsBeforeError(f"Object {shown(key)} is shorter than the requested range.")
    if code == "NoSuchUpload":
        of_key = f" of {shown(key)}" if key is not None else ""
        return UploadGoneError(f"The object store aborted an upload{of_key}: try again.")
    what = f"{bucket} answered {_line(code)} ({status}): {_line(str(answer.get('Error', {}).get('Message', '')))}"
    if status == _FULL_STATUS:
        return StorageError(f"{what}: {_FULL}.")
    if status == 429 or status >= 500 or code in _TEMPORARY_CODES:
        return _transient(what, bucket)
    return StorageError(f"{what}: {_BY_CODE.get(code, _OTHERWISE)}.")


def _unanswered(error: Exception, bucket: str) -> TransientError | StorageError:
    """Translate an error that occurred before the server answered."""
    from botocore import exceptions
    from urllib3.exceptions import HTTPError

    what = f"{bucket} cannot be reached: {_line(str(error))}"
    if "CERTIFICATE_VERIFY_FAILED" in what:
        return StorageError(f"{what}: check the server's certificate.")
    if isinstance(error, exceptions.NoCredentialsError | exceptions.PartialCredentialsError):
        return StorageError(f"{what}: {_NO_CREDENTIALS}.")
    temporary = (
        exceptions.HTTPClientError,
        exceptions.ConnectionError,
        exceptions.IncompleteReadError,
        exceptions.CredentialRetrievalError,
        HTTPError,
    )
    return _transient(what, bucket) if isinstance(error, temporary) else StorageError(f"{what}: {_OTHERWISE}.")


def _transient(what: str, bucket: str) -> TransientError:
    """Return an error that callers may see, and log the address for the operator."""
    _log.warning("%s", what)
    return TransientError(what.replace(bucket, "the object store"))


def _line(message: str) -> str:
    """Shorten a server's message to one line for the log, without its final full stop."""
    line = " ".join(message.split()).rstrip(".")
    return line if len(line) <= 200 else f"{line[:199]}…"
