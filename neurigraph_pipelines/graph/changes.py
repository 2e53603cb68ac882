"""Parts that all changes of a graph share: permission checks, the transaction, and the report.

``moving`` moves records, ``reshaping`` changes nodes, and ``locks`` has the locks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple
from uuid import UUID

from neurigraph_pipelines.access.authentication import require_owner
from neurigraph_pipelines.access.guards import FREE, Guard
from neurigraph_pipelines.database.asking import rows_of
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.candidates import move_candidates
from neurigraph_pipelines.graph.locks import lock_graph_exclusive
from neurigraph_pipelines.graph.naming import name_key
from neurigraph_pipelines.graph.navigation import path_view
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import ConflictError, NotFoundError, require_found
from neurigraph_pipelines.model.ports import Database, Transaction

_QUERIES = statements("graph_changes")


class GraphNode(NamedTuple):
    """The properties of a node that changes use. ``names`` run from the root down."""

    node_id: UUID
    parent_node_id: UUID | None
    name: str
    name_key: str
    node_type: str
    layer_depth: int
    schema_name: str
    summary: str
    names: list[str]

    @property
    def path(self) -> str:
        """The path as shown to people."""
        return path_view(self.names)


@contextmanager
def change_graph(
    database: Database, claims: Claims, dry_run: bool, guard: Guard = FREE
) -> Iterator[tuple[Transaction, str]]:
    """Open a transaction as the owner of the tables, with the graph locked exclusively; a dry run is rolled back.

    The guard admits the change here; the caller notes the result.

    Yields:
        The transaction, and the slug of the user.
    """
    with database.owner() as tx, tx.transaction(force_rollback=dry_run):
        slug = lock_graph_exclusive(tx, claims.user_id)
        guard.admit(tx)
        yield tx, slug


def require_owner_of(database: Database, claims: Claims, *node_ids: UUID) -> None:
    """Check that the caller sees the nodes and owns the graph.

    Raises:
        NotFoundError: A node does not exist, or is not visible to the caller.
        ForbiddenError: The nodes are visible, but the caller does not own the graph.
    """
    with database.agent(claims) as tx:
        for node_id in node_ids:
            require_found(tx.execute(_QUERIES["node_is_visible"], {"node_id": node_id}).fetchone())
    require_owner(claims)


def node_and_below(tx: Transaction, user_id: UUID, node_id: UUID) -> list[GraphNode]:
    """Return a node and all nodes below it, shallowest first.

    Raises:
        NotFoundError: The user has no such node.
    """
    nodes = rows_of(tx, _QUERIES["node_and_below"], GraphNode, {"user_id": user_id, "node_id": node_id})
    if not nodes:
        raise NotFoundError
    return nodes


def require_free_name(below: Sequence[GraphNode], parent: GraphNode, name: str) -> None:
    """Check that no child of ``parent`` has a name.

    Args:
        below: All nodes below ``parent``, at any depth.
        parent: The future parent of the node.
        name: The name to check.

    Raises:
        ConflictError: A child has the name.
    """
    if any(node.parent_node_id == parent.node_id and node.name_key == name_key(name) for node in below):
        raise ConflictError(f"{parent.path} has a node called {name!r} already: choose another name, or merge the two")


def update_candidates(
    tx: Transaction, user_id: UUID, before: Sequence[GraphNode], now: Sequence[GraphNode], successors: dict[UUID, UUID]
) -> None:
    """Change the paths that candidates refer to.

    Args:
        tx: A transaction of the owner that has locked the graph exclusively.
        user_id: The user.
        before: Nodes before the change.
        now: The same nodes after the change, without removed ones.
        successors: The nodes that removed nodes were merged into.
    """
    new_paths = {node.node_id: tuple(node.names[1:]) for node in now}
    paths = {tuple(node.names[1:]): new_paths[successors.get(node.node_id, node.node_id)] for node in before}
    move_candidates(tx, user_id, {old: new for old, new in paths.items() if old != new})
