"""Reading the graph: the outline for filing, the tree for people, the shell of one node.

Reads only the database and opens no file. All functions run in the caller's transaction, whose role decides what is
visible.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple, TypeVar
from uuid import UUID

from psycopg.rows import DictRow

from neurigraph_pipelines.database.asking import rows_of, views_of
from neurigraph_pipelines.database.paging import Listing, Position
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.candidates import candidates_of
from neurigraph_pipelines.graph.describing import Described, clauses_of, definition_in, sentence_of
from neurigraph_pipelines.graph.naming import name_key
from neurigraph_pipelines.graph.profiles import find_profile
from neurigraph_pipelines.model import KEYWORD_COLUMNS, ConceptKind, Outline, OutlineNode
from neurigraph_pipelines.model.errors import NotFoundError, require_found
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.text.json_fields import JsonObject
from neurigraph_pipelines.text.languages import code_of
from neurigraph_pipelines.views.base import View
from neurigraph_pipelines.views.graph import Child, Edge, Shell, Tree, TreeEdge, TreeNode, TreePage

PATH_SEPARATOR = "/"

_View = TypeVar("_View", bound=View)
_QUERIES = statements("graph")


def path_view(names: list[str]) -> str:
    """Join names from the root down into a path such as ``bob/Family/Dave``."""
    return PATH_SEPARATOR.join(names)


def outline(tx: Transaction, user_id: UUID, embedding_model: str) -> Outline:
    """Return all nodes of a user below the root, shallowest first, and the likeliest candidates.

    Centroids of models other than ``embedding_model`` are omitted, because nothing can be compared with them.
    """
    return Outline(
        nodes=tuple(
            OutlineNode(
                path=tuple(row["names"][1:]),
                kind=ConceptKind(row["kind"]),
                summary=row["summary"],
                keywords=tuple(row["keywords"] or ()),
                aliases=tuple(row["aliases"]),
                record_count=row["record_count"],
                centroid=(
                    tuple(row["centroid"].to_list())
                    if row["centroid"] is not None and row["embedding_model"] == embedding_model
                    else None
                ),
                of_persona=row["of_persona"],
            )
            for row in tx.execute(_QUERIES["outline"], {"user_id": user_id, "nodes": None, "filing": True})
            if row["depth"] > 0
        ),
        candidates=candidates_of(tx, user_id),
    )


def tree(tx: Transaction, user_id: UUID, wanted: Collection[UUID] | None = None) -> Tree:
    """Return the visible graph of a user from the root down, children by name, edges as links.

    Args:
        tx: A transaction with claims.
        user_id: The owner of the graph.
        wanted: Only these nodes; None for all.

    Raises:
        NotFoundError: The user has no graph, or nothing of it is visible.
    """
    edges = _edges(tx, user_id, wanted)
    named = None if wanted is None else [*wanted, *(edge.to_node_id for edge in edges)]
    nodes: dict[UUID, TreeNode] = {}
    paths: dict[UUID, str] = {}
    tops: list[TreeNode] = []
    for row in tx.execute(_QUERIES["outline"], {"user_id": user_id, "nodes": named, "filing": False}):
        paths[row["node_id"]] = path_view(row["names"][1:] if _is_whole(row["names"], row["depth"]) else row["names"])
        if wanted is not None and row["node_id"] not in wanted:
            continue
        node = nodes[row["node_id"]] = TreeNode.model_validate({**row, "children": [], "links": [], "edges": []})
        parent = nodes.get(row["parent_node_id"])
        (tops if parent is None else parent.children).append(node)
    if not tops:
        raise NotFoundError
    for edge in edges:
        source, target = edge.from_node_id, edge.to_node_id
        if source in nodes and target in paths:
            nodes[source].links.append(f"{edge.relation} → {paths[target]}")
            nodes[source].edges.append(TreeEdge(relation=edge.relation, node_id=target, strength=edge.strength))
    return Tree(**dict(tops[0]), others=tops[1:])


class _Edge(NamedTuple):
    """An edge between two nodes."""

    from_node_id: UUID
    to_node_id: UUID
    relation: str
    strength: float


class _Placed(NamedTuple):
    """A node with the ids from the root down to it."""

    node_id: UUID
    path: list[UUID]


def _edges(tx: Transaction, user_id: UUID, sources: Collection[UUID] | None) -> list[_Edge]:
    values = {"user_id": user_id, "nodes": None if sources is None else list(sources)}
    return rows_of(tx, _QUERIES["edges_of_user"], _Edge, values)


def page_of_tree(asked: Listing) -> TreePage:
    """Return a page of the visible graph as a tree.

    Pages go depth first. A page holds at most ``limit`` nodes, and again those above them, so that it is a tree.

    Raises:
        NotFoundError: Nothing of the graph is visible.
        InvalidInputError: The cursor is not one of the tree.
    """
    with asked.database.agent(asked.claims) as tx:
        reached: list[UUID] = []

        def read(after: Position | None, most: int) -> list[_Placed]:
            reached.extend(UUID(str(one)) for one in after or ())
            values = {"user_id": asked.claims.user_id, "after": reached, "limit": most}
            return rows_of(tx, _QUERIES["page_of_tree"], _Placed, values)

        page = asked.page("tree", {}, read, lambda one: one.path)
        above = page.items[0].path if page.items else reached
        found = tree(tx, asked.claims.user_id, {*above, *(one.node_id for one in page.items)})
        return TreePage(**dict(found), next_cursor=page.next_cursor)


def _is_whole(names: list[str], depth: int) -> bool:
    """Return whether all nodes above a node at this depth are visible, by their visible names."""
    return len(names) == depth + 1


def shell(tx: Transaction, node_id: UUID) -> Shell:
    """Return the shell of a node: identity, state, keywords, profile, children, edges.

    Raises:
        NotFoundError: No such node, or not visible to the caller.
    """
    row = require_found(tx.execute(_QUERIES["node_by_id"], {"node_id": node_id}).fetchone())
    parent_id, is_whole = row["parent_node_id"], _is_whole(row["names"], row["layer_depth"])
    if not is_whole and tx.execute(_QUERIES["node_by_id"], {"node_id": parent_id}).fetchone() is None:
        parent_id = None
    return Shell.model_validate(
        {
            **row,
            "name": row["node_name"],
            "kind": row["concept_kind"],
            "depth": row["layer_depth"],
            "path": path_view(row["names"]),
            "parent_node_id": parent_id,
            "state": row["compression_state"],
            "keywords": row["node_keywords"] or [],
            "summary": _summary(tx, row),
            "language": language_view(row["language"], row["record_count"]),
            "profile": find_profile(tx, node_id),
            "children": views_of(tx, _QUERIES["children_of_node"], Child, {"node_id": node_id}),
            "edges": views_of(tx, _QUERIES["edges_of_node"], Edge, {"node_id": node_id}),
        }
    )


def _summary(tx: Transaction, row: DictRow) -> str | None:
    """Return the summary of a node; for a person, with the descriptions of that person that the caller sees."""
    stored: str | None = row["node_summary"]
    name = row["node_name"]
    if row["concept_kind"] != ConceptKind.PERSON:
        return stored
    (clauses,) = clauses_of(tx.execute, row["user_id"], [Described(row["node_id"], [name, *row["aliases"]])])
    sentence = sentence_of(name, clauses)
    rest = (stored or "").removeprefix(definition_in(stored)).strip()
    return f"{sentence} {rest}".strip() if sentence else stored


def language_view(language: str, record_count: int) -> str | None:
    """Return the language of most memories at a node, such as ``de``; None if the caller sees none there."""
    return code_of(language) if record_count else None


def record_view(view: type[_View], found: JsonObject) -> _View:
    """Return the view of a record that the database names by its columns."""
    keywords = {name: found[column] for name, column in KEYWORD_COLUMNS.items()}
    return view.model_validate({**found, **keywords, "file_state": found["compression_state"]})


def totals(tx: Transaction, user_id: UUID) -> dict[str, int]:
    """Count a user's nodes, edges, records, files, sources, messages, tokens and unstored segments."""
    (row,) = tx.execute(_QUERIES["totals"], {"user_id": user_id})
    return {name: int(value) for name, value in row.items()}


def find_node(tx: Transaction, user_id: UUID, path: str) -> UUID:
    """Return the node at a path such as ``Family/Dave`` or ``bob/Family/Dave``, ignoring case and width.

    Raises:
        NotFoundError: No such node, or not visible to the caller.
    """
    keys = [name_key(part) for part in path.split(PATH_SEPARATOR) if part.strip()]
    row = tx.execute(_QUERIES["node_by_path"], {"user_id": user_id, "name_keys": keys}).fetchone()
    root = tx.execute(_QUERIES["root_of_user"], {"user_id": user_id}).fetchone()
    if row is None and root is not None and keys[:1] == [name_key(root["node_name"])]:
        row = tx.execute(_QUERIES["node_by_path"], {"user_id": user_id, "name_keys": keys[1:]}).fetchone()
    if row is None:  # a name may contain the separator
        shown = PATH_SEPARATOR.join(keys)
        row = tx.execute(_QUERIES["node_by_path_view"], {"user_id": user_id, "path": shown}).fetchone()
    if row is None:
        raise NotFoundError(f"there is no node {path!r}")
    node_id: UUID = row["node_id"]
    return node_id
