"""The way down: what was not accessed for long, what was opened for a while, and what somebody sends to sleep.

A sweep looks only at nodes whose shell says that something is due, takes files a few at a time, and never waits for
one that is being read. It may be stopped anywhere: the next one goes on. The way up is in ``rehydration``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import UUID

from psycopg import sql

from neurigraph_pipelines.context import Context
from neurigraph_pipelines.errors import (
    LostObjectError,
    NotFoundError,
    RehydratingError,
    StorageError,
    TransientError,
)
from neurigraph_pipelines.graph.provisioning import upgrade_node
from neurigraph_pipelines.lifecycle import transitions
from neurigraph_pipelines.lifecycle.stored_bytes import has_working_copy, put_to_sleep
from neurigraph_pipelines.lifecycle.transitions import FilePlace, Manifest
from neurigraph_pipelines.model import CompressionCause, CompressionState
from neurigraph_pipelines.ports import ObjectStore, Transaction
from neurigraph_pipelines.statements import statements

_QUERIES = statements("lifecycle")
_BATCH_FILES = 100  # locked at one time, while their objects are moved
_AT_ONCE = 8  # objects that are moved at one time
_DAY_SECONDS = 86_400
_BEFORE_ALL = UUID(int=0)
_Failure = StorageError | TransientError


@dataclass(slots=True)
class SweepReport:
    """What a sweep did, or would do.

    Attributes:
        nodes: Nodes that were looked at.
        files: Files that went to sleep.
        bytes_freed: Of working copies that were dropped.
        failures: Why files stayed awake, by file: their object is gone or damaged, or the store refused or did not
            answer.
        finished: False when the limit was reached: the next run goes on.
    """

    nodes: int = 0
    files: int = 0
    bytes_freed: int = 0
    failures: dict[UUID, str] = field(default_factory=dict)
    finished: bool = True

    def __add__(self, other: SweepReport) -> SweepReport:
        """Both together; a dry run of both counts twice what is due to both."""
        return SweepReport(
            self.nodes + other.nodes,
            self.files + other.files,
            self.bytes_freed + other.bytes_freed,
            self.failures | other.failures,
            self.finished and other.finished,
        )

    def add(self, rows: Sequence[Manifest], failures: Mapping[UUID, Exception]) -> None:
        """Count a batch of files."""
        asleep = [row for row in rows if row["file_id"] not in failures]
        self.files += len(asleep)
        self.bytes_freed += sum(row["size_bytes"] for row in asleep if has_working_copy(row))
        self.failures |= {file_id: str(error) for file_id, error in failures.items()}


@dataclass(frozen=True, slots=True)
class _Sweep:
    """Which nodes and which of their files are due, and on whose account they go to sleep."""

    nodes: sql.SQL
    files: sql.SQL
    cause: CompressionCause
    terms: Mapping[str, Any]


def sweep_dormant(
    context: Context,
    *,
    limit: int = 10_000,
    user_id: UUID | None = None,
    overdue_seconds: float = 0.0,
    dry_run: bool = False,
    on_done: Callable[[int], None] | None = None,
) -> SweepReport:
    """Send to sleep what was not accessed for ``dormancy_days``, in nodes that were not accessed for as long.

    Args:
        limit: Most files of one run.
        user_id: Only this user's files.
        overdue_seconds: Only what has been due for so long.
        dry_run: Count what is due, and change nothing.
        on_done: Told how many files were just finished.
    """
    sweep = _Sweep(
        _QUERIES["dormancy_nodes"],
        _QUERIES["dormancy_files"],
        CompressionCause.SCHEDULER,
        {"user_id": user_id, "seconds": context.settings.dormancy_days * _DAY_SECONDS + overdue_seconds},
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
    """Send back to sleep what was opened for ``recompress_ttl_minutes`` and not again; as ``sweep_dormant``."""
    sweep = _Sweep(
        _QUERIES["expiry_nodes"],
        _QUERIES["expiry_files"],
        CompressionCause.TTL_EXPIRY,
        {
            "user_id": user_id,
            "seconds": context.settings.recompress_ttl_minutes * 60,
            "overdue_seconds": overdue_seconds,
        },
    )
    return _run(context, sweep, limit, dry_run, on_done)


def sweep_awake(
    context: Context,
    *,
    user_id: UUID,
    node_id: UUID | None = None,
    dry_run: bool = False,
    on_done: Callable[[int], None] | None = None,
) -> SweepReport:
    """Send to sleep all of a user's files that are awake, whenever they were accessed; as ``sweep_dormant``.

    Args:
        node_id: Only this node's.
    """
    sweep = _Sweep(
        _QUERIES["awake_nodes"],
        _QUERIES["awake_files"],
        CompressionCause.MANUAL,
        {"user_id": user_id, "node_id": node_id},
    )
    return _run(context, sweep, sys.maxsize, dry_run, on_done)


def has_expired(context: Context) -> bool:
    """Whether ``sweep_expired`` has a node to look at."""
    seconds = context.settings.recompress_ttl_minutes * 60
    with context.database.pipeline() as tx:
        nodes = tx.execute(_QUERIES["expiry_nodes"], {"user_id": None, "seconds": seconds, "overdue_seconds": 0})
        return nodes.fetchone() is not None


def compress(context: Context, place: FilePlace) -> None:
    """Send one file to sleep now; nothing happens when it sleeps already.

    Raises:
        NotFoundError: The file is gone.
        RehydratingError: It is being woken at this moment.
        LostObjectError: Its durable object is gone or damaged: logged as ``failed``, and the file stays awake.
        StorageError: The object store refused: the file stays awake.
        TransientError: The object store did not answer.
    """
    with context.database.pipeline() as tx:
        upgrade_node(tx, place.node_id, place.schema_name)
        manifest = transitions.lock(tx, place)
        if manifest["compression_state"] == CompressionState.REHYDRATING:
            raise RehydratingError(
                f"file {place.file_id} is being decompressed: ask again in a moment", retry_after_seconds=1.0
            )
        if manifest["compression_state"] == CompressionState.DORMANT:
            return
        failures = _send_to_sleep(tx, context.objects, place.schema, [manifest], CompressionCause.MANUAL, map)
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
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="sweep") as movers:
        for node in nodes:
            with suppress(NotFoundError):  # what was removed meanwhile has no files
                schema = sql.Identifier(node["schema_name"])
                after = _BEFORE_ALL
                report.nodes += 1
                while True:
                    if looked_at >= limit:
                        report.finished = False
                        return report
                    with database.pipeline() as tx:
                        if not dry_run:
                            upgrade_node(tx, node["node_id"], node["schema_name"])
                        rows = tx.execute(
                            sweep.files.format(schema=schema),
                            {**sweep.terms, "after": after, "limit": min(_BATCH_FILES, limit - looked_at)},
                        ).fetchall()
                        failures = {} if dry_run else _send_to_sleep(tx, objects, schema, rows, sweep.cause, movers.map)
                    if not rows:
                        break
                    after = rows[-1]["file_id"]
                    looked_at += len(rows)
                    report.add(rows, failures)
                    if on_done is not None:
                        on_done(len(rows))
                if not dry_run:  # a file that was opened again put off its time, but not that of its node
                    with database.pipeline() as tx:
                        tx.execute(_QUERIES["sum_file_states"], node)
    return report


def _send_to_sleep(
    tx: Transaction,
    objects: ObjectStore,
    schema: sql.Identifier,
    rows: Sequence[Manifest],
    cause: CompressionCause,
    mapping: Callable[..., Iterable[tuple[UUID, _Failure | None]]],
) -> dict[UUID, _Failure]:
    """Put the objects of locked rows away, and then change the state of those that are.

    Returns:
        What kept files awake.
    """
    outcomes = dict(mapping(partial(_put_away, objects), rows))
    failures = {file_id: error for file_id, error in outcomes.items() if error is not None}
    for file_id, error in failures.items():
        if isinstance(error, LostObjectError):
            transitions.note_failure(tx, schema, file_id, str(error), cause)
    transitions.make_dormant(tx, schema, [file_id for file_id in outcomes if file_id not in failures], cause)
    return failures


def _put_away(objects: ObjectStore, manifest: Manifest) -> tuple[UUID, _Failure | None]:
    try:
        put_to_sleep(objects, manifest)
    except (StorageError, TransientError) as error:
        return manifest["file_id"], error
    return manifest["file_id"], None
