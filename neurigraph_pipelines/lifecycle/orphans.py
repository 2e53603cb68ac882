"""Orphaned objects: objects without a row, left by a process that died before writing the row or deleting the object.

``verification`` finds rows without an object. Correctness does not depend on a clock: an object is removed only under a
lock that its writers take as well, after another look for its row. The grace period only saves work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from uuid import UUID

from psycopg import sql

from neurigraph_pipelines.database.asking import rows_of
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.locks import retry_not_found
from neurigraph_pipelines.lifecycle.object_keys import ACTIVE, DURABLE, active_key, original_id, record_of
from neurigraph_pipelines.lifecycle.stored_bytes import Manifest, has_working_copy
from neurigraph_pipelines.model import CompressionState
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import AbsentObjectError
from neurigraph_pipelines.model.ports import Database, ObjectStore, Transaction

_QUERIES = statements("lifecycle")
_KEYS_AT_ONCE = 1_000


@dataclass(slots=True)
class OrphanReport:
    """The result of an audit of the object store.

    Attributes:
        objects: Number of objects that were checked.
        orphans: Keys of objects without a row, and of working copies of dormant files.
        removed: Number of orphans that were removed.
        young: Number of orphans within the grace period, which stay.
        foreign: Keys of objects that Neurigraph did not write; they stay.
        finished: False if the limit was reached; the next run continues.
    """

    objects: int = 0
    orphans: list[str] = field(default_factory=list)
    removed: int = 0
    young: int = 0
    foreign: list[str] = field(default_factory=list)
    finished: bool = True

    @property
    def left(self) -> int:
        """Number of orphans past the grace period that remain."""
        return len(self.orphans) - self.young - self.removed


def audit_objects(
    context: Context,
    *,
    limit: int = 10_000,
    dry_run: bool = False,
    on_done: Callable[[int], None] | None = None,
) -> OrphanReport:
    """Compare all objects with the manifests, and remove orphans older than ``orphan_grace_hours``.

    Args:
        limit: Most orphans of one run.
        dry_run: Report orphans, and remove nothing.
        on_done: Called with the number of objects that were just checked.
    """
    database, objects = context.database, context.objects
    report = OrphanReport()
    with database.pipeline() as tx:
        (row,) = tx.execute(_QUERIES["now"])
    youngest = row["now"] - timedelta(hours=context.settings.lifecycle.orphan_grace_hours)
    for prefix in (DURABLE, ACTIVE):
        keys = objects.keys(prefix)
        while batch := list(islice(keys, _KEYS_AT_ONCE)):
            own = {key: record_id for key in batch if (record_id := record_of(key)) is not None}
            report.objects += len(batch)
            report.foreign += [key for key in batch if key not in own]
            # The second look finds the rows of records that moved to another node during the first.
            orphans = _without_row(database, _without_row(database, own))
            for key in sorted(orphans):
                if len(report.orphans) == limit:
                    report.finished = False
                    return report
                _check_orphan(database, objects, key, own[key], youngest, dry_run, report)
            if on_done is not None:
                on_done(len(batch))
    return report


def guard_objects(tx: Transaction, objects: ObjectStore, keys_of: Mapping[UUID, Iterable[str]]) -> None:
    """Protect the objects of records from removal as orphans until this transaction, which writes their rows, ends.

    Raises:
        AbsentObjectError: An object was removed before.
    """
    tx.execute(_QUERIES["guard_objects"], {"record_ids": sorted(keys_of)}).fetchall()  # waits in a pipeline, too
    for record_id, keys in keys_of.items():
        if not all(map(objects.exists, keys)):
            raise AbsentObjectError(f"an object of record {record_id} was removed too early; the step writes it again")


def _check_orphan(
    database: Database,
    objects: ObjectStore,
    key: str,
    record_id: UUID,
    youngest: datetime,
    dry_run: bool,
    report: OrphanReport,
) -> None:
    try:
        young = objects.modified_at(key) > youngest
    except AbsentObjectError:  # another audit removed it first
        return
    report.orphans.append(key)
    if young:
        report.young += 1
    elif not dry_run:
        report.removed += _remove(database, objects, key, record_id)


def _remove(database: Database, objects: ObjectStore, key: str, record_id: UUID) -> bool:
    """Remove an object if no row names it; return False if one does, or while a restore or another audit works."""
    with database.pipeline() as tx:
        row = tx.execute(_QUERIES["keep_from_restoring"]).fetchone()
        if row is None or not row["is_alone"]:
            return False
        tx.execute(_QUERIES["lock_objects"], {"record_id": record_id})
        if key in keys_in_use(tx, _QUERIES["lock_files_of_records"], [record_id]):
            return False
        objects.delete(key)
        return True


@retry_not_found
def _without_row(database: Database, keys: Mapping[str, UUID]) -> dict[str, UUID]:
    """Return the keys without a row, given keys with the records that they were written for."""
    with database.pipeline() as tx:
        in_use = keys_in_use(tx, _QUERIES["files_of_records"], keys.values())
    return {key: record_id for key, record_id in keys.items() if key not in in_use}


def keys_in_use(tx: Transaction, files_of_records: sql.SQL, record_ids: Iterable[UUID]) -> set[str]:
    """Return the keys of all objects that the files of these records have in their current states.

    The key of an original that passed to another record still contains the id of the record it was written for.
    """
    wanted_ids = set(record_ids)
    locations = tx.execute(
        _QUERIES["places_of_records"],
        {"record_ids": list(wanted_ids), "original_ids": list(map(original_id, wanted_ids))},
    ).fetchall()
    records: dict[str, list[UUID]] = {}
    for location in locations:
        records.setdefault(location["schema_name"], []).append(location["record_id"])
    in_use: set[str] = set()
    for schema_name, wanted in records.items():
        query = files_of_records.format(schema=sql.Identifier(schema_name))
        for manifest in rows_of(tx, query, Manifest, {"record_ids": wanted}):
            in_use.add(manifest.storage_path)
            if has_working_copy(manifest) and manifest.compression_state != CompressionState.DORMANT:
                in_use.add(active_key(manifest.storage_path))
    return in_use
