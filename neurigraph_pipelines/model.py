"""The words of the domain as plain values.

Frozen dataclasses and enums only: no I/O, no SQL, no behaviour beyond what a value knows of itself. Enum values
are the labels of the Postgres enums of the same name.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

MAX_LAYER_DEPTH = 5
"""Deepest layer of a node below the user root, which is layer 0."""

RECORD_DIMENSIONS = 1536
"""Width of a record's embedding column; shorter vectors are padded with zeros."""

PASSAGE_DIMENSIONS = 512
"""Width of a passage's half-precision embedding columns."""


class NodeType(StrEnum):
    """What a node is to access control."""

    CONCEPT = "concept"
    PERSONA = "persona"


class SubjectType(StrEnum):
    """Who may be granted a node of somebody else's graph."""

    PERSONA = "persona"
    THIRD_PARTY = "third_party"


class GrantType(StrEnum):
    """What a grant of a node allows."""

    READ = "read"
    READ_WRITE = "read_write"


class ConceptKind(StrEnum):
    """What a concept node stands for."""

    USER = "user"
    TOPIC = "topic"
    PERSON = "person"
    PROJECT = "project"
    ORGANIZATION = "organization"
    PLACE = "place"
    THING = "thing"


class TriggerType(StrEnum):
    """Why a segment is stored."""

    CONVERSATION_END = "conversation_end"
    CHUNK_THRESHOLD = "chunk_threshold"
    EVENT_BOUNDARY = "event_boundary"


class SourceKind(StrEnum):
    """Where a segment comes from."""

    CONVERSATION = "conversation"
    EVENT = "event"
    UPLOAD = "upload"


class Privacy(StrEnum):
    """Who besides the owner of the graph may know of a source: whoever is granted its nodes, or nobody."""

    SHARED = "shared"
    PRIVATE = "private"


class EventKind(StrEnum):
    """What kind of event a source is, with a start and an end in the world."""

    MEETING = "meeting"
    CALL = "call"
    WORK_SESSION = "work_session"
    MILESTONE = "milestone"


class ContentType(StrEnum):
    """What a memory was made from."""

    CONVERSATION = "conversation"
    EVENT = "event"
    FILE_UPLOAD = "file_upload"
    OTHER = "other"


class CompressionState(StrEnum):
    """State of a file, or of a node's file layer."""

    ACTIVE = "active"
    DORMANT = "dormant"
    REHYDRATING = "rehydrating"


class CompressionCause(StrEnum):
    """Who made a file change its state."""

    SCHEDULER = "scheduler"
    RETRIEVAL = "retrieval"
    TTL_EXPIRY = "ttl_expiry"
    MANUAL = "manual"


class Role(StrEnum):
    """Who wrote a message, in the words of chat APIs."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message on its way into the inbox; one that is not ``complete`` is still streaming in."""

    role: Role
    content: str
    author: str | None = None
    external_id: str | None = None
    occurred_at: datetime | None = None
    tool_calls: tuple[dict[str, Any], ...] = ()
    complete: bool = True


@dataclass(frozen=True, slots=True)
class NewConversation:
    """A whole conversation as an importer reads it, or, with an ``event_kind``, a whole event.

    ``ended_at`` is None while it may go on.
    """

    external_id: str
    messages: tuple[NewMessage, ...]
    title: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    event_kind: EventKind | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """A message as the inbox holds it. ``seq`` counts from 1 within its conversation or event."""

    seq: int
    role: Role
    content: str
    token_count: int
    occurred_at: datetime
    author: str | None = None
    external_id: str | None = None
    tool_calls: tuple[dict[str, Any], ...] = ()

    @property
    def speaker(self) -> str:
        """Who is speaking, for people and for models: the author if known, else the role."""
        return self.author or self.role.value


