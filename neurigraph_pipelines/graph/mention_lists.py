"""Pages of mentions of a node, evidence of an edge, and other names of nodes.

Everything is read with the caller's rights: denied rows are absent, also in strengths and counts.
"""

from __future__ import annotations

from uuid import UUID

from neurigraph_pipelines.database.asking import ask_views
from neurigraph_pipelines.database.paging import Listing, Page, Position
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.naming import name_key
from neurigraph_pipelines.model import AliasType, Claims, MentionRole
from neurigraph_pipelines.model.errors import InvalidInputError, NotFoundError, require_found
from neurigraph_pipelines.model.ports import Database
from neurigraph_pipelines.text.hygiene import clean_text
from neurigraph_pipelines.views.evidence import EdgeEvidence, ListedAlias, Mention, StatedEdge

_QUERIES = statements("evidence")
_FIRST: Position = ("-infinity", str(UUID(int=0)))


def page_of_mentions(asked: Listing, node_id: UUID, role: MentionRole | None = None) -> Page[Mention]:
    """Return a page of the mentions of a node, the last stored first.

    Raises:
        NotFoundError: There is no such node, or the caller may not see it.
        InvalidInputError: The cursor is not one of this list.
    """
    _require_node(asked, node_id)
    filters = {"node_id": node_id, "role": role}
    statement = _QUERIES["mentions_of_node"]
    return asked.views("mentions", filters, statement, Mention, lambda one: (one.created_at, one.mention_id))


def edge_of(database: Database, claims: Claims, edge_id: UUID) -> StatedEdge:
    """Return an edge, with strength, counts and validity over the evidence that the caller sees.

    Raises:
        NotFoundError: There is no such edge, or the caller sees no evidence for it.
    """
    found = ask_views(database, claims, _QUERIES["edge"], StatedEdge, {"edge_id": edge_id})
    return require_found(next(iter(found), None))


def page_of_evidence(asked: Listing, edge_id: UUID) -> Page[EdgeEvidence]:
    """Return a page of the evidence of an edge, the newest first.

    Raises:
        InvalidInputError: The cursor is not one of this list.
    """
    statement = _QUERIES["evidence_of_edge"]
    filters = {"edge_id": edge_id}
    return asked.views("evidence", filters, statement, EdgeEvidence, lambda one: (one.created_at, one.evidence_id))


def page_of_aliases(
    asked: Listing, *, node_id: UUID | None = None, value: str | None = None, alias_type: AliasType | None = None
) -> Page[ListedAlias]:
    """Return a page of other names and ids, of one node or with one value.

    Raises:
        NotFoundError: There is no such node, or the caller may not see it.
        InvalidInputError: Neither a node nor a value is given, or the cursor is not one of this list.
    """
    if node_id is not None:
        _require_node(asked, node_id)
    elif value is None:
        raise InvalidInputError("name a node, or the value to look for")
    key = None if value is None else name_key(clean_text(value, "repair")[0])
    filters = {"user_id": asked.claims.user_id, "node_id": node_id, "value_key": key, "type": alias_type}

    def read(place: dict[str, object]) -> list[ListedAlias]:
        return ask_views(asked.database, asked.claims, _QUERIES["aliases"], ListedAlias, {**filters, **place})

    return asked.by_time("aliases", filters, read, lambda one: (one.created_at, one.alias_id), _FIRST)


def _require_node(asked: Listing, node_id: UUID) -> None:
    if not asked.database.ask(asked.claims, _QUERIES["node_is_visible"], {"node_id": node_id}):
        raise NotFoundError
