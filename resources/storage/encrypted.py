"""An object store whose objects are encrypted, each with the data key of its graph."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import chain

from neurigraph_pipelines.model import KEYS, StoredObject
from neurigraph_pipelines.model.errors import DamagedObjectError
from neurigraph_pipelines.model.ports import ObjectStore
from resources.storage.graph_keys import GraphKeys
from resources.storage.keys import check_range, parts_of_key, shown
from resources.storage.sealing import CONTENT_BYTES, HEADER_BYTES, SEGMENT_BYTES, Header, Seal

_OF_GRAPHS = ("durable", "active")
_OF_NO_GRAPH = ".other"
"""Whose key encrypts uploads that no record has stored yet."""


class EncryptedObjectStore:
    """An ``ObjectStore`` over another one. Objects that were written before are read as they are.

    Sizes and checksums are those of the content. Wrapped keys are not listed among the objects.

    Args:
        objects: Holds the encrypted objects.
        writes: Whether new objects are encrypted; otherwise encrypted objects are only read.
    """

    def __init__(self, objects: ObjectStore, keys: GraphKeys, *, writes: bool) -> None:
        self._objects = objects
        self._keys = keys
        self._writes = writes

    def put(self, key: str, chunks: Iterable[bytes]) -> StoredObject:
        """Encrypt and write an object; errors are those of the store below.

        Raises:
            ConfigurationError: The master key is missing or another one.
        """
        parts_of_key(key)
        if not self._writes or key.startswith(KEYS):
            return self._objects.put(key, chunks)
        key_id, data_key = self._keys.for_writing(graph_of(key))
        header, seal = Seal.new(key, key_id, data_key)
        digest, size = hashlib.sha256(), 0

        def counted() -> Iterator[bytes]:
            nonlocal size
            for chunk in chunks:
                digest.update(chunk)
                size += len(chunk)
                yield chunk

        self._objects.put(key, chain([header.to_bytes()], seal.encrypt(counted())))
        return StoredObject(key=key, size_bytes=size, sha256=digest.hexdigest())

    def get(self, key: str) -> Iterator[bytes]:
        """Stream the content of an object.

        Raises:
            AbsentObjectError: The object does not exist; raised by the call itself.
            DamagedObjectError: It is not what was encrypted; raised before the first wrong byte.
            LostObjectError: Its key was destroyed.
            ConfigurationError: The master key is missing or another one.
        """
        return self._content(key, self._objects.get(key))

    def get_range(self, key: str, offset: int, length: int) -> bytes:
        """Return exactly ``length`` bytes of the content from ``offset``; errors are those of ``get``."""
        check_range(offset, length)
        header = self._header(key)
        if header is None:
            return self._objects.get_range(key, offset, length)
        first = offset // CONTENT_BYTES
        last = (offset + max(length, 1) - 1) // CONTENT_BYTES
        begin, count = HEADER_BYTES + first * SEGMENT_BYTES, last - first + 1
        try:
            segments = self._objects.get_range(key, begin, count * SEGMENT_BYTES)
        except DamagedObjectError as error:
            raise DamagedObjectError(f"Object {shown(key)} ends before byte {offset + length}.") from error
        seal = Seal(key, self._keys.get(graph_of(key), header.key_id), header)
        try:
            return seal.decrypt_range(segments, first, offset + length, length)
        except DamagedObjectError:
            if self._header(key) == header:
                raise
        return self.get_range(key, offset, length)  # another process replaced it between the two reads

    def exists(self, key: str) -> bool:
        """Whether the object exists."""
        return self._objects.exists(key)

    def modified_at(self, key: str) -> datetime:
        """Return when the object was last written."""
        return self._objects.modified_at(key)

    def move_to_cold(self, key: str) -> None:
        """Move the object to the cheapest storage class."""
        self._objects.move_to_cold(key)

    def delete(self, key: str) -> None:
        """Remove an object; an absent one is no error."""
        self._objects.delete(key)

    def keys(self, prefix: str = "") -> Iterator[str]:
        """Yield all keys that begin with ``prefix``, in order; wrapped keys only if it begins with theirs."""
        return (key for key in self._objects.keys(prefix) if prefix.startswith(KEYS) or not key.startswith(KEYS))

    def is_encrypted(self, key: str) -> bool:
        """Whether an object is encrypted. Raises AbsentObjectError if it is absent."""
        return self._header(key) is not None

    def _header(self, key: str) -> Header | None:
        try:
            return Header.of(self._objects.get_range(key, 0, HEADER_BYTES))
        except DamagedObjectError:  # shorter than a header
            return None

    def _content(self, key: str, chunks: Iterator[bytes]) -> Iterator[bytes]:
        start = b""
        for chunk in chunks:
            start += chunk
            if len(start) >= HEADER_BYTES:
                break
        header = Header.of(start)
        if header is None:
            yield from chain([start] if start else [], chunks)
            return
        seal = Seal(key, self._keys.get(graph_of(key), header.key_id), header)
        yield from seal.decrypt(chain([start[HEADER_BYTES:]], chunks))


def graph_of(key: str) -> str:
    """Return the graph whose data key encrypts an object: the user's slug, which its key contains."""
    tier, _, rest = key.partition("/")
    graph, slash, _ = rest.partition("/")
    return graph if tier in _OF_GRAPHS and slash else _OF_NO_GRAPH
