"""Facts, page by page, newest first: of the whole graph, of a node or of one record."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.facts import FactKind
from neurigraph_pipelines.paging import NEWEST, Cursors, Page, Position
from neurigraph_pipelines.ports import Database
from neurigraph_pipelines.statements import statements
from neurigraph_pipelines.text.hygiene import clean_text, utc

_QUERIES = statements("facts")
_LISTING = statements("listing")


@dataclass(frozen=True, slots=True)
class FactFilter:
    """Which facts to list: those that meet all conditions that are set.

    Attributes:
        node_id: Of records in this node, or below it.
        below: Whether records of the nodes below count, too.
        who: About this person, as the fact names them.
        occurred_after: Of what happened at this time or later.
        superseded: True for facts of records that newer ones replaced, False for the others.
    """

    node_id: UUID | None = None
    below: bool = True
    record_id: UUID | None = None
    kind: FactKind | None = None
    who: str | None = None
    occurred_after: datetime | None = None
    occurred_before: datetime | None = None
    superseded: bool | None = None


def list_facts(
    database: Database,
    cursors: Cursors,
    claims: Claims,
    wanted: FactFilter,
    *,
    limit: int = 50,
    cursor: str | None = None,
) -> Page[dict[str, Any]]:
    """Return a page of the facts that the caller sees. A node or record that it does not see has none.

    Raises:
        InvalidInputError: The cursor is not one of this list.
    """

    def read(after: Position | None, most: int) -> list[dict[str, Any]]:
        at, last = after or NEWEST
        nodes = None
        if wanted.node_id is not None:
            place = {"user_id": claims.user_id, "node_id": wanted.node_id, "below": wanted.below}
            nodes = [row["node_id"] for row in database.ask(claims, _LISTING["node_and_below"], place)]
        values = asdict(wanted) | {
            "user_id": claims.user_id,
            "fact_ids": None,
            "nodes": nodes,
            "who": None if wanted.who is None else clean_text(wanted.who, "repair")[0],
            "occurred_after": None if wanted.occurred_after is None else utc(wanted.occurred_after),
            "occurred_before": None if wanted.occurred_before is None else utc(wanted.occurred_before),
            "at": at,
            "id": last,
            "limit": most,
        }
        return database.ask(claims, _QUERIES["facts"], values)

    return cursors.page(
        claims, "facts", asdict(wanted), limit, cursor, read, lambda row: (row["recorded_at"], row["fact_id"])
    )
