"""Nodes that are renamed, lie below another one, or become one: each change one transaction.

Whatever points at a node goes on pointing at it, or at the node that took its place: edges, candidates, records with
their history. Schema names stay as they are: they are handles, not descriptions. Moving single records is in
``moving``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

from psycopg import sql

from neurigraph_pipelines.errors import ConflictError
from neurigraph_pipelines.graph.changes import (
    GraphChange,
    GraphNode,
    changing,
    follow,
    node_and_below,
    refuse_taken_name,
    require_owner_of,
)
from neurigraph_pipelines.graph.locks import lock_rows
from neurigraph_pipelines.graph.moving import Chosen, carry, records_of
from neurigraph_pipelines.graph.naming import checked_name, name_key
from neurigraph_pipelines.graph.provisioning import upgrade_node
from neurigraph_pipelines.graph.shell import MAX_ALIASES, rebuild_shell
from neurigraph_pipelines.history import author_of
from neurigraph_pipelines.model import MAX_LAYER_DEPTH, Claims, NodeType
from neurigraph_pipelines.ports import Database
from neurigraph_pipelines.statements import statements

_QUERIES = statements("graph_changes")


def rename_node(database: Database, claims: Claims, node_id: UUID, name: str, *, dry_run: bool = False) -> GraphChange:
    """Give a node another name; it goes on being found by the one it had.

    Raises:
        InvalidInputError: The name is empty or too long.
        NotFoundError: The node is absent, or not visible to whoever asks; so everywhere below.
        ForbiddenError: Whoever asks does not own the graph; so everywhere below.
        ConflictError: The node is the root, or the name is taken beside it.
        TransientError: Others read or write there all the time; so everywhere below.
    """
    shown = checked_name(name)
    require_owner_of(database, claims, node_id)
    with changing(database, claims, dry_run) as (tx, _):
        before = node_and_below(tx, claims.user_id, node_id)
        node = before[0]
        parent_id = _parent_of(node, "renamed")
        if shown != node.name:
            parent, *siblings = node_and_below(tx, claims.user_id, parent_id)
            refuse_taken_name([other for other in siblings if other.node_id != node_id], parent, shown)
            lock_rows(tx, {}, [], placed=[node_id])
            # What people are is told behind their name.
            former, own = f"{node.name}: ", f"{shown}: "
            summary = own + node.summary.removeprefix(former) if node.summary.startswith(former) else node.summary
            tx.execute(
                _QUERIES["rename"],
                {
                    "node_id": node_id,
                    "node_name": shown,
                    "name_key": name_key(shown),
                    "aliases": _other_names(shown, node.aliases, former=node.name),
                    "node_summary": summary or None,
                },
            )
            now = node_and_below(tx, claims.user_id, node_id)
            follow(tx, claims.user_id, before, now, {})
            node = now[0]
    return GraphChange(node_id, node.path, dry_run=dry_run)


def move_node(
    database: Database, claims: Claims, node_id: UUID, parent_id: UUID, *, dry_run: bool = False
) -> GraphChange:
    """Let a node, with all that lies below it, lie below another one.

    Raises:
        ConflictError: The node is the root, the other one lies below it or is the node itself, its name is taken
            there, or something would lie below layer 5.
    """
    require_owner_of(database, claims, node_id, parent_id)
    with changing(database, claims, dry_run) as (tx, _):
        before = node_and_below(tx, claims.user_id, node_id)
        node = before[0]
        if _parent_of(node, "moved") == parent_id:
            return GraphChange(node_id, node.path, dry_run=dry_run)
        parent, *below = node_and_below(tx, claims.user_id, parent_id)
        if parent_id in {other.node_id for other in before}:
            raise ConflictError(f"{node.path} cannot lie below itself: move {parent.path} out of it first")
        refuse_taken_name(below, parent, node.name)
        _refuse_depth(node, before, parent)
        lock_rows(tx, {}, [other.node_id for other in before], placed=[node_id])
        tx.execute(
            _QUERIES["place_below"],
            {"node_id": node_id, "parent_node_id": parent_id, "layer_depth": parent.layer_depth + 1},
        )
        now = node_and_below(tx, claims.user_id, node_id)
        follow(tx, claims.user_id, before, now, {})
    return GraphChange(node_id, now[0].path, nodes_moved=len(now), dry_run=dry_run)


def merge_nodes(
    database: Database, claims: Claims, node_id: UUID, into_id: UUID, *, dry_run: bool = False
) -> GraphChange:
    """Let a node be one with another, which takes over its records, children, edges and names; it is gone then.

    Of children that bear the same name the one becomes one with the other in the same way. Grants end with the node
    that they are for: what it held is opened to nobody by that.

    Raises:
        ConflictError: The node is the root or a persona, or has one below it that would be merged; the other one is
            the node itself or lies below it; or something would lie below layer 5.
        RehydratingError: A file of a node that would go is being decompressed at this moment.
    """
    require_owner_of(database, claims, node_id, into_id)
    with changing(database, claims, dry_run) as (tx, slug):
        before = node_and_below(tx, claims.user_id, node_id)
        node = before[0]
        _parent_of(node, "merged away")
        if into_id in {other.node_id for other in before}:
            raise ConflictError(
                f"{node.path} cannot be merged into itself, nor into a node below it: merge the other way round"
            )
        target, *below = node_and_below(tx, claims.user_id, into_id)
        plan = _Plan(before, below)
        plan.merge(node, target)
        successors = {gone.node_id: heir.node_id for gone, heir in plan.merged}
        for other in {each for pair in plan.merged for each in pair}:
            upgrade_node(tx, other.node_id, other.schema_name)
        records = {gone.schema_name: records_of(tx, gone, Chosen()) for gone, _ in plan.merged}
        moved = [other.node_id for other in before if other.node_id not in successors]
        doomed = {gone.node_id: gone.schema_name for gone, _ in plan.merged}
        placed = [child.node_id for child, _ in plan.placed]
        lock_rows(tx, records, [*successors.values(), *moved], doomed, placed=placed)
        gone_ids = list(doomed)
        grants = tx.execute(_QUERIES["count_grants"], {"node_ids": gone_ids}).fetchone()
        assert grants is not None
        for gone, heir in plan.merged:
            carry(tx, records[gone.schema_name], gone, heir, author_of(claims))
        tx.execute(_QUERIES["yield_names"], {"node_ids": gone_ids})
        for child, heir in plan.placed:
            tx.execute(
                _QUERIES["place_below"],
                {"node_id": child.node_id, "parent_node_id": heir.node_id, "layer_depth": heir.layer_depth + 1},
            )
        tx.execute(_QUERIES["lead_edges_to"], {"node_ids": gone_ids, "successors": list(successors.values())})
        tx.execute(_QUERIES["delete_nodes"], {"node_ids": gone_ids})
        for gone, heir in plan.merged:
            tx.execute(_QUERIES["drop_schema"].format(schema=sql.Identifier(gone.schema_name)))
            names = _other_names(heir.name, (*heir.aliases, *gone.aliases), former=gone.name)
            rebuild_shell(tx, heir.node_id, slug, aliases=names, definition=heir.summary or gone.summary)
        now = node_and_below(tx, claims.user_id, into_id)
        follow(tx, claims.user_id, before, now, successors)
    return GraphChange(
        into_id,
        now[0].path,
        records=sum(map(len, records.values())),
        nodes_moved=len(moved),
        nodes_removed=len(doomed),
        grants_ended=grants["grants"],
        dry_run=dry_run,
    )


class _Plan:
    """Which nodes become one, and which children come to lie below another node.

    Attributes:
        merged: Nodes that go, each with the one that takes its place; a node comes before what lies below it.
        placed: Children of those that go and have no namesake, each with the node that it will lie below.
    """

    def __init__(self, going: Sequence[GraphNode], staying: Sequence[GraphNode]) -> None:
        self.merged: list[tuple[GraphNode, GraphNode]] = []
        self.placed: list[tuple[GraphNode, GraphNode]] = []
        self._going = going
        self._staying = staying

    def merge(self, node: GraphNode, into: GraphNode) -> None:
        """Plan for a node and all that lies below it."""
        if node.node_type is NodeType.PERSONA:
            raise ConflictError(f"{node.path} is a persona with keys of its own: what it knows can be moved, not it")
        self.merged.append((node, into))
        gone = {each.node_id for each, _ in self.merged}
        for child in _children(self._going, node):
            namesakes = [other for other in _children(self._staying, into) if other.name_key == child.name_key]
            namesakes = [other for other in namesakes if other.node_id not in gone]
            if namesakes:
                self.merge(child, namesakes[0])
            else:
                _refuse_depth(child, self._going, into)
                self.placed.append((child, into))


def _children(nodes: Iterable[GraphNode], parent: GraphNode) -> list[GraphNode]:
    return [node for node in nodes if node.parent_node_id == parent.node_id]


def _parent_of(node: GraphNode, done: str) -> UUID:
    if node.parent_node_id is None:
        raise ConflictError(f"the root of a graph cannot be {done}: it stands for its user")
    return node.parent_node_id


def _refuse_depth(node: GraphNode, known: Iterable[GraphNode], parent: GraphNode) -> None:
    """Nothing lies below layer 5.

    Args:
        node: What is to lie below ``parent``.
        known: All that lies below it, and maybe others.
    """
    deepest = max(other.layer_depth for other in known if other.names[: len(node.names)] == node.names)
    layer = parent.layer_depth + 1 + deepest - node.layer_depth
    if layer > MAX_LAYER_DEPTH:
        raise ConflictError(
            f"below {parent.path} what lies below {node.path} would be in layer {layer}, and {MAX_LAYER_DEPTH} is the "
            "deepest: move or merge it to a shallower node"
        )


def _other_names(name: str, aliases: Iterable[str], former: str) -> list[str]:
    """Aliases without doubles and without the name itself; a former name is among them whatever has to go."""
    distinct = {name_key(alias): alias for alias in reversed([former, *aliases])}
    distinct.pop(name_key(name), None)
    return list(reversed(distinct.values()))[:MAX_ALIASES]
