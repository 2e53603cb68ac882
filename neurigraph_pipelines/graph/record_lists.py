"""Records of the whole graph, page by page, newest first."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from psycopg.types.json import Jsonb
from pydantic import BaseModel, Field

from neurigraph_pipelines.database.paging import Listing, Page
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.navigation import record_view
from neurigraph_pipelines.model import Claims, ContentType
from neurigraph_pipelines.model.ports import Database
from neurigraph_pipelines.text.hygiene import clean_text, utc
from neurigraph_pipelines.views.records import ListedRecord

_QUERIES = statements("listing")
_INSIDE = ("occurred_after", "occurred_before", "content_type", "superseded", "entity", "topic", "order")


class RecordFilter(BaseModel, frozen=True):
    """The conditions of a list of records: a record meets all that are set."""

    node_id: UUID | None = Field(default=None, description="In this node, or below it.")
    below: bool = Field(default=True, description="False leaves out the nodes below `node_id`.")
    source_id: UUID | None = Field(default=None, description="From this conversation, event or upload.")
    created_after: datetime | None = Field(default=None, description="Stored at this time or later.")
    created_before: datetime | None = Field(default=None, description="Stored before this time.")
    occurred_after: datetime | None = Field(default=None, description="Of events then or later.")
    occurred_before: datetime | None = Field(default=None, description="Of events before this time.")
    content_type: ContentType | None = None
    superseded: bool | None = Field(default=None, description="Whether a newer memory replaces it. Default: both.")
    entity: str | None = Field(default=None, description="With this entity; case is ignored.")
    topic: str | None = Field(default=None, description="With this topic; case is ignored.")
    order: Literal["created_at", "occurred_at"] = Field(
        default="created_at", description="The time by which they are ordered, newest first."
    )


def list_records(asked: Listing, wanted: RecordFilter) -> Page[ListedRecord]:
    """Return a page of the records that the caller sees. A node or source that it does not see has none.

    Raises:
        InvalidInputError: The cursor is not one of this list.
    """
    database, claims = asked.database, asked.claims
    filters = {name: _plain(value) for name, value in wanted.model_dump().items() if value is not None}

    def read(place: dict[str, object]) -> list[ListedRecord]:
        values = {
            "user_id": claims.user_id,
            "nodes": _nodes(database, claims, wanted),
            "source_id": wanted.source_id,
            "created_after": filters.get("created_after"),
            "created_before": filters.get("created_before"),
            "inside": Jsonb({name: filters[name] for name in _INSIDE if name in filters}),
            **place,
        }
        return [record_view(ListedRecord, row["found"]) for row in database.ask(claims, _QUERIES["records"], values)]

    return asked.by_time("records", filters, read, lambda one: (getattr(one, wanted.order), one.record_id))


def _nodes(database: Database, claims: Claims, wanted: RecordFilter) -> list[UUID] | None:
    """Return the nodes to list; None for all."""
    if wanted.node_id is None:
        return None
    values = {"user_id": claims.user_id, "node_id": wanted.node_id, "below": wanted.below}
    return [row["node_id"] for row in database.ask(claims, _QUERIES["node_and_below"], values)]


def _plain(value: Any) -> Any:
    """Return a condition as JSON has it."""
    if isinstance(value, datetime):
        return utc(value).isoformat()
    if isinstance(value, str):
        return clean_text(str(value), "repair")[0]
    return value if isinstance(value, bool) else str(value)
