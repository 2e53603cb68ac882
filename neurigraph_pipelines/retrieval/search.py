"""Phase one: a question answered from the metadata layer alone.

Thin over ``sql/queries/search.sql``: choose anchors, search each in isolation in one statement, merge, say why. No
file is opened here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from pgvector import HalfVector, Vector
from psycopg import sql

from neurigraph_pipelines.errors import InvalidInputError, NeurigraphError, NotFoundError
from neurigraph_pipelines.ingestion.embed import to_passage_vectors, to_record_vector
from neurigraph_pipelines.ingestion.hygiene import clean_text
from neurigraph_pipelines.lexemes import Lexer
from neurigraph_pipelines.model import Claims, SourceKind
from neurigraph_pipelines.ports import Database, Embedder, Transaction
from neurigraph_pipelines.retrieval.anchors import Anchor, choose_anchors, match_names
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.statements import statements

MAX_QUERY_CHARACTERS = 4_000
MAX_LIMIT = 200
MAX_MESSAGE_LIMIT = 1_000
MAX_QUERY_LEXEMES = 64
ANCHORS_SHOWN = 10
ANCHORS_WARMED = 5

NAME_BOOST = 0.15
"""Added to the records of a node that the question names, on a scale where a perfect hit has about 1."""

PERIOD_FACTOR = 1.5
"""By how much the score of what happened in a period that the question names is multiplied."""

WEIGHTS = {
    "lexical_weight": 0.10,
    "window_lexical_weight": 0.25,
    "session_lexical_weight": 0.22,
    "dense_weight": 0.22,
    "window_dense_weight": 0.21,
    "best_passage_weight": 0.70,
    "summary_dense_weight": 0.15,
    "summary_lexical_weight": 0.15,
}
"""The mix of signals, each scaled to 0..1 over the candidates."""

_QUERIES = statements("search")


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked.

    Attributes:
        limit: Most records.
        message_limit: Most single messages.
        node_id: Search only this node and what lies below it.
        at: Only what was known at this moment.
        explain: Return every component of the scores.
        occurred_after: Only what happened then or later.
        occurred_before: Only what happened before then.
        source_kinds: Only what came from sources of these kinds; none named means all.
        speaker: Only messages of whoever bears this name, in any case, and the records that hold one.
        periods: Stretches of time, start included and end not, that the question names: what happened in one of them
            counts more, and nothing is left out.
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

    Raises:
        InvalidInputError: The question is empty or too long, or a limit is out of range.
        NotFoundError: The node to search below does not exist or is not visible.
    """
    query = _checked(question)
    lexer = Lexer(settings.language)
    lexemes = list(dict.fromkeys(lexer.lexemes(query)))[:MAX_QUERY_LEXEMES]
    record_vector, passage_vector = _embed(embedder, query)
    with database.agent(claims) as tx:
        anchors, in_use = _anchors(tx, settings, claims, question, query, record_vector, embedder.model, lexer)
        notes = _notes(embedder.model, in_use, record_vector)
        if not anchors:
            return Answer(notes=notes)
        parameters = {
            **WEIGHTS,
            "model": embedder.model if embedder.model == in_use.model else None,
            "embedding": record_vector,
            "passage_embedding": passage_vector,
            "lexemes": lexemes,
            "words": " | ".join(_quoted(lexeme) for lexeme in lexemes),
            "limit": question.limit,
            "message_limit": question.message_limit,
            "at": question.at,
            "occurred_after": question.occurred_after,
            "occurred_before": question.occurred_before,
            "source_kinds": [kind.value for kind in question.source_kinds] or None,
            "speaker": question.speaker,
            "period_starts": [start for start, _ in question.periods],
            "period_ends": [end for _, end in question.periods],
            "period_factor": PERIOD_FACTOR,
        }
        row = tx.execute(_statement(anchors, in_use.partly_beside), parameters).fetchone()
        assert row is not None
        paths = {anchor.node_id: anchor.node_path for anchor in anchors}
        hits = [_hit(found, paths, question.explain) for found in row["hits"] or []]
        messages = [_message(found, question.explain) for found in row["messages"] or []]
        target_nodes = list(dict.fromkeys(UUID(hit["node_id"]) for hit in hits))[:ANCHORS_WARMED]
        tx.execute(_QUERIES["touch_nodes"], {"node_ids": target_nodes})
        warmed = tx.execute(
            _QUERIES["warm"], {"node_ids": target_nodes, "ttl_seconds": settings.warming_ttl_minutes * 60}
        ).rowcount
    shown = [
        {
            "node_id": str(anchor.node_id),
            "node_path": anchor.node_path,
            "reason": anchor.reason,
            "score": round(anchor.score, 4),
        }
        for anchor in anchors[:ANCHORS_SHOWN]
    ]
    return Answer(hits, messages, shown, warmed, notes)


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


