"""Locks for changes of a user's graph.

Commits and other writers to nodes lock the graph shared, many at once. Moving records, and moving, merging or dropping
nodes, locks the graph exclusively. Sweeps, searches and openings do not lock the graph. A change waits for their row
locks only briefly at a time and holds no row locks meanwhile, so no deadlock is possible.

All take locks in one order: the graph, the user, tables to drop, files, records, nodes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, suppress
from functools import wraps
from typing import ParamSpec, TypeVar
from uuid import UUID

from psycopg import errors, sql

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model.errors import NotFoundError, RehydratingError, TransientError, require_found
from neurigraph_pipelines.model.ports import Transaction

PATIENCE_SECONDS = 60.0
"""Longest time that a change of the graph waits for readers and writers of its rows."""

_ATTEMPT_MILLISECONDS = 250  # shorter than Postgres' deadlock_timeout, after which it would abort a transaction
_PAUSE_SECONDS = 0.05
_LOOKUPS = 3
P = ParamSpec("P")
T = TypeVar("T")
_QUERIES = statements("graph_changes")


def lock_graph_shared(tx: Transaction, user_id: UUID) -> None:
    """Lock a user's graph shared until the transaction ends: nodes and records cannot move."""
    tx.execute(_QUERIES["lock_graph_shared"], {"user_id": user_id})


def lock_graph_exclusive(tx: Transaction, user_id: UUID) -> str:
    """Lock a user's graph exclusively until the transaction ends: nobody else writes to its nodes.

    Returns:
        The user's slug.

    Raises:
        NotFoundError: The user does not exist (any more).
    """
    tx.execute(_QUERIES["lock_graph_exclusive"], {"user_id": user_id})
    row = require_found(tx.execute(_QUERIES["lock_user"], {"user_id": user_id}).fetchone())
    return str(row["slug"])


def give_way(begin: Callable[[], AbstractContextManager[Transaction]], change: Callable[[Transaction], T]) -> T:
    """Run a change in its own transaction, and run it again if another transaction holds a lock that the change needs.

    Only the lock of the graph is waited for in a queue. The change waits briefly for all others, so the others never
    wait for it long enough to be aborted as part of a deadlock.

    Args:
        begin: Opens a transaction of the owner.
        change: Calls ``wait_briefly`` once it has locked the graph.

    Raises:
        TransientError: Others held the locks for ``PATIENCE_SECONDS``.
    """
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            with begin() as tx:
                return change(tx)
        except (errors.LockNotAvailable, errors.DeadlockDetected):
            if time.monotonic() > until:
                raise _busy() from None
            time.sleep(_PAUSE_SECONDS)


def wait_briefly(tx: Transaction) -> None:
    """Let the rest of a transaction of ``give_way`` wait only briefly for each lock."""
    tx.execute(_QUERIES["limit_waits"], {"milliseconds": _ATTEMPT_MILLISECONDS})


def retry_not_found(look_up: Callable[P, T]) -> Callable[P, T]:
    """Repeat a lookup that raises ``NotFoundError``, because a record may have moved between two of its queries.

    For functions that do not lock the graph and have no effect if they find nothing.
    """

    @wraps(look_up)
    def retrying(*args: P.args, **kwargs: P.kwargs) -> T:
        for _ in range(_LOOKUPS - 1):
            with suppress(NotFoundError):
                return look_up(*args, **kwargs)
        return look_up(*args, **kwargs)

    return retrying


def lock_rows(
    tx: Transaction,
    records: Mapping[str, Collection[UUID]],
    nodes: Collection[UUID],
    to_drop: Mapping[UUID, str] | None = None,
    *,
    relocated: Collection[UUID] = (),
) -> None:
    """Lock all rows that a change is about to write; release everything and retry if one is locked.

    Args:
        tx: A transaction of the owner that has locked the graph exclusively.
        records: Records that will move, by the schema of their node.
        nodes: Nodes that will change.
        to_drop: Nodes that will be dropped, with their schemas.
        relocated: Nodes that will get another name or parent; their keys are locked against new references.

    Raises:
        RehydratingError: One of the files is being decompressed.
        TransientError: Rows stayed locked for ``PATIENCE_SECONDS``.
    """
    until = time.monotonic() + PATIENCE_SECONDS
    tx.execute(_QUERIES["lock_locations"])
    while True:
        try:
            with tx.transaction():
                wait_briefly(tx)
                _lock(tx, records, nodes, to_drop or {}, relocated)
            break
        except (errors.LockNotAvailable, errors.DeadlockDetected):
            if time.monotonic() > until:
                raise _busy() from None
            time.sleep(_PAUSE_SECONDS)
    tx.execute(_QUERIES["limit_waits"], {"milliseconds": 0})


def _busy() -> TransientError:
    return TransientError("these nodes are being read or written all the time: try again in a moment", retry_after=5.0)


def _lock(
    tx: Transaction,
    records: Mapping[str, Collection[UUID]],
    nodes: Collection[UUID],
    to_drop: Mapping[UUID, str],
    relocated: Collection[UUID],
) -> None:
    for schema in sorted(to_drop.values()):
        tx.execute(_QUERIES["lock_tables"].format(schema=sql.Identifier(schema)))
    for schema, record_ids in sorted(records.items()):
        node_schema, ids = sql.Identifier(schema), {"record_ids": list(record_ids)}
        files = tx.execute(_QUERIES["lock_files"].format(schema=node_schema), ids).fetchall()
        if any(file["is_being_woken"] for file in files):
            raise RehydratingError(
                "a file of these records is being decompressed: try again in a moment", retry_after_seconds=1.0
            )
        tx.execute(_QUERIES["lock_records"].format(schema=node_schema), ids)
    tx.execute(_QUERIES["lock_nodes"], {"node_ids": list(nodes)})
    tx.execute(_QUERIES["lock_keys_of_nodes"], {"node_ids": [*to_drop, *relocated]})
    tx.execute(_QUERIES["delete_warm_nodes"], {"node_ids": list(to_drop)})
