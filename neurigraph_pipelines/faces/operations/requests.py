"""Request bodies: their fields and limits.

Only the form is checked here. The domain checks texts, times and sizes, and repairs text that no database can store.
Text lengths are therefore documented and not enforced here: Pydantic would reject text that can be repaired.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar, Literal, Self
from uuid import UUID

from pydantic import Field, model_validator
from pydantic.config import JsonDict

from neurigraph_pipelines import model
from neurigraph_pipelines.exchange.sharing import MAX_NODE_SUMMARY_LENGTH
from neurigraph_pipelines.faces.operations.source_fields import PRIVACY, SourceFields, VersionFields, Where
from neurigraph_pipelines.graph.naming import MAX_NAME_LENGTH
from neurigraph_pipelines.inbox import notes
from neurigraph_pipelines.inbox.tool_events import MAX_DURATION_MS, TOOL_EVENTS, typed
from neurigraph_pipelines.lifecycle.quarantine.rules import MAX_REASON, QuarantineRule
from neurigraph_pipelines.model import (
    MAX_LAYER_DEPTH,
    TOOL_FIELDS,
    ConceptKind,
    EventKind,
    MessageType,
    NodeType,
    Privacy,
    Role,
    SourceKind,
)
from neurigraph_pipelines.model.chat import Turn
from neurigraph_pipelines.model.limits import MAX_CONTENT_BYTES, MAX_TAGS, MAX_TITLE_LENGTH
from neurigraph_pipelines.retrieval import prompt
from neurigraph_pipelines.retrieval.query.question import MAX_LIMIT, MAX_MESSAGE_LIMIT, MAX_QUERY_CHARACTERS, Question
from neurigraph_pipelines.text.external_ids import MAX_EXTERNAL_ID_LENGTH
from neurigraph_pipelines.text.hygiene import MAX_NAME_CHARACTERS, utc
from neurigraph_pipelines.views.base import Form
from neurigraph_pipelines.views.scalars import UserJson

MAX_MESSAGES = 1_000
"""Most messages in one request."""

MAX_TOOL_CALLS = 1_000
"""Most tool calls of one message."""

MAX_PATH_LENGTH = (MAX_LAYER_DEPTH + 1) * (MAX_NAME_LENGTH + 1)
"""Longest path of a node: names from the root down, each with a separator."""

_FROM_0_TO_1: JsonDict = {"minimum": 0, "maximum": 1}


class NewConversation(Form, VersionFields):
    """A conversation to open. If its `external_id` exists, the existing conversation is returned unchanged."""

    title: str | None = Field(default=None, json_schema_extra={"maxLength": MAX_TITLE_LENGTH})
    external_id: str | None = Field(default=None, json_schema_extra={"maxLength": MAX_EXTERNAL_ID_LENGTH})
    started_at: datetime | None = Field(default=None, description="Default: now.")
    privacy: Privacy | None = Field(default=None, description=PRIVACY)


class Sharing(Form):
    """Who besides the owner may see a conversation, an event, an upload or a note."""

    privacy: Privacy = Field(
        description="`private`: nobody, whatever grants they have. `shared`: everybody who sees its nodes."
    )


class NewMessage(Form):
    """A message to append. A message that is sent again with the same `external_id` is not added twice."""

    default_role: ClassVar[Role | None] = None
    role: Role | None = Field(default=None, description="Needed if there is no `type`.")
    type: MessageType | None = Field(
        default=None,
        description="`tool_use`, `tool_result` and `error` are events of a tool. The type decides who speaks: a result "
        "is the tool's, also if its role is `user`, as some services send it.",
    )
    content: str | None = Field(
        default=None,
        description=f"At most {MAX_CONTENT_BYTES:,} bytes of UTF-8, tool calls, inputs and outputs included, unless "
        "configured otherwise. Default for an event of a tool: the text of its input, output or error.",
    )
    tool_name: str | None = Field(
        default=None, description="For an event of a tool.", json_schema_extra={"maxLength": MAX_NAME_CHARACTERS}
    )
    tool_use_id: str | None = Field(
        default=None,
        description="Joins the use of a tool with its result.",
        json_schema_extra={"maxLength": MAX_NAME_CHARACTERS},
    )
    input: Any = Field(default=None, description="Input of the tool.")
    output: Any = Field(default=None, description="Output of the tool.")
    error: str | None = Field(default=None, description="Why a tool failed.")
    duration_ms: int | None = Field(default=None, ge=0, le=MAX_DURATION_MS, description="How long a tool took.")
    author: str | None = Field(
        default=None, description="Name of the speaker.", json_schema_extra={"maxLength": MAX_NAME_CHARACTERS}
    )
    external_id: str | None = Field(default=None, json_schema_extra={"maxLength": MAX_EXTERNAL_ID_LENGTH})
    occurred_at: datetime | None = None
    tool_calls: list[UserJson] = Field(
        default_factory=list,
        max_length=MAX_TOOL_CALLS,
        description="A call without a `result` is answered by a tool message that follows.",
    )
    complete: bool = Field(default=True, description="False while a response is still streaming.")

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.content is None and not self.tool_calls and self.type not in TOOL_EVENTS:
            raise ValueError("a message that is no event of a tool needs a content")
        return self

    @property
    def message(self) -> model.IncomingMessage:
        """The message as a domain value."""
        role = self.role or (self.default_role if self.type is None else None)
        message = model.IncomingMessage(
            role=Role.USER,
            content=self.content or "",
            author=self.author,
            external_id=self.external_id,
            occurred_at=self.occurred_at,
            tool_calls=tuple(self.tool_calls),
            complete=self.complete,
        )
        return typed(message, self.type, role, {name: getattr(self, name) for name in TOOL_FIELDS})


class NewMessages(Form):
    """Messages to append, in order. Either all are appended or none."""

    messages: list[NewMessage] = Field(max_length=MAX_MESSAGES)


class NewEventMessage(NewMessage):
    """A message of an event. Without a role or a type it is the user's."""

    default_role: ClassVar[Role | None] = Role.USER


