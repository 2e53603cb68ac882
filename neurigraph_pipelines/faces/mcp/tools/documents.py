"""``searchDatabase``: search in the shape that agents of other memory systems know, as ``POST /v3/search`` has it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated
from uuid import UUID

from pydantic import Field, WithJsonSchema

from neurigraph_pipelines.faces.mcp.budget import Budget
from neurigraph_pipelines.faces.mcp.calls import AgentCall, stop_if_cancelled
from neurigraph_pipelines.faces.mcp.framing import NOTICE_OF_JSON
from neurigraph_pipelines.faces.mcp.tools.answer import Result, as_json, plain
from neurigraph_pipelines.faces.mcp.tools.tool import Arguments, ListOf, Tool
from neurigraph_pipelines.faces.operations.documents import found_document
from neurigraph_pipelines.model import SourceKind
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.retrieval.documents import (
    DocumentRequest,
    FoundDocument,
    SearchPath,
    messages_of,
    records_of,
    search_documents,
)
from neurigraph_pipelines.retrieval.query.question import MAX_QUERY_CHARACTERS
from neurigraph_pipelines.text.container_tags import checked_tags
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


class Documents(Result):
    """The answer of ``searchDatabase``. Its text is JSON, in whose texts no quotation mark ends a text."""

    count: int
    results: Annotated[list[UserJson], WithJsonSchema({"type": "array"})]  # every agent pays for schemas

    def lines(self) -> Iterator[str]:
        """Yield the answer as one line of JSON."""
        documents = [{name: value for name, value in one.items() if value is not None} for one in self.results]
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
    budget, shown = call.budget(MOST_TOKENS), list[UserJson]()
    for one in found.documents if found.search_path is not SearchPath.RECENT else ():
        stop_if_cancelled()
        assert one.hit is not None
        records = records_of(context, [one.document_id])
        document = _document(given, one, one.hit, records)
        if not budget.fits(as_json(document)):
            break
        if given.includeFullDocs:
            document["content"] = _content(context, one.hit.source_kind, records, budget)
        shown.append(document)
    return Documents(count=len(shown), results=shown)


def _is_id(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def _document(given: SearchDatabaseArguments, found: FoundDocument, hit: Hit, records: Sequence[UUID]) -> UserJson:
    """Return a document as `/v3` has it, with shorter passages, and with more of where it comes from."""
    chunks = [replace(one, content=_cut(one.content, CHUNK_CHARACTERS)) for one in found.chunks[:CHUNKS]]
    short = found_document(replace(found, chunks=chunks), with_summary=given.includeSummary)
    short.metadata |= {
        "stored": hit.stored,
        "nodeId": hit.node_id,
        "nodePath": hit.node_path,
        "recordIds": records[:_MOST_RECORDS],
        "externalId": hit.source_external_id,
        "saidBy": list(hit.origin.voices),
        "receivedThrough": hit.origin.received_through,
        "channel": found.details.channel,
        "version": found.details.version,
    }
    document: UserJson = plain(short.model_dump(by_alias=True))
    for shown, chunk in zip(document["chunks"], chunks, strict=True):
        shown["saidBy"] = list(chunk.voices)
    return document


def _content(context: Context, kind: str, records: Sequence[UUID], budget: Budget) -> str | None:
    """Return the messages of a document, one a line, as far as they fit; None if it is not stored yet."""
    parts, lost = list[str](), list[str]()
    for one in messages_of(context, kind, records, lost):
        stop_if_cancelled()
        text = one.content if kind == SourceKind.UPLOAD else f"{one.author or one.voice}: {one.content}"
        line = plain(text)
        parts.append(budget.cut(line))
        if len(parts[-1]) < len(line):
            return "\n".join(parts) + _MORE
    return "\n".join([*parts, *lost]) or None


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + _MORE


SEARCH_DATABASE = Tool(
    "searchDatabase",
    "Search documents and memories in the user's knowledge base",
    SearchDatabaseArguments,
    Documents,
    search_database,
)
