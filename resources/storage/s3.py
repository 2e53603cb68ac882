"""Objects below one prefix of a bucket; what the keys mean belongs to their users.

An object is there as a whole or not at all: S3 shows nothing of one before its last byte has arrived. Each request
bears the MD5 of its body, which the server checks; its ETag is checked in turn, and where that says nothing (as under
KMS) the object is read back.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Any, Literal

from neurigraph_pipelines.errors import (
    AbsentObjectError,
    DamagedObjectError,
    InvalidInputError,
    NeurigraphError,
    StorageError,
    TransientError,
)
from neurigraph_pipelines.model import StoredObject
from resources.storage.keys import MAX_KEY_BYTES, check_range, is_key, parts_of_key
from resources.storage.s3_bucket import S3Bucket
from resources.storage.s3_faults import EndsBeforeError

MOST_PARTS = 10_000
"""Parts that S3 takes of one object."""

COLD_FROM_BYTES = 131_072
"""Smaller objects stay where they are: the cheaper classes bill them as if they had this size."""

COLD_UNTIL_BYTES = 5 << 30
"""Larger objects stay where they are: S3 copies none of them in one request."""

_LARGEST_OFFSET = 1 << 60
"""Beyond any object; servers misread numbers that are too large."""

_ABANDONED_AFTER = timedelta(days=1)


class S3ObjectStore:
    """An ``ObjectStore`` in a bucket, for any number of threads and processes.

    A method raises InvalidInputError for a key that cannot be one, TransientError when the server cannot be reached
    or is busy, and StorageError when it refuses, as well as for what is said below.

    Args:
        bucket: Where.
        part_bytes: Larger objects are sent in parts of this size, of which two are in memory; S3 wants 5 MiB or more.
        encryption: Asked for with every object; None for what the bucket does by itself.
        kms_key_id: With ``aws:kms``; None for the account's own key.
        cold_storage_class: Where ``move_to_cold`` puts objects; None: they stay.
    """

    def __init__(
        self,
        bucket: S3Bucket,
        *,
        part_bytes: int = 16 << 20,
        encryption: Literal["AES256", "aws:kms"] | None = None,
        kms_key_id: str | None = None,
        cold_storage_class: str | None = None,
    ) -> None:
        self._bucket = bucket
        self._part_bytes = part_bytes
        self._cold_storage_class = cold_storage_class
        asked = {"ServerSideEncryption": encryption, "SSEKMSKeyId": kms_key_id}
        self._encryption = {name: value for name, value in asked.items() if value is not None}
        self._swept = False

    def put(self, key: str, chunks: Iterable[bytes]) -> StoredObject:
        """Write an object atomically (all or nothing, durable on return), replacing one of that key.

        Raises:
            TransientError: Also when it arrived damaged; then it was removed. After a lost answer it may be there.
            StorageError: Also when it has more parts than S3 takes.
        """
        name = self._name(key)
        digest, size = hashlib.sha256(), 0

        def counted() -> Iterator[bytes]:
            nonlocal size
            for chunk in chunks:
                digest.update(chunk)
                size += len(chunk)
                yield chunk

        parts = _parts(counted(), self._part_bytes)
        first = next(parts)
        second = next(parts, None)
        if second is None:
            md5 = _md5(first)
            etag = self._bucket.call("put_object", Key=name, Body=first, **_checksum(md5), **self._encryption)["ETag"]
            expected = md5.hex()
        else:
            etag, expected = self._put_parts(name, chain([first, second], parts), digest.digest)
        if etag.strip('"') != expected and not self._holds(name, digest.digest(), etag):
            self._bucket.call("delete_object", Key=name)
            raise TransientError(f"Object {key!r} did not arrive as it was sent, and was removed: try again.")
        return StoredObject(key=key, size_bytes=size, sha256=digest.hexdigest())

    def get(self, key: str) -> Iterator[bytes]:
        """Stream an object in pieces of up to 8 MiB, each asked for again when its connection breaks.

        Raises:
            TransientError: Also when the object is replaced meanwhile.
            AbsentObjectError: It is absent (at once).
        """
        return self._bucket.stream(self._name(key))[1]

    def get_range(self, key: str, offset: int, length: int) -> bytes:
        """Exactly ``length`` bytes from ``offset``; no others are asked for.

        Raises:
            InvalidInputError: A number is negative.
            AbsentObjectError: There is no such object.
            DamagedObjectError: It ends before.
        """
        check_range(offset, length)
        end = offset + length
        if length == 0 or end > _LARGEST_OFFSET:
            if end <= self._bucket.head(self._name(key))["ContentLength"]:
                return b""
        else:
            try:
                content = self._bucket.read(self._name(key), offset, length).content
            except EndsBeforeError:
                content = b""
            if len(content) == length:
                return content
        raise DamagedObjectError(f"Object {key!r} ends before byte {end}.")

    def exists(self, key: str) -> bool:
        """Whether the object is there."""
        try:
            self._bucket.head(self._name(key))
        except AbsentObjectError:
            return False
        return True

    def modified_at(self, key: str) -> datetime:
        """When the object was last written or moved to the cold, by the clock of the server.

        Raises:
            AbsentObjectError: There is no such object.
        """
        modified: datetime = self._bucket.head(self._name(key))["LastModified"]
        return modified

    def move_to_cold(self, key: str) -> None:
        """Put an object where keeping it is cheapest: into the cold storage class, unless it is very small or large.

        Raises:
            TransientError: Also when the object is replaced meanwhile.
            AbsentObjectError: There is no such object.
        """
        name = self._name(key)
        found = self._bucket.head(name)
        if (
            self._cold_storage_class is None
            or found.get("StorageClass", "STANDARD") != "STANDARD"
            or not COLD_FROM_BYTES <= found["ContentLength"] <= COLD_UNTIL_BYTES
        ):
            return
        # A copy keeps everything but the encryption.
        kept = {kind: found[kind] for kind in ("ServerSideEncryption", "SSEKMSKeyId") if kind in found}
        self._bucket.call(
            "copy_object",
            Key=name,
            CopySource={"Bucket": self._bucket.name, "Key": name},
            CopySourceIfMatch=found["ETag"],
            StorageClass=self._cold_storage_class,
            **kept,
        )

    def delete(self, key: str) -> None:
        """Remove an object; removing an absent one is no error."""
        with suppress(AbsentObjectError):  # Amazon does not tell; some servers do
            self._bucket.call("delete_object", Key=self._name(key))

    def keys(self, prefix: str = "") -> Iterator[str]:
        """All keys that begin with ``prefix``, in order of their code points."""
        try:
            possible = "\0" not in prefix and len((self._bucket.prefix + prefix).encode()) <= MAX_KEY_BYTES
        except UnicodeEncodeError:
            possible = False
        if not possible:
            return
        for found in self._bucket.objects(self._bucket.prefix + prefix):
            key = found["Key"].removeprefix(self._bucket.prefix)
            if is_key(key):  # folders that a console makes are objects, too
                yield key

    def _name(self, key: str) -> str:
        """A key as the server knows it."""
        parts_of_key(key)
        name = self._bucket.prefix + key
        if len(name.encode()) > MAX_KEY_BYTES:
            raise InvalidInputError(f"{key[:80]!r} is longer than {MAX_KEY_BYTES} bytes below {self._bucket}.")
        return name

    def _put_parts(self, name: str, parts: Iterable[bytes], digest: Callable[[], bytes]) -> tuple[str, str]:
        """Send an object in parts; gives its ETag, and what that is where it tells of the content.

        Args:
            digest: The SHA-256 of all that the parts have given so far.
        """
        self._sweep()
        upload = {
            "Key": name,
            "UploadId": self._bucket.call("create_multipart_upload", Key=name, **self._encryption)["UploadId"],
        }
        sent, sums = [], b""
        try:
            for number, part in enumerate(parts, start=1):
                if number > MOST_PARTS:
                    raise StorageError(
                        f"Object {name!r} has more than {MOST_PARTS} parts of {self._part_bytes} bytes: "
                        "raise NEURIGRAPH_S3_PART_BYTES."
                    )
                md5 = _md5(part)
                answer = self._bucket.call("upload_part", **upload, PartNumber=number, Body=part, **_checksum(md5))
                sent.append({"PartNumber": number, "ETag": answer["ETag"]})
                sums += md5
            expected = f"{_md5(sums).hex()}-{len(sent)}"
            return self._complete(upload, sent, expected, digest), expected
        except BaseException:
            # What is not completed is billed, and no listing of objects shows it.
            with suppress(NeurigraphError):
                self._bucket.call("abort_multipart_upload", **upload)
            raise

    def _complete(
        self, upload: dict[str, Any], sent: list[dict[str, Any]], expected: str, digest: Callable[[], bytes]
    ) -> str:
        """Make one object of the parts; gives its ETag."""
        try:
            answer = self._bucket.call("complete_multipart_upload", **upload, MultipartUpload={"Parts": sent})
        except (TransientError, StorageError):
            # It may have succeeded and the answer been lost: then the upload is gone, and the object there.
            with suppress(NeurigraphError):
                if self._holds(upload["Key"], digest()):
                    return expected
            raise
        etag: str = answer["ETag"]
        return etag

    def _sweep(self) -> None:
        """Once per store object, end the uploads that killed writers left behind; not being allowed to is no error."""
        if self._swept:
            return
        self._swept = True
        with suppress(NeurigraphError):
            found = self._bucket.call("list_multipart_uploads", Prefix=self._bucket.prefix)
            for upload in found.get("Uploads", ()):
                if upload["Initiated"] < datetime.now(UTC) - _ABANDONED_AFTER:
                    self._bucket.call("abort_multipart_upload", Key=upload["Key"], UploadId=upload["UploadId"])

    def _holds(self, name: str, sha256: bytes, version: str | None = None) -> bool:
        """Whether an object reads as it was sent; what has replaced ``version`` is its own writer's concern."""
        found, chunks = self._bucket.stream(name)
        digest = hashlib.sha256()
        for chunk in chunks:
            digest.update(chunk)
        return digest.digest() == sha256 or version not in (None, found)


def _parts(chunks: Iterable[bytes], size: int) -> Iterator[bytes]:
    """The same bytes in parts of ``size``, but the last; at least one, be it empty."""
    gathered = bytearray()
    for chunk in chunks:
        gathered += chunk
        while len(gathered) > size:
            yield bytes(memoryview(gathered)[:size])
            del gathered[:size]
    yield bytes(gathered)


def _md5(content: bytes) -> bytes:
    """What S3 calls the checksum of a body; it protects from accidents alone."""
    return hashlib.md5(content, usedforsecurity=False).digest()


def _checksum(md5: bytes) -> dict[str, str]:
    return {"ContentMD5": b64encode(md5).decode()}
