"""A prefix of a bucket as a drop place, on Amazon's S3 or any server that speaks it.

Credentials come from where boto3 looks for them by itself: the environment, its configuration, the machine's role.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from neurigraph_pipelines.errors import ConfigurationError, StorageError, TransientError
from neurigraph_pipelines.model import DroppedFile

_READ_BYTES = 1 << 20


class DropS3:
    """A ``DropPlace`` below ``s3://bucket/prefix``; an object is whole as soon as it is there."""

    def __init__(self, url: str, endpoint_url: str | None) -> None:
        parts = urlsplit(url)
        if parts.scheme != "s3" or not parts.netloc:
            raise ConfigurationError(f"NEURIGRAPH_DROP_URL is {url!r}: name a folder, or s3://bucket/prefix")
        self._bucket = parts.netloc
        self._prefix = f"{prefix}/" if (prefix := parts.path.strip("/")) else ""
        self._endpoint_url = endpoint_url

    @cached_property
    def _client(self) -> Any:
        import boto3
        from botocore.config import Config

        # Other servers than Amazon's do not know the newest checksums.
        checksums = {"request_checksum_calculation": "when_required", "response_checksum_validation": "when_required"}
        config = Config(retries={"mode": "standard", "max_attempts": 3}, **checksums)
        return boto3.client("s3", endpoint_url=self._endpoint_url, config=config)

    def files(self) -> Iterator[DroppedFile]:
        """Objects below the prefix of each user.

        Raises:
            TransientError: The server cannot be reached, or is busy.
            StorageError: It refuses.
        """
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            for page in self._client.get_paginator("list_objects_v2").paginate(
                Bucket=self._bucket, Prefix=self._prefix
            ):
                for found in page.get("Contents", ()):
                    user, _, name = found["Key"].removeprefix(self._prefix).partition("/")
                    if user and name and not name.endswith("/"):
                        yield DroppedFile(user, name, found["ETag"].strip('"'), found["LastModified"])
        except (BotoCoreError, ClientError) as error:
            raise self._told(error) from error

    def read(self, file: DroppedFile) -> Iterator[bytes]:
        """Stream an object, in the version that was listed.

        Raises:
            TransientError: The server cannot be reached, or is busy.
            StorageError: The object is gone or was replaced, or the server refuses.
        """
        from botocore.exceptions import BotoCoreError, ClientError

        key = f"{self._prefix}{file.user_slug}/{file.name}"
        try:
            answer = self._client.get_object(Bucket=self._bucket, Key=key, IfMatch=f'"{file.version}"')
            yield from answer["Body"].iter_chunks(_READ_BYTES)
        except (BotoCoreError, ClientError) as error:
            raise self._told(error) from error

    def _told(self, error: Exception) -> TransientError | StorageError:
        answer = getattr(error, "response", {})
        status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        what = f"the drop place s3://{self._bucket}/{self._prefix} cannot be read: {error}"
        # Without an answer it was the network.
        return TransientError(what) if not answer or status == 429 or status >= 500 else StorageError(what)
