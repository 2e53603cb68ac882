"""Renaming, moving and merging of nodes, each in one transaction.

Edges, candidates and records with their history keep pointing at a node, or point at its successor after a merge.
Schema names stay: they are handles, not descriptions. ``moving`` moves single records.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

from psycopg import sql

from neurigraph_pipelines.access.guards import FREE, Guard
from neurigraph_pipelines.database.asking import value_of
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.aliases import give_former_name
from neurigraph_pipelines.graph.changes import (
    GraphNode,
    change_graph,
    node_and_below,
    require_free_name,
    require_owner_of,
    update_candidates,
)
from neurigraph_pipelines.graph.history import author_of
from neurigraph_pipelines.graph.locks import lock_rows
from neurigraph_pipelines.graph.moving import records_of, transfer_records
from neurigraph_pipelines.graph.naming import checked_name, name_key
from neurigraph_pipelines.graph.shell import rebuild_shell
from neurigraph_pipelines.model import MAX_LAYER_DEPTH, Claims, NodeType
from neurigraph_pipelines.model.errors import ConflictError
from neurigraph_pipelines.model.ports import Database, Transaction
from neurigraph_pipelines.views.graph import GraphChange

_QUERIES = statements("graph_changes")


def rename_node(
    database: Database, claims: Claims, node_id: UUID, name: str, *, dry_run: bool = False, guard: Guard = FREE
) -> GraphChange:
    """Rename a node and keep its former name as an alias. The guard takes part in the transaction, as below.

    Raises:
        InvalidInputError: The name is empty or too long.
        NotFoundError: The node does not exist, or is not visible to the caller; also in the functions below.
        ForbiddenError: The caller does not own the graph; also in the functions below.
        ConflictError: The node is the root, or a sibling has the name.
        TransientError: Rows stayed locked by others for too long; also in the functions below.
    """
    shown = checked_name(name)
    require_owner_of(database, claims, node_id)
    with change_graph(database, claims, dry_run, guard) as (tx, _):
        before = node_and_below(tx, claims.user_id, node_id)
        node = before[0]
        parent_id = _parent_of(node, "renamed")
        if shown != node.name:
            parent, *siblings = node_and_below(tx, claims.user_id, parent_id)
            require_free_name([other for other in siblings if other.node_id != node_id], parent, shown)
            lock_rows(tx, {}, [], relocated=[node_id])
            # The summary of a person begins with the name.
            former, own = f"{node.name}: ", f"{shown}: "
            summary = own + node.summary.removeprefix(former) if node.summary.startswith(former) else node.summary
            tx.execute(
                _QUERIES["rename"],
                {
                    "node_id": node_id,
                    "node_name": shown,
                    "name_key": name_key(shown),
                    "node_summary": summary or None,
                },
            )
            give_former_name(tx, claims.user_id, node_id, shown, node.name, author_of(claims))
            now = node_and_below(tx, claims.user_id, node_id)
            update_candidates(tx, claims.user_id, before, now, {})
            node = now[0]
        change = GraphChange(node_id=node_id, node_path=node.path, dry_run=dry_run)
        guard.note_result(tx, change)
    return change


def move_node(
    database: Database, claims: Claims, node_id: UUID, parent_id: UUID, *, dry_run: bool = False, guard: Guard = FREE
) -> GraphChange:
    """Move a node, with all nodes below it, to another parent.

    Raises:
        ConflictError: The node is the root, the parent is the node itself or below it, the name is taken there, or a
            node would be below layer 5.
    """
    require_owner_of(database, claims, node_id, parent_id)
    with change_graph(database, claims, dry_run, guard) as (tx, _):
        before = node_and_below(tx, claims.user_id, node_id)
        node = before[0]
        if _parent_of(node, "moved") == parent_id:
            unmoved = GraphChange(node_id=node_id, node_path=node.path, dry_run=dry_run)
            guard.note_result(tx, unmoved)
            return unmoved
        parent, *below = node_and_below(tx, claims.user_id, parent_id)
        if parent_id in {other.node_id for other in before}:
            raise ConflictError(f"{node.path} cannot be moved below itself: move {parent.path} out of it first")
        require_free_name(below, parent, node.name)
        _require_depth(node, before, parent)
        lock_rows(tx, {}, [other.node_id for other in before], relocated=[node_id])
        tx.execute(
            _QUERIES["set_parent"],
            {"node_id": node_id, "parent_node_id": parent_id, "layer_depth": parent.layer_depth + 1},
        )
        now = node_and_below(tx, claims.user_id, node_id)
        update_candidates(tx, claims.user_id, before, now, {})
        change = GraphChange(node_id=node_id, node_path=now[0].path, nodes_moved=len(now), dry_run=dry_run)
        guard.note_result(tx, change)
    return change


def _records_of_merged(tx: Transaction, plan: _MergePlan) -> dict[str, list[UUID]]:
    """Return the records of the nodes that are merged away, by schema."""
    return {source.schema_name: records_of(tx, source) for source, _ in plan.merged}


def merge_nodes(
    database: Database, claims: Claims, node_id: UUID, into_id: UUID, *, dry_run: bool = False, guard: Guard = FREE
) -> GraphChange:
    """Merge a node into another, which gets its records, children, edges and names, and remove it.

    Children with equal names are merged in the same way. Grants of removed nodes end, so the merge gives nobody access
    to their records.

    Raises:
        ConflictError: The node is the root or a persona, or a persona below it would be merged; a node below it would
            be merged into a persona that the caller did not name; the target is the node itself or below it; or a node
            would be below layer 5.
        RehydratingError: A file of a node to remove is being decompressed.
    """
    require_owner_of(database, claims, node_id, into_id)
    with change_graph(database, claims, dry_run, guard) as (tx, slug):
        before = node_and_below(tx, claims.user_id, node_id)
        node = before[0]
        _parent_of(node, "merged away")
        if into_id in {other.node_id for other in before}:
            raise ConflictError(
                f"{node.path} cannot be merged into itself, nor into a node below it: merge the other way round"
            )
        target, *below = node_and_below(tx, claims.user_id, into_id)
        plan = _MergePlan(before, below)
        plan.merge(node, target)
        successors = {source.node_id: successor.node_id for source, successor in plan.merged}
        records = _records_of_merged(tx, plan)
        moved = [other.node_id for other in before if other.node_id not in successors]
        to_drop = {source.node_id: source.schema_name for source, _ in plan.merged}
        relocated = [child.node_id for child, _ in plan.relocated]
        lock_rows(tx, records, [*successors.values(), *moved], to_drop, relocated=relocated)
        grants = _count_grants(tx, list(to_drop))
        for source, successor in plan.merged:
            transfer_records(tx, records[source.schema_name], source, successor, author_of(claims), claims)
        _replace_nodes(tx, plan, slug, claims)
        now = node_and_below(tx, claims.user_id, into_id)
        update_candidates(tx, claims.user_id, before, now, successors)
        change = GraphChange(
            node_id=into_id,
            node_path=now[0].path,
            record_count=sum(map(len, records.values())),
            nodes_moved=len(moved),
            nodes_removed=len(to_drop),
            grants_ended=grants,
            dry_run=dry_run,
        )
        guard.note_result(tx, change)
    return change


def _count_grants(tx: Transaction, node_ids: Sequence[UUID]) -> int:
    return value_of(int, tx.execute(_QUERIES["count_grants"], {"node_ids": node_ids}))


def _replace_nodes(tx: Transaction, plan: _MergePlan, user_slug: str, claims: Claims) -> None:
    """Replace the emptied nodes of a plan by their successors, and drop them."""
    node_ids = [source.node_id for source, _ in plan.merged]
    tx.execute(_QUERIES["release_names"], {"node_ids": node_ids})
    for child, parent in plan.relocated:
        tx.execute(
            _QUERIES["set_parent"],
            {"node_id": child.node_id, "parent_node_id": parent.node_id, "layer_depth": parent.layer_depth + 1},
        )
    successors = [successor.node_id for _, successor in plan.merged]
    tx.execute(_QUERIES["redirect_nodes"], {"node_ids": node_ids, "successors": successors})
    tx.execute(_QUERIES["redirect_notes"], {"node_ids": node_ids, "successors": successors})
    tx.execute(_QUERIES["redirect_actions"], {"node_ids": node_ids, "successors": successors})
    tx.execute(_QUERIES["delete_nodes"], {"node_ids": node_ids})
    for source, successor in plan.merged:
        tx.execute(_QUERIES["drop_schema"].format(schema=sql.Identifier(source.schema_name)))
        give_former_name(tx, claims.user_id, successor.node_id, successor.name, source.name, author_of(claims))
        rebuild_shell(tx, successor.node_id, user_slug, definition=successor.summary or source.summary)


class _MergePlan:
    """Which nodes are merged, and which children get another parent.

    Attributes:
        merged: Nodes to remove, each with its successor; a node comes before the nodes below it.
        relocated: Children of removed nodes that are not merged, each with its new parent.
    """

    def __init__(self, sources: Sequence[GraphNode], targets: Sequence[GraphNode]) -> None:
        self.merged: list[tuple[GraphNode, GraphNode]] = []
        self.relocated: list[tuple[GraphNode, GraphNode]] = []
        self._sources = sources
        self._targets = targets

    def merge(self, node: GraphNode, into: GraphNode) -> None:
        """Plan the merge of a node and of all nodes below it."""
        if node.node_type == NodeType.PERSONA:
            raise ConflictError(f"{node.path} is a persona with its own keys and cannot be merged: move its records")
        self.merged.append((node, into))
        removed = {each.node_id for each, _ in self.merged}
        for child in _children(self._sources, node):
            same_name = [
                other
                for other in _children(self._targets, into)
                if other.name_key == child.name_key and other.node_id not in removed
            ]
            if same_name:
                if same_name[0].node_type == NodeType.PERSONA != child.node_type:
                    raise ConflictError(
                        f"{same_name[0].path} is a persona, whose keys would read {child.path}: "
                        "merge these two by themselves first, or rename one"
                    )
                self.merge(child, same_name[0])
            else:
                _require_depth(child, self._sources, into)
                self.relocated.append((child, into))


def _children(nodes: Iterable[GraphNode], parent: GraphNode) -> list[GraphNode]:
    return [node for node in nodes if node.parent_node_id == parent.node_id]


def _parent_of(node: GraphNode, operation: str) -> UUID:
    if node.parent_node_id is None:
        raise ConflictError(f"the root of a graph cannot be {operation}: it stands for its user")
    return node.parent_node_id


def _require_depth(node: GraphNode, known: Iterable[GraphNode], parent: GraphNode) -> None:
    """Check that a move puts no node below layer 5.

    Args:
        node: The node to put below ``parent``.
        known: All nodes below it, and possibly others.
        parent: The new parent.

    Raises:
        ConflictError: A node would be below layer 5.
    """
    deepest = max(other.layer_depth for other in known if other.names[: len(node.names)] == node.names)
    layer = parent.layer_depth + 1 + deepest - node.layer_depth
    if layer > MAX_LAYER_DEPTH:
        raise ConflictError(
            f"below {parent.path}, nodes below {node.path} would be in layer {layer}, and {MAX_LAYER_DEPTH} is the "
            "deepest: move or merge it to a shallower node"
        )