class NewNote(Form, SourceFields):
    """A note to remember as it is."""

    content: str = Field(
        description=f"At most {MAX_CONTENT_BYTES:,} bytes of UTF-8.", json_schema_extra={"minLength": 1}
    )
    title: str | None = Field(
        default=None,
        description="Title of the memory. Default: the language model finds one.",
        json_schema_extra={"maxLength": MAX_TITLE_LENGTH},
    )
    path: str | None = Field(
        default=None,
        description="Pin the note to the node at this path, such as `Family/Dave`. For the owner of the graph, missing "
        "nodes are created, down to layer 5. Default: the language model files the note.",
        json_schema_extra={"maxLength": MAX_PATH_LENGTH},
    )
    node_id: UUID | None = Field(default=None, description="Pin the note to this node instead.")
    importance: float | None = Field(default=None, description="From 0 to 1.", json_schema_extra=_FROM_0_TO_1)
    priority: int | None = Field(
        default=None,
        description="From 1 to 10 instead of `importance`; 10 is an importance of 1.",
        json_schema_extra={"minimum": 1, "maximum": notes.MAX_PRIORITY},
    )
    tags: list[str] = Field(
        default_factory=list,
        max_length=MAX_TAGS,
        description="Topics of the memory, listed before the topics found in it.",
    )
    on_conflict: notes.OnConflict = Field(
        default=notes.OnConflict.ERROR,
        description="If the node that the note is pinned to has a current note of this title: `error` answers 409; "
        "`version` writes the next version of that note; `supersede` writes another note. In both cases the new memory "
        "supersedes the old one.",
    )
    replaces: UUID | None = Field(default=None, description="Another note of yours, which this one supersedes.")
    privacy: Privacy | None = Field(default=None, description=PRIVACY)

    @property
    def note(self) -> notes.IncomingNote:
        """The note as a domain value."""
        stated = self.model_dump(exclude={"content", *SourceFields.model_fields})
        return notes.IncomingNote(self.content, **{**stated, "tags": tuple(self.tags), "details": self.details})


class NewEventMessages(Form):
    """Messages to append, in order. Either all are appended or none."""

    messages: list[NewEventMessage] = Field(max_length=MAX_MESSAGES)


class NewEvent(Form, VersionFields):
    """An event to open. If its `external_id` exists, the existing event is returned unchanged."""

    kind: EventKind
    title: str = Field(json_schema_extra={"maxLength": MAX_TITLE_LENGTH})
    external_id: str | None = Field(default=None, json_schema_extra={"maxLength": MAX_EXTERNAL_ID_LENGTH})
    started_at: datetime | None = Field(default=None, description="Default: now.")
    privacy: Privacy | None = Field(default=None, description=PRIVACY)
    messages: list[NewEventMessage] = Field(
        default_factory=list, max_length=MAX_MESSAGES, description="The messages so far."
    )


class End(Form):
    """The end of a conversation or an event."""

    ended_at: datetime | None = Field(default=None, description="Default: now.")


_ASKED_AT = "Reference time for words such as `yesterday`; days begin at midnight in its time zone."


