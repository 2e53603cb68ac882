"""Erasures: previews and receipts."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from pydantic import Field

from neurigraph_pipelines.views.base import View
from neurigraph_pipelines.views.pages import NEXT_CURSOR


class SubjectKind(StrEnum):
    """The kinds of subjects that can be erased."""

    FACT = "fact"
    RECORD = "record"
    NODE = "node"
    USER = "user"


class ErasurePreview(View):
    """The counts of things that an erasure would remove."""

    subject_kind: SubjectKind
    subject_id: UUID
    nodes: list[str] = Field(description="Paths of the nodes that would be erased, parents first.")
    record_count: int
    delta_count: int
    file_count: int
    object_bytes: int
    source_count: int = Field(description="Conversations, events and uploads that would be erased completely.")
    shared_sources: int = Field(
        description="Conversations, events and uploads of which other records or unstored parts remain."
    )
    waiting_messages: int = Field(
        default=0,
        description="Messages in the inbox that are not stored yet and would be erased: of a user, or of personas.",
    )


class ErasedObject(View):
    """An object in the object store that held an erased file."""

    sha256: str | None = Field(description="SHA-256 of the stored bytes, in hex.")
    size_bytes: int
    removed: bool


class Erasure(View):
    """The receipt of an erasure: what was erased and what remains. It contains no erased text."""

    erasure_id: UUID
    user_id: UUID = Field(description="The owner, who requested the erasure.")
    subject_kind: SubjectKind
    subject_id: UUID
    requested_through: str
    requested_at: datetime
    finished_at: datetime | None = Field(description="Null until all rows and objects are removed.")
    erased: dict[str, int] = Field(description="Number of erased rows and objects by kind.")
    kept: dict[str, list[UUID]] = Field(
        description="Ids that remain because other records need them: `sources`, and `originals` of uploads."
    )


class ErasureWithObjects(Erasure):
    """The receipt of an erasure, with the checksums of all objects."""

    objects: list[ErasedObject]


Forgotten = ErasureWithObjects | ErasurePreview
"""The receipt of an erasure, or a preview of it."""


class Erasures(View):
    """A page of receipts, newest first."""

    erasures: list[Erasure]
    next_cursor: str | None = NEXT_CURSOR
