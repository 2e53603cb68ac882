"""``searchDatabase``: search in the shape that agents of other memory systems know. A document is a memory here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, Field, WithJsonSchema

from neurigraph_pipelines.faces.mcp.budget import Budget
from neurigraph_pipelines.faces.mcp.calls import Call, stop_if_cancelled
from neurigraph_pipelines.faces.mcp.framing import NOTICE_OF_JSON
from neurigraph_pipelines.faces.mcp.results import Result, as_json, plain
from neurigraph_pipelines.faces.mcp.tools.tool import Arguments, ListOf, Tool
from neurigraph_pipelines.graph import history
from neurigraph_pipelines.ingestion.record_locations import nodes_of
from neurigraph_pipelines.model.errors import LostObjectError, NotFoundError, StorageError
from neurigraph_pipelines.retrieval.open import OpenedMessage, open_messages
from neurigraph_pipelines.retrieval.query.question import MAX_QUERY_CHARACTERS, Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.text.visible import visible
from neurigraph_pipelines.views.scalars import UserJson
from neurigraph_pipelines.views.search import Hit, MessageHit

MOST_TOKENS = 12_000
"""Bound of an answer: the shape has no argument for it."""

CHUNKS = 3
"""Matching messages of each document."""

CHUNK_CHARACTERS = 1_000

_MESSAGES_AT_ONCE = 50
_MORE = "…"

Name = Annotated[str, Field(min_length=1, max_length=2_000)]


class SearchDatabaseArguments(Arguments):
    """Arguments of ``searchDatabase``, as they are known elsewhere."""

    query: str = Field(min_length=1, max_length=MAX_QUERY_CHARACTERS)
    limit: int = Field(default=20, ge=1, le=50)
    includeSummary: bool = True  # noqa: N815 - the name that agents know
    includeFullDocs: bool = False  # noqa: N815
    containerTags: ListOf[Name] | None = Field(  # noqa: N815
        default=None, max_length=20, description="Paths or ids of nodes; the nodes below count, too."
    )
    scopedDocumentIds: ListOf[Name] | None = Field(default=None, max_length=50)  # noqa: N815


class Chunk(BaseModel):
    """A message of a document that matches."""

    content: str
    score: float
    messageId: int  # noqa: N815
    author: str | None
    voice: str | None
    occurredAt: str | None  # noqa: N815
    section: str | None


class Document(BaseModel):
    """A memory as a document."""

    documentId: str  # noqa: N815
    title: str
    type: str
    summary: str | None = None
    content: str | None = None
    score: float
    chunks: list[Chunk]
    url: str | None = None
    metadata: UserJson
    createdAt: str  # noqa: N815
    updatedAt: str | None  # noqa: N815


class Documents(Result):
    """What ``searchDatabase`` returns. Its text is JSON, in whose texts no quotation mark ends a text."""

    count: int
    results: Annotated[list[Document], WithJsonSchema({"type": "array"})]  # every agent pays for schemas

    def lines(self) -> Iterator[str]:
        """Yield the answer as one line of JSON."""
        documents = [{name: value for name, value in one if value is not None} for one in self.results]
        yield as_json({"count": self.count, "results": documents})

    def texts(self) -> list[str]:
        """Return the note about remembered text, and the answer as JSON alone, as callers parse it."""
        cut = f"A text that ends with {_MORE} is cut: open_memory with its documentId as record_id reads all of it."
        return [f"{NOTICE_OF_JSON} {cut}", *self.lines()]


def search_database(call: Call, given: SearchDatabaseArguments) -> Documents:
    """Search, and return as many documents as fit."""
    hits, said = _found(call, given)
    budget, shown = call.budget(MOST_TOKENS), list[Document]()
    for hit in hits[: given.limit]:
        stop_if_cancelled()
        document = _document(call, given, hit, said.get(hit.key, [])[:CHUNKS])
        if not budget.fits(as_json(document)):
            break
        if given.includeFullDocs:
            document.content = _content(call, hit, budget)
        shown.append(document)
    return Documents(count=len(shown), results=shown)


def _found(call: Call, given: SearchDatabaseArguments) -> tuple[list[Hit], dict[UUID, list[MessageHit]]]:
    """Return the hits of each place that may be searched, best first, and the messages found by record."""
    scoped = [UUID(one) for one in given.scopedDocumentIds or () if _is_id(one)]
    places: list[UUID | None] = [None]
    if given.containerTags is not None:
        places = [node for node in (_node(call, tag) for tag in given.containerTags) if node is not None]
    elif scoped:
        with call.installation.database.agent(call.claims) as tx:
            places = list(nodes_of(tx, scoped))
    if given.scopedDocumentIds is not None and not scoped:
        places = []
    hits: dict[UUID, Hit] = {}
    said: dict[UUID, dict[int, MessageHit]] = {}
    for node_id in dict.fromkeys(places):
        stop_if_cancelled()
        question = Question(given.query, limit=given.limit, node_id=node_id, record_ids=tuple(scoped))
        found = search(call.context, question, run_after=call.run_after)
        for hit in found.hits:
            if hit.key not in hits or hits[hit.key].score < hit.score:
                hits[hit.key] = hit
        for message in found.messages:
            said.setdefault(message.key, {}).setdefault(message.seq, message)
    best = sorted(hits.values(), key=lambda hit: -hit.score)
    return best, {record_id: list(messages.values()) for record_id, messages in said.items()}


def _is_id(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def _node(call: Call, tag: str) -> UUID | None:
    try:
        return call.node(tag)
    except NotFoundError:  # no document has a tag that is not there
        return None


def _document(call: Call, given: SearchDatabaseArguments, hit: Hit, messages: list[MessageHit]) -> Document:
    source = hit.origin.source
    return Document(
        documentId=str(hit.key),
        title=plain(hit.title),
        type=source.document_type,
        summary=plain(hit.summary) if given.includeSummary else None,
        score=min(max(hit.score, 0.0), 1.0),
        chunks=_chunks(call, hit, messages),
        url=plain(source.url),
        metadata=plain(
            {
                **source.metadata,
                "stored": hit.stored,
                "nodeId": hit.node_id,
                "nodePath": hit.node_path,
                "sourceId": hit.source_id,
                "externalId": hit.source_external_id,
                "saidBy": list(hit.origin.voices),
                "receivedThrough": hit.origin.received_through,
                "source": source.origin,
                "channel": source.channel,
                "author": source.author,
                "version": source.version,
            }
        ),
        createdAt=plain(hit.occurred_at),
        updatedAt=plain(source.updated_at or hit.origin.received_at),
    )


def _chunks(call: Call, hit: Hit, messages: list[MessageHit]) -> list[Chunk]:
    """Return the best messages of a document with their words; none if its file cannot be read."""
    if not hit.stored:
        return [_chunk(one, one.content or "", one) for one in messages]
    found = {message.seq: message for message in messages}
    if not hit.file_id or not found:
        return []
    try:
        opened = open_messages(call.context, hit.file_id, list(found))
    except StorageError:
        return []
    return [_chunk(found[one.seq], one.text, one) for one in sorted(opened, key=lambda one: -found[one.seq].score)]


def _chunk(found: MessageHit, text: str, said: MessageHit | OpenedMessage) -> Chunk:
    return Chunk(
        content=visible(_cut(text, CHUNK_CHARACTERS)),
        score=min(max(found.score, 0.0), 1.0),
        messageId=found.seq,
        author=plain(said.author),
        voice=said.voice,
        occurredAt=plain(said.occurred_at),
        section=plain(found.section),
    )


def _content(call: Call, hit: Hit, budget: Budget) -> str | None:
    """Return the messages of a document, one a line, as far as they fit."""
    if not hit.file_id or not hit.record_id:
        return None
    record = history.record_at(call.installation.database, call.claims, hit.record_id)
    first, last = record.first_message, record.last_message
    parts: list[str] = []
    for start in range(first, last + 1, _MESSAGES_AT_ONCE):
        stop_if_cancelled()
        if budget.is_spent:
            return "\n".join([*parts, _MORE])
        numbers = range(start, min(start + _MESSAGES_AT_ONCE, last + 1))
        try:
            opened = open_messages(call.context, hit.file_id, numbers)
        except LostObjectError as error:
            return "\n".join([*parts, str(error)])
        for one in opened:
            line = plain(f"{one.author or one.voice}: {one.text}")
            part = budget.cut(line)
            parts.append(part)
            if len(part) < len(line):
                return "\n".join(parts) + _MORE
    return "\n".join(parts)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + _MORE


SEARCH_DATABASE = Tool(
    "searchDatabase",
    "Search documents and memories in the user's knowledge base",
    SearchDatabaseArguments,
    Documents,
    search_database,
)
