"""Facts as a caller sees them: pages of facts, newest first, or one fact with its places and changes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, Field

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


class FactFilter(BaseModel, frozen=True):
    """The conditions of a list of facts: a fact meets all that are set."""

    node_id: UUID | None = Field(default=None, description="Of memories in this node, or below it.")
    below: bool = Field(default=True, description="False leaves out the nodes below `node_id`.")
    kind: FactKind | None = None
    record_id: UUID | None = Field(default=None, description="Of this memory.")
    who: str | None = Field(default=None, description="About this person, as the fact names them.")
    occurred_after: datetime | None = Field(default=None, description="Of events then or later.")
    occurred_before: datetime | None = Field(default=None, description="Of events before this time.")
    superseded: bool | None = Field(
        default=None, description="Whether a later version or a newer memory replaces it. Default: both."
    )
    status: FactStatus | None = Field(default=None, description="Default: all but `archived`.")
    tags: list[str] | None = Field(default=None, max_length=20, description="With all of these tags.")
    forgotten: bool = Field(default=False, description="Facts that are hidden until they are erased; the owner's.")


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

    return asked.by_time("facts", wanted.model_dump(), read, lambda one: (one.recorded_at, one.fact_id))


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
    filters = wanted.model_dump() | {
        "user_id": claims.user_id,
        "fact_ids": None,
        "nodes": None,
        "who": None if wanted.who is None else clean_text(wanted.who, "repair")[0],
        "tags": [clean_text(tag, "repair")[0] for tag in wanted.tags or ()] or None,
        "occurred_after": None if after is None else utc(after),
        "occurred_before": None if before is None else utc(before),
        "at": NEWEST[0],
        "id": NEWEST[1],
        "limit": MAX_PAGE,
    }
    found = _QUERIES["of_user"] if "fact_ids" not in values else _QUERIES["of_ids"]
    return ask_views(database, claims, _QUERIES["facts"].format(found=found), Fact, filters | values)
