"""Single memories: their versions, history and differences."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import Field

from neurigraph_pipelines.views.base import View
from neurigraph_pipelines.views.kinds import ReceivedThrough, SourceKind
from neurigraph_pipelines.views.pages import NEXT_CURSOR
from neurigraph_pipelines.views.records import Record
from neurigraph_pipelines.views.scalars import UserJson
from neurigraph_pipelines.views.sources import Provenance


class Memory(Record):
    """A memory, now or at an earlier moment. Its file and the names on its path are always the current ones."""

    node_id: UUID | None
    node_path: str | None
    embedding_model: str | None
    superseded_by: UUID | None = Field(description="The newer memory that replaces this one in searches.")
    source_kind: SourceKind
    source_id: UUID
    source: Provenance = Field(description="Where its source comes from, and its place among the versions of it.")
    received_through: ReceivedThrough | None = Field(description="The door that all of it came through.")
    received_at: datetime | None = Field(description="When the last of it arrived.")
    persona_id: UUID | None = Field(description="The persona that handed it in or a part of it; null is the owner.")
    importance: float | None = Field(description="From 0 to 1, if the writer of a note said so.")
    first_message: int = Field(description="Number of its first message in its source.")
    last_message: int
    delta_id: UUID | None = Field(description="The delta that made this version; null for a third party.")
    changed_at: datetime | None = Field(description="Time since when this version holds; null for a third party.")


class Delta(View):
    """One change of a memory."""

    delta_id: UUID
    previous_delta_id: UUID | None
    operation: str = Field(
        description="`create`, `revise`, `embed`, `supersede`, `restore`, `move`, `split`, `refile`, `keep`, "
        "`promote`, `archive` or `unarchive`."
    )
    before: UserJson = Field(description="The changed fields with their old values.")
    after: UserJson = Field(description="The changed fields with their new values.")
    notes: list[str]
    authored_by: str = Field(description="For example `user:` and an id, or `pipeline:` and a model.")
    changed_at: datetime = Field(description="Later than that of every earlier delta.")


class History(View):
    """A page of deltas, newest first."""

    deltas: list[Delta]
    next_cursor: str | None = NEXT_CURSOR


class Change(View):
    """The values of a field at two moments; null at a moment before the memory was stored."""

    before: Any
    after: Any


class Difference(View):
    """The fields of a memory that differ between two moments."""

    record_id: UUID
    changes: dict[str, Change] = Field(description="Changes by field.")
