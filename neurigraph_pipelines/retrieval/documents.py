"""Search for documents: the hits of a search, by source, each with passages that are joined to chunks.

``query.search`` finds and ranks. Here the messages that were found are read and joined, and documents are put in order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from uuid import UUID

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model import SourceKind
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import LostObjectError, StorageError
from neurigraph_pipelines.model.measuring import measured
from neurigraph_pipelines.retrieval.chunks import Chunk, joined, with_gaps
from neurigraph_pipelines.retrieval.excerpts import asked_words
from neurigraph_pipelines.retrieval.open import file_of_record, open_in_files, open_messages
from neurigraph_pipelines.retrieval.query.find import WORDS_ALONE
from neurigraph_pipelines.retrieval.query.question import MAX_LIMIT, MAX_MESSAGE_LIMIT, Question
from neurigraph_pipelines.retrieval.query.rerank import rerank
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.retrieval.relevance import relevance
from neurigraph_pipelines.text.lexemes import lexer_of
from neurigraph_pipelines.views.files import Message
from neurigraph_pipelines.views.search import Found, Hit, MessageHit
from neurigraph_pipelines.views.sources import Provenance

THRESHOLD = 0.1
"""Least score of a document and of a chunk, before its age counts. Scores lie between 0 and 1."""

HALF_LIFE_DAYS = 30.0
"""Age at which the score of age is 1/e, as in the API whose shape this is."""

MOST_CHUNKS = 5
"""Most chunks of one document."""

FULL_CHARACTERS = 200_000
"""Most characters of the whole text of a document."""

_PER_DOCUMENT = 10
_RERANKED_CHARACTERS = 2_000
"""About 512 tokens of each document, which a reranker reads."""

_Read = Mapping[UUID, Sequence[Message] | StorageError]
"""The messages that were read, by file, or why a file could not be read."""

_FILE = "file"
_QUERIES = statements("documents")


class SearchPath(StrEnum):
    """How the documents of an answer were found."""

    VECTOR = "rpc_vector"
    WORDS = "fallback_local"
    RECENT = "broad_recent"


@dataclass(frozen=True, slots=True)
class FoundDocument:
    """A document that a search found.

    Attributes:
        summary: Of its best memory; None for a document that was not found by its content.
        hit: That memory.
        details: The details that its writer stated, as every face shows them.
        content: Its text, if that was asked for.
    """

    document_id: UUID
    title: str | None
    summary: str | None
    score: float
    occurred_at: datetime
    details: Provenance
    chunks: Sequence[Chunk] = ()
    content: str | None = None
    hit: Hit | None = None


@dataclass(frozen=True, slots=True)
class FoundDocuments:
    """The documents that a search found, best first."""

    documents: Sequence[FoundDocument]
    search_path: SearchPath
    notes: Sequence[str]


@dataclass(frozen=True, slots=True)
class DocumentRequest:
    """The request of a search for documents.

    Attributes:
        document_ids: Only these; None for all.
        recency: Share of the score that the age decides, from 0 to 1.
        is_reranked: Whether a reranker puts the documents in order.
        with_content: Whether whole texts are returned.
    """

    query: str
    limit: int
    threshold: float = THRESHOLD
    document_ids: Collection[UUID] | None = None
    recency: float = 0.0
    half_life_days: float = HALF_LIFE_DAYS
    is_reranked: bool = False
    with_content: bool = False


@dataclass(slots=True)
class _Group:
    """The result of one source: its hits, and its messages with their scores by record.

    Attributes:
        best: The best score of the answer, which those of its parts are relative to.
    """

    hits: list[Hit] = field(default_factory=list)
    messages: dict[UUID, list[MessageHit]] = field(default_factory=dict)
    best: float = 1.0

    @property
    def score(self) -> float:
        """The score of the best of it, from 0 to 1."""
        found: list[Hit | MessageHit] = [*self.hits, *(one for each in self.messages.values() for one in each)]
        return min(1.0, max(0.0, *(one.score for one in found)))

    def scores_of(self, hit: Hit) -> dict[int, float]:
        """Return the relative scores of the messages of a hit that chunks are made of, by their numbers."""
        return {
            one.seq: min(1.0, max(0.0, one.score / self.best)) for one in self.messages.get(hit.key, ())[:_PER_DOCUMENT]
        }


@measured("search.documents")
def search_documents(context: Context, wanted: DocumentRequest) -> FoundDocuments:
    """Search for documents. The messages that were found are read; files stay as they are.

    If nothing is found, the newest documents are returned, with a score of 0.

    Raises:
        InvalidInputError: The question is empty or too long.
    """
    scope = None
    if wanted.document_ids is not None:
        scope = tuple(records_of(context, wanted.document_ids))
    notes: list[str] = []
    groups: list[_Group] = []
    if scope is None or scope:
        asked = Question(
            wanted.query,
            limit=min(4 * wanted.limit, MAX_LIMIT),
            message_limit=min(_PER_DOCUMENT * wanted.limit, MAX_MESSAGE_LIMIT),
            record_ids=scope or (),
            explain=True,
        )
        found = search(context.using(reranker=None), asked)
        notes += found.notes
        groups = _groups(found, wanted.document_ids)
    best = max((group.score for group in groups), default=0.0) or 1.0
    for group in groups:
        group.best = best
    groups.sort(key=lambda one: -_with_age(wanted, one.score / best, one.hits[0].occurred_at))
    chosen = groups[: wanted.limit]
    read = open_in_files(context, _places_of(chosen))
    documents = [_document(context, wanted, group, read, notes) for group in chosen]
    documents = [
        replace(one, score=_with_age(wanted, one.score, one.occurred_at))
        for one in documents
        if one.score >= wanted.threshold
    ]
    documents.sort(key=lambda one: -one.score)
    if not documents:
        return FoundDocuments(_recent(context, wanted), SearchPath.RECENT, notes)
    if wanted.is_reranked:
        documents = _reranked(context, wanted.query, documents, notes)
    path = SearchPath.WORDS if any(WORDS_ALONE in one for one in notes) else SearchPath.VECTOR
    return FoundDocuments(documents, path, notes)


def records_of(context: Context, document_ids: Collection[UUID]) -> list[UUID]:
    """Return the records that some sources became and that the caller sees, oldest first."""
    values = {"user_id": context.claims.user_id, "source_ids": list(document_ids)}
    rows = context.database.ask(context.claims, _QUERIES["records_of_documents"], values)
    return [row["record_id"] for row in rows]


def full_text(context: Context, kind: str, record_ids: Iterable[UUID], lost: list[str]) -> str:
    """Return the text of a document from the files of its records, its beginning if it is long.

    Raises:
        NotFoundError: A record is gone, or hidden from the caller.
        StorageError: A file could not be read.
    """
    lines: list[str] = []
    room = FULL_CHARACTERS
    for message in messages_of(context, kind, record_ids, lost):
        if room <= 0:
            break
        lines.append(_spoken(kind, message)[:room])
        room -= len(lines[-1])
    return _separator(kind).join(lines)


def messages_of(context: Context, kind: str, record_ids: Iterable[UUID], lost: list[str]) -> Iterator[Message]:
    """Yield the messages of a document, and note the files that are lost; errors are those of ``full_text``."""
    for record_id in record_ids:
        try:
            opened = open_messages(context, file_of_record(context.database, context.claims, record_id), None)
        except LostObjectError as error:
            lost.append(str(error))
            continue
        yield from (one for one in opened if not (kind == SourceKind.UPLOAD and one.external_id == _FILE))


def _groups(found: Found, document_ids: Collection[UUID] | None) -> list[_Group]:
    """Return the found records by source; messages count with their records."""
    groups: dict[UUID, _Group] = {}
    source_of: dict[UUID, UUID] = {}
    for hit in found.hits:
        if document_ids is None or hit.source_id in document_ids:
            source_of[hit.key] = hit.source_id
            groups.setdefault(hit.source_id, _Group()).hits.append(hit)
    for message in found.messages:
        if (source_id := source_of.get(message.key)) is not None:
            groups[source_id].messages.setdefault(message.key, []).append(message)
    return list(groups.values())


def _with_age(wanted: DocumentRequest, score: float, occurred_at: datetime) -> float:
    """Return the score of a document with that of its age, ``exp(-age / half life)``."""
    days = max(0.0, (datetime.now(UTC) - occurred_at).total_seconds() / 86_400)
    fresh = math.exp(-days / wanted.half_life_days)
    return round((1 - wanted.recency) * score + wanted.recency * fresh, 6)


def _places_of(groups: Iterable[_Group]) -> dict[UUID, list[int]]:
    """Return the numbers of the messages that the chunks of some documents need, by the file that they are in."""
    return {
        hit.file_id: with_gaps(sorted(found))
        for group in groups
        for hit in group.hits
        if hit.file_id is not None and (found := group.scores_of(hit))
    }


def _document(context: Context, wanted: DocumentRequest, group: _Group, read: _Read, notes: list[str]) -> FoundDocument:
    hit, relevance_to = group.hits[0], _relevance(context, wanted.query)
    chunks = sorted(_chunks(context, wanted, group, read, notes), key=lambda one: -one.score)
    whole = max(relevance_to(one, one.summary) * max(0.0, one.score) for one in group.hits) / group.best
    found = FoundDocument(
        hit.source_id,
        hit.title,
        hit.summary,
        min(1.0, max(whole, *(one.score for one in chunks), 0.0)),
        hit.occurred_at,
        hit.origin.source,
        [one for one in chunks if one.score >= wanted.threshold][:MOST_CHUNKS],
        hit=hit,
    )
    if not wanted.with_content:
        return found
    try:
        records = records_of(context, [hit.source_id])
        return replace(found, content=full_text(context, hit.source_kind, records, notes))
    except StorageError:
        notes.append(f"The file of {hit.title!r} could not be read.")
        return found


def _relevance(context: Context, query: str) -> Callable[[Hit, str], float]:
    """Return a function that says how far a text of a memory answers a question, from 0 to 1."""
    lexer = lexer_of(context.settings.language)
    asked = asked_words(query, lexer)
    return lambda hit, text: relevance(
        asked, f"{hit.title}\n{text}", lexer, hit.explain.get("summary_dense") if hit.explain else None
    )


def _chunks(context: Context, wanted: DocumentRequest, group: _Group, read: _Read, notes: list[str]) -> Iterator[Chunk]:
    """Yield the chunks of a document: found messages that lie beside each other, with those between them."""
    kind, relevance_to = group.hits[0].source_kind, _relevance(context, wanted.query)
    for hit in group.hits:
        scores = group.scores_of(hit)
        if not scores:
            continue
        if hit.file_id is not None:
            opened = read[hit.file_id]
            if isinstance(opened, StorageError):
                notes.append(f"The file of {hit.title!r} could not be read.")
                continue
            texts = {one.seq: _spoken(kind, one) for one in opened}
            voices: dict[int, str | None] = {one.seq: one.voice for one in opened}
        else:
            texts = {one.seq: one.content or "" for one in group.messages[hit.key][:_PER_DOCUMENT]}
            voices = {one.seq: one.voice for one in group.messages[hit.key]}
        for chunk in joined(context, wanted.query, texts, scores, _separator(kind)):
            said = [voices.get(seq) for seq in range(chunk.first_message, chunk.last_message + 1)]
            score = round(chunk.score * relevance_to(hit, chunk.content), 6)
            yield replace(chunk, score=score, voices=list(dict.fromkeys(filter(None, said))))


def _spoken(kind: str, message: Message) -> str:
    """Return a message, with who says it where several speak."""
    is_spoken = kind in (SourceKind.CONVERSATION, SourceKind.EVENT) and message.author
    return f"{message.author}: {message.content}" if is_spoken else message.content


def _separator(kind: str) -> str:
    return "\n" if kind in (SourceKind.CONVERSATION, SourceKind.EVENT) else "\n\n"


def _reranked(context: Context, query: str, found: Sequence[FoundDocument], notes: list[str]) -> list[FoundDocument]:
    """Return documents in the order of the reranker, by title, summary and chunks; their scores stay."""
    if context.reranker is None:
        notes.append("There is no reranker: the order is that of the search.")
        return list(found)
    texts = [
        "\n".join([one.title or "", one.summary or "", *(chunk.content for chunk in one.chunks)])[:_RERANKED_CHARACTERS]
        for one in found
    ]
    order, rerank_notes = rerank(context.reranker, query, texts)
    notes += rerank_notes
    return [found[place] for place in order]


def _recent(context: Context, wanted: DocumentRequest) -> list[FoundDocument]:
    """Return the newest documents, for a question that finds none."""
    values = {
        "user_id": context.claims.user_id,
        "source_ids": None if wanted.document_ids is None else list(wanted.document_ids),
        "limit": wanted.limit,
    }
    rows = context.database.ask(context.claims, _QUERIES["recent_documents"], values)
    return [
        FoundDocument(
            *(row["source_id"], row["title"], None, 0.0, row["occurred_at"]),
            Provenance.of(row["kind"], row["details"]),
        )
        for row in rows
    ]
