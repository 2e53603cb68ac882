"""Messages, segments and the results of an import."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from neurigraph_pipelines.model.sources import NO_DETAILS, SourceDetails
from neurigraph_pipelines.model.tool_events import ToolEvent
from neurigraph_pipelines.views.kinds import EventKind, ReceivedThrough, Role, SourceKind, TriggerType
from neurigraph_pipelines.views.scalars import JsonObject


@dataclass(frozen=True, slots=True)
class IncomingMessage:
    """A message to add to the inbox. A message that is not ``complete`` is still being streamed.

    ``tool_calls`` are calls within a message; ``event`` is set if the message itself is an event of a tool.
    ``section`` is the part of a document that it is of: its headings, or its page.
    """

    role: Role
    content: str
    author: str | None = None
    external_id: str | None = None
    occurred_at: datetime | None = None
    tool_calls: tuple[JsonObject, ...] = ()
    complete: bool = True
    event: ToolEvent | None = None
    section: str | None = None


@dataclass(frozen=True, slots=True)
class ImportedConversation:
    """A whole conversation as an importer reads it, or, with an ``event_kind``, a whole event.

    ``ended_at`` is None while it may continue. The next version of a source may have an empty ``external_id``: it has
    that of the source it replaces.

    Attributes:
        by_words: Whether the file has no ids, so that what is stored already is recognised by words and minutes.
        has_certain_times: Whether nothing about its dates is assumed, so that they correct those stored.
        by_opening: Whether the file has no id, so that the external id is that of the first words. Then all words
            decide whether it is one of those stored that begin alike.
        former_ids: Ids that earlier releases derived for it, of names and titles.
    """

    external_id: str
    messages: tuple[IncomingMessage, ...]
    title: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    event_kind: EventKind | None = None
    details: SourceDetails = NO_DETAILS
    by_words: bool = False
    has_certain_times: bool = True
    by_opening: bool = False
    former_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Message:
    """A message as the inbox holds it. ``seq`` counts from 1 within its conversation or event.

    Attributes:
        key_id: The API key that handed it in; None if none did, or if that was not recorded.
        persona_id: The persona that handed it in; None is the owner.
        received_through: The door it came through; None if that was not recorded.
        received_at: When it arrived.
        section: The part of a document that it is of: its headings, or its page.
    """

    seq: int
    role: Role
    content: str
    token_count: int
    occurred_at: datetime
    author: str | None = None
    external_id: str | None = None
    tool_calls: tuple[JsonObject, ...] = ()
    key_id: UUID | None = None
    persona_id: UUID | None = None
    received_through: ReceivedThrough | None = None
    received_at: datetime | None = None
    event: ToolEvent | None = None
    section: str | None = None

    @property
    def speaker(self) -> str:
        """The author if known, else the role."""
        return self.author or self.role.value


@dataclass(frozen=True, slots=True)
class NoteOptions:
    """The choices of the writer of a note.

    Attributes:
        pinned: The note lies at ``node_id``, wherever a model would file it.
        node_id: That node; None if the note is not pinned, or if the node was removed meanwhile.
        importance: From 0 to 1; None if the writer did not say.
        tags: Topics of the record, before those that a model finds.
    """

    pinned: bool = False
    node_id: UUID | None = None
    importance: float | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SegmentRef:
    """One row of ``storage_triggers``: a segment to store, without its text. A persona may have submitted it.

    ``note`` is set for a version of a note; ``about`` is what the owner says of the spaces that the source is in;
    ``owner_name`` is the name of the owner's account.
    """

    trigger_id: UUID
    user_id: UUID
    user_slug: str
    source_kind: SourceKind
    source_id: UUID
    source_external_id: str | None
    title: str | None
    trigger_type: TriggerType
    first_message: int
    last_message: int
    token_count: int
    attempts: int
    persona_id: UUID | None = None
    note: NoteOptions | None = None
    about: str | None = None
    owner_name: str | None = None


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment with its messages, in order of ``seq``."""

    ref: SegmentRef
    messages: tuple[Message, ...]

    @property
    def occurred_at(self) -> datetime:
        """When the segment happened: the time of its first message."""
        return self.messages[0].occurred_at

    @property
    def speakers(self) -> tuple[str, ...]:
        """Named authors in order of first appearance (roles are not names)."""
        return tuple(dict.fromkeys(m.author for m in self.messages if m.author))

    def called(self, message: Message) -> str | None:
        """Return the author of a message: without one, the name of the owner's account if the owner speaks."""
        is_of_owner = message.role is Role.USER and message.persona_id is None and self.ref.persona_id is None
        is_from_outside = message.received_through in (ReceivedThrough.WEB, ReceivedThrough.PEER)
        if message.author or not is_of_owner or is_from_outside or self.ref.source_kind is SourceKind.UPLOAD:
            return message.author
        return self.ref.owner_name

    @property
    def is_part(self) -> bool:
        """Whether this is only a part of the segment of ``ref``."""
        return self.messages[0].seq > self.ref.first_message or self.messages[-1].seq < self.ref.last_message

    def within(self, first: int, last: int) -> Segment:
        """Return the part with message numbers ``first`` to ``last``, both included."""
        return Segment(self.ref, tuple(m for m in self.messages if first <= m.seq <= last))


@dataclass(frozen=True, slots=True)
class ItemFailure:
    """Why one item of a batch failed a step; the other items continue.

    Attributes:
        transient: Whether a retry may help.
        account: Whether the provider refused the account rather than this item, or may have.
    """

    trigger_id: UUID
    step: str
    error: str
    transient: bool
    retry_after: float | None = None
    account: bool = False


@dataclass(slots=True)
class RejectedItem:
    """An item of an import that was rejected, and why."""

    where: str
    reason: str


@dataclass(frozen=True, slots=True)
class ImportNote:
    """A note on an assumption, an omission or an unread part of an import.

    Attributes:
        text: Said once for a file.
        count: Cases, which are added up over the file; 0 for a note about the whole file.
    """

    text: str
    count: int = 0


@dataclass(slots=True)
class ImportReport:
    """The result of an import. ``notes`` say what was assumed, left out or not read."""

    conversations_added: int = 0
    conversations_seen: int = 0
    messages_added: int = 0
    messages_known: int = 0
    messages_repaired: int = 0
    redacted: dict[str, int] = field(default_factory=dict)
    tokens_added: int = 0
    bytes_read: int = 0
    rejected: list[RejectedItem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
