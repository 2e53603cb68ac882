"""Who waits for whom when the graph of a user changes its shape.

Commits and whoever else writes to nodes hold the graph, many at once; whoever moves records, or moves, merges or drops
nodes takes it, one at a time. Sweeps, searches and openings take no part: what they have locked is waited for only a
moment at a time, with nothing of theirs in hand, so that no two can wait for each other.

The order of everybody: the graph, the user, tables that will be dropped, files, records, nodes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import wraps
from typing import ParamSpec, TypeVar
from uuid import UUID

from psycopg import errors, sql

from neurigraph_pipelines.errors import NotFoundError, RehydratingError, TransientError
from neurigraph_pipelines.ports import Transaction
from neurigraph_pipelines.statements import statements

PATIENCE_SECONDS = 60.0
"""Longest that a change of the graph waits for those who read or write what it is about."""

_ATTEMPT_MILLISECONDS = 250  # less than Postgres waits before it looks for a deadlock, and ends somebody's transaction
_PAUSE_SECONDS = 0.05
_LOOKS = 3
P = ParamSpec("P")
T = TypeVar("T")
_QUERIES = statements("graph_changes")


def lock_graph_shared(tx: Transaction, user_id: UUID) -> None:
    """Keep nodes and records of a user where they are until the transaction ends."""
    tx.execute(_QUERIES["lock_graph_shared"], {"user_id": user_id})


def lock_graph_exclusive(tx: Transaction, user_id: UUID) -> str:
    """Be the only one who writes to the nodes of a user until the transaction ends.

    Returns:
        The user's slug.

    Raises:
        NotFoundError: There is no such user any more.
    """
    tx.execute(_QUERIES["lock_graph_exclusive"], {"user_id": user_id})
    row = tx.execute(_QUERIES["lock_user"], {"user_id": user_id}).fetchone()
    if row is None:
        raise NotFoundError
    return str(row["slug"])


def retry_not_found(look: Callable[P, T]) -> Callable[P, T]:
    """Call what looks something up again where it finds nothing: a record may have moved between two of its looks.

    For what takes no part in the turns of those who change graphs, and leaves nothing behind where it finds nothing.
    """

    @wraps(look)
    def looked(*args: P.args, **kwargs: P.kwargs) -> T:
        for _ in range(_LOOKS - 1):
            with suppress(NotFoundError):
                return look(*args, **kwargs)
        return look(*args, **kwargs)

    return looked


def lock_rows(
    tx: Transaction,
    records: Mapping[str, Collection[UUID]],
    nodes: Collection[UUID],
    doomed: Mapping[UUID, str] | None = None,
    *,
    placed: Collection[UUID] = (),
) -> None:
    """Lock what is about to change: all of it, or nothing yet and another attempt.

    Args:
        tx: Of the owner, in which the graph was taken.
        records: That move, by the schema of their node.
        nodes: That change.
        doomed: Nodes that will be dropped, with their schemas.
        placed: Nodes that will have another name or lie below another node: what points at them must wait, too.

    Raises:
        RehydratingError: One of the files is being decompressed at this moment.
        TransientError: Others were at it for ``PATIENCE_SECONDS``.
    """
    until = time.monotonic() + PATIENCE_SECONDS
    tx.execute(_QUERIES["lock_locations"])
    while True:
        try:
            with tx.transaction():
                tx.execute(_QUERIES["limit_waits"], {"milliseconds": _ATTEMPT_MILLISECONDS})
                _lock(tx, records, nodes, doomed or {}, placed)
            break
        except (errors.LockNotAvailable, errors.DeadlockDetected):
            if time.monotonic() > until:
                raise TransientError(
                    "others are reading or writing these nodes all the time: try again in a moment", retry_after=5.0
                ) from None
            time.sleep(_PAUSE_SECONDS)
    tx.execute(_QUERIES["limit_waits"], {"milliseconds": 0})


def _lock(
    tx: Transaction,
    records: Mapping[str, Collection[UUID]],
    nodes: Collection[UUID],
    doomed: Mapping[UUID, str],
    placed: Collection[UUID],
) -> None:
    for schema in sorted(doomed.values()):
        tx.execute(_QUERIES["lock_tables"].format(schema=sql.Identifier(schema)))
    for schema, record_ids in sorted(records.items()):
        places = {"schema": sql.Identifier(schema)}
        files = tx.execute(_QUERIES["lock_files"].format(**places), {"record_ids": list(record_ids)}).fetchall()
        if any(file["is_being_woken"] for file in files):
            raise RehydratingError(
                "a file of these records is being decompressed: try again in a moment", retry_after_seconds=1.0
            )
        tx.execute(_QUERIES["lock_records"].format(**places), {"record_ids": list(record_ids)})
    tx.execute(_QUERIES["lock_nodes"], {"node_ids": list(nodes)})
    tx.execute(_QUERIES["lock_keys_of_nodes"], {"node_ids": [*doomed, *placed]})
    tx.execute(_QUERIES["cool_nodes"], {"node_ids": list(doomed)})
