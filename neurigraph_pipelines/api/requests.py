"""Bodies of requests: their form and their bounds.

Only the form is checked here; texts, times and sizes are settled by the domain, which also mends what no database
stores. Lengths of texts are therefore stated, not enforced: a bound of Pydantic refuses text that could be mended.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, model_validator

from neurigraph_pipelines import sharing
from neurigraph_pipelines.graph.naming import MAX_NAME_LENGTH
from neurigraph_pipelines.ingestion.inbox import MAX_EXTERNAL_ID_LENGTH, MAX_TITLE_LENGTH
from neurigraph_pipelines.ingestion.keywords import MAX_KEYWORDS
from neurigraph_pipelines.ingestion.revision import MAX_SUMMARY_CHARACTERS, Revision
from neurigraph_pipelines.model import (
    ConceptKind,
    EventKind,
    GrantType,
    NodeType,
    Privacy,
    Role,
    SourceKind,
    SubjectType,
)
from neurigraph_pipelines.retrieval.query.question import MAX_LIMIT, MAX_MESSAGE_LIMIT, MAX_QUERY_CHARACTERS, Question
from neurigraph_pipelines.sharing import MAX_LABEL_LENGTH, MAX_NODE_SUMMARY_LENGTH, MAX_SUBJECT_LENGTH
from neurigraph_pipelines.text.hygiene import MAX_NAME_CHARACTERS

MAX_MESSAGES = 1_000
"""Most messages in one request."""

MAX_TOOL_CALLS = 1_000
"""Most tool calls of one message."""

MAX_FIELDS = 100
"""Most fields of one object, far above what any has."""

_EXPECTED_DELTA = Field(
    default=None, description="`delta_id` of the memory as it was read; changed meanwhile, the answer is 409."
)


class Form(BaseModel):
    """An object that a caller sends: the fields that are documented, and no others."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _few_fields(cls, sent: Any) -> Any:
        # Each field that is none has an error of its own: of a million, that keeps everybody waiting.
        if isinstance(sent, dict) and len(sent) > MAX_FIELDS:
            raise ValueError(f"an object has at most {MAX_FIELDS} fields")
        return sent


class NewUser(Form):
    """A user to make."""

    slug: str = Field(
        description="1 to 63 characters of `a-z 0-9 _ -`, with a letter or digit at both ends.",
        json_schema_extra={"maxLength": 63},
    )


class NewConversation(Form):
    """A conversation to open. With an `external_id` that exists, the existing one is meant and left as it is."""

    title: str | None = Field(default=None, json_schema_extra={"maxLength": MAX_TITLE_LENGTH})
    external_id: str | None = Field(default=None, json_schema_extra={"maxLength": MAX_EXTERNAL_ID_LENGTH})
    started_at: datetime | None = Field(default=None, description="Unset: now.")
    privacy: Privacy = Field(default=Privacy.SHARED, description="`private`: seen by the owner of the graph alone.")


class Sharing(Form):
    """Who besides the owner may know of what came in."""

    privacy: Privacy = Field(description="`private`: nobody, whatever they are granted. `shared`: who sees its nodes.")


class NewMessage(Form):
    """A message to append. Sent again with the same `external_id`, it is recognised and not added twice."""

    role: Role
    content: str = Field(description="At most 4,000,000 bytes of UTF-8 with its tool calls, unless set otherwise.")
    author: str | None = Field(
        default=None, description="Name of whoever speaks.", json_schema_extra={"maxLength": MAX_NAME_CHARACTERS}
    )
    external_id: str | None = Field(default=None, json_schema_extra={"maxLength": MAX_EXTERNAL_ID_LENGTH})
    occurred_at: datetime | None = None
    tool_calls: list[dict[str, Any]] = Field(
        default_factory=list,
        max_length=MAX_TOOL_CALLS,
        description="Calls without a `result` of their own are answered by the messages of tools that follow.",
    )
    complete: bool = Field(default=True, description="False while a response is still streaming in.")


class NewMessages(Form):
    """Messages to append, in order; all of them or none."""

    messages: list[NewMessage] = Field(max_length=MAX_MESSAGES)


class NewEventMessage(NewMessage):
    """A message of an event: what somebody said."""

    role: Role = Role.USER


class NewEventMessages(Form):
    """Messages to append, in order; all of them or none."""

    messages: list[NewEventMessage] = Field(max_length=MAX_MESSAGES)


class NewEvent(Form):
    """An event to open. With an `external_id` that exists, the existing one is meant and left as it is."""

    kind: EventKind
    title: str = Field(json_schema_extra={"maxLength": MAX_TITLE_LENGTH})
    external_id: str | None = Field(default=None, json_schema_extra={"maxLength": MAX_EXTERNAL_ID_LENGTH})
    started_at: datetime | None = Field(default=None, description="Unset: now.")
    privacy: Privacy = Field(default=Privacy.SHARED, description="`private`: seen by the owner of the graph alone.")
    messages: list[NewEventMessage] = Field(
        default_factory=list, max_length=MAX_MESSAGES, description="What was said so far."
    )


class End(Form):
    """The end of a conversation or an event."""

    ended_at: datetime | None = Field(default=None, description="Unset: now.")


