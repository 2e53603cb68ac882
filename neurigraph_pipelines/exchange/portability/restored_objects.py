"""Objects of a restore: copied from the stream to new keys, checked on the way, and removed if the restore fails.

``restore`` chooses the keys and writes the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import takewhile

from neurigraph_pipelines.exchange.portability.stream import OBJECTS, Hashed, StreamPart
from neurigraph_pipelines.exchange.portability.tables import StagedObject, needs_working_copy
from neurigraph_pipelines.lifecycle.object_keys import active_key
from neurigraph_pipelines.lifecycle.stored_bytes import Manifest
from neurigraph_pipelines.model.errors import ConflictError, InvalidInputError
from neurigraph_pipelines.model.ports import ObjectStore
from neurigraph_pipelines.text.stored_text import decompress


class RestoredObjects:
    """Objects of one stream, which are written under new keys, and removed if their rows fail.

    Attributes:
        exported: Keys in the stream by the new keys of files.
        expected: Rows that name an object, by the key in the stream.
        count: Number of objects written, without working copies.
    """

    def __init__(self, store: ObjectStore, on_bytes: Callable[[int], None]) -> None:
        self._store = store
        self._written: list[str] = []
        self._on_bytes = on_bytes
        self._missing: set[str] = set()
        self._damaged: set[str] = set()
        self.exported: dict[str, str] = {}
        self.expected: dict[str, Manifest | StagedObject] = {}
        self.count = 0

    def expect(self, rows: Iterable[Manifest | StagedObject], staged: Mapping[str, str]) -> None:
        """Note the restored rows that name objects.

        Args:
            staged: Keys in the stream by the new keys of uploads.

        Raises:
            InvalidInputError: Two rows name one object.
        """
        for row in rows:
            keys = self.exported if isinstance(row, Manifest) else staged
            exported = keys[row.storage_path]
            if exported in self.expected:
                name = (OBJECTS + exported)[:200]
                raise InvalidInputError(f"{name!r}, which two rows name, is missing in the export: export it again")
            self.expected[exported] = row
        self._missing = set(self.expected)

    def write(self, part: StreamPart) -> None:
        """Write the object of a part, and the working copy if it is that of an active file.

        Raises:
            InvalidInputError: Rows come after objects.
            ConflictError: An object has one of the keys.
            StorageError: The store rejected a request.
        """
        if not part.name.startswith(OBJECTS):
            raise InvalidInputError(f"{part.name} of the export comes after the objects: export it again")
        exported = part.name.removeprefix(OBJECTS)
        if exported not in self._missing:
            return
        self._missing.remove(exported)
        row = self.expected[exported]
        stored = Hashed(part.chunks, self._on_bytes)
        self._put(row.storage_path, stored)
        self.count += 1
        is_stated = (stored.size_bytes, stored.sha256) == (row.stored_bytes, row.stored_sha256.hex())
        if not is_stated or (needs_working_copy(row) and not self._unpack(row)):
            self._damaged.add(exported)

    def _unpack(self, row: Manifest) -> bool:
        """Write the working copy of an object, and return whether it is as its row says; stop where it is longer."""
        unpacked = Hashed(decompress(self._store.get(row.storage_path)))
        self._put(active_key(row.storage_path), takewhile(lambda _: unpacked.size_bytes <= row.size_bytes, unpacked))
        is_stated = row.content_sha256 is None or row.content_sha256.hex() == unpacked.sha256
        return unpacked.size_bytes == row.size_bytes and is_stated

    def require_all(self, absent: frozenset[str]) -> None:
        """Check that every object came unchanged, but those that were lost or forgotten when the stream was written.

        Raises:
            InvalidInputError: An object is missing in the stream, or differs from its checksum.
        """
        for keys, said in ((self._missing, "is missing"), (self._damaged, "differs from its checksum")):
            for key in sorted(keys - absent)[:1]:
                raise InvalidInputError(f"{(OBJECTS + key)[:200]!r} {said} in the export: export it again")

    def remove(self) -> None:
        """Remove the written objects, and nothing else."""
        for key in self._written:
            self._store.delete(key)

    def _put(self, key: str, chunks: Iterable[bytes]) -> None:
        if self._store.exists(key):
            raise ConflictError(f"there is an object {key[:80]!r} already: try again, which takes other keys")
        self._written.append(key)
        self._store.put(key, chunks)
