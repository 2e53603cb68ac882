"""Upgrades of nodes that an earlier version of the program made, in bounded batches, while the graph is in use.

Each node is upgraded in a transaction of its own, so a crash leaves it as it was or as it should be. A node that is in
use is not waited for, since those who come later would wait behind it. The shared schema belongs in ``migrations``, and
a writer upgrades the node that it writes to by ``provisioning.upgrade_node``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any
from uuid import UUID

from psycopg import errors

from neurigraph_pipelines.database.statements import newest, statements
from neurigraph_pipelines.graph.provisioning import apply_ddl
from neurigraph_pipelines.model.ports import Database, Transaction

BATCH = 100
"""Nodes of a batch."""

PATIENCE_SECONDS = 30.0
"""How long ``upgrade_all`` tries nodes again that are in use."""

_OTHERS = 4
_LOCK_MILLISECONDS = 100  # a search takes a few; those who come later wait behind an upgrade that waits
_PAUSE_SECONDS = 0.5
_QUERIES = statements("graph")
_CHANGES = statements("graph_changes")


@dataclass(frozen=True, slots=True)
class Upgraded:
    """The result of ``upgrade_all``: nodes that were upgraded, and nodes that were in use all the time."""

    nodes: int
    left: int


@dataclass(frozen=True, slots=True)
class NodesAhead:
    """What an upgrade has to do.

    Attributes:
        versions: The number of nodes by the version of their tables.
        sampled: How many of them were upgraded on trial.
        seconds: How long the upgrade takes, by the nodes of the sample. None if none could be tried.
    """

    versions: Mapping[int, int]
    sampled: int
    seconds: float | None

    @property
    def nodes(self) -> int:
        """The number of nodes to upgrade."""
        return sum(self.versions.values())


def has_outdated_nodes(database: Database) -> bool:
    """Return whether a node has DDL of an earlier version and is not being upgraded."""
    with database.owner() as tx:
        return _next(tx, []) is not None


def outdated_versions(database: Database) -> dict[int, int]:
    """Return the number of nodes to upgrade by the version of their tables."""
    with database.owner() as tx:
        rows = tx.execute(_QUERIES["outdated_versions"], {"version": newest("node")}).fetchall()
    return {row["node_ddl_version"]: row["nodes"] for row in rows}


def upgrade_nodes(database: Database, limit: int = BATCH) -> int:
    """Upgrade up to ``limit`` nodes to the current DDL, most recently used first, each in its own transaction.

    Returns:
        The number of upgraded nodes; fewer than ``limit`` means that none is left but those that are in use.
    """
    done, in_use = 0, list[UUID]()
    while done < limit:
        node: Mapping[str, Any] | None = None
        try:
            with database.owner() as tx:
                node = _next(tx, in_use)
                if node is None:
                    break
                _upgrade(tx, node)
        except (errors.LockNotAvailable, errors.DeadlockDetected):
            assert node is not None
            in_use.append(node["node_id"])
        else:
            done += 1
    return done


def upgrade_all(database: Database, on_done: Callable[[int], None], patience: float = PATIENCE_SECONDS) -> Upgraded:
    """Upgrade all nodes, in batches.

    Args:
        database: Used as the owner.
        on_done: Called after each batch with the number of its nodes.
        patience: How long nodes that are in use are tried again, in seconds since the last upgraded one.

    Returns:
        What was done. Nodes that are left are upgraded when somebody writes to them, or by the next run.
    """
    total, until = 0, time.monotonic() + patience
    while True:
        done = upgrade_nodes(database)
        if done:
            total, until = total + done, time.monotonic() + patience
            on_done(done)
        elif (left := sum(outdated_versions(database).values())) == 0 or time.monotonic() > until:
            return Upgraded(total, left)
        else:
            time.sleep(_PAUSE_SECONDS)


def nodes_ahead(database: Database) -> NodesAhead:
    """Return which nodes an upgrade has to change, and how long it takes. Changes nothing.

    The node with the most records and a few others are upgraded in transactions that are rolled back.
    """
    versions = outdated_versions(database)
    with database.owner() as tx:
        sample = tx.execute(_QUERIES["outdated_sample"], {"version": newest("node"), "others": _OTHERS}).fetchall()
    taken = [seconds for node in sample if (seconds := _tried(database, node)) is not None]
    if not taken:
        return NodesAhead(versions, 0, None if versions else 0.0)
    nodes = sum(versions.values())
    return NodesAhead(versions, len(taken), taken[0] + fmean(taken) * (nodes - 1))


def _tried(database: Database, node: Mapping[str, Any]) -> float | None:
    """Return how many seconds the upgrade of a node took, which is undone; None if it cannot be tried now."""
    with database.owner() as tx:
        start = time.perf_counter()
        try:
            with tx.transaction(force_rollback=True):
                _upgrade(tx, node)
        except errors.Error:  # in use or gone, or it needs migrations that are still ahead
            return None
        return time.perf_counter() - start


def _next(tx: Transaction, in_use: list[UUID]) -> dict[str, Any] | None:
    wanted = {"version": newest("node"), "without": in_use, "limit": 1}
    return tx.execute(_QUERIES["outdated_nodes"], wanted).fetchone()


def _upgrade(tx: Transaction, node: Mapping[str, Any]) -> None:
    tx.execute(_CHANGES["limit_waits"], {"milliseconds": _LOCK_MILLISECONDS})
    apply_ddl(tx, node["schema_name"], node["node_id"], node["user_id"], node["node_ddl_version"])