@dataclass(frozen=True, slots=True)
class SegmentRef:
    """One row of ``storage_triggers``: a segment to store, without its text; ``persona_id`` of whoever handed it in."""

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

    @property
    def is_part(self) -> bool:
        """Whether messages of the segment are missing here at either end."""
        return self.messages[0].seq > self.ref.first_message or self.messages[-1].seq < self.ref.last_message

    def within(self, first: int, last: int) -> Segment:
        """The part whose message numbers lie in ``first..last``, both included."""
        return Segment(self.ref, tuple(m for m in self.messages if first <= m.seq <= last))


@dataclass(frozen=True, slots=True)
class OutlineNode:
    """What a model needs to know of one existing node to file something under it.

    Attributes:
        path: Node names from layer 1 down; the user root is the empty path.
        centroid: Mean of the records' embeddings (``RECORD_DIMENSIONS`` floats), once there are any.
    """

    path: tuple[str, ...]
    kind: ConceptKind
    summary: str = ""
    keywords: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    record_count: int = 0
    centroid: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class NodeCandidate:
    """Somebody or something that may come to deserve a node: evidence that is remembered until it adds up.

    Attributes:
        parent: Path of the node under which it was met.
        confidence: 0 to 1: of one segment, or combined over several.
        segments: How many segments gave it.
        edges: Relations stated meanwhile, which wait for the node to exist.
    """

    name: str
    kind: ConceptKind
    parent: tuple[str, ...]
    confidence: float
    segments: int = 1
    edges: tuple[PlannedEdge, ...] = ()


