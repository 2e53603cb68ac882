"""The journal of objects to remove: written in the transaction that erases their rows, and worked off after it.

If a process dies in between, the next one finds the remaining objects in the journal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from uuid import UUID

from psycopg import sql

from neurigraph_pipelines.database.asking import rows_of
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.lifecycle.object_keys import ACTIVE, DURABLE, active_key, record_of
from neurigraph_pipelines.lifecycle.stored_bytes import Manifest, has_working_copy
from neurigraph_pipelines.model import KEYS, CompressionState
from neurigraph_pipelines.model.ports import Database, ObjectStore, Transaction

_REMOVED_AT_ONCE = 500
_REMOVERS = 8  # threads; they wait for a disk or a network
_QUERIES = statements("erasure")


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """An object to remove. An object without a size has no row and may not exist."""

    key: str
    sha256: bytes | None = None
    size_bytes: int | None = None


def files_of(tx: Transaction, schema: sql.Identifier, record_id: UUID | None = None) -> list[Manifest]:
    """Return the rows of the files of a record, or of all records in a node's schema."""
    return rows_of(tx, _QUERIES["files"].format(schema=schema), Manifest, {"record_id": record_id})


def entries_of_file(manifest: Manifest) -> Iterator[JournalEntry]:
    """Yield the objects that a file has or may have."""
    yield JournalEntry(manifest.storage_path, manifest.stored_sha256, manifest.stored_bytes)
    if not has_working_copy(manifest):
        return
    copy = active_key(manifest.storage_path)
    if manifest.compression_state == CompressionState.DORMANT:
        yield JournalEntry(copy)
    else:
        yield JournalEntry(copy, manifest.content_sha256, manifest.size_bytes)


def note_objects(tx: Transaction, erasure_id: UUID, user_id: UUID, entries: Iterable[JournalEntry]) -> dict[str, int]:
    """Record objects to remove after this transaction commits.

    Returns:
        The numbers ``objects`` and ``object_bytes`` of the objects that rows refer to.
    """
    noted = list(entries)
    tx.execute(
        _QUERIES["note_objects"],
        {
            "erasure_id": erasure_id,
            "user_id": user_id,
            "keys": [entry.key for entry in noted],
            "digests": [entry.sha256 for entry in noted],
            "sizes": [entry.size_bytes for entry in noted],
        },
    )
    sizes = [entry.size_bytes for entry in noted if entry.size_bytes is not None]
    return {"objects": len(sizes), "object_bytes": sum(sizes)}


def destroy_keys(objects: ObjectStore, slug: str) -> None:
    """Destroy the data keys of a graph: no copy of bytes that they encrypted can be read again."""
    for key in objects.keys(f"{KEYS}{slug}/"):
        objects.delete(key)


def objects_of_user(objects: ObjectStore, slug: str) -> Iterator[str]:
    """Yield the keys of all objects of a user, including orphans of processes that died."""
    for tier in (DURABLE, ACTIVE):
        yield from objects.keys(f"{tier}{slug}/")


def objects_of_records(objects: ObjectStore, slug: str, record_ids: frozenset[UUID]) -> dict[UUID, list[str]]:
    """Return the keys of all objects of some records; each attempt to store a record has keys of its own."""
    found: dict[UUID, list[str]] = {}
    for key in objects_of_user(objects, slug):
        record_id = record_of(key)
        if record_id in record_ids:
            found.setdefault(record_id, []).append(key)
    return found


def remove_objects(
    database: Database, objects: ObjectStore, erasure_id: UUID, on_removed: Callable[[int], None]
) -> None:
    """Remove the remaining objects of an erasure, and mark them as removed in the journal.

    Raises:
        StorageError: The store rejected a request; the next call continues.
        TransientError: The store did not answer.
    """
    with ThreadPoolExecutor(_REMOVERS) as pool:
        while True:
            with database.owner() as tx:
                values = {"erasure_id": erasure_id, "limit": _REMOVED_AT_ONCE}
                left = tx.execute(_QUERIES["objects_left"], values).fetchall()
            if not left:
                return
            for _ in pool.map(objects.delete, [row["object_key"] for row in left]):
                pass
            with database.owner() as tx:
                numbers = [row["number"] for row in left]
                tx.execute(_QUERIES["objects_removed"], {"erasure_id": erasure_id, "numbers": numbers})
            on_removed(len(left))
