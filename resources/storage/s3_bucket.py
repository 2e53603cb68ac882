"""One bucket on Amazon's S3 or any server that speaks it: the connection, repetitions, reading, listing, faults.

What is kept there, and under which keys, is for the stores above. boto3 retries nothing here: one policy covers
requests and the bodies of answers alike, which boto3's own does not. It is imported on first use, since that takes a
third of a second (``docs/adr/0018-s3-through-boto3.md``).
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, TypeVar

from neurigraph_pipelines.errors import ConfigurationError, InvalidInputError, StorageError, TransientError
from resources.storage.keys import parts_of_key
from resources.storage.s3_faults import EndsBeforeError, UploadGoneError, as_ours

T = TypeVar("T")

PIECE_BYTES = 8 << 20
"""Bytes that one request of a stream asks for: what is asked for again when a connection breaks."""

FIRST_WAIT_SECONDS = 0.3
LONGEST_WAIT_SECONDS = 20.0

_CONNECTIONS = 50
_BUCKET_NAME = re.compile(r"[A-Za-z0-9._-]{1,255}")
_CONTENT_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")


@dataclass(frozen=True, slots=True)
class S3Access:
    """How servers are reached.

    Attributes:
        endpoint_url: Of the server; None for Amazon's own.
        region: None for what boto3 finds in the environment.
        access_key_id: With ``secret_access_key``; None for what boto3 finds: the environment, its configuration, the
            machine's role.
        attempts: At each request, the first included.
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
    """Bytes out of an object, and what the object was then: its version (ETag) and its size."""

    content: bytes
    version: str
    size_bytes: int


