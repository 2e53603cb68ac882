"""Response bodies below ``/v3`` and ``/chat``, in camel case."""

from __future__ import annotations

from uuid import UUID

from pydantic import Field

from neurigraph_pipelines.faces.operations.documents import CONTENT, Camel, FoundDocument, Shown
from neurigraph_pipelines.inbox.document_lists import DocumentStatus
from neurigraph_pipelines.retrieval.documents import SearchPath
from neurigraph_pipelines.views.answers import Citation

_STATUS = Field(
    description="`pending`: it waits to be read. `processing`: it is being read. `chunking`: it waits for a run. "
    "`embedding`: the run embeds and stores it. `completed`: all of it can be found."
)


class AddedDocument(Camel):
    """A document that was received."""

    id: UUID
    status: DocumentStatus = _STATUS


class Document(Shown):
    """A document and how far its processing is."""

    id: UUID
    custom_id: str
    content: str | None = Field(description=f"{CONTENT}, once it is completed.")
    summary: str | None = Field(description="Of its first memory, once it is completed.")
    container_tags: list[str]
    status: DocumentStatus = _STATUS
    error: str | None = Field(description="The reason of a failure.")


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