class _Question(Form):
    query: str = Field(json_schema_extra={"minLength": 1, "maxLength": MAX_QUERY_CHARACTERS})
    node_id: UUID | None = Field(default=None, description="Search only this node and what lies below it.")
    at: datetime | None = Field(default=None, description="Only what was stored by this moment.")
    occurred_after: datetime | None = Field(default=None, description="Only what happened then or later.")
    occurred_before: datetime | None = Field(default=None, description="Only what happened before then.")
    source_kinds: list[SourceKind] = Field(
        default_factory=list, max_length=len(SourceKind), description="Only what came from these; empty: from any."
    )
    speaker: str | None = Field(
        default=None,
        description="Only messages of whoever bears this name, in any case.",
        json_schema_extra={"minLength": 1, "maxLength": MAX_NAME_CHARACTERS},
    )
    include_superseded: bool = Field(default=False, description="Also memories that newer ones took the place of.")
    asked_at: datetime | None = Field(
        default=None,
        description="`yesterday` and the like count from here, and days begin in its zone. Unset: `at`, or now in UTC.",
    )

    @property
    def asked(self) -> Question:
        """The question as the domain takes it."""
        values = self.model_dump(exclude={"asked_at"})
        return Question(**{**values, "source_kinds": tuple(self.source_kinds)})


class Revise(Form):
    """New values for fields of a memory; what is left out or null stays as it is."""

    title: str | None = Field(default=None, json_schema_extra={"maxLength": MAX_TITLE_LENGTH})
    summary: str | None = Field(default=None, json_schema_extra={"maxLength": MAX_SUMMARY_CHARACTERS})
    entities: list[str] | None = Field(
        default=None, max_length=MAX_KEYWORDS, description="Replace those that are there."
    )
    topics: list[str] | None = Field(default=None, max_length=MAX_KEYWORDS)
    dates: list[str] | None = Field(default=None, max_length=MAX_KEYWORDS)
    relationships: list[str] | None = Field(default=None, max_length=MAX_KEYWORDS)
    expected_delta: UUID | None = _EXPECTED_DELTA

    @property
    def revision(self) -> Revision:
        """The revision as the domain takes it."""
        return Revision(**self.model_dump(exclude={"expected_delta"}))


class Supersede(Form):
    """What takes the place of a memory."""

    by: UUID | None = Field(description="A newer memory; null lets this one stand for itself again.")
    expected_delta: UUID | None = _EXPECTED_DELTA


class Search(_Question):
    """A question."""

    limit: int = Field(default=10, ge=1, le=MAX_LIMIT, description="Most records.")
    message_limit: int = Field(default=50, ge=0, le=MAX_MESSAGE_LIMIT, description="Most single messages.")
    explain: bool = Field(default=False, description="Return the components of every score.")


class Ask(_Question):
    """A question to be answered in words."""


class Subject(Form):
    """Somebody who does not own the graph: a persona of it, or a third party by a name of the owner's choice."""

    persona_id: UUID | None = Field(default=None, description="Node of a persona.")
    third_party: str | None = Field(
        default=None, json_schema_extra={"minLength": 1, "maxLength": MAX_SUBJECT_LENGTH, "example": "gmail"}
    )

    @model_validator(mode="after")
    def _one_at_most(self) -> Self:
        if self.persona_id is not None and self.third_party is not None:
            raise ValueError("name a persona or a third party, not both")
        return self

    @property
    def subject(self) -> sharing.Subject | None:
        """The same as the domain takes it; None where nobody is named."""
        if self.persona_id is not None:
            return sharing.Subject(SubjectType.PERSONA, str(self.persona_id))
        if self.third_party is not None:
            return sharing.Subject(SubjectType.THIRD_PARTY, self.third_party)
        return None


class NewKey(Subject):
    """A key to issue; with nobody named, another one of the user's own."""

    label: str = Field(default="", json_schema_extra={"maxLength": MAX_LABEL_LENGTH})
    expires_at: datetime | None = Field(default=None, description="Unset: good until it is revoked.")


class KeyRotation(Form):
    """How long a key that is replaced is still good."""

    grace_seconds: float = Field(default=0.0, ge=0, le=366 * 86_400)


class NewGrant(Subject):
    """One node to open to somebody; nothing above, beside or below it is opened."""

    node_id: UUID
    grant_type: GrantType = GrantType.READ
    expires_at: datetime | None = Field(default=None, description="Unset: open until it is revoked.")

    @model_validator(mode="after")
    def _somebody(self) -> Self:
        if self.subject is None:
            raise ValueError("name a persona or a third party")
        return self


class NewNode(Form):
    """A node to make by hand."""

    parent_node_id: UUID
    name: str = Field(json_schema_extra={"minLength": 1, "maxLength": MAX_NAME_LENGTH})
    node_type: NodeType = NodeType.CONCEPT
    kind: ConceptKind = ConceptKind.TOPIC
    summary: str = Field(
        default="", description="What it stands for.", json_schema_extra={"maxLength": MAX_NODE_SUMMARY_LENGTH}
    )
    writes: bool = Field(default=False, description="Of a persona: it may write to its own node, by a grant.")
