"""The format of an encrypted object: a header, and segments that are decrypted one by one.

An object is ``MAGIC``, the id of its data key (16 bytes), a random salt (16 bytes), and segments of 4,096 bytes of
content with 16 bytes of authentication each. The last segment is padded, always by at least one byte. AES-256-GCM
encrypts segments with a key of this object alone, which HKDF-SHA256 derives from the data key and the salt, so the
number of the segment can be its nonce. The last byte of the nonce marks the last segment, as in STREAM (Hoang and
others, "Online Authenticated-Encryption and its Nonce-Reuse Misuse-Resistance", 2015). Header and object key are
authenticated with each segment. So segments cannot be changed, swapped, dropped or moved to another object, and a range
is read by decrypting the segments that contain it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Self
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from neurigraph_pipelines.model.errors import DamagedObjectError
from resources.storage.keys import shown

MAGIC = b"NGSEAL\x01\n"
HEADER_BYTES = len(MAGIC) + 32
CONTENT_BYTES = 4_096
SEGMENT_BYTES = CONTENT_BYTES + 16

_SALT_BYTES = 16
_PAD = b"\x80"
_SEGMENTS_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class Header:
    """The start of an encrypted object."""

    key_id: UUID
    salt: bytes

    @classmethod
    def of(cls, start: bytes) -> Self | None:
        """Read the first ``HEADER_BYTES`` of an object; None if it is not encrypted."""
        if len(start) < HEADER_BYTES or not start.startswith(MAGIC):
            return None
        return cls(UUID(bytes=start[len(MAGIC) : len(MAGIC) + 16]), start[len(MAGIC) + 16 : HEADER_BYTES])

    def to_bytes(self) -> bytes:
        """Return the header as it is stored."""
        return MAGIC + self.key_id.bytes + self.salt


class Seal:
    """Encrypts and decrypts the segments of one object.

    Args:
        key: The object key, which is authenticated.
        data_key: 32 bytes, of the graph that the object belongs to.
        header: Where the object begins.
    """

    def __init__(self, key: str, data_key: bytes, header: Header) -> None:
        derived = HKDF(SHA256(), 32, header.salt, b"neurigraph object").derive(data_key)
        self._cipher = AESGCM(derived)
        self._bound = header.to_bytes() + key.encode()
        self._key = key

    @classmethod
    def new(cls, key: str, key_id: UUID, data_key: bytes) -> tuple[Header, Seal]:
        """Return the header and the seal of an object that is going to be written."""
        header = Header(key_id, os.urandom(_SALT_BYTES))
        return header, cls(key, data_key, header)

    def encrypt(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the segments of a content."""
        number = 0
        for piece in _regrouped(chunks, CONTENT_BYTES):
            if len(piece) == CONTENT_BYTES:
                yield self._cipher.encrypt(_nonce(number, last=False), piece, self._bound)
                number += 1
            else:
                padded = (piece + _PAD).ljust(CONTENT_BYTES, b"\0")
                yield self._cipher.encrypt(_nonce(number, last=True), padded, self._bound)

    def decrypt(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the content of all segments; every piece is authentic.

        Raises:
            DamagedObjectError: A segment was changed, or segments are missing or follow the last one.
        """
        number, ended = 0, False
        for block in _regrouped(chunks, SEGMENT_BYTES * _SEGMENTS_AT_ONCE):
            opened = []
            for start in range(0, len(block), SEGMENT_BYTES):
                if ended:
                    raise self._damaged()
                piece, ended = self._open(number, block[start : start + SEGMENT_BYTES])
                opened.append(piece)
                number += 1
            yield b"".join(opened)
        if not ended:
            raise self._damaged()

    def decrypt_range(self, segments: bytes, first: int, end: int, length: int) -> bytes:
        """Return bytes of the content, given whole segments from number ``first`` that contain them.

        Args:
            end: Where the wanted bytes end in the content of the object.

        Raises:
            DamagedObjectError: A segment was changed, or the object ends before.
        """
        opened, ended = [], False
        for start in range(0, len(segments), SEGMENT_BYTES):
            if ended:
                raise self._damaged()
            piece, ended = self._open(first + start // SEGMENT_BYTES, segments[start : start + SEGMENT_BYTES])
            opened.append(piece)
        content, stop = b"".join(opened), end - first * CONTENT_BYTES
        if stop > len(content):
            raise DamagedObjectError(f"Object {shown(self._key)} ends before byte {end}.")
        return content[stop - length : stop]

    def _open(self, number: int, segment: bytes) -> tuple[bytes, bool]:
        """Return the content of a segment, and whether it is the last."""
        try:
            return self._cipher.decrypt(_nonce(number, last=False), segment, self._bound), False
        except (InvalidTag, ValueError):
            pass
        try:
            padded = self._cipher.decrypt(_nonce(number, last=True), segment, self._bound)
        except (InvalidTag, ValueError) as error:
            raise self._damaged() from error
        return padded[: padded.rindex(_PAD)], True

    def _damaged(self) -> DamagedObjectError:
        return DamagedObjectError(f"Object {shown(self._key)} is damaged: it is not what was encrypted under this key.")


def _nonce(number: int, *, last: bool) -> bytes:
    return number.to_bytes(11, "big") + bytes([last])


def _regrouped(chunks: Iterable[bytes], size: int) -> Iterator[bytes]:
    """Yield pieces of ``size`` bytes, and a last one that is shorter and may be empty."""
    rest = bytearray()
    for chunk in chunks:
        rest += chunk
        whole = len(rest) - len(rest) % size
        for start in range(0, whole, size):
            yield bytes(rest[start : start + size])
        del rest[:whole]
    yield bytes(rest)
