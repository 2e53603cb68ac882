"""Facts as a caller sees them: pages of facts, newest first, or one fact with its places and changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from neurigraph_pipelines.database.asking import ask_views
from neurigraph_pipelines.database.paging import MAX_PAGE, NEWEST, Listing, Page
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import NotFoundError
from neurigraph_pipelines.model.ports import Database
from neurigraph_pipelines.text.hygiene import clean_text, utc
from neurigraph_pipelines.views.facts import Fact, FactChange, FactHistory, FactWithPlaces, SaidIn
from neurigraph_pipelines.views.kinds import FactKind, FactStatus

_QUERIES = statements("facts")
_LISTING = statements("listing")


@dataclass(frozen=True, slots=True)
class FactFilter:
    """The conditions of a list of facts: a fact meets all that are set.

    Attributes:
        node_id: Of records in this node, or below it.
        below: Whether records of the nodes below count, too.
        who: About this person, as the fact names them.
        occurred_after: Of events at this time or later.
        superseded: True for facts that later versions or newer records replaced, False for the others.
        status: Only of this status. None leaves out archived facts.
        tags: With all of these tags.
        forgotten: True for facts that are hidden until they are erased, which only the owner sees.
    """

    node_id: UUID | None = None
    below: bool = True
    record_id: UUID | None = None
    kind: FactKind | None = None
    who: str | None = None
    occurred_after: datetime | None = None
    occurred_before: datetime | None = None
    superseded: bool | None = None
    status: FactStatus | None = None
    tags: tuple[str, ...] = ()
    forgotten: bool = False


def list_facts(asked: Listing, wanted: FactFilter) -> Page[Fact]:
    """Return a page of the facts that the caller sees. A node or record that it does not see has none.

    Raises:
        InvalidInputError: The cursor is not one of this list.
    """
    database, claims = asked.database, asked.claims

    def read(place: dict[str, object]) -> list[Fact]:
        nodes = None
        if wanted.node_id is not None:
            values = {"user_id": claims.user_id, "node_id": wanted.node_id, "below": wanted.below}
            nodes = [row["node_id"] for row in database.ask(claims, _LISTING["node_and_below"], values)]
        return _rows(database, claims, wanted, nodes=nodes, **place)

    return asked.by_time("facts", asdict(wanted), read, lambda one: (one.recorded_at, one.fact_id))


def fact(database: Database, claims: Claims, fact_id: UUID) -> FactWithPlaces:
    """Return a fact with the places, at most 100, that state it or say the same.

    Raises:
        NotFoundError: There is no such fact, or the caller does not see it; also in the function below.
    """
    (found,) = _required(database, claims, [fact_id])
    said_in = ask_views(database, claims, _QUERIES["said_in"], SaidIn, {"fact_id": fact_id})
    return FactWithPlaces(**dict(found), said_in=said_in)


def history(database: Database, claims: Claims, fact_id: UUID) -> FactHistory:
    """Return the versions of a fact that the caller sees, the first one first, and their changes, newest first.

    Third parties see no changes.
    """
    versions = [row["fact_id"] for row in database.ask(claims, _QUERIES["versions"], {"fact_id": fact_id})]
    found = _required(database, claims, versions)
    changes = ask_views(database, claims, _QUERIES["changes"], FactChange, {"fact_ids": versions})
    return FactHistory(versions=sorted(found, key=lambda one: one.version), changes=changes)


def _required(database: Database, claims: Claims, fact_ids: Sequence[UUID]) -> list[Fact]:
    found = _rows(database, claims, FactFilter(), fact_ids=list(fact_ids), forgotten=None) if fact_ids else []
    if not found:
        raise NotFoundError
    return found


def _rows(database: Database, claims: Claims, wanted: FactFilter, **values: Any) -> list[Fact]:
    after, before = wanted.occurred_after, wanted.occurred_before
    filters = asdict(wanted) | {
        "user_id": claims.user_id,
        "fact_ids": None,
        "nodes": None,
        "who": None if wanted.who is None else clean_text(wanted.who, "repair")[0],
        "tags": [clean_text(tag, "repair")[0] for tag in wanted.tags] or None,
        "occurred_after": None if after is None else utc(after),
        "occurred_before": None if before is None else utc(before),
        "at": NEWEST[0],
        "id": NEWEST[1],
        "limit": MAX_PAGE,
    }
    return ask_views(database, claims, _QUERIES["facts"], Fact, filters | values)
