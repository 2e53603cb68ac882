"""The answers of the inbox to new sources and messages."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from uuid import UUID

from pydantic import Field

from neurigraph_pipelines.views.base import View
from neurigraph_pipelines.views.kinds import Progress, SourceKind


class Conversation(View):
    """A conversation of the inbox."""

    conversation_id: UUID


class Appended(View):
    """Counts of the messages that were appended, recognised, replaced and repaired."""

    added: int = Field(description="Number of new messages.")
    known: int = Field(description="Number of messages that were already there, word for word.")
    conflicts: list[str] = Field(
        description="External ids that already exist with another text; the existing text stays."
    )
    replaced: int = Field(description="Number of newest, incomplete messages that this request replaced.")
    repaired: int = Field(
        description="Number of messages with text that no database can store; U+FFFD replaces that text."
    )
    tokens: int = Field(description="Number of tokens by which the conversation or event grew.")
    redacted: dict[str, int] = Field(
        description="Number of redactions by kind (`email`, `phone`, `card`, `key`), if redaction on write is on."
    )

    def __add__(self, other: Appended) -> Appended:
        """Return the counts of both."""
        return Appended(
            added=self.added + other.added,
            known=self.known + other.known,
            conflicts=self.conflicts + other.conflicts,
            replaced=self.replaced + other.replaced,
            repaired=self.repaired + other.repaired,
            tokens=self.tokens + other.tokens,
            redacted=dict(Counter(self.redacted) + Counter(other.redacted)),
        )


NOTHING = Appended(added=0, known=0, conflicts=[], replaced=0, repaired=0, tokens=0, redacted={})


class Ended(View):
    """A conversation that has ended."""

    conversation_id: UUID
    ended_at: datetime


class Event(View):
    """An event of the inbox."""

    event_id: UUID
    messages: Appended | None = Field(default=None, description="Result of appending the messages, if any were sent.")


class EventEnded(View):
    """An event that has ended."""

    event_id: UUID
    ended_at: datetime


class Note(View):
    """A note that waits for its memory, or that was there already."""

    note_id: UUID
    version: int = Field(description="Counts from 1.")
    created: bool = Field(description="False: the same note was there already, and nothing was written.")
    node_id: UUID | None = Field(description="The node that it is pinned to.")
    replaces: UUID | None = Field(
        description="The note whose memory this one supersedes once it is stored; for a later version, the note itself."
    )
    redacted: dict[str, int] = Field(
        default_factory=dict, description="Number of redactions by kind, if redaction on write is on."
    )
    record_ids: list[UUID] = Field(
        default_factory=list, description="The memories of a note that was there already; none while it waits."
    )
    action_id: UUID | None = Field(
        default=None, description="The action whose approval it waits for, if its node's standard asks for one."
    )


class Added(View):
    """A conversation or a note that was added in one call."""

    source_kind: SourceKind = Field(description="`conversation` or `note`.")
    source_id: UUID
    created: bool = Field(description="False: it was there already, and nothing was added.")
    state: Progress
    record_ids: list[UUID] = Field(description="The memories that it became so far; none while it waits.")
    conflicts: list[str] = Field(
        description="External ids of messages that already exist with another text; the existing text stays."
    )
    redacted: dict[str, int] = Field(description="Number of redactions by kind, if redaction on write is on.")


class Uploaded(View):
    """A file that was received."""

    upload_id: UUID
    notes: list[str] = Field(
        default_factory=list,
        description="Of a file that was there already, how it differs from what was asked. None of a new one, which is "
        "read in the background: `GET /v1/uploads/{upload_id}` has its notes.",
    )
