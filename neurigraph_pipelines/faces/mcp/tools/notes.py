"""``remember``: a note that an agent writes, which goes through the inbox as everything does."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from pydantic import Field

from neurigraph_pipelines.faces.mcp.calls import AgentCall, stop_if_cancelled
from neurigraph_pipelines.faces.mcp.results import Result
from neurigraph_pipelines.faces.mcp.tools.tool import Arguments, ListOf, Tool
from neurigraph_pipelines.inbox.notes import MAX_PRIORITY, IncomingNote, OnConflict, write_note
from neurigraph_pipelines.model import Tier
from neurigraph_pipelines.model.limits import MAX_TAGS
from neurigraph_pipelines.model.sources import MAX_URL_LENGTH, SourceDetails

MAX_TEXT_CHARACTERS = 1_000_000
"""Longest note; the limit of the endpoint's bodies lies above it."""


class RememberArguments(Arguments):
    """Arguments of ``remember``."""

    content: str = Field(min_length=1, max_length=MAX_TEXT_CHARACTERS)
    title: str = ""
    path: str = Field(default="", max_length=2_000, description="Node to file it at, such as Family/Dave.")
    node_id: UUID | None = None
    importance: float | None = Field(default=None, ge=0, le=1)
    priority: int | None = Field(default=None, ge=1, le=MAX_PRIORITY)
    tags: ListOf[str] = Field(default=[], max_length=MAX_TAGS)
    url: str = Field(default="", max_length=MAX_URL_LENGTH, description="Page that it is from.")
    tier: Tier | None = Field(default=None, description="short: kept for hours; mid: for days; default: for good.")
    replaces: UUID | None = Field(default=None, description="note_id that this one supersedes.")
    on_conflict: OnConflict = Field(
        default=OnConflict.ERROR, description="If the node has a note of this title: refuse it, or replace that one."
    )


class Remembered(Result):
    """A note that waits for its memory."""

    note_id: str
    version: int
    created: bool
    node_id: str | None
    replaces: str | None
    record_ids: list[str]

    def lines(self) -> Iterator[str]:
        """Yield the written note, and the way to find it."""
        if self.created:
            yield f"Noted: note_id {self.note_id}, version {self.version}. It is stored in the background."
            yield "Call remember again with the same arguments to get its record_id, which open_memory reads."
        else:
            yield f"This note was there already: note_id {self.note_id}, version {self.version}. Nothing was written."
            yield f"Its record_id: {', '.join(self.record_ids)}." if self.record_ids else "It waits to be stored."
        if self.node_id is not None:
            yield f"It lies at node_id {self.node_id}."
        if self.replaces is not None:
            yield f"Its memory replaces that of note_id {self.replaces}."


def remember(call: AgentCall, given: RememberArguments) -> Remembered:
    """Write a note."""
    if given.node_id is not None:
        call.require_visible("node", given.node_id)
    if given.replaces is not None:
        call.require_visible("source", given.replaces)
    stop_if_cancelled()
    written = write_note(
        call.context,
        IncomingNote(
            given.content,
            title=given.title or None,
            path=given.path or None,
            node_id=given.node_id,
            importance=given.importance,
            priority=given.priority,
            tags=tuple(given.tags),
            on_conflict=given.on_conflict,
            replaces=given.replaces,
            details=SourceDetails(url=given.url or None, tier=given.tier),
        ),
    )
    return Remembered(
        note_id=str(written.note_id),
        version=written.version,
        created=written.created,
        node_id=None if written.node_id is None else str(written.node_id),
        replaces=None if written.replaces is None else str(written.replaces),
        record_ids=[str(one) for one in written.record_ids],
    )


REMEMBER = Tool(
    "remember",
    "Write a note: a fact, preference or decision worth keeping, in full sentences that stand alone. Writing the same "
    "note again changes nothing.",
    RememberArguments,
    Remembered,
    remember,
    reads=False,
)
