"""Bodies of responses, as the OpenAPI document shows them.

The values come from the domain as they are; these say what they mean.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from neurigraph_pipelines.ingestion.failures import ReplayOutcome
from neurigraph_pipelines.lifecycle.control import HISTORY_SHOWN
from neurigraph_pipelines.model import (
    CompressionCause,
    CompressionState,
    ConceptKind,
    ContentType,
    GrantType,
    NodeType,
    Role,
    SourceKind,
    SubjectType,
    TriggerType,
)


class User(BaseModel):
    """A user that was made, with the only copy of a first API key."""

    user_id: UUID
    slug: str
    root_node_id: UUID
    api_key: str


class Conversation(BaseModel):
    """A conversation of the inbox."""

    conversation_id: UUID


class Appended(BaseModel):
    """What became of the messages."""

    added: int = Field(description="Newly in the inbox.")
    known: int = Field(description="Were there already, word for word.")
    conflicts: list[str] = Field(description="External ids that are there with other words, which were kept.")
    replaced: int = Field(description="Were the newest and not complete, and gave way to what was sent now.")
    repaired: int = Field(description="Had text that no database stores, replaced by U+FFFD.")
    tokens: int = Field(description="By which it grew.")
    redacted: dict[str, int] = Field(
        description="What was taken out of them, by kind (`email`, `phone`, `card`, `key`), where that is set."
    )


class Ended(BaseModel):
    """A conversation that has ended."""

    conversation_id: UUID
    ended_at: datetime


class Event(BaseModel):
    """An event of the inbox."""

    event_id: UUID
    messages: Appended | None = Field(default=None, description="What became of the messages, if some were sent.")


class EventEnded(BaseModel):
    """An event that has ended."""

    event_id: UUID
    ended_at: datetime


class Uploaded(BaseModel):
    """A file that was taken in."""

    upload_id: UUID


class Upload(BaseModel):
    """How far an uploaded file has come."""

    upload_id: UUID
    external_id: str
    title: str | None
    file_name: str
    media_type: str = Field(description="By content, not by name.")
    size_bytes: int
    sha256: str
    state: Literal["received", "extracted", "stored", "failed"] = Field(
        description="Stored: it can be found and opened. Failed: `error` says why; sent again, it is tried again."
    )
    error: str | None
    file_id: UUID | None = Field(description="The file to open, once it is stored.")
    received_at: datetime


class Uploads(BaseModel):
    """A page of uploads, newest first."""

    uploads: list[Upload]
    next_offset: int | None = Field(description="Where the next page begins; null on the last one.")


class Source(BaseModel):
    """Where a record comes from."""

    kind: SourceKind
    id: UUID
    external_id: str | None


class FileState(BaseModel):
    """The file behind a record."""

    file_id: UUID | None
    state: CompressionState | None


class Hit(BaseModel):
    """A record that answers the question."""

    record_id: UUID
    node_id: UUID
    node_path: str
    title: str
    summary: str
    score: float
    occurred_at: datetime
    source: Source
    file: FileState
    superseded: bool | None = Field(
        default=None, description="Another memory took its place; stated with `include_superseded`."
    )
    explain: dict[str, float | None] | None = Field(default=None, description="Components of the score, if asked for.")


class MessageHit(BaseModel):
    """A single message that answers the question; `seq` is its number in its conversation."""

    record_id: UUID
    external_id: str | None
    seq: int
    score: float
    explain: dict[str, float | None] | None = Field(default=None, description="Components of the score, if asked for.")


class Anchor(BaseModel):
    """A node that was searched, and why."""

    node_id: UUID
    node_path: str
    reason: str
    score: float


class Period(BaseModel):
    """A stretch of time that was read out of the question; what happened in it counts more."""

    words: str
    start: datetime | None
    end: datetime | None = Field(description="The first moment after it.")
    certain: bool = Field(description="False for the likeliest of several readings.")


class Found(BaseModel):
    """An answer of phase one."""

    hits: list[Hit] = Field(description="Records, best first.")
    messages: list[MessageHit] = Field(description="One ranking of single messages over all records, best first.")
    anchors: list[Anchor]
    warmed: int = Field(description="Nodes that were staged for what may be asked next.")
    notes: list[str] = Field(description="What the answer had to do without, such as vectors.")
    periods: list[Period] = Field(description="Times that were read out of the question.")


class Citation(BaseModel):
    """A message that an answer rests on; `seq` is null where a memory's summary stands for its messages."""

    number: int = Field(description="The answer names it as `[number]`.")
    record_id: UUID
    node_path: str
    title: str
    file_id: UUID | None
    seq: int | None
    external_id: str | None
    author: str | None
    occurred_at: datetime
    text: str = Field(description="What was said, or the part of it that the question is about.")