@dataclass(frozen=True, slots=True)
class _VectorsInUse:
    """Of which model a user's vectors are, and whether some still lie beside those of the model before."""

    model: str | None = None
    partly_beside: bool = False


def _notes(model: str, in_use: _VectorsInUse, embedding: Vector | None) -> list[str]:
    if embedding is None:
        return ["The embedder could not be reached: this answer comes from words alone."]
    if in_use.model not in (None, model):
        return [
            f"The vectors in use are of {in_use.model} and the embedder is {model}: this answer comes from words "
            "alone until a backfill of record_embeddings has moved all records."
        ]
    return []


def _anchors(
    tx: Transaction,
    settings: Settings,
    claims: Claims,
    question: Question,
    query: str,
    embedding: Vector | None,
    model: str,
    lexer: Lexer,
) -> tuple[list[Anchor], _VectorsInUse]:
    nodes = tx.execute(
        _QUERIES["anchors"],
        {"user_id": claims.user_id, "node_id": question.node_id, "embedding": embedding, "model": model},
    ).fetchall()
    if not nodes and question.node_id is not None:
        raise NotFoundError
    named = match_names(query, nodes)
    neighbours = (
        [row["node_id"] for row in tx.execute(_QUERIES["neighbours"], {"node_ids": list(named)})] if named else []
    )
    anchors = choose_anchors(query, nodes, neighbours, named, lexer, settings.max_anchors, question.limit)
    if not nodes:
        return anchors, _VectorsInUse()
    current, following = nodes[0]["embedding_model"], nodes[0]["embedding_next_model"]
    return anchors, _VectorsInUse(current, current is not None and current == following)


def _statement(anchors: Sequence[Anchor], partly_beside: bool) -> sql.Composed:
    """One statement with an arm for each anchor.

    Args:
        anchors: The nodes to search.
        partly_beside: Whether vectors may lie beside others; only then do all nodes surely have the columns for it.
    """
    columns = {"next_embedding": "embedding", "next_window": "window_embedding", "next_model": "embedding_model"}
    if partly_beside:
        columns = {
            "next_embedding": "embedding_next",
            "next_window": "window_embedding_next",
            "next_model": "embedding_next_model",
        }
    beside = {name: sql.Identifier(column) for name, column in columns.items()}
    union = sql.SQL("\nUNION ALL\n")
    arms = [
        {
            "schema": sql.Identifier(anchor.schema_name),
            "node_id": sql.Literal(str(anchor.node_id)),
            "boost": sql.Literal(NAME_BOOST * anchor.score if anchor.reason == "name" else 0.0),
        }
        for anchor in anchors
    ]
    return _QUERIES["search"].format(
        passage_arms=union.join(_QUERIES["passage_arm"].format(**arm, **beside) for arm in arms),
        record_arms=union.join(_QUERIES["record_arm"].format(**arm, **beside) for arm in arms),
    )


def _quoted(lexeme: str) -> str:
    """A lexeme as text search takes it literally."""
    escaped = lexeme.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


def _hit(found: dict[str, Any], paths: dict[UUID, str], explain: bool) -> dict[str, Any]:
    hit: dict[str, Any] = {
        "record_id": found["record_id"],
        "node_id": found["node_id"],
        "node_path": paths[UUID(found["node_id"])],
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
    if explain:
        hit["explain"] = {name: found[name] for name in ("passage", "summary_dense", "summary_lexical", "boost")}
    return hit


def _message(found: dict[str, Any], explain: bool) -> dict[str, Any]:
    message = {name: found[name] for name in ("record_id", "external_id", "seq")}
    message["score"] = round(found["score"], 6)
    if explain:
        message["explain"] = {
            name: found[name] for name in ("lexical", "window_lexical", "session_lexical", "dense", "window_dense")
        }
    return message
