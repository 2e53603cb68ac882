"""Conversations, events, uploads and notes with their progress: lists, single ones, and the records that they became.

The owner of a graph sees all, a persona those that it handed in, other callers none.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from psycopg import sql
from pydantic import BaseModel, Field

from neurigraph_pipelines.database.paging import NEWEST, Listing, Page, Position
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model import Claims, Progress, SourceKind
from neurigraph_pipelines.model.errors import NotFoundError
from neurigraph_pipelines.model.ports import Database
from neurigraph_pipelines.text.hygiene import clean_text, utc
from neurigraph_pipelines.views.scalars import Row
from neurigraph_pipelines.views.sources import (
    ConversationState,
    EventState,
    ListedConversation,
    ListedEvent,
    ListedNote,
    ListedUpload,
    NoteState,
    Provenance,
    Source,
    SourceState,
    Upload,
)

_QUERIES = statements("listing")
_LISTED: dict[SourceKind, type[Source]] = {
    SourceKind.CONVERSATION: ListedConversation,
    SourceKind.EVENT: ListedEvent,
    SourceKind.UPLOAD: ListedUpload,
    SourceKind.NOTE: ListedNote,
}
_STATES: dict[SourceKind, type[ConversationState] | type[EventState] | type[Upload] | type[NoteState]] = {
    SourceKind.CONVERSATION: ConversationState,
    SourceKind.EVENT: EventState,
    SourceKind.UPLOAD: Upload,
    SourceKind.NOTE: NoteState,
}
_Source = TypeVar("_Source", bound=Source)


class SourceFilter(BaseModel, frozen=True):
    """The conditions of a list of sources: a source meets all that are set."""

    state: Progress | None = Field(default=None, description="Only sources in this state.")
    external_id: str | None = Field(default=None, description="Only the source with this id.")
    title: str | None = Field(default=None, description="Only sources with all of these words in the title.")
    received_after: datetime | None = Field(default=None, description="Received at this time or later.")
    received_before: datetime | None = Field(default=None, description="Received before this time.")
    started_after: datetime | None = Field(default=None, description="Started at this time or later.")
    started_before: datetime | None = Field(default=None, description="Started before this time.")
    upload_id: UUID | None = Field(default=None, description="Only conversations of this uploaded export.")


def list_sources(asked: Listing, kind: SourceKind, wanted: SourceFilter) -> Page[Source]:
    """Return a page of sources of one kind, the last received first.

    Raises:
        InvalidInputError: The cursor is not one of this list.
    """

    def read(after: Position | None, most: int) -> list[Source]:
        rows = _read(asked.database, asked.claims, kind, wanted, after or NEWEST, most)
        return [_view(_LISTED[kind], row) for row in rows]

    return asked.page(f"sources:{kind}", wanted.model_dump(), read, _position)


def get_source(database: Database, claims: Claims, kind: SourceKind, source_id: UUID) -> SourceState:
    """Return one source, with the ids of the records that it became.

    Raises:
        NotFoundError: There is no such source of this kind, or the caller may not see it.
    """
    found = _read(database, claims, kind, SourceFilter(), NEWEST, 1, source_id)
    if not found:
        raise NotFoundError
    values = {"user_id": claims.user_id, "source_id": source_id}
    records = database.ask(claims, _QUERIES["records_of_source"], values)
    return _view(_STATES[kind], {**found[0], "record_ids": [row["record_id"] for row in records]})


def settled(database: Database, source_ids: Collection[UUID]) -> set[UUID]:
    """Return which of some sources, of any user, are stored or have failed."""
    with database.pipeline() as tx:
        return {row["source_id"] for row in tx.execute(_QUERIES["settled"], {"source_ids": list(source_ids)})}


def _read(
    database: Database,
    claims: Claims,
    kind: SourceKind,
    wanted: SourceFilter,
    after: Position,
    limit: int,
    source_id: UUID | None = None,
) -> list[dict[str, object]]:
    at, last = after
    times = {name: value and utc(value) for name, value in wanted.model_dump().items() if isinstance(value, datetime)}
    values = {
        **wanted.model_dump(),
        **times,
        "external_id": wanted.external_id and clean_text(wanted.external_id, "repair")[0],
        "user_id": claims.user_id,
        "source_id": source_id,
        "words": [f"%{_escaped(word)}%" for word in clean_text(wanted.title or "", "repair")[0].split()],
        "at": at,
        "id": last,
        "limit": limit,
    }
    literals = {"kind": sql.Literal(kind.value), "state": sql.Literal(wanted.state and wanted.state.value)}
    return database.ask(claims, _QUERIES["sources"].format(**literals), values)


def _escaped(word: str) -> str:
    """Return a word in which no character is a wildcard of LIKE."""
    return word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _view(view: type[_Source], row: Row) -> _Source:
    """Return a row of the query ``sources`` as a view, in which an event's kind is that of the event."""
    kind = row["kind"]
    details = Provenance.of(kind, row["details"])
    return view.model_validate({**row, **dict(details), "kind": row["event_kind"], f"{kind}_id": row["source_id"]})


def _position(one: Source) -> tuple[datetime, UUID]:
    return one.received_at, one.source_id