class Reply(BaseModel):
    """An answer in words."""

    answer: str = Field(description="Statements, one a line, each with its citations.")
    found: bool = Field(description="False when nothing that is remembered answers the question.")
    citations: list[Citation]
    model: str = Field(description="Who worded the answer.")
    notes: list[str] = Field(description="What the answer had to do without, one sentence each.")


class StateChange(BaseModel):
    """One entry of a file's log."""

    event: Literal["compressed", "decompressed", "recompressed", "rehydrating", "failed"]
    triggered_by: CompressionCause
    occurred_at: datetime
    error: str | None = Field(description="Why, of what failed.")


class File(BaseModel):
    """Where a file stands in its life."""

    file_id: UUID
    record_id: UUID
    node_id: UUID
    file_name: str
    file_type: str
    state: CompressionState
    compression: str
    size_bytes: int = Field(description="Of its content.")
    stored_bytes: int = Field(description="Of its durable object.")
    last_accessed_at: datetime
    recompress_after: datetime | None = Field(description="When it goes back to sleep, if it was opened for a while.")
    last_failure: str | None = Field(description="Why it could not be read the last time, if it could not.")
    history: list[StateChange] = Field(description=f"What befell it, newest first; at most {HISTORY_SHOWN} entries.")


class Rehydrating(BaseModel):
    """The file is being decompressed; `Retry-After` says when to ask again."""

    file_id: UUID
    state: Literal[CompressionState.REHYDRATING]


class NodeFiles(BaseModel):
    """Where the files of a node stand: `rehydrating` when any is, else `active` when any is."""

    node_id: UUID
    state: CompressionState
    last_accessed_at: datetime
    next_recompress_at: datetime | None = Field(description="When the first of its files may go back to sleep.")
    active_files: int
    rehydrating_files: int
    dormant_files: int
    content_bytes: int = Field(description="Of all contents, uncompressed.")
    active_bytes: int = Field(description="What awake files occupy, working copies included.")
    dormant_bytes: int = Field(description="What all other files occupy.")
    saved_bytes: int = Field(description="What is occupied less than the contents are long.")


class Message(BaseModel):
    """One message of a file."""

    file_id: UUID
    seq: int
    role: Role
    author: str | None
    external_id: str | None
    occurred_at: datetime
    text: str


class Child(BaseModel):
    """A node directly below another."""

    node_id: UUID
    node_name: str
    node_type: NodeType
    concept_kind: ConceptKind
    compression_state: CompressionState
    record_count: int


class Edge(BaseModel):
    """A relation, with the node at its other end."""

    relation: str
    strength: float
    evidence_count: int
    node_id: UUID
    node_name: str
    compression_state: CompressionState
    direction: Literal["in", "out"]


class Shell(BaseModel):
    """What is always open of a node."""

    node_id: UUID
    node_name: str
    node_type: NodeType
    kind: ConceptKind
    layer_depth: int
    node_path: str
    parent_node_id: UUID | None
    schema_name: str | None = Field(description="Null where a node above is hidden: the name tells of it.")
    compression_state: CompressionState
    keywords: list[str]
    aliases: list[str]
    summary: str | None
    record_count: int
    last_accessed_at: datetime
    created_at: datetime
    children: list[Child]
    edges: list[Edge]


class Record(BaseModel):
    """One row of a node's metadata layer, with its file."""

    record_id: UUID
    title: str
    summary: str
    content_type: ContentType
    trigger_type: TriggerType | None
    embedding_pending: bool
    kw_entities: list[str]
    kw_topics: list[str]
    kw_dates: list[str]
    kw_relationships: list[str]
    occurred_at: datetime
    created_at: datetime
    file_id: UUID | None
    file_name: str | None
    compression_state: CompressionState | None
    size_bytes: int | None
    stored_bytes: int | None


