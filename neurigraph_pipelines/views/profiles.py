"""The profile of somebody, and the block of memory for a prompt."""

from __future__ import annotations

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import Field

from neurigraph_pipelines.views.base import View
from neurigraph_pipelines.views.kinds import FactStatus

ProfileSectionName = Literal["about", "preferences", "circumstances", "plans", "people"]


class ProfileItem(View):
    """One statement of a profile. A person confirms, corrects, pins or forgets it by its `fact_id`."""

    COLUMNS = ("text", "said_at", "status", "pinned", "fact_id", "record_id", "first_message")

    text: str
    fact_id: UUID | None = Field(default=None, description="Null for statements of the graph, such as relations.")
    node_id: UUID | None = Field(default=None, description="Of a person whom the statement sums up.")
    record_id: UUID | None = Field(default=None, description="The memory that says it.")
    first_message: int | None = Field(default=None, description="The message in it.")
    said_at: datetime | None = None
    occurred_from: datetime | None = None
    status: FactStatus | None = None
    pinned: bool = False
    confirmed_at: datetime | None = None
    source_count: int = Field(default=1, description="How many sources say the same.")


class ProfileSection(View):
    """A part of a profile."""

    section: ProfileSectionName
    items: list[ProfileItem]


class PersonProfile(View):
    """The statements that hold about a person, in sections."""

    name: str
    is_user: bool = Field(description="Whether it is the owner of the graph.")
    node_id: UUID | None = Field(description="The node of the person; null for the owner and without a node.")
    sections: list[ProfileSection] = Field(description="The sections with statements.")


class ContextLine(View):
    """One line of a block for a prompt."""

    kind: Literal["profile", "fact", "quote", "conflict"]
    text: str
    is_stable: bool = Field(description="Whether it is part of the beginning, which questions do not change.")
    open: str | None = Field(description="What `open` takes to show the source; null for a conflict.")
    fact_id: UUID | None = None
    record_id: UUID | None = None
    source_id: UUID | None = Field(default=None, description="Only of messages that are not stored yet.")
    message: int | None = None


class ContextMessage(View):
    """A message for a language model."""

    role: Literal["system"]
    content: str


class PromptContext(View):
    """The block of memory for a prompt, in the form that was asked for."""

    text: str | None = None
    messages: list[ContextMessage] | None = None
    lines: list[ContextLine] | None = None
    tokens: int = Field(description="Tokens of the whole block.")
    stable_tokens: int = Field(description="Tokens of its beginning, the same bytes until what it says changes.")
    counted_by: str = Field(description="The counter of this installation; `estimate` does not know the model's.")
    query: str = Field(description="The text that was searched for.")
    notes: list[str]
