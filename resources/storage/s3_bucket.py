"""One bucket on Amazon S3 or a compatible server: connection, retries, reading, listing, errors.

Keys and content belong to the stores. boto3's retries are off: one policy here covers requests and the bodies of
answers, which boto3's does not. boto3 is imported on first use, since that takes a third of a second
(``docs/adr/0015-stored-files.md``).
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, TypeVar

from neurigraph_pipelines.model.errors import ConfigurationError, InvalidInputError, StorageError, TransientError
from resources.storage.keys import parts_of_key, shown
from resources.storage.s3_errors import EndsBeforeError, UploadGoneError, translated

T = TypeVar("T")

PIECE_BYTES = 8 << 20
"""Bytes of a stream per request, and so the bytes requested again when a connection breaks."""

FIRST_WAIT_SECONDS = 0.3
LONGEST_WAIT_SECONDS = 20.0

_CONNECTIONS = 50
_BUCKET_NAME = re.compile(r"[A-Za-z0-9._-]{1,255}")
_CONTENT_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")


@dataclass(frozen=True, slots=True)
class S3Access:
    """Address, credentials and limits of the connection.

    Attributes:
        endpoint_url: The server's address; None for Amazon.
        region: None for the region that boto3 finds in the environment.
        access_key_id: With ``secret_access_key``; None for the credentials that boto3 finds: the environment, its
            configuration, the machine's role.
        attempts: Attempts per request, the first included.
        connect_timeout: Seconds.
        read_timeout: Seconds without a byte.
    """

    endpoint_url: str | None = None
    region: str | None = None
    access_key_id: str | None = None
    secret_access_key: str | None = field(default=None, repr=False)
    attempts: int = 5
    connect_timeout: float = 5.0
    read_timeout: float = 30.0


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes of an object, with the version (ETag) and size of the object."""

    content: bytes
    version: str
    size_bytes: int


