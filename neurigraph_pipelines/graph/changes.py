"""What every change of a graph has in common: who may make it, its one transaction, and what it says of itself.

The changes themselves are in ``moving`` (of records) and ``reshaping`` (of nodes); who waits for whom is in
``exclusion``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self
from uuid import UUID

from neurigraph_pipelines.access import require_owner
from neurigraph_pipelines.errors import ConflictError, NotFoundError
from neurigraph_pipelines.graph import candidates
from neurigraph_pipelines.graph.locks import lock_graph_exclusive
from neurigraph_pipelines.graph.naming import name_key
from neurigraph_pipelines.graph.navigation import shown_path
from neurigraph_pipelines.model import Claims, NodeType
from neurigraph_pipelines.ports import Database, Transaction
from neurigraph_pipelines.statements import statements

_QUERIES = statements("graph_changes")


@dataclass(frozen=True, slots=True)
class GraphChange:
    """What a change of the graph did, or would do.

    Attributes:
        node_id: The node that was changed, or that what was moved lies in now; None for one that is not made because
            of a dry run.
        node_path: Where that node lies, from the root down.
        records: That lie in another node now.
        nodes_moved: That lie elsewhere now, with all below them.
        nodes_removed: That were merged into others.
        grants_ended: Grants of nodes that were removed.
    """

    node_id: UUID | None
    node_path: str
    records: int = 0
    nodes_moved: int = 0
    nodes_removed: int = 0
    grants_ended: int = 0
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A node as a change needs it. ``names`` run from the root down."""

    node_id: UUID
    parent_node_id: UUID | None
    name: str
    name_key: str
    node_type: NodeType
    layer_depth: int
    schema_name: str
    aliases: tuple[str, ...]
    summary: str
    names: tuple[str, ...]

    @classmethod
    def of_row(cls, row: dict[str, Any]) -> Self:
        """From a row of the graph index with its names."""
        return cls(
            row["node_id"],
            row["parent_node_id"],
            row["node_name"],
            row["name_key"],
            NodeType(row["node_type"]),
            row["layer_depth"],
            row["schema_name"],
            tuple(row["aliases"]),
            row["node_summary"] or "",
            tuple(row["names"]),
        )

    @property
    def path(self) -> str:
        """As it is shown."""
        return shown_path(list(self.names))


@contextmanager
def changing(database: Database, claims: Claims, dry_run: bool) -> Iterator[tuple[Transaction, str]]:
    """A transaction that nobody else changes this graph in, as the owner of all tables; a dry run is taken back.

    Yields:
        The transaction, and the slug of the user.
    """
    with database.owner() as tx, tx.transaction(force_rollback=dry_run):
        yield tx, lock_graph_exclusive(tx, claims.user_id)


def require_owner_of(database: Database, claims: Claims, *node_ids: UUID) -> None:
    """Let the owner of a graph through; what others do not see is not there.

    Raises:
        NotFoundError: A node is absent, or not visible to whoever asks.
        ForbiddenError: It is visible, and whoever asks does not own the graph.
    """
    with database.agent(claims) as tx:
        for node_id in node_ids:
            if tx.execute(_QUERIES["sees_node"], {"node_id": node_id}).fetchone() is None:
                raise NotFoundError
    require_owner(claims)


def node_and_below(tx: Transaction, user_id: UUID, node_id: UUID) -> list[GraphNode]:
    """A node and all that lies below it, shallowest first.

    Raises:
        NotFoundError: The user has no such node.
    """
    rows = tx.execute(_QUERIES["node_and_below"], {"user_id": user_id, "node_id": node_id}).fetchall()
    if not rows:
        raise NotFoundError
    return [GraphNode.of_row(row) for row in rows]


def refuse_taken_name(siblings: Sequence[GraphNode], parent: GraphNode, name: str) -> None:
    """Two nodes below one never share a name.

    Args:
        siblings: What lies below ``parent``, at any depth.
        parent: Where the name is to be borne.
        name: By whom it is not borne yet.

    Raises:
        ConflictError: It is taken.
    """
    if any(node.parent_node_id == parent.node_id and node.name_key == name_key(name) for node in siblings):
        raise ConflictError(f"{parent.path} has a node called {name!r} already: choose another name, or merge the two")


def follow(
    tx: Transaction, user_id: UUID, before: Sequence[GraphNode], now: Sequence[GraphNode], successors: dict[UUID, UUID]
) -> None:
    """Let what goes by the paths of nodes follow them.

    Args:
        before: Nodes as they were.
        now: The same, as they are, where they still are.
        successors: What those that are gone were merged into.
    """
    places = {node.node_id: node.names[1:] for node in now}
    paths = {node.names[1:]: places[successors.get(node.node_id, node.node_id)] for node in before}
    candidates.follow(tx, user_id, {old: new for old, new in paths.items() if old != new})
