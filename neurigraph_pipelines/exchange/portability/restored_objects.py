"""Objects of a restore: copied from the export to new keys, checked on the way, and removed if the restore fails.

``restore`` chooses the keys and writes the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from neurigraph_pipelines.exchange.portability.archive import OBJECTS, ArchiveReader, Entry
from neurigraph_pipelines.lifecycle.object_keys import active_key
from neurigraph_pipelines.lifecycle.stored_bytes import has_working_copy, make_working_copy
from neurigraph_pipelines.model import CompressionState
from neurigraph_pipelines.model.errors import ConflictError, InvalidInputError
from neurigraph_pipelines.model.ports import ObjectStore


class RestoredObjects:
    """Writes objects of one export under keys that are free.

    Attributes:
        exported: Keys in the export by new keys.
        count: Number of objects written, without working copies.
    """

    def __init__(
        self,
        store: ObjectStore,
        archive: ArchiveReader,
        entries: Mapping[str, Entry],
        absent: frozenset[str],
        on_bytes: Callable[[int], None],
    ) -> None:
        """Remember the parts; nothing is written yet.

        Args:
            absent: Keys of objects that may be missing or damaged in the export.
        """
        self._store = store
        self._archive = archive
        self._entries = entries
        self._absent = absent
        self._on_bytes = on_bytes
        self._written: list[str] = []
        self.exported: dict[str, str] = {}
        self.count = 0

    def write_file(self, file: Mapping[str, Any]) -> None:
        """Write the durable object of a file, and the working copy if the file is active.

        Raises:
            InvalidInputError: The object is missing in the export, or differs from its checksum.
            ConflictError: An object has one of the keys.
            StorageError: The store rejected a request.
        """
        key = file["storage_path"]
        self.write(key, file["stored_sha256"])
        needs_copy = file["compression_state"] == CompressionState.ACTIVE and has_working_copy(file)
        if needs_copy and self.exported[key] not in self._absent:
            self._claim(active_key(key))
            # The copy comes from bytes that were just verified, so its checksum need not be compared.
            make_working_copy(self._store, {**file, "content_sha256": None}, lambda: None)

    def write(self, key: str, sha256: bytes) -> None:
        """Write one object; errors are those of ``write_file``."""
        exported = self.exported[key]
        name = OBJECTS + exported
        if name not in self._entries:
            if exported in self._absent:
                return
            raise InvalidInputError(f"{name[:200]!r} is missing in the export: export it again")
        self._claim(key)
        stored = self._store.put(key, self._chunks(name))
        if bytes.fromhex(stored.sha256) != sha256 and exported not in self._absent:
            raise InvalidInputError(f"{name} differs from its checksum in the export: export it again")
        self.count += 1

    def remove(self) -> None:
        """Remove what this restore wrote, and nothing else."""
        for key in self._written:
            self._store.delete(key)

    def _claim(self, key: str) -> None:
        if self._store.exists(key):
            raise ConflictError(f"there is an object {key[:80]!r} already: restore again, under other keys")
        self._written.append(key)

    def _chunks(self, name: str) -> Iterator[bytes]:
        for piece in self._archive.chunks(name):
            self._on_bytes(len(piece))
            yield piece
