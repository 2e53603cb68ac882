"""Makes files dormant: sweeps of files not accessed for long or opened for a while, and single files on request.

A sweep looks only at nodes whose shell says that files are due, locks files in small batches, and skips files that are
being read. It can stop anywhere, and the next one continues. ``rehydration`` makes files active again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from uuid import UUID

from psycopg import sql

from neurigraph_pipelines.database.asking import rows_of
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.provisioning import require_node
from neurigraph_pipelines.lifecycle import transitions
from neurigraph_pipelines.lifecycle.stored_bytes import Manifest, has_working_copy, move_to_cold_storage
from neurigraph_pipelines.lifecycle.transitions import FileLocation
from neurigraph_pipelines.model import CompressionCause, CompressionState
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import (
    LostObjectError,
    NotFoundError,
    RehydratingError,
    StorageError,
    TransientError,
)
from neurigraph_pipelines.model.ports import ObjectStore, Transaction

_QUERIES = statements("lifecycle")
_BATCH_FILES = 100  # files that are locked together while their objects are moved
_MOVERS = 8  # threads that move objects
_DAY_SECONDS = 86_400
_SMALLEST_ID = UUID(int=0)
_Failure = StorageError | TransientError


@dataclass(slots=True)
class SweepReport:
    """The result of a sweep or of its dry run.

    Attributes:
        nodes: Number of nodes that were checked.
        files: Number of files that became dormant.
        bytes_freed: Bytes of the working copies that were deleted.
        failures: Reasons why files stayed active, by file: the object is missing or damaged, or the store rejected the
            request or did not answer.
        finished: False if the limit was reached; the next run continues.
    """

    nodes: int = 0
    files: int = 0
    bytes_freed: int = 0
    failures: dict[UUID, str] = field(default_factory=dict)
    finished: bool = True

    def __add__(self, other: SweepReport) -> SweepReport:
        """Return the sums. Dry runs of two sweeps count a file twice if it is due in both."""
        return SweepReport(
            self.nodes + other.nodes,
            self.files + other.files,
            self.bytes_freed + other.bytes_freed,
            self.failures | other.failures,
            self.finished and other.finished,
        )

    def add(self, rows: Sequence[Manifest], failures: Mapping[UUID, Exception]) -> None:
        """Add a batch of files."""
        dormant = [row for row in rows if row.file_id not in failures]
        self.files += len(dormant)
        self.bytes_freed += sum(row.size_bytes for row in dormant if has_working_copy(row))
        self.failures |= {file_id: str(error) for file_id, error in failures.items()}


@dataclass(frozen=True, slots=True)
class _Sweep:
    """The queries for due nodes and their due files, with the cause to log."""

    nodes: sql.SQL
    files: sql.SQL
    cause: CompressionCause
    terms: Mapping[str, object]


def sweep_dormant(
    context: Context,
    *,
    limit: int = 10_000,
    user_id: UUID | None = None,
    overdue_seconds: float = 0.0,
    dry_run: bool = False,
    on_done: Callable[[int], None] | None = None,
) -> SweepReport:
    """Make files dormant that were not accessed for ``dormancy_days``, in nodes that were not accessed for as long.

    Args:
        limit: Most files of one run.
        user_id: Only this user's files.
        overdue_seconds: Only files that have been due for this long.
        dry_run: Count due files, and change nothing.
        on_done: Called with the number of files that were just finished.
    """
    sweep = _Sweep(
        _QUERIES["dormancy_nodes"],
        _QUERIES["dormancy_files"],
        CompressionCause.SCHEDULER,
        {
            "user_id": user_id,
            "node_id": None,
            "seconds": context.settings.lifecycle.dormancy_days * _DAY_SECONDS + overdue_seconds,
        },
    )
    return _run(context, sweep, limit, dry_run, on_done)


def sweep_expired(
    context: Context,
    *,
    limit: int = 10_000,
    user_id: UUID | None = None,
    overdue_seconds: float = 0.0,
    dry_run: bool = False,
    on_done: Callable[[int], None] | None = None,
) -> SweepReport:
    """Make files dormant that were last opened ``recompress_ttl_minutes`` ago; arguments as for ``sweep_dormant``."""
    sweep = _Sweep(
        _QUERIES["expiry_nodes"],
        _QUERIES["expiry_files"],
        CompressionCause.TTL_EXPIRY,
        {
            "user_id": user_id,
            "seconds": context.settings.lifecycle.recompress_ttl_minutes * 60,
            "overdue_seconds": overdue_seconds,
        },
    )
    return _run(context, sweep, limit, dry_run, on_done)


def sweep_active(
    context: Context,
    *,
    user_id: UUID,
    node_id: UUID | None = None,
    dry_run: bool = False,
    on_done: Callable[[int], None] | None = None,
) -> SweepReport:
    """Make all active files of a user dormant, whenever they were accessed; arguments as for ``sweep_dormant``.

    Args:
        node_id: Only this node's files.
    """
    sweep = _Sweep(
        _QUERIES["dormancy_nodes"],
        _QUERIES["dormancy_files"],
        CompressionCause.MANUAL,
        {"user_id": user_id, "node_id": node_id, "seconds": None},
    )
    return _run(context, sweep, sys.maxsize, dry_run, on_done)


def has_expired(context: Context) -> bool:
    """Return whether ``sweep_expired`` has a node to check."""
    seconds = context.settings.lifecycle.recompress_ttl_minutes * 60
    with context.database.pipeline() as tx:
        nodes = tx.execute(_QUERIES["expiry_nodes"], {"user_id": None, "seconds": seconds, "overdue_seconds": 0})
        return nodes.fetchone() is not None


def compress(context: Context, location: FileLocation) -> None:
    """Make one file dormant now. Nothing happens if it is dormant already.

    Raises:
        NotFoundError: The file is gone.
        RehydratingError: The file is being decompressed.
        LostObjectError: Its durable object is missing or damaged: logged as ``failed``, and the file stays active.
        StorageError: The object store rejected the request: the file stays active.
        TransientError: The object store did not answer.
    """
    with context.database.pipeline() as tx:
        require_node(tx, location.node_id)
        manifest = transitions.lock(tx, location)
        if manifest.compression_state == CompressionState.REHYDRATING:
            raise RehydratingError(
                f"file {location.file_id} is being decompressed: try again in a moment", retry_after_seconds=1.0
            )
        if manifest.compression_state == CompressionState.DORMANT:
            return
        failures = _make_dormant(tx, context.objects, location.schema, [manifest], CompressionCause.MANUAL, map)
    for error in failures.values():
        raise error


def _run(
    context: Context,
    sweep: _Sweep,
    limit: int,
    dry_run: bool,
    on_done: Callable[[int], None] | None,
) -> SweepReport:
    database, objects = context.database, context.objects
    report = SweepReport()
    with database.pipeline() as tx:
        nodes = tx.execute(sweep.nodes, sweep.terms).fetchall()
    looked_at = 0
    with ThreadPoolExecutor(_MOVERS, thread_name_prefix="sweep") as movers:
        for node in nodes:
            with suppress(NotFoundError):  # the node was removed meanwhile
                schema = sql.Identifier(node["schema_name"])
                after = _SMALLEST_ID
                report.nodes += 1
                while True:
                    if looked_at >= limit:
                        report.finished = False
                        return report
                    with database.pipeline() as tx:
                        if not dry_run:
                            require_node(tx, node["node_id"])
                        rows = rows_of(
                            tx,
                            sweep.files.format(schema=schema),
                            Manifest,
                            {**sweep.terms, "after": after, "limit": min(_BATCH_FILES, limit - looked_at)},
                        )
                        failures = {} if dry_run else _make_dormant(tx, objects, schema, rows, sweep.cause, movers.map)
                    if not rows:
                        break
                    after = rows[-1].file_id
                    looked_at += len(rows)
                    report.add(rows, failures)
                    if on_done is not None:
                        on_done(len(rows))
                if not dry_run:  # opening a file again postpones its due time, but not that of its node
                    with database.pipeline() as tx:
                        tx.execute(_QUERIES["sum_file_states"], node)
    return report


def _make_dormant(
    tx: Transaction,
    objects: ObjectStore,
    schema: sql.Identifier,
    rows: Sequence[Manifest],
    cause: CompressionCause,
    mapping: Callable[..., Iterable[tuple[UUID, _Failure | None]]],
) -> dict[UUID, _Failure]:
    """Move the objects of locked rows to cold storage, then change the state of the moved ones.

    Returns:
        Errors of the files that stay active.
    """
    outcomes = dict(mapping(partial(_move_objects, objects), rows))
    failures = {file_id: error for file_id, error in outcomes.items() if error is not None}
    for file_id, error in failures.items():
        if isinstance(error, LostObjectError):
            transitions.note_failure(tx, schema, file_id, str(error), cause)
    transitions.make_dormant(tx, schema, [file_id for file_id in outcomes if file_id not in failures], cause)
    return failures


def _move_objects(objects: ObjectStore, manifest: Manifest) -> tuple[UUID, _Failure | None]:
    try:
        move_to_cold_storage(objects, manifest)
    except (StorageError, TransientError) as error:
        return manifest.file_id, error
    return manifest.file_id, None
