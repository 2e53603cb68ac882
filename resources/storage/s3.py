"""Objects below one prefix of a bucket.

Writes are atomic: S3 shows an object only after its last byte has arrived. Each request carries the MD5 of its body,
which the server checks. The ETag of the answer is checked, too; if it is no checksum (as under KMS), the object is read
back.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Literal

from neurigraph_pipelines.model import StoredObject
from neurigraph_pipelines.model.errors import (
    AbsentObjectError,
    DamagedObjectError,
    InvalidInputError,
    NeurigraphError,
    StorageError,
    TransientError,
)
from resources.storage.keys import MAX_KEY_BYTES, check_range, is_key, parts_of_key, shown
from resources.storage.s3_bucket import S3Bucket
from resources.storage.s3_errors import EndsBeforeError

MOST_PARTS = 10_000
"""Most parts of one object in S3."""

COLD_FROM_BYTES = 131_072
"""Smaller objects are not moved: the cheaper classes bill them at this size."""

COLD_UNTIL_BYTES = 5 << 30
"""Larger objects are not moved: S3 cannot copy them in one request."""

_LARGEST_OFFSET = 1 << 60
"""Larger than any object; servers misread larger numbers."""

_ABANDONED_AFTER = timedelta(days=1)


class S3ObjectStore:
    """An ``ObjectStore`` in a bucket, for any number of threads and processes.

    In addition to the errors documented below, methods raise InvalidInputError for an invalid key, TransientError when
    the server cannot be reached or is busy, and StorageError when it refuses a request.

    Args:
        bucket: Bucket and prefix.
        part_bytes: Larger objects are sent in parts of this size, of which two are in memory; at least 5 MiB.
        encryption: Requested for every object; None for the bucket's default.
        kms_key_id: With ``aws:kms``; None for the account's own key.
        cold_storage_class: Target of ``move_to_cold``; None disables it.
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
        encrypted = {"ServerSideEncryption": encryption, "SSEKMSKeyId": kms_key_id}
        self._encryption = {name: value for name, value in encrypted.items() if value is not None}
        self._swept = False

    def put(self, key: str, chunks: Iterable[bytes]) -> StoredObject:
        """Write an object atomically, durable on return, replacing an existing object of that key.

        Raises:
            TransientError: Also when it arrived damaged and was removed. After a lost answer it may exist.
            StorageError: Also when it has more parts than S3 allows.
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
            raise TransientError(f"Object {shown(key)} arrived damaged and was removed: try again.")
        return StoredObject(key=key, size_bytes=size, sha256=digest.hexdigest())

    def get(self, key: str) -> Iterator[bytes]:
        """Stream an object in pieces of up to 8 MiB, each requested again when its connection breaks.

        Raises:
            TransientError: Also when the object is replaced while it is read.
            AbsentObjectError: The object does not exist; raised by the call itself.
        """
        return self._bucket.stream(self._name(key))[1]

    def get_range(self, key: str, offset: int, length: int) -> bytes:
        """Return exactly ``length`` bytes from ``offset``; no others are requested.

        Raises:
            InvalidInputError: A number is negative.
            AbsentObjectError: The object does not exist.
            DamagedObjectError: The object is shorter.
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
        raise DamagedObjectError(f"Object {shown(key)} ends before byte {end}.")

    def exists(self, key: str) -> bool:
        """Whether the object exists."""
        try:
            self._bucket.head(self._name(key))
        except AbsentObjectError:
            return False
        return True

    def modified_at(self, key: str) -> datetime:
        """Return when the object was last written or moved to the cold class, by the server's clock.

        Raises:
            AbsentObjectError: The object does not exist.
        """
        modified: datetime = self._bucket.head(self._name(key))["LastModified"]
        return modified

    def move_to_cold(self, key: str) -> None:
        """Move an object to the cold storage class, unless it is very small or very large.

        Raises:
            TransientError: Also when the object is replaced at the same time.
            AbsentObjectError: The object does not exist.
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
        """Remove an object; an absent object is no error."""
        with suppress(AbsentObjectError):  # some servers report it, Amazon does not
            self._bucket.call("delete_object", Key=self._name(key))

    def keys(self, prefix: str = "") -> Iterator[str]:
        """Yield all keys that begin with ``prefix``, ordered by code points."""
        try:
            possible = "\0" not in prefix and len((self._bucket.prefix + prefix).encode()) <= MAX_KEY_BYTES
        except UnicodeEncodeError:
            possible = False
        if not possible:
            return
        for found in self._bucket.objects(self._bucket.prefix + prefix):
            key = found["Key"].removeprefix(self._bucket.prefix)
            if is_key(key):  # consoles store folders as objects
                yield key

    def _name(self, key: str) -> str:
        """Return the whole key, with the bucket's prefix."""
        parts_of_key(key)
        name = self._bucket.prefix + key
        if len(name.encode()) > MAX_KEY_BYTES:
            raise InvalidInputError(f"{key[:80]!r} is longer than {MAX_KEY_BYTES} bytes below {self._bucket}.")
        return name

    def _put_parts(self, name: str, parts: Iterable[bytes], digest: Callable[[], bytes]) -> tuple[str, str]:
        """Send an object in parts; return its ETag and the ETag expected from the parts' MD5.

        Args:
            digest: Returns the SHA-256 of the bytes read from ``parts`` so far.
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
            # An incomplete upload is billed, and no listing of objects shows it.
            with suppress(NeurigraphError):
                self._bucket.call("abort_multipart_upload", **upload)
            raise

    def _complete(
        self, upload: dict[str, str], sent: list[dict[str, object]], expected: str, digest: Callable[[], bytes]
    ) -> str:
        """Complete an upload; return the object's ETag."""
        try:
            answer = self._bucket.call("complete_multipart_upload", **upload, MultipartUpload={"Parts": sent})
        except (TransientError, StorageError):
            # The request may have succeeded and its answer been lost: then the object exists and the upload does not.
            with suppress(NeurigraphError):
                if self._holds(upload["Key"], digest()):
                    return expected
            raise
        etag: str = answer["ETag"]
        return etag

    def _sweep(self) -> None:
        """Once per instance, abort the uploads that killed writers left; a refusal is no error."""
        if self._swept:
            return
        self._swept = True
        with suppress(NeurigraphError):
            found = self._bucket.call("list_multipart_uploads", Prefix=self._bucket.prefix)
            for upload in found.get("Uploads", ()):
                if upload["Initiated"] < datetime.now(UTC) - _ABANDONED_AFTER:
                    self._bucket.call("abort_multipart_upload", Key=upload["Key"], UploadId=upload["UploadId"])

    def _holds(self, name: str, sha256: bytes, version: str | None = None) -> bool:
        """Whether an object has the content sent, or another writer has replaced ``version``."""
        found, chunks = self._bucket.stream(name)
        digest = hashlib.sha256()
        for chunk in chunks:
            digest.update(chunk)
        return digest.digest() == sha256 or version not in (None, found)


def _parts(chunks: Iterable[bytes], size: int) -> Iterator[bytes]:
    """Yield the bytes in parts of ``size``, the last one shorter; at least one part, which may be empty."""
    gathered = bytearray()
    for chunk in chunks:
        gathered += chunk
        while len(gathered) > size:
            yield bytes(memoryview(gathered)[:size])
            del gathered[:size]
    yield bytes(gathered)


def _md5(content: bytes) -> bytes:
    """Return the MD5 of a body, which S3 checks; it protects against accidents only."""
    return hashlib.md5(content, usedforsecurity=False).digest()


def _checksum(md5: bytes) -> dict[str, str]:
    return {"ContentMD5": b64encode(md5).decode()}
