"""Phase one: a question answered from the metadata layer alone, in one round trip.

Thin over the function ``neurigraph.search`` of the database, which chooses anchors, searches each in isolation, merges
and says why. What is asked is made here, with the weights; no file is opened.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID
from weakref import WeakKeyDictionary

from pgvector import HalfVector, Vector
from psycopg.types.json import Jsonb

from neurigraph_pipelines.errors import InvalidInputError, NeurigraphError, NotFoundError
from neurigraph_pipelines.graph.navigation import shown_path
from neurigraph_pipelines.history import superseded_of, values_then
from neurigraph_pipelines.ingestion.embed import to_passage_vectors, to_record_vector
from neurigraph_pipelines.ingestion.hygiene import clean_text
from neurigraph_pipelines.lexemes import Lexer
from neurigraph_pipelines.model import Claims, SourceKind
from neurigraph_pipelines.ports import Database, Embedder, Transaction
from neurigraph_pipelines.retrieval.cache import AnswerCache
from neurigraph_pipelines.retrieval.speakers import role_asked, speakers_named, without_names
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.statements import statements

MAX_QUERY_CHARACTERS = 4_000
MAX_LIMIT = 200
MAX_MESSAGE_LIMIT = 1_000
MAX_QUERY_LEXEMES = 64
ANCHORS_SHOWN = 10
NODES_WARMED = 5
"""Nodes of the best hits whose neighbourhood is staged."""

CANDIDATES = 100
"""Passages that a big node contributes by each of its two vectors; by words it is twice as many for all of them."""

WEIGHTS = {
    "window_lexical": 0.47,
    "dense": 0.29,
    "window_dense": 0.24,
    "speaker": 0.15,
    "user": 0.07,
    "period": 0.45,
    "best_passage": 0.70,
    "summary_dense": 0.15,
    "summary_lexical": 0.15,
    "name": 0.15,
}
"""The mix of signals, each in 0..1; fitted on LoCoMo and QMSum, on a plateau where 30 % more or less of any changes
little. The first three make a message's score, the next three are added where a message is said by somebody whom the
question is about, or by the user, or in a time that the question names. A record's score is a mix of its best message
and of its summary; ``name`` is added to the records of a node that the question names."""

_QUERIES = statements("search")
_CACHES: WeakKeyDictionary[Database, AnswerCache[Answer]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked.

    Attributes:
        limit: Most records.
        message_limit: Most single messages.
        node_id: Search only this node and what lies below it.
        at: Only what was known at this moment, shown with the title and summary that it had then.
        explain: Return every component of the scores.
        occurred_after: Only what happened then or later.
        occurred_before: Only what happened before then.
        source_kinds: Only what came from sources of these kinds; none named means all.
        speaker: Only messages of whoever bears this name, in any case, and the records that hold one.
        periods: Stretches of time, start included and end not, that the question names: what happened in one of them
            counts more, and nothing is left out.
        include_superseded: Also memories that newer ones took the place of.
    """

    query: str
    limit: int = 10
    message_limit: int = 50
    node_id: UUID | None = None
    at: datetime | None = None
    explain: bool = False
    occurred_after: datetime | None = None
    occurred_before: datetime | None = None
    source_kinds: tuple[SourceKind, ...] = ()
    speaker: str | None = None
    periods: tuple[tuple[datetime, datetime], ...] = ()
    include_superseded: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What phase one found, as plain values in the shape that the HTTP API gives them.

    Attributes:
        notes: What the answer had to do without, one sentence each.
        periods: The stretches of time that were read out of the question's words.
    """

    hits: list[dict[str, Any]] = field(default_factory=list)
    messages: list[dict[str, Any]] = field(default_factory=list)
    anchors: list[dict[str, Any]] = field(default_factory=list)
    warmed: int = 0
    notes: list[str] = field(default_factory=list)
    periods: list[dict[str, Any]] = field(default_factory=list)


def search(database: Database, embedder: Embedder, settings: Settings, claims: Claims, question: Question) -> Answer:
    """Answer a question from what the claims may see.

    When the embedder cannot be reached the answer comes from words alone: late is worse than lexical. So it does when
    the embedder's model is not the one whose vectors the user has in use; two models' vectors are never compared.

    An answer is kept in this process until anything changes that it depends on (``answer_cache_entries``).

    Raises:
        InvalidInputError: The question is empty or too long, or a limit is out of range.
        NotFoundError: The node to search below does not exist or is not visible.
    """
    query = _checked(question)
    with database.agent(claims) as tx:
        before = tx.execute(_QUERIES["before_search"]).fetchone() or {"data_version": None, "speakers": []}
    lexer = Lexer(settings.language)
    named = speakers_named(query, before["speakers"], lexer)
    asked = _as_json(question, query, lexer, embedder.model, settings) | {"asked_speakers": list(named)}
    cache = _CACHES.setdefault(database, AnswerCache())
    asker = (claims, embedder.model, json.dumps(asked), question.explain)
    # Only the owner's answers have a version: a grant ends with the next question, and nothing says when.
    keeps = settings.answer_cache_entries > 0 and before["data_version"] is not None
    kept = cache.get((*asker, before["data_version"])) if keeps else None
    if kept is not None:
        return deepcopy(kept)
    vector, passage_vector = _embed(embedder, without_names(query, set().union(*named.values())))
    with database.agent(claims) as tx:
        row = tx.execute(
            _QUERIES["search"], {"question": Jsonb(asked), "embedding": vector, "passage_embedding": passage_vector}
        ).fetchone()
        assert row is not None
        found: dict[str, Any] | None = row["answer"]
        if found is not None:
            _put_back(tx, found["hits"] or (), question)
    if found is None:
        if question.node_id is not None:
            raise NotFoundError
        return Answer()
    answer = _answer(found, question.explain, _notes(embedder.model, found["model"], vector))
    if keeps and vector is not None:
        cache.put((*asker, found["data_version"]), deepcopy(answer), settings.answer_cache_entries)
    return answer


def _put_back(tx: Transaction, hits: Sequence[dict[str, Any]], question: Question) -> None:
    """Show records with the titles and summaries that they had then, and which of them are superseded, if asked for."""
    record_ids = [UUID(hit["record_id"]) for hit in hits]
    earlier = values_then(tx, record_ids, question.at) if question.at is not None else {}
    superseded = superseded_of(tx, record_ids, question.at) if question.include_superseded else None
    for record_id, hit in zip(record_ids, hits, strict=True):
        values = earlier.get(record_id, {})
        hit |= {name: values[name] for name in ("title", "summary") if name in values}
        if superseded is not None:
            hit["superseded"] = record_id in superseded


def _answer(found: dict[str, Any], explain: bool, notes: list[str]) -> Answer:
    """What the function of the database gives, in the shape of an answer."""
    paths = {node_id: shown_path(names) for node_id, names in (found["paths"] or {}).items()}
    return Answer(
        [_hit(hit, paths, explain) for hit in found["hits"] or ()],
        [_message(message, explain) for message in found["messages"] or ()],
        [
            {**anchor, "node_path": paths[anchor["node_id"]], "score": round(anchor["score"], 4)}
            for anchor in found["anchors"] or ()
        ],
        found["warmed"],
        notes,
    )


def _as_json(question: Question, query: str, lexer: Lexer, model: str, settings: Settings) -> dict[str, Any]:
    """The question as the function of the database takes it."""
    return {
        "query": query,
        "lexemes": list(dict.fromkeys(lexer.lexemes(query)))[:MAX_QUERY_LEXEMES],
        "model": model,
        "limit": question.limit,
        "message_limit": question.message_limit,
        "node_id": str(question.node_id) if question.node_id is not None else None,
        "at": _moment(question.at),
        "include_superseded": question.include_superseded,
        "occurred_after": _moment(question.occurred_after),
        "occurred_before": _moment(question.occurred_before),
        "source_kinds": [kind.value for kind in question.source_kinds],
        "speaker": clean_text(question.speaker, "repair")[0] if question.speaker is not None else None,
        "asked_role": role_asked(query),
        "periods": [[_moment(start), _moment(end)] for start, end in question.periods],
        "weights": WEIGHTS,
        "max_anchors": settings.max_anchors,
        "max_passages": settings.max_searched_passages,
        "candidates": CANDIDATES,
        "anchors_shown": ANCHORS_SHOWN,
        "nodes_warmed": NODES_WARMED,
        "warm_seconds": settings.warming_ttl_minutes * 60,
    }


def _moment(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment is not None else None


def _checked(question: Question) -> str:
    query = clean_text(question.query, "repair")[0].strip()
    if not query:
        raise InvalidInputError("the query is empty")
    if len(query) > MAX_QUERY_CHARACTERS:
        raise InvalidInputError(f"the query has {len(query):,} characters and the limit is {MAX_QUERY_CHARACTERS:,}")
    if not 1 <= question.limit <= MAX_LIMIT:
        raise InvalidInputError(f"limit lies between 1 and {MAX_LIMIT}")
    if not 0 <= question.message_limit <= MAX_MESSAGE_LIMIT:
        raise InvalidInputError(f"message_limit lies between 0 and {MAX_MESSAGE_LIMIT}")
    return query


def _embed(embedder: Embedder, query: str) -> tuple[Vector | None, HalfVector | None]:
    try:
        vectors = embedder.embed([query], kind="query")
    except NeurigraphError:
        return None, None
    return (
        Vector(to_record_vector(vectors[0])),
        HalfVector(to_passage_vectors(vectors, embedder.prefix_trained)[0]),
    )


def _notes(model: str, in_use: str | None, embedding: Vector | None) -> list[str]:
    if embedding is None:
        return ["The embedder could not be reached: this answer comes from words alone."]
    if in_use not in (None, model):
        return [
            f"The vectors in use are of {in_use} and the embedder is {model}: this answer comes from words "
            "alone until a backfill of record_embeddings has moved all records."
        ]
    return []


def _hit(found: dict[str, Any], paths: dict[str, str], explain: bool) -> dict[str, Any]:
    hit: dict[str, Any] = {
        "record_id": found["record_id"],
        "node_id": found["node_id"],
        "node_path": paths[found["node_id"]],
        "title": found["title"],
        "summary": found["summary"],
        "score": round(found["score"], 6),
        "occurred_at": found["occurred_at"],
        "source": {
            "kind": found["source_kind"],
            "id": found["source_id"],
            "external_id": found["source_external_id"],
        },
        "file": {"file_id": found["file_id"], "state": found["file_state"]},
    }
    if "superseded" in found:
        hit["superseded"] = found["superseded"]
    if explain:
        parts = ("passage", "summary_dense", "summary_lexical", "boost", "period")
        hit["explain"] = {name: found[name] for name in parts}
    return hit


def _message(found: dict[str, Any], explain: bool) -> dict[str, Any]:
    message = {name: found[name] for name in ("record_id", "external_id", "seq")}
    message["score"] = round(found["score"], 6)
    if explain:
        message["explain"] = {
            name: found[name] for name in ("window_lexical", "dense", "window_dense", "speaker", "user", "period")
        }
    return message