class S3Bucket:
    """The objects below ``s3://bucket/prefix``. Keys include the prefix.

    Args:
        new_client: Makes boto3's client, without retries, in place of one of our own.

    Raises:
        ConfigurationError: The address does not name a bucket.
    """

    def __init__(self, url: str, access: S3Access, new_client: Callable[[], Any] | None = None) -> None:
        scheme, _, place = url.partition("://")
        self.name, _, folder = place.partition("/")
        folder = folder.rstrip("/")
        try:
            valid = scheme == "s3" and _BUCKET_NAME.fullmatch(self.name) and (not folder or parts_of_key(folder))
        except InvalidInputError:
            valid = False
        if not valid:
            raise ConfigurationError(f"{url[:200]!r} does not name a bucket: write s3://bucket or s3://bucket/prefix")
        self.prefix = f"{folder}/" if folder else ""
        self._access = access
        self._new_client = new_client or partial(_client, access)

    def __str__(self) -> str:
        return f"s3://{self.name}/{self.prefix}"

    @cached_property
    def _client(self) -> Any:
        try:
            return self._new_client()
        except ValueError as error:
            raise ConfigurationError(f"S3 cannot be reached: {error}. Check NEURIGRAPH_S3_ENDPOINT_URL.") from error

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        if "_client" in self.__dict__:
            self._client.close()

    def call(self, operation: str, **parameters: Any) -> Any:
        """Call one S3 operation, by boto3's name, on the bucket; retry after temporary errors.

        Raises:
            TransientError: Every attempt failed. A change may have been made nevertheless.
            StorageError: Refused; ``AbsentObjectError`` if the object does not exist.
        """
        return self._retry(partial(self._ask, operation, parameters), parameters.get("Key"))

    def head(self, key: str) -> Any:
        """Return the server's metadata of an object.

        Raises:
            TransientError: As ``call``.
            StorageError: As ``call``.
        """
        try:
            return self.call("head_object", Key=key)
        except StorageError:
            # An answer to HEAD has no body; a listing says why it was refused, or that the bucket does not exist.
            self.call("list_objects_v2", Prefix=key, MaxKeys=1)
            raise

    def read(self, key: str, offset: int, length: int) -> Piece:
        """Return up to ``length`` bytes from ``offset``, fewer only at the end of the object.

        Args:
            length: At least 1.

        Raises:
            TransientError: As ``call``; a truncated response is requested again.
            StorageError: As ``call``; ``EndsBeforeError`` if the object has no byte ``offset``.
        """
        return self._retry(partial(self._read, key, offset, length), key)

    def stream(self, key: str) -> tuple[str, Iterator[bytes]]:
        """Return the version of an object and an iterator of its bytes; the first piece is read by the call itself.

        Raises:
            TransientError: As ``call``; also while iterating, when the object is replaced.
            StorageError: As ``call``.
        """
        try:
            first = self.read(key, 0, PIECE_BYTES)
        except EndsBeforeError:
            first = Piece(b"", self.head(key)["ETag"], 0)
        return first.version, self._stream(key, first)

    def objects(self, prefix: str) -> Iterator[Any]:
        """Yield the listing's entry of every object whose key begins with ``prefix``, ordered by key.

        Raises:
            TransientError: As ``call``.
            StorageError: As ``call``, or the server does not list keys in order.
        """
        before = ""
        position: dict[str, str] = {}
        while True:
            page = self.call("list_objects_v2", Prefix=prefix, **position)
            for found in page.get("Contents", ()):
                # A caller that compares two sorted listings would take a late key for absent.
                if before and found["Key"] <= before:
                    raise StorageError(f"{self} does not list keys in order: this server cannot be used.")
                before = found["Key"]
                yield found
            if not page.get("IsTruncated"):
                return
            position = {"ContinuationToken": page["NextContinuationToken"]}

    def _stream(self, key: str, piece: Piece) -> Iterator[bytes]:
        version, position, size = piece.version, 0, piece.size_bytes
        while True:
            if piece.version != version:
                raise TransientError(f"The object {shown(key)} was replaced while it was read: try again.")
            yield piece.content
            position += len(piece.content)
            if position >= size:
                return
            piece = self.read(key, position, min(PIECE_BYTES, size - position))

    def _ask(self, operation: str, parameters: Mapping[str, object]) -> Any:
        return getattr(self._client, operation)(Bucket=self.name, **parameters)

    def _read(self, key: str, offset: int, length: int) -> Piece:
        """Make one attempt at ``read``."""
        answer = self._ask("get_object", {"Key": key, "Range": f"bytes={offset}-{offset + length - 1}"})
        with contextlib.closing(answer["Body"]) as body:
            found = _CONTENT_RANGE.fullmatch(answer.get("ContentRange", ""))
            if found is not None:
                first, last, size = map(int, found.groups())
            else:  # an empty object has no range
                first, last, size = 0, answer["ContentLength"] - 1, answer["ContentLength"]
            if first != offset or last != min(offset + length, size) - 1:
                raise StorageError(
                    f"{self} answered with other bytes of {shown(key)} than requested: this server cannot be used."
                )
            content = body.read()
        if len(content) != last - first + 1:
            raise TransientError(f"The object store broke off while sending {shown(key)}.")
        return Piece(content, answer["ETag"], size)

    def _retry(self, ask: Callable[[], T], key: str | None) -> T:
        """Retry until there is an answer, a refusal, or no attempt left; translate boto3's errors into ours."""
        from botocore.exceptions import BotoCoreError, ClientError
        from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential
        from urllib3.exceptions import HTTPError

        def attempt() -> T:
            try:
                return ask()
            except (BotoCoreError, ClientError, HTTPError) as error:
                raise translated(error, str(self), key) from error

        attempts = Retrying(
            retry=retry_if_exception(_is_temporary),
            wait=wait_random_exponential(FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS),
            stop=stop_after_attempt(self._access.attempts),
            sleep=time.sleep,
            reraise=True,
        )
        answer: T = attempts(attempt)
        return answer


def _client(access: S3Access) -> Any:
    """Return a client with the timeouts of the access, and without retries."""
    from boto3.session import Session
    from botocore.config import Config

    config = Config(
        retries={"total_max_attempts": 1, "mode": "standard"},
        connect_timeout=access.connect_timeout,
        read_timeout=access.read_timeout,
        max_pool_connections=_CONNECTIONS,
        # Servers other than Amazon's have one host name for all buckets.
        s3={"addressing_style": "path" if access.endpoint_url else "auto"},
        # Every put sends Content-MD5, which all servers support.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )
    # A separate session: creating a client from the shared one is not thread-safe.
    return Session().client(
        "s3",
        endpoint_url=access.endpoint_url,
        region_name=access.region,
        aws_access_key_id=access.access_key_id,
        aws_secret_access_key=access.secret_access_key,
        config=config,
    )


def _is_temporary(error: BaseException) -> bool:
    """Whether a retry of the same request may succeed."""
    return isinstance(error, TransientError) and not isinstance(error, UploadGoneError)
