"""``searchDatabase``: search in the shape that agents of other memory systems know, as ``POST /v3/search`` has it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, Field, WithJsonSchema

from neurigraph_pipelines.faces.mcp.budget import Budget
from neurigraph_pipelines.faces.mcp.calls import AgentCall, stop_if_cancelled
from neurigraph_pipelines.faces.mcp.failures import said
from neurigraph_pipelines.faces.mcp.framing import NOTICE_OF_JSON
from neurigraph_pipelines.faces.mcp.tools.answer import Result, as_json, plain
from neurigraph_pipelines.faces.mcp.tools.tool import Arguments, ListOf, Tool
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import LostObjectError
from neurigraph_pipelines.retrieval.chunks import Chunk as FoundChunk
from neurigraph_pipelines.retrieval.documents import (
    DocumentRequest,
    FoundDocument,
    SearchPath,
    records_of,
    search_documents,
)
from neurigraph_pipelines.retrieval.open import file_of_record, open_messages
from neurigraph_pipelines.retrieval.query.question import MAX_QUERY_CHARACTERS
from neurigraph_pipelines.text.container_tags import checked_tags
from neurigraph_pipelines.text.visible import visible
from neurigraph_pipelines.views.scalars import UserJson
from neurigraph_pipelines.views.search import Hit

MOST_TOKENS = 12_000
"""Bound of an answer: the shape has no argument for it."""

CHUNKS = 3
"""Passages of each document."""

CHUNK_CHARACTERS = 1_000

_MOST_RECORDS = 10
_MORE = "…"

Name = Annotated[str, Field(min_length=1, max_length=2_000)]


class SearchDatabaseArguments(Arguments):
    """Arguments of ``searchDatabase``, as they are known elsewhere."""

    query: str = Field(min_length=1, max_length=MAX_QUERY_CHARACTERS)
    limit: int = Field(default=20, ge=1, le=50)
    includeSummary: bool = True  # noqa: N815 - the name that agents know
    includeFullDocs: bool = False  # noqa: N815
    containerTags: ListOf[Name] = Field(default=[], max_length=20, description="Only in one of these spaces.")  # noqa: N815
    scopedDocumentIds: ListOf[Name] = Field(default=[], max_length=50)  # noqa: N815


class ShortChunk(BaseModel):
    """A passage of a document that matches."""

    content: str
    score: float
    firstMessage: int  # noqa: N815
    lastMessage: int  # noqa: N815
    saidBy: list[str]  # noqa: N815


class ShortDocument(BaseModel):
    """A source as a document."""

    documentId: str  # noqa: N815
    title: str
    type: str
    summary: str | None = None
    content: str | None = None
    score: float
    chunks: list[ShortChunk]
    url: str | None = None
    metadata: UserJson
    createdAt: str  # noqa: N815
    updatedAt: str | None  # noqa: N815


class Documents(Result):
    """The answer of ``searchDatabase``. Its text is JSON, in whose texts no quotation mark ends a text."""

    count: int
    results: Annotated[list[ShortDocument], WithJsonSchema({"type": "array"})]  # every agent pays for schemas

    def lines(self) -> Iterator[str]:
        """Yield the answer as one line of JSON."""
        documents = [{name: value for name, value in one if value is not None} for one in self.results]
        yield as_json({"count": self.count, "results": documents})

    def texts(self) -> list[str]:
        """Return the note about remembered text, and the answer as JSON alone, as callers parse it."""
        cut = f"A text that ends with {_MORE} is cut: open_memory with one of its recordIds reads all of it."
        return [f"{NOTICE_OF_JSON} {cut}", *self.lines()]


def search_database(call: AgentCall, given: SearchDatabaseArguments) -> Documents:
    """Search, and return as many documents as fit; none if nothing is near enough to the question."""
    claims = call.claims.within(checked_tags(given.containerTags))
    context = call.installation.acting_for(claims)
    scoped = [UUID(one) for one in given.scopedDocumentIds if _is_id(one)]
    if given.scopedDocumentIds and not scoped:
        return Documents(count=0, results=[])
    found = search_documents(context, DocumentRequest(given.query, given.limit, document_ids=scoped or None))
    budget, shown = call.budget(MOST_TOKENS), list[ShortDocument]()
    for one in found.documents if found.search_path is not SearchPath.RECENT else ():
        stop_if_cancelled()
        assert one.hit is not None
        records = records_of(context, [one.document_id])
        document = _document(given, one, one.hit, records)
        if not budget.fits(as_json(document)):
            break
        if given.includeFullDocs:
            document.content = _content(context, records, budget)
        shown.append(document)
    return Documents(count=len(shown), results=shown)


def _is_id(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def _document(given: SearchDatabaseArguments, found: FoundDocument, hit: Hit, records: Sequence[UUID]) -> ShortDocument:
    source = found.details
    return ShortDocument(
        documentId=str(found.document_id),
        title=plain(found.title),
        type=source.document_type,
        summary=plain(found.summary) if given.includeSummary else None,
        score=found.score,
        chunks=[_chunk(one) for one in found.chunks[:CHUNKS]],
        url=plain(source.url),
        metadata=plain(
            {
                **source.metadata,
                "stored": hit.stored,
                "nodeId": hit.node_id,
                "nodePath": hit.node_path,
                "recordIds": records[:_MOST_RECORDS],
                "externalId": hit.source_external_id,
                "saidBy": list(hit.origin.voices),
                "receivedThrough": hit.origin.received_through,
                "source": source.origin,
                "channel": source.channel,
                "author": source.author,
                "version": source.version,
            }
        ),
        createdAt=plain(found.occurred_at),
        updatedAt=plain(source.updated_at or hit.origin.received_at),
    )


def _chunk(found: FoundChunk) -> ShortChunk:
    return ShortChunk(
        content=visible(_cut(found.content, CHUNK_CHARACTERS)),
        score=found.score,
        firstMessage=found.first_message,
        lastMessage=found.last_message,
        saidBy=list(found.voices),
    )


def _content(context: Context, records: Sequence[UUID], budget: Budget) -> str | None:
    """Return the messages of a document, one a line, as far as they fit; None if it is not stored yet."""
    parts: list[str] = []
    for record_id in records:
        stop_if_cancelled()
        if budget.is_spent:
            return "\n".join([*parts, _MORE])
        try:
            opened = open_messages(context, file_of_record(context.database, context.claims, record_id), None)
        except LostObjectError as error:
            return "\n".join([*parts, said(error)])
        for one in opened:
            line = plain(f"{one.author or one.voice}: {one.content}")
            part = budget.cut(line)
            parts.append(part)
            if len(part) < len(line):
                return "\n".join(parts) + _MORE
    return "\n".join(parts) if parts else None


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + _MORE


SEARCH_DATABASE = Tool(
    "searchDatabase",
    "Search documents and memories in the user's knowledge base",
    SearchDatabaseArguments,
    Documents,
    search_database,
)
