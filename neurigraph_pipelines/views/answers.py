"""Answers in words, with the messages that they rest on."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pydantic import Field

from neurigraph_pipelines.views.base import View
from neurigraph_pipelines.views.kinds import Voice
from neurigraph_pipelines.views.search import STORED, Origin


class Citation(View):
    """A message that an answer rests on. `seq` is null if a memory's summary is cited instead of a message."""

    number: int = Field(description="The answer refers to this citation as `[number]`.")
    record_id: UUID | None
    source_id: UUID
    stored: bool = STORED
    node_path: str | None
    title: str
    file_id: UUID | None
    seq: int | None
    external_id: str | None
    section: str | None = Field(description="The part of a document that it is of: its headings, or its page.")
    author: str | None = Field(description="Who said it: a persona is shown as the persona, whatever author it stated.")
    voice: Voice | None = Field(description="Who speaks, as the server knows it; null for a summary.")
    origin: Origin
    occurred_at: datetime
    text: str = Field(description="The text of the message, or the part of it that the question is about.")


class Reply(View):
    """An answer in words."""

    answer: str = Field(description="Statements, one a line, each with its citations.")
    found: bool = Field(description="False if no memory answers the question.")
    citations: list[Citation]
    model: str = Field(description="The model that wrote the answer.")
    notes: list[str] = Field(description="The parts that were missing for this answer, one sentence each.")