class Records(BaseModel):
    """A page of records, newest first."""

    records: list[Record]
    next_offset: int | None = Field(description="Where the next page begins; null on the last one.")


class Memory(Record):
    """A memory, as it is or as it was; its file and the names on its path are as they are now."""

    node_id: UUID | None
    node_path: str | None
    embedding_model: str | None
    superseded_by: UUID | None = Field(description="The memory that takes its place in searches.")
    source_kind: SourceKind
    source_id: UUID
    first_message: int = Field(description="Number in its source of its first message.")
    last_message: int
    delta_id: UUID | None = Field(description="The delta that made this version; null for a third party.")
    w: datetime | None = Field(description="Since when it is so; null for a third party.")


class Delta(BaseModel):
    """One change of a memory."""

    delta_id: UUID
    previous_delta_id: UUID | None
    operation: str = Field(description="`create`, `revise`, `embed`, `supersede`, `restore` or `move`.")
    before: dict[str, Any] = Field(description="The fields that changed, as they were.")
    after: dict[str, Any] = Field(description="The same fields, as they are since.")
    notes: list[str]
    authored_by: str = Field(description="Such as `user:` and an id, or `pipeline:` and a model.")
    w: datetime = Field(description="Its point in time: later than that of every delta before.")


class History(BaseModel):
    """A page of deltas, newest first."""

    deltas: list[Delta]
    next_offset: int | None = Field(description="Where the next page begins; null on the last one.")


class Change(BaseModel):
    """A field at two moments; null where the memory was not stored yet."""

    before: Any
    after: Any


class Difference(BaseModel):
    """What changed of a memory between two moments."""

    record_id: UUID
    changes: dict[str, Change] = Field(description="By field.")


class TreeNode(BaseModel):
    """A node with everything below it."""

    node_id: UUID
    name: str
    kind: ConceptKind
    layer_depth: int
    state: CompressionState
    record_count: int
    summary: str
    children: list[TreeNode]
    links: list[str] = Field(description="Relations to other nodes, such as `coworker → Business/Ana`.")


class Tree(TreeNode):
    """The topmost node that is visible, with everything visible below it."""

    others: list[TreeNode] = Field(description="What else was granted, node by node; empty for the owner.")


class Failure(BaseModel):
    """A segment that could not be stored, or an upload that could not be read, after the last attempt."""

    failure_id: UUID
    source_kind: SourceKind
    source_id: UUID
    source_external_id: str | None
    file_name: str | None = Field(description="Of an upload.")
    trigger_type: TriggerType | None = Field(description="Of a segment; null, as is what follows, of an upload.")
    first_message: int | None = Field(description="Number in its source of the first message of the segment.")
    last_message: int | None
    token_count: int | None
    state: str = Field(description="`failed`, or what became of the segment or the upload after a replay.")
    step: str = Field(description="What failed.")
    error: str
    attempts: int
    occurred_at: datetime
    replayed_at: datetime | None


class Failures(BaseModel):
    """A page of failures, newest first."""

    failures: list[Failure]
    next_offset: int | None = Field(description="Where the next page begins; null on the last one.")


class Replay(BaseModel):
    """What came of a replay; `stored_meanwhile` left a segment alone that was stored, or an upload that was read."""

    failure_id: UUID
    outcome: ReplayOutcome


class Status(BaseModel):
    """How the service is."""

    status: Literal["ok", "ready"]


class Key(BaseModel):
    """A key, without the key itself."""

    key_id: UUID
    role: Literal["user", "persona", "third_party"]
    subject_id: str | None = Field(description="Which persona (its node) or third party; null of the user's own.")
    label: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None = Field(description="To the hour.")


class IssuedKey(Key):
    """A key that was made just now."""

    api_key: str = Field(description="Shown here only.")


class Keys(BaseModel):
    """The keys of a graph, newest first."""

    keys: list[Key]


class Grant(BaseModel):
    """One node that is open to somebody."""

    grant_id: UUID
    subject_type: SubjectType
    subject_id: str = Field(description="Node of the persona, or name of the third party.")
    node_id: UUID
    node_path: str
    grant_type: GrantType
    granted_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None


class Grants(BaseModel):
    """The grants of a graph, newest first."""

    grants: list[Grant]


class NewNode(BaseModel):
    """A node that was made."""

    node_id: UUID