@dataclass(frozen=True, slots=True)
class Outline:
    """All nodes of one user below the root, shallowest first, and the likeliest candidates for further ones."""

    nodes: tuple[OutlineNode, ...] = ()
    candidates: tuple[NodeCandidate, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeProposal:
    """One step of a path that a model proposes, existing or new.

    Attributes:
        confidence: 0 to 1, that this deserves a node of its own at this place.
        summary: One or two sentences saying what the node represents.
    """

    name: str
    kind: ConceptKind
    confidence: float
    summary: str = ""
    keywords: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation that the content states between the placed node and somebody or something by name.

    Attributes:
        other: Name of the other node (an existing node or one proposed in the same batch).
        label: In the words of the content, such as ``coworker``, ``spouse``, ``builder``.
        strength: 0 to 1.
        of_user: The relation is the user's, not the placed node's (``my coworker Dave`` in content filed under
            somebody else); its edge starts at the topic.
        kind: What the other one is, when the model says so; only then may it come to have a node of its own.
    """

    other: str
    label: str
    strength: float = 0.5
    of_user: bool = False
    kind: ConceptKind | None = None


@dataclass(frozen=True, slots=True)
class Alias:
    """Another name that the content outright gives to whoever is called ``name``."""

    name: str
    alias: str


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a model files a run of messages: the steps from layer 1 down; relations and other names met on the way."""

    steps: tuple[NodeProposal, ...]
    first_message: int
    last_message: int
    relations: tuple[Relation, ...] = ()
    aliases: tuple[Alias, ...] = ()


@dataclass(frozen=True, slots=True)
class PlannedNode:
    """A node that a filing needs and that does not exist yet."""

    path: tuple[str, ...]
    kind: ConceptKind
    confidence: float
    summary: str = ""
    keywords: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlannedEdge:
    """An edge to write or to strengthen between two nodes, existing or planned, by their paths."""

    from_path: tuple[str, ...]
    to_path: tuple[str, ...]
    relation: str
    strength: float = 0.5


@dataclass(frozen=True, slots=True)
class PlannedAlias:
    """Another name of the node at ``path``, to be learned."""

    path: tuple[str, ...]
    alias: str


@dataclass(frozen=True, slots=True)
class Filing:
    """What was decided for one run of messages: one future record.

    Attributes:
        path: The node that takes the content, by names from layer 1 down; the empty path is the user root.
        new_nodes: Nodes to provision first, shallowest first; all lie on ``path``.
        notes: Decisions worth logging, such as a depth limit that was met.
        beside: Nodes to provision that do not lie on ``path``: people for whom the evidence now adds up.
        aliases: Other names to learn.
        candidates: Evidence to remember for nodes that are not made yet.
    """

    path: tuple[str, ...]
    first_message: int
    last_message: int
    new_nodes: tuple[PlannedNode, ...] = ()
    edges: tuple[PlannedEdge, ...] = ()
    notes: tuple[str, ...] = ()
    beside: tuple[PlannedNode, ...] = ()
    aliases: tuple[PlannedAlias, ...] = ()
    candidates: tuple[NodeCandidate, ...] = ()


@dataclass(frozen=True, slots=True)
class Summary:
    """The lightweight representative of a segment."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Keywords:
    """Structured keywords, each field stored in a column of its own.

    Attributes:
        entities: People, organisations, products, places.
        topics: Concept tags.
        dates: ISO dates or periods (``2023-05-07``, ``2023-05``, ``2022``), relative phrases already resolved.
        relationships: Descriptors such as ``coworker: Dave``.
    """

    entities: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    relationships: tuple[str, ...] = ()


KEYWORD_COLUMNS = {kind.name: f"kw_{kind.name}" for kind in fields(Keywords)}
"""The column of a record for each field of ``Keywords``."""


@dataclass(frozen=True, slots=True)
class Period:
    """A stretch of time that a question speaks of.

    Attributes:
        start: Its first moment; None where it is open.
        end: The first moment after it; None where it is open.
        words: How the question says it, such as ``last May``.
        certain: There is no other way to read the words; what is not certain is the likeliest of several.
    """

    start: datetime | None
    end: datetime | None
    words: str = ""
    certain: bool = False


@dataclass(frozen=True, slots=True)
class Evidence:
    """A message, or an excerpt of one, that a question may be answered from.

    Attributes:
        title: Of the memory that it is from.
    """

    text: str
    speaker: str
    occurred_at: datetime
    title: str = ""


@dataclass(frozen=True, slots=True)
class Statement:
    """A part of an answer, and the numbers, from 1, of the evidence that it rests on."""

    text: str
    evidence: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Claims:
    """Who is asking, as the database sees it."""

    sub: str
    role: str
    user_id: UUID

    @classmethod
    def of_user(cls, user_id: UUID) -> Claims:
        """Claims of the owner of a graph."""
        return cls(sub=str(user_id), role="user", user_id=user_id)


@dataclass(frozen=True, slots=True)
class StoredObject:
    """What an object store knows of one object; ``sha256`` is of the bytes at rest, in hex."""

    key: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class ExtractedPart:
    """A run of a file's text that is read as one, such as a page; ``place`` says where it stands (``page-3``)."""

    place: str
    text: str


@dataclass(frozen=True, slots=True)
class Extraction:
    """What could be read of a file.

    Attributes:
        parts: Its text in order; none where a file has no text, or nobody here can read it.
        facts: What else was found out, by name, such as ``pages`` or ``size``.
        unread: Why there is no text, in one clause; None where there is.
    """

    parts: tuple[ExtractedPart, ...] = ()
    facts: dict[str, str] = field(default_factory=dict)
    unread: str | None = None


@dataclass(frozen=True, slots=True)
class DroppedFile:
    """A file in a drop place: whose it is, its name below that, and which version of it this is."""

    user_slug: str
    name: str
    version: str
    modified_at: datetime


@dataclass(frozen=True, slots=True)
class ItemFailure:
    """Why one item of a batch did not get through a step; its neighbours go on."""

    trigger_id: UUID
    step: str
    error: str
    transient: bool
    retry_after: float | None = None


@dataclass(slots=True)
class RejectedItem:
    """Something of an import that could not be accepted, and why."""

    where: str
    reason: str


@dataclass(slots=True)
class ImportReport:
    """What an import did."""

    conversations_added: int = 0
    conversations_seen: int = 0
    messages_added: int = 0
    messages_known: int = 0
    messages_repaired: int = 0
    redacted: dict[str, int] = field(default_factory=dict)
    tokens_added: int = 0
    bytes_read: int = 0
    rejected: list[RejectedItem] = field(default_factory=list)
