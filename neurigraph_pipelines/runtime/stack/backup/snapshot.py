"""One moment of an installation: the database as one snapshot shows it, and every object that it names.

Durable objects are written once and removed only after their rows. So an object that is missing although the snapshot
names it was removed after the snapshot, and a later snapshot does not name it; or it is lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import psycopg
from psycopg import IsolationLevel
from psycopg.rows import dict_row

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.exchange.portability.tables import named_objects
from neurigraph_pipelines.model.errors import DamagedObjectError, LostObjectError, TransientError
from neurigraph_pipelines.model.ports import ObjectStore, Transaction
from neurigraph_pipelines.runtime.stack.backup.folder import BackupFolder, OnBytes, StoredContent

QUERIES = statements("backup")
_SNAPSHOTS = 20


@dataclass(slots=True)
class Copied:
    """Objects of a snapshot in a backup folder.

    Attributes:
        objects: All objects of the snapshot that the folder has, by key.
        new: Number of objects that were copied now.
        lost: Keys of objects that are missing or damaged in the object store.
    """

    objects: dict[str, StoredContent] = field(default_factory=dict)
    new: int = 0
    lost: list[str] = field(default_factory=list)


@contextmanager
def snapshot(url: str) -> Iterator[Transaction]:
    """Open a transaction that sees one moment of the database."""
    with psycopg.connect(url, row_factory=dict_row) as tx:
        tx.isolation_level = IsolationLevel.REPEATABLE_READ
        tx.read_only = True
        yield tx


def _wanted(tx: Transaction) -> dict[str, StoredContent]:
    """Return the objects that a database names, by key."""
    return {row.storage_path: StoredContent(row.stored_sha256.hex(), row.stored_bytes) for row in named_objects(tx)}


@contextmanager
def consistent_snapshot(
    url: str, objects: ObjectStore, folder: BackupFolder, on_bytes: OnBytes
) -> Iterator[tuple[Transaction, Copied]]:
    """Yield a snapshot of the database once the folder has every object that it names.

    Raises:
        TransientError: Objects were removed faster than they could be copied.
        StorageError: The object store or the folder rejected a request.
    """
    copied = Copied()
    with snapshot(url) as tx:
        ahead = _wanted(tx)
    _copy(ahead, objects, folder, copied, on_bytes)  # the bulk, without a snapshot that stays open
    for _ in range(_SNAPSHOTS):
        with snapshot(url) as tx:
            wanted = _wanted(tx)
            missing = _copy(wanted, objects, folder, copied, on_bytes)
            if missing:
                with snapshot(url) as later:
                    still_named = _wanted(later)
                if not missing <= still_named.keys():
                    continue  # some were forgotten meanwhile: a new snapshot does not name them
            copied.objects = {key: content for key, content in wanted.items() if key not in missing}
            copied.lost = sorted(missing)
            yield tx, copied
            return
    raise TransientError("memories are being forgotten faster than they can be copied: try again later")


def _copy(
    wanted: Mapping[str, StoredContent], objects: ObjectStore, folder: BackupFolder, copied: Copied, on_bytes: OnBytes
) -> set[str]:
    """Copy the objects that the folder does not have, and return the keys of those that are missing or damaged."""
    missing = set()
    for key, content in wanted.items():
        if folder.has(content.sha256):
            continue
        try:
            folder.add(content.sha256, objects.get(key), on_bytes)
            copied.new += 1
        except (LostObjectError, DamagedObjectError):
            missing.add(key)
    return missing
