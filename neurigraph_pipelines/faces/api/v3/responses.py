"""Response bodies below ``/v3`` and ``/chat``, in camel case."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from neurigraph_pipelines.inbox.document_lists import DocumentStatus
from neurigraph_pipelines.retrieval.chunks import CHUNK_TOKENS
from neurigraph_pipelines.retrieval.documents import FULL_CHARACTERS, SearchPath
from neurigraph_pipelines.views.answers import Citation
from neurigraph_pipelines.views.kinds import DocumentType
from neurigraph_pipelines.views.scalars import UserJson

_STATUS = Field(
    description="`pending`: it waits to be read. `processing`: it is being read. `chunking`: it waits for a run. "
    "`embedding`: the run embeds and stores it. `completed`: all of it can be found."
)
_CONTENT = f"Its text, the first {FULL_CHARACTERS:,} characters of it"


class Camel(BaseModel):
    """An object whose fields are in camel case."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class AddedDocument(Camel):
    """A document that was received."""

    id: UUID
    status: DocumentStatus = _STATUS


class Shown(Camel):
    """The fields that a document and a found document share."""

    title: str | None
    type: DocumentType
    url: str | None
    metadata: UserJson = Field(description="Stated metadata, with `url`, `source` and `author`.")
    created_at: datetime
    updated_at: datetime


class Document(Shown):
    """A document and how far its processing is."""

    id: UUID
    custom_id: str
    content: str | None = Field(description=f"{_CONTENT}, once it is completed.")
    summary: str | None = Field(description="Of its first memory, once it is completed.")
    container_tags: list[str]
    status: DocumentStatus = _STATUS
    error: str | None = Field(description="The reason of a failure.")


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
    content: str | None = Field(default=None, description=f"{_CONTENT}, with `includeFullDocs`.")
    chunks: list[Chunk] = Field(description="Best first.")


class FoundDocuments(Camel):
    """The result of a search for documents."""

    count: int
    results: list[FoundDocument] = Field(description="Best first.")
    search_path: SearchPath = Field(
        description="`rpc_vector`: by words and vectors. `fallback_local`: by words alone, as vectors were missing. "
        "`broad_recent`: nothing was near enough, and these are the newest documents, with a score of 0."
    )
    notes: list[str] = Field(description="Parts that were missing for this answer.")


class ChatReply(Camel):
    """The answer of a chat."""

    conversation_id: UUID
    content: str = Field(description="Statements, one a line, each with its citations.")
    found: bool = Field(description="False if no memory answers the question.")
    citations: list[Citation] = Field(description="As in `POST /v1/ask`.")
    model: str = Field(description="The model that wrote the answer.")
    notes: list[str] = Field(description="Missing parts and disputed facts, one sentence each.")
    tool_calls: int
