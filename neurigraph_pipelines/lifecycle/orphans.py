"""Objects without a row: what a process left that died between writing an object and naming it, or before dropping it.

Rows without an object are found by ``verification``. Nothing here depends on a clock: an object is removed under a
lock that whoever names it takes as well, and is looked up once more under it; the grace period only saves work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from uuid import UUID

from psycopg import sql

from neurigraph_pipelines.context import Context
from neurigraph_pipelines.errors import AbsentObjectError
from neurigraph_pipelines.graph.locks import retry_not_found
from neurigraph_pipelines.lifecycle.object_keys import ACTIVE, DURABLE, active_key, original_id, record_of
from neurigraph_pipelines.lifecycle.stored_bytes import has_working_copy
from neurigraph_pipelines.model import CompressionState
from neurigraph_pipelines.ports import Database, ObjectStore, Transaction
from neurigraph_pipelines.statements import statements

_QUERIES = statements("lifecycle")
_KEYS_AT_ONCE = 1_000


@dataclass(slots=True)
class OrphanReport:
    """What an audit of the objects found.

    Attributes:
        objects: Objects that were looked at.
        orphans: Keys of objects that no row names, and of working copies of files that sleep.
        removed: How many of them were removed.
        young: How many were left alone because the grace period is not over.
        foreign: Keys of objects that were not written by us; they are left alone.
        finished: False when the limit was reached: the next run goes on.
    """

    objects: int = 0
    orphans: list[str] = field(default_factory=list)
    removed: int = 0
    young: int = 0
    foreign: list[str] = field(default_factory=list)
    finished: bool = True

    @property
    def left(self) -> int:
        """Orphans past the grace period that are still there."""
        return len(self.orphans) - self.young - self.removed


def audit_objects(
    context: Context,
    *,
    limit: int = 10_000,
    dry_run: bool = False,
    on_done: Callable[[int], None] | None = None,
) -> OrphanReport:
    """Compare all objects with the manifests, and remove those that nothing has named for ``orphan_grace_hours``.

    Args:
        limit: Most orphans of one run.
        dry_run: Say which, and remove nothing.
        on_done: Told how many objects were just looked at.
    """
    database, objects = context.database, context.objects
    report = OrphanReport()
    with database.pipeline() as tx:
        row = tx.execute(_QUERIES["now"]).fetchone()
    assert row is not None
    youngest = row["now"] - timedelta(hours=context.settings.orphan_grace_hours)
    for prefix in (DURABLE, ACTIVE):
        keys = objects.keys(prefix)
        while batch := list(islice(keys, _KEYS_AT_ONCE)):
            ours = {key: record_id for key in batch if (record_id := record_of(key)) is not None}
            report.objects += len(batch)
            report.foreign += [key for key in batch if key not in ours]
            # What a move hid from the first look is there at the second.
            unnamed = _unnamed(database, _unnamed(database, ours))
            for key in sorted(unnamed):
                if len(report.orphans) == limit:
                    report.finished = False
                    return report
                _treat(database, objects, key, ours[key], youngest, dry_run, report)
            if on_done is not None:
                on_done(len(batch))
    return report


def guard_objects(tx: Transaction, objects: ObjectStore, record_id: UUID, keys: Iterable[str]) -> None:
    """Keep a record's objects from being taken for orphans until the transaction that names them is over.

    Raises:
        AbsentObjectError: One was removed before.
    """
    tx.execute(_QUERIES["guard_objects"], {"record_id": record_id})
    for key in keys:
        if not objects.exists(key):
            raise AbsentObjectError(f"{key} was removed before its record was stored: it is written again")


def _treat(
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
    except AbsentObjectError:  # another audit was faster
        return
    report.orphans.append(key)
    if young:
        report.young += 1
    elif not dry_run:
        report.removed += _remove(database, objects, key, record_id)


def _remove(database: Database, objects: ObjectStore, key: str, record_id: UUID) -> bool:
    with database.pipeline() as tx:
        tx.execute(_QUERIES["lock_objects"], {"record_id": record_id})
        if key in _named(tx, _QUERIES["lock_files_of_records"], [record_id]):
            return False
        objects.delete(key)
        return True


@retry_not_found
def _unnamed(database: Database, keys: Mapping[str, UUID]) -> dict[str, UUID]:
    """Those of some keys, each with the record it was written for, that nothing names."""
    with database.pipeline() as tx:
        named = _named(tx, _QUERIES["files_of_records"], keys.values())
    return {key: record_id for key, record_id in keys.items() if key not in named}


def _named(tx: Transaction, files_of_records: sql.SQL, record_ids: Iterable[UUID]) -> set[str]:
    """Keys of all objects that files of these records have in the states they are in.

    An original that another record inherited still bears the id of the one that it was written for.
    """
    wanted_ids = set(record_ids)
    places = tx.execute(
        _QUERIES["places_of_records"],
        {"record_ids": list(wanted_ids), "original_ids": list(map(original_id, wanted_ids))},
    ).fetchall()
    records: dict[str, list[UUID]] = {}
    for place in places:
        records.setdefault(place["schema_name"], []).append(place["record_id"])
    named: set[str] = set()
    for schema_name, wanted in records.items():
        files = tx.execute(files_of_records.format(schema=sql.Identifier(schema_name)), {"record_ids": wanted})
        for manifest in files:
            named.add(manifest["storage_path"])
            if has_working_copy(manifest) and manifest["compression_state"] != CompressionState.DORMANT:
                named.add(active_key(manifest["storage_path"]))
    return named
