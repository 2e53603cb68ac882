"""Phase one: a question answered from the metadata layer alone; no file is opened.

The database says what speaks for which nodes, in one call that checks the claims. Which of them are searched is decided
in memory, and what they hold is ranked there; both are read before only where they are not there as they are now.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID
from weakref import WeakKeyDictionary

import numpy as np
from pgvector import HalfVector

from neurigraph_pipelines.errors import InvalidInputError, NeurigraphError, NotFoundError
from neurigraph_pipelines.graph.exclusion import looking_again
from neurigraph_pipelines.history import superseded_of, values_then
from neurigraph_pipelines.ingestion.embed import to_passage_vectors, to_record_vector
from neurigraph_pipelines.ingestion.hygiene import clean_text
from neurigraph_pipelines.lexemes import Lexer
from neurigraph_pipelines.model import Claims, SourceKind
from neurigraph_pipelines.ports import Database, Embedder
from neurigraph_pipelines.retrieval.anchors import Anchor, Bounds, choose
from neurigraph_pipelines.retrieval.cache import AnswerCache
from neurigraph_pipelines.retrieval.layers import LayerCache, MetadataLayer, read_layers
from neurigraph_pipelines.retrieval.postings import Floats
from neurigraph_pipelines.retrieval.ranking import Asked, Ranked, rank
from neurigraph_pipelines.retrieval.shells import Shells
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
"""Passages that a big node contributes by each of its two vectors; by words it is twice as many."""

_STAGED = 5_000
"""Entries of what is kept by asker and node."""

_SHELLS = 1 / 8
"""Beside the layers so much of their room is taken by shells."""

_QUERIES = statements("search")


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


class Kept:
    """What a process keeps between the questions to one database; threads may share it.

    Attributes:
        answers: By asker and question, with the version of the data that they were given from.
        layers: Of nodes.
        shells: By asker.
        staged: By asker, version of the data and node: what was staged a moment ago for its sake.
        awaited: For whom something was staged that was not brought into memory since.
    """

    def __init__(self) -> None:
        self.answers: AnswerCache[tuple[str, Answer]] = AnswerCache()
        self.layers = LayerCache()
        self.shells: AnswerCache[Shells] = AnswerCache(math.inf)
        self.staged: AnswerCache[frozenset[UUID]] = AnswerCache()
        self.awaited: set[Claims] = set()


_KEPT: WeakKeyDictionary[Database, Kept] = WeakKeyDictionary()


def kept_of(database: Database) -> Kept:
    """What this process keeps of a database."""
    return _KEPT.setdefault(database, Kept())


@looking_again
def search(database: Database, embedder: Embedder, settings: Settings, claims: Claims, question: Question) -> Answer:
    """Answer a question from what the claims may see.

    When the embedder cannot be reached the answer comes from words alone: late is worse than lexical. So it does when
    the embedder's model is not the one whose vectors the user has in use; two models' vectors are never compared.

    An answer is kept in this process until anything changes that it depends on (``answer_cache_entries``).

    Raises:
        InvalidInputError: The question is empty or too long, or a limit is out of range.
        NotFoundError: The node to search below does not exist or is not visible.
    """
    query, kept, lexer = _checked(question), kept_of(database), Lexer(settings.language)
    asked = _as_json(question, query, lexer, embedder)
    asked_as_text = json.dumps(asked)
    asker = (claims, question, asked_as_text, settings.max_anchors, settings.max_searched_passages)
    answered = kept.answers.get(asker) if settings.answer_cache_entries else None
    if answered is not None and answered[0] == database.ask(claims, _QUERIES["data_version"], {})[0]["version"]:
        return deepcopy(answered[1])
    shells = kept.shells.get((claims, embedder.dimensions)) if settings.layer_cache_mb else None
    known = {"question": asked_as_text, "known_version": shells.data_version if shells is not None else None}
    evidence = next(iter(database.ask(claims, _QUERIES["evidence"], known, binary=True)), None)
    if evidence is not None and (shells is None or shells.data_version != evidence["data_version"]):
        shells = Shells(evidence)
        if shells.data_version is not None:
            most = int(_SHELLS * settings.layer_cache_mb * 1_000_000)
            kept.shells.put((claims, embedder.dimensions), shells, most, shells.size)
    within = None
    if question.node_id is not None:
        within = shells.number(question.node_id) if shells is not None else None
        if evidence is None or within is None:
            raise NotFoundError
    if evidence is None or not shells:
        return Answer()
    named = speakers_named(query, shells.speakers, lexer)
    vectors = _embed(embedder, without_names(query, set().union(*named.values())))
    compared = vectors if evidence["model"] == embedder.model else None
    bounds = Bounds(within, settings.max_anchors, settings.max_searched_passages, question.limit)
    anchors = choose(shells, evidence, compared[1] if compared is not None else None, bounds)
    notes = _notes(embedder.model, evidence["model"], vectors is not None)
    layers = read_layers(
        database,
        kept.layers,
        settings.layer_cache_mb * 1_000_000,
        claims,
        {anchor.node_id: anchor.version for anchor in anchors},
        evidence["model"],
        asked,
        HalfVector(compared[1]) if compared is not None else None,
    )
    if any(layer.model != evidence["model"] for layer in layers.values()):  # the user has moved to another one since
        return search(database, embedder, settings, claims, question)
    # A node may have vanished since.
    searched = [anchor for anchor in anchors if anchor.node_id in layers]
    records, messages = rank(
        [layers[anchor.node_id] for anchor in searched],
        [anchor.boost for anchor in searched],
        _as_ranked(question, query, asked["lexemes"], list(named), evidence, compared),
    )
    nodes = [_Searched(anchor, layers[anchor.node_id]) for anchor in searched]
    answer = Answer(
        [nodes[one.node].hit(one, question.explain) for one in records],
        [nodes[one.node].message(one, question.explain) for one in messages],
        [node.anchor for node in nodes[:ANCHORS_SHOWN]],
        notes=notes,
    )
    _put_back(database, claims, answer.hits, question)
    targets = list(dict.fromkeys(hit["node_id"] for hit in answer.hits))[:NODES_WARMED]
    answer = replace(answer, warmed=_stage(database, kept, settings, claims, evidence["data_version"], targets))
    # Only the owner's answers have a version: a grant ends with the next question, and nothing says when.
    if settings.answer_cache_entries and evidence["data_version"] is not None and vectors is not None:
        kept.answers.put(asker, (evidence["data_version"], deepcopy(answer)), settings.answer_cache_entries)
    return answer


class _Searched:
    """A node that was searched, and what is said of what was found in it."""

    def __init__(self, anchor: Anchor, layer: MetadataLayer) -> None:
        self._layer = layer
        self.anchor = {
            "node_id": anchor.node_id,
            "reason": anchor.reason,
            "score": round(anchor.score, 4),
            "node_path": anchor.path,
        }

    def hit(self, found: Ranked, explain: bool) -> dict[str, Any]:
        shown = self._layer.shown(found.row)
        hit = {
            "record_id": shown["record_id"],
            "node_id": self.anchor["node_id"],
            "node_path": self.anchor["node_path"],
            "title": shown["title"],
            "summary": shown["summary"],
            "score": round(found.score, 6),
            "occurred_at": shown["occurred_at"],
            "source": shown["source"],
            "file": shown["file"],
        }
        return hit | {"explain": found.parts} if explain else hit

    def message(self, found: Ranked, explain: bool) -> dict[str, Any]:
        layer, row = self._layer, found.row
        message = {
            "record_id": layer.record_ids[layer.record[row]],
            "external_id": layer.external_ids[row],
            "seq": int(layer.first_message[row]),
            "score": round(found.score, 6),
        }
        return message | {"explain": found.parts} if explain else message


def _put_back(database: Database, claims: Claims, hits: Sequence[dict[str, Any]], question: Question) -> None:
    """Show records with the titles and summaries that they had then, and which of them are superseded, if asked for."""
    if question.at is None and not question.include_superseded:
        return
    record_ids = [UUID(hit["record_id"]) for hit in hits]
    with database.agent(claims) as tx:
        earlier = values_then(tx, record_ids, question.at) if question.at is not None else {}
        superseded = superseded_of(tx, record_ids, question.at) if question.include_superseded else None
    for record_id, hit in zip(record_ids, hits, strict=True):
        values = earlier.get(record_id, {})
        hit |= {name: values[name] for name in ("title", "summary") if name in values}
        if superseded is not None:
            hit["superseded"] = record_id in superseded


def _stage(
    database: Database, kept: Kept, settings: Settings, claims: Claims, version: str | None, targets: Sequence[str]
) -> int:
    """Stage what lies around nodes, unless this process did a moment ago; says how many nodes are staged."""
    known = {target: kept.staged.get((claims, version, target)) for target in targets}
    if targets and (version is None or None in known.values()):
        kept.awaited.add(claims)
        parameters = {"targets": list(targets), "seconds": settings.warming_ttl_minutes * 60}
        for row in database.ask(claims, _QUERIES["stage"], parameters):
            known[str(row["target"])] = reached = frozenset(row["reached"])
            kept.staged.put((claims, version, str(row["target"])), reached, _STAGED)
    return len(frozenset().union(*(reached for reached in known.values() if reached is not None)))


def _as_json(question: Question, query: str, lexer: Lexer, embedder: Embedder) -> dict[str, Any]:
    """The question as the functions of the database take it."""
    return {
        "query": query,
        "lexemes": list(dict.fromkeys(lexer.lexemes(query)))[:MAX_QUERY_LEXEMES],
        "stems": list(dict.fromkeys(lexer.stems(query)))[:MAX_QUERY_LEXEMES],
        "model": embedder.model,
        "dimensions": embedder.dimensions,
        "limit": question.limit,
        "node_id": str(question.node_id) if question.node_id is not None else None,
        "at": _moment(question.at),
        "occurred_after": _moment(question.occurred_after),
        "occurred_before": _moment(question.occurred_before),
        "source_kinds": [kind.value for kind in question.source_kinds],
        "speaker": clean_text(question.speaker, "repair")[0] if question.speaker is not None else None,
        "candidates": CANDIDATES,
    }


def _as_ranked(
    question: Question,
    query: str,
    lexemes: Sequence[str],
    speakers: Sequence[str],
    evidence: Mapping[str, Any],
    vectors: tuple[Floats, Floats] | None,
) -> Asked:
    """The question as the ranking takes it, with what the database says of all that may be searched."""
    return Asked(
        lexemes=dict(zip(lexemes, evidence["rarities"] or (), strict=True)),
        mean_length=max(evidence["mean_length"] or 0.0, 1.0),
        limit=question.limit,
        message_limit=question.message_limit,
        vector=vectors[0] if vectors is not None else None,
        passage_vector=vectors[1] if vectors is not None else None,
        at=_seconds(question.at),
        occurred_after=_seconds(question.occurred_after),
        occurred_before=_seconds(question.occurred_before),
        source_kinds=tuple(kind.value for kind in question.source_kinds),
        speaker=evidence["speaker"],
        speakers=tuple(speakers),
        role=role_asked(query),
        periods=tuple((start.timestamp(), end.timestamp()) for start, end in question.periods),
        explain=question.explain,
        include_superseded=question.include_superseded,
    )


def _seconds(moment: datetime | None) -> float | None:
    return moment.timestamp() if moment is not None else None


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


def _embed(embedder: Embedder, query: str) -> tuple[Floats, Floats] | None:
    """Vectors of a question, to compare with those of records and of passages; None where the embedder gives none."""
    try:
        vectors = embedder.embed([query], kind="query")
    except NeurigraphError:
        return None
    return to_record_vector(vectors[0]), to_passage_vectors(vectors, embedder.prefix_trained)[0].astype(np.float32)


def _notes(model: str, in_use: str | None, is_embedded: bool) -> list[str]:
    if not is_embedded:
        return ["The embedder could not be reached: this answer comes from words alone."]
    if in_use not in (None, model):
        return [
            f"The vectors in use are of {in_use} and the embedder is {model}: this answer comes from words "
            "alone until a backfill of record_embeddings has moved all records."
        ]
    return []
