"""Pages of mentions of a node, evidence of an edge, and other names of nodes.

Everything is read with the caller's rights: denied rows are absent, also in strengths and counts.
"""

from __future__ import annotations

from uuid import UUID

from neurigraph_pipelines.database.asking import ask_views
from neurigraph_pipelines.database.paging import NEWEST, Cursors, Page, Position
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.naming import name_key
from neurigraph_pipelines.model import AliasType, Claims, MentionRole
from neurigraph_pipelines.model.errors import InvalidInputError, NotFoundError
from neurigraph_pipelines.model.ports import Database
from neurigraph_pipelines.text.hygiene import clean_text
from neurigraph_pipelines.views.evidence import EdgeEvidence, ListedAlias, Mention, StatedEdge

_QUERIES = statements("evidence")
_FIRST: Position = ("-infinity", str(UUID(int=0)))


def page_of_mentions(
    database: Database,
    cursors: Cursors,
    claims: Claims,
    node_id: UUID,
    role: MentionRole | None = None,
    *,
    limit: int = 50,
    cursor: str | None = None,
) -> Page[Mention]:
    """Return a page of the mentions of a node, the last stored first.

    Raises:
        NotFoundError: There is no such node, or the caller may not see it.
        InvalidInputError: The cursor is not one of this list.
    """
    _require_node(database, claims, node_id)
    values = {"node_id": node_id, "role": role}

    def read(after: Position | None, most: int) -> list[Mention]:
        at, last = after or NEWEST
        return ask_views(
            database, claims, _QUERIES["mentions_of_node"], Mention, {**values, "at": at, "id": last, "limit": most}
        )

    return cursors.page(claims, "mentions", values, limit, cursor, read, lambda one: (one.created_at, one.mention_id))


def edge_of(database: Database, claims: Claims, edge_id: UUID) -> StatedEdge:
    """Return an edge, with strength, counts and validity over the evidence that the caller sees.

    Raises:
        NotFoundError: There is no such edge, or the caller sees no evidence for it.
    """
    found = ask_views(database, claims, _QUERIES["edge"], StatedEdge, {"edge_id": edge_id})
    if not found:
        raise NotFoundError
    return found[0]


def page_of_evidence(
    database: Database,
    cursors: Cursors,
    claims: Claims,
    edge_id: UUID,
    *,
    limit: int = 50,
    cursor: str | None = None,
) -> Page[EdgeEvidence]:
    """Return a page of the evidence of an edge, the newest first.

    Raises:
        InvalidInputError: The cursor is not one of this list.
    """

    def read(after: Position | None, most: int) -> list[EdgeEvidence]:
        at, last = after or NEWEST
        values = {"edge_id": edge_id, "at": at, "id": last, "limit": most}
        return ask_views(database, claims, _QUERIES["evidence_of_edge"], EdgeEvidence, values)

    return cursors.page(
        claims,
        "evidence",
        {"edge_id": edge_id},
        limit,
        cursor,
        read,
        lambda one: (one.created_at, one.evidence_id),
    )


def page_of_aliases(
    database: Database,
    cursors: Cursors,
    claims: Claims,
    *,
    node_id: UUID | None = None,
    value: str | None = None,
    alias_type: AliasType | None = None,
    limit: int = 50,
    cursor: str | None = None,
) -> Page[ListedAlias]:
    """Return a page of other names and ids, of one node or with one value.

    Raises:
        NotFoundError: There is no such node, or the caller may not see it.
        InvalidInputError: Neither a node nor a value is given, or the cursor is not one of this list.
    """
    if node_id is not None:
        _require_node(database, claims, node_id)
    elif value is None:
        raise InvalidInputError("name a node, or the value to look for")
    key = None if value is None else name_key(clean_text(value, "repair")[0])
    asked = {"user_id": claims.user_id, "node_id": node_id, "value_key": key, "type": alias_type}

    def read(after: Position | None, most: int) -> list[ListedAlias]:
        at, last = after or _FIRST
        return ask_views(
            database, claims, _QUERIES["aliases"], ListedAlias, {**asked, "at": at, "id": last, "limit": most}
        )

    return cursors.page(claims, "aliases", asked, limit, cursor, read, lambda one: (one.created_at, one.alias_id))


def _require_node(database: Database, claims: Claims, node_id: UUID) -> None:
    if not database.ask(claims, _QUERIES["node_is_visible"], {"node_id": node_id}):
        raise NotFoundError