class S3Bucket:
    """What lies below ``s3://bucket/prefix``. Keys here are whole: with the prefix.

    Raises:
        ConfigurationError: The address is not one of a bucket.
    """

    def __init__(self, url: str, access: S3Access) -> None:
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

    def __str__(self) -> str:
        return f"s3://{self.name}/{self.prefix}"

    @cached_property
    def _client(self) -> Any:
        from boto3.session import Session
        from botocore.config import Config

        access = self._access
        config = Config(
            retries={"total_max_attempts": 1, "mode": "standard"},
            connect_timeout=access.connect_timeout,
            read_timeout=access.read_timeout,
            max_pool_connections=_CONNECTIONS,
            # Other servers than Amazon's have one name for all buckets.
            s3={"addressing_style": "path" if access.endpoint_url else "auto"},
            # They do not know the newest checksums either; every put sends Content-MD5, which all do.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        )
        try:
            # A session of its own: making a client of the shared one is not safe among threads.
            return Session().client(
                "s3",
                endpoint_url=access.endpoint_url,
                region_name=access.region,
                aws_access_key_id=access.access_key_id,
                aws_secret_access_key=access.secret_access_key,
                config=config,
            )
        except ValueError as error:
            raise ConfigurationError(f"S3 cannot be reached: {error}. See to NEURIGRAPH_S3_ENDPOINT_URL.") from error

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        if "_client" in self.__dict__:
            self._client.close()

    def call(self, operation: str, **parameters: Any) -> Any:
        """One operation of S3 on the bucket, by boto3's name; repeated after a fault that may pass.

        Raises:
            TransientError: Still failing after the repetitions. A change may have been made all the same.
            StorageError: Refused; ``AbsentObjectError`` where there is no such object.
        """
        return self._repeated(partial(self._ask, operation, parameters), parameters.get("Key"))

    def head(self, key: str) -> Any:
        """What the server knows of an object.

        Raises:
            TransientError: As ``call``.
            StorageError: As ``call``.
        """
        try:
            return self.call("head_object", Key=key)
        except StorageError:
            # An answer to HEAD has no body: a listing says why it was refused, or that there is no bucket at all.
            self.call("list_objects_v2", Prefix=key, MaxKeys=1)
            raise

    def read(self, key: str, offset: int, length: int) -> Piece:
        """Up to ``length`` bytes from ``offset``, fewer only where the object ends before.

        Args:
            length: At least 1.

        Raises:
            TransientError: As ``call``; an answer that breaks off is asked for again.
            StorageError: As ``call``; ``EndsBeforeError`` where the object has no byte ``offset``.
        """
        return self._repeated(partial(self._read, key, offset, length), key)

    def stream(self, key: str) -> tuple[str, Iterator[bytes]]:
        """The version of an object, and its bytes, of that version alone; the first of them are asked for at once.

        Raises:
            TransientError: As ``call``; in the midst of it when the object is replaced meanwhile.
            StorageError: As ``call``.
        """
        try:
            first = self.read(key, 0, PIECE_BYTES)
        except EndsBeforeError:
            first = Piece(b"", self.head(key)["ETag"], 0)
        return first.version, self._go_on(key, first)

    def objects(self, prefix: str) -> Iterator[Any]:
        """What a listing says of every object whose key begins with ``prefix``, in the order of keys.

        Raises:
            TransientError: As ``call``.
            StorageError: As ``call``, or the server does not keep to the order.
        """
        before = ""
        position: dict[str, str] = {}
        while True:
            page = self.call("list_objects_v2", Prefix=prefix, **position)
            for found in page.get("Contents", ()):
                # Whoever compares two listings would take what comes late for absent.
                if before and found["Key"] <= before:
                    raise StorageError(f"{self} is not listed in the order of its keys: this server cannot be used.")
                before = found["Key"]
                yield found
            if not page.get("IsTruncated"):
                return
            position = {"ContinuationToken": page["NextContinuationToken"]}

    def _go_on(self, key: str, piece: Piece) -> Iterator[bytes]:
        version, position, size = piece.version, 0, piece.size_bytes
        while True:
            if piece.version != version:
                raise TransientError(f"{self} holds another object under {key!r} than when reading began: try again.")
            yield piece.content
            position += len(piece.content)
            if position >= size:
                return
            piece = self.read(key, position, min(PIECE_BYTES, size - position))

    def _ask(self, operation: str, parameters: dict[str, Any]) -> Any:
        return getattr(self._client, operation)(Bucket=self.name, **parameters)

    def _read(self, key: str, offset: int, length: int) -> Piece:
        """One attempt at ``read``."""
        answer = self._ask("get_object", {"Key": key, "Range": f"bytes={offset}-{offset + length - 1}"})
        with contextlib.closing(answer["Body"]) as body:
            found = _CONTENT_RANGE.fullmatch(answer.get("ContentRange", ""))
            if found is not None:
                first, last, size = map(int, found.groups())
            else:  # an empty object has no range
                first, last, size = 0, answer["ContentLength"] - 1, answer["ContentLength"]
            if first != offset or last != min(offset + length, size) - 1:
                raise StorageError(f"{self} answered with other bytes of {key!r} than asked for: it cannot be used.")
            content = body.read()
        if len(content) != last - first + 1:
            raise TransientError(f"{self} broke off its answer with {key!r}.")
        return Piece(content, answer["ETag"], size)

    def _repeated(self, ask: Callable[[], T], key: str | None) -> T:
        """Ask until there is an answer, a refusal, or no attempt left; faults in our words."""
        from botocore.exceptions import BotoCoreError, ClientError
        from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential
        from urllib3.exceptions import HTTPError

        def attempt() -> T:
            try:
                return ask()
            except (BotoCoreError, ClientError, HTTPError) as error:
                raise as_ours(error, str(self), key) from error

        attempts = Retrying(
            retry=retry_if_exception(_may_pass),
            wait=wait_random_exponential(FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS),
            stop=stop_after_attempt(self._access.attempts),
            sleep=time.sleep,
            reraise=True,
        )
        answer: T = attempts(attempt)
        return answer


def _may_pass(error: BaseException) -> bool:
    """Whether the same request may succeed a moment later."""
    return isinstance(error, TransientError) and not isinstance(error, UploadGoneError)
