"""Found documents in the shape of another memory system's API, for ``/v3`` and ``searchDatabase``."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from neurigraph_pipelines.retrieval import documents
from neurigraph_pipelines.retrieval.chunks import CHUNK_TOKENS
from neurigraph_pipelines.views.kinds import DocumentType
from neurigraph_pipelines.views.scalars import UserJson, ValuesByName
from neurigraph_pipelines.views.sources import Provenance

CONTENT = f"Its text, the first {documents.FULL_CHARACTERS:,} characters of it"


class Camel(BaseModel):
    """An object whose fields are in camel case."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class Shown(Camel):
    """The fields that a document and a found document share."""

    title: str | None = Field(description="If its writer stated none, that of its first memory, once there is one.")
    type: DocumentType
    url: str | None
    metadata: UserJson = Field(description="Stated metadata, with `url`, `source` and `author`.")
    created_at: datetime
    updated_at: datetime


class Chunk(Camel):
    """Passages of a document that follow each other."""

    content: str = Field(description=f"At most {CHUNK_TOKENS} tokens.")
    score: float
    first_message: int = Field(description="The number of its first message in the document.")
    last_message: int


class FoundDocument(Shown):
    """A document that matches the question."""

    document_id: UUID
    score: float = Field(description="From 0 to 1, comparable between questions.")
    summary: str | None = None
    content: str | None = Field(default=None, description=f"{CONTENT}, with `includeFullDocs`.")
    chunks: list[Chunk] = Field(description="Best first.")


def found_document(found: documents.FoundDocument, *, with_summary: bool) -> FoundDocument:
    """Return a document that a search found."""
    asked: ValuesByName = {"summary": found.summary} if with_summary else {}
    asked |= {"content": found.content} if found.content is not None else {}
    return FoundDocument(
        document_id=found.document_id,
        score=found.score,
        chunks=[Chunk.model_validate(asdict(chunk)) for chunk in found.chunks],
        **shown(found.title, found.details, found.occurred_at),
        **asked,
    )


def shown(title: str | None, details: Provenance, at: datetime) -> ValuesByName:
    """Return the fields of every document, with the statements of its writer in the names of that API."""
    named = {"url": details.url, "source": details.origin, "author": details.author}
    stated = {**details.metadata, **{name: value for name, value in named.items() if value is not None}}
    fields = {"title": title, "type": details.document_type, "url": details.url, "metadata": stated}
    return {**fields, "created_at": at, "updated_at": details.updated_at or at}