class _Question(Form, Where):
    query: str = Field(
        description="A question in plain words.",
        json_schema_extra={"minLength": 1, "maxLength": MAX_QUERY_CHARACTERS},
    )
    at: datetime | None = Field(
        default=None,
        description="Search only memories that were stored by this moment, and return them as they were then.",
    )
    occurred_after: datetime | None = Field(default=None, description="Only memories of events at this time or later.")
    occurred_before: datetime | None = Field(default=None, description="Only memories of events before this time.")
    source_kinds: list[SourceKind] = Field(
        default_factory=list,
        max_length=len(SourceKind),
        description="Only memories from these kinds of sources. Default: all.",
    )
    speaker: str | None = Field(
        default=None,
        description="Only messages of the speaker with this name; case is ignored.",
        json_schema_extra={"minLength": 1, "maxLength": MAX_NAME_CHARACTERS},
    )
    include_superseded: bool = Field(default=False, description="Also return memories that newer ones have replaced.")
    asked_at: datetime | None = Field(default=None, description=f"{_ASKED_AT} Default: `at`, or now; over HTTP in UTC.")

    @property
    def question(self) -> Question:
        """The question as a domain value."""
        values = self.model_dump(exclude={"asked_at", "container_tags"})
        included = {f"include_{name}": True for name in values.pop("include", ())}
        return Question(**{**values, **included, "source_kinds": tuple(self.source_kinds)})


class Supersede(Form):
    """The memory that replaces another."""

    by: UUID | None = Field(description="The newer memory. Null undoes the replacement.")


class Search(_Question):
    """A question to search for."""

    limit: int = Field(default=10, ge=1, le=MAX_LIMIT, description="Maximum number of records.")
    message_limit: int = Field(default=50, ge=0, le=MAX_MESSAGE_LIMIT, description="Maximum number of single messages.")
    explain: bool = Field(
        default=False, description="Return the components of every score, and the names, edges and facts behind them."
    )
    include: list[Literal["facts"]] = Field(
        default_factory=list, max_length=1, description="Also return facts: single statements."
    )


class Ask(_Question):
    """A question to answer in words."""


class ContextTurn(Form):
    """A message of the chat that a prompt is for."""

    role: Literal["user", "assistant"] = "user"
    content: str


class PromptFor(Form, Where):
    """The subject of a prompt, and the size and form of its block of memory."""

    query: str | None = Field(
        default=None,
        description="The question, or a statement of the user.",
        json_schema_extra={"minLength": 1, "maxLength": MAX_QUERY_CHARACTERS},
    )
    messages: list[ContextTurn] | None = Field(
        default=None, min_length=1, max_length=MAX_MESSAGES, description="The last messages instead, oldest first."
    )
    budget: int = Field(
        default=prompt.DEFAULT_TOKENS,
        ge=prompt.LEAST_TOKENS,
        le=prompt.MOST_TOKENS,
        description="Most tokens, by the counter of this installation.",
    )
    format: prompt.Format = Field(
        default="text", description="`messages` are two for a language model; `json` has the lines with all ids."
    )

    asked_at: datetime | None = Field(default=None, description=f"{_ASKED_AT} Default: now; over HTTP in UTC.")

    @model_validator(mode="after")
    def _asks_once(self) -> Self:
        if (self.query is None) == (self.messages is None):
            raise ValueError("give either `query` or `messages`")
        return self

    @property
    def wanted(self) -> prompt.PromptRequest:
        """The request as a domain value."""
        turns = [Turn("user", self.query)] if self.query is not None else []
        turns += [Turn(one.role, one.content) for one in self.messages or ()]
        return prompt.PromptRequest(turns, self.budget, self.node_id, self.format)


class NewQuarantine(Form):
    """A quarantine: every record with a message that meets all conditions that are set. At least one is needed."""

    SEEN_LATER = ("key_id",)  # a deleted key has rules, too

    source_id: UUID | None = Field(default=None, description="Of this conversation, event, upload or note.")
    key_id: UUID | None = Field(default=None, description="Handed in with this API key.")
    persona_id: UUID | None = Field(default=None, description="Handed in by this persona, with any of its keys.")
    received_after: datetime | None = Field(default=None, description="Received at this time or later.")
    received_before: datetime | None = Field(default=None, description="Received before this time.")
    reason: str = Field(description="For the log.", json_schema_extra={"minLength": 1, "maxLength": MAX_REASON})

    @property
    def rule(self) -> QuarantineRule:
        """The conditions; times without a zone are UTC."""
        return QuarantineRule(
            self.source_id,
            self.key_id,
            self.persona_id,
            utc(self.received_after) if self.received_after else None,
            utc(self.received_before) if self.received_before else None,
        )


class NewNode(Form):
    """A node to create by hand."""

    parent_node_id: UUID
    name: str = Field(json_schema_extra={"minLength": 1, "maxLength": MAX_NAME_LENGTH})
    node_type: NodeType = NodeType.CONCEPT
    kind: ConceptKind = ConceptKind.TOPIC
    summary: str = Field(
        default="", description="The subject of the node.", json_schema_extra={"maxLength": MAX_NODE_SUMMARY_LENGTH}
    )
    writes: bool = Field(default=False, description="For a persona: grant it write access to its own node.")
