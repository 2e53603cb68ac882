"""Phase one: a question answered from the metadata layer alone; no file is opened.

The database says what speaks for which nodes, in one call that checks the claims. Which of them are searched is decided
in memory, and what they hold is ranked there; both are read before only where they are not there as they are now.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector
from psycopg.types.json import Jsonb

from neurigraph_pipelines.errors import NeurigraphError, NotFoundError
from neurigraph_pipelines.graph.locks import retry_not_found
from neurigraph_pipelines.history import superseded_of, values_then
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.ports import Database, Embedder
from neurigraph_pipelines.retrieval.index.caches import kept_of
from neurigraph_pipelines.retrieval.index.layers import MetadataLayer, read_layers
from neurigraph_pipelines.retrieval.index.postings import Floats
from neurigraph_pipelines.retrieval.index.shells import Shells
from neurigraph_pipelines.retrieval.query.anchors import Anchor, Bounds, Leads, choose, lead
from neurigraph_pipelines.retrieval.query.question import Answer, Question
from neurigraph_pipelines.retrieval.query.ranking import Asked, Ranked, rank, rarities
from neurigraph_pipelines.retrieval.query.speakers import role_asked, speakers_named, without_names
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.statements import statements
from neurigraph_pipelines.text.lexemes import WINDOW, WINDOW_LENGTH, Lexer, plain
from neurigraph_pipelines.text.vectors import to_passage_vectors, to_record_vector

MAX_QUERY_LEXEMES = 64
ANCHORS_SHOWN = 10
NODES_WARMED, STEPS_WARMED = 5, 2
"""Nodes of the best hits whose neighbourhood is staged, and how many edges far: no third layer."""

CANDIDATES = 100
"""Passages that a big node contributes by each of its two vectors; by words it is five times as many."""

_LOOKED_UP = 4_000
"""Passages of an indexed node that hold a word by which they are looked up, about."""

_STAGED, _STAGED_SHARE = 5_000, 0.1
"""Entries of what is kept by asker and node, and for which share of the time for which nodes stay staged: no write is
needed more often."""

_SHELLS = 1 / 8
"""Beside the layers so much of their room is taken by shells."""

_QUERIES = statements("search")
_lexer_of = cache(Lexer)


@retry_not_found
def search(database: Database, embedder: Embedder, settings: Settings, claims: Claims, question: Question) -> Answer:
    """Answer a question from what the claims may see.

    When the embedder cannot be reached the answer comes from words alone: late is worse than lexical. So it does when
    the embedder's model is not the one whose vectors the user has in use; two models' vectors are never compared.

    An answer is kept in this process until anything changes that it depends on (``answer_cache_entries``).

    Raises:
        InvalidInputError: The question is empty or too long, or a limit is out of range.
        NotFoundError: The node to search below does not exist or is not visible.
    """
    return _Search(database, embedder, settings, claims, question).answer()


class _Search:
    """One question of one asker."""

    def __init__(
        self, database: Database, embedder: Embedder, settings: Settings, claims: Claims, question: Question
    ) -> None:
        self._database = database
        self._embedder = embedder
        self._settings = settings
        self._claims = claims
        self._question = question
        self._query = question.cleaned()
        self._lexer = _lexer_of(settings.language)
        self._stems = list(dict.fromkeys(self._lexer.stems(self._query)))[:MAX_QUERY_LEXEMES]
        self._lexemes = list(dict.fromkeys(map(plain, self._stems)))
        self._kept = kept_of(database)
        self._graph = (claims, embedder.dimensions)

    def answer(self) -> Answer:
        settings = self._settings
        if not settings.retrieval.answer_cache_entries:
            return self._answer()[0]
        bounds = (settings.retrieval.max_anchors, settings.retrieval.max_searched_passages, settings.language)
        asker = (self._graph, self._question, self._embedder.model, bounds)
        answered = self._kept.answers.get(asker)
        if answered is not None:
            (now,) = self._database.ask(self._claims, _QUERIES["data_version"], {})
            if answered[0] == now["version"]:
                return deepcopy(answered[1])
        answer, version = self._answer()
        if version is not None:
            self._kept.answers.put(asker, (version, deepcopy(answer)), settings.retrieval.answer_cache_entries)
        return answer

    def _answer(self) -> tuple[Answer, str | None]:
        """The answer, and the version of the data for as long as which it may be kept."""
        before = self._kept.shells.get(self._graph) if self._settings.retrieval.layer_cache_mb else None
        past = before if before and before.data_version is not None else None
        meant, leads = self._meant(past) if past and self._embedder.is_remote else None, None
        with self._database.asking(self._claims, _QUERIES["evidence"], self._known(past), binary=True) as rows:
            # Most often nothing has changed since, and what follows from the shells is known before it answers.
            if past:
                meant = meant or self._meant(past)
                leads = self._leads(past, meant)
            evidence = next(iter(rows()), None)
        shells = self._shells(before, evidence)
        if self._question.node_id is not None and (shells is None or shells.number(self._question.node_id) is None):
            raise NotFoundError
        if evidence is None or not shells:
            return Answer(), None
        if shells is not past or meant is None or leads is None:
            meant = self._meant(shells, meant)
            leads = self._leads(shells, meant)
        weights = rarities(evidence["occurrences"], shells.corpus_passages)
        anchors = choose(shells, leads, evidence, weights, self._bounds(shells))
        layers = read_layers(
            self._database,
            self._kept.layers,
            self._settings.retrieval.layer_cache_mb * 1_000_000,
            self._claims,
            {anchor.node_id: anchor.version for anchor in anchors},
            shells.model,
            lambda: self._candidates(_rare(self._lexemes, evidence["occurrences"], weights), meant),
        )
        if any(layer.model != shells.model for layer in layers.values()):  # the user has moved to another one since
            return self._answer()
        # A node may have vanished since.
        searched = [anchor for anchor in anchors if anchor.node_id in layers]
        records, messages = rank(
            [layers[anchor.node_id] for anchor in searched],
            [anchor.boost for anchor in searched],
            self._as_ranked(shells, meant, evidence["said_by"], weights),
        )
        nodes = [_Searched(anchor, layers[anchor.node_id]) for anchor in searched]
        answer = Answer(
            [nodes[one.node].hit(one, self._question.explain) for one in records],
            [nodes[one.node].message(one, self._question.explain) for one in messages],
            [node.anchor for node in nodes[:ANCHORS_SHOWN]],
            notes=_notes(self._embedder.model, shells.model, meant.vectors is not None),
        )
        _put_back(self._database, self._claims, answer.hits, self._question)
        found_in = dict.fromkeys(searched[one.node] for one in records)
        answer = replace(answer, warmed=self._stage(shells, list(found_in)[:NODES_WARMED]))
        # Only the owner's answers have a version: a grant ends with the next question, and nothing says when.
        return answer, shells.data_version if meant.vectors is not None else None

    def _known(self, past: Shells | None) -> dict[str, Any]:
        """The question as ``neurigraph.evidence`` takes it."""
        return {
            "lexemes": " ".join(self._lexemes),
            "stems": " ".join(self._stems),
            "speaker": self._question.cleaned_speaker(),
            "dimensions": self._embedder.dimensions,
            "known_version": past.data_version if past is not None else None,
        }

    def _shells(self, past: Shells | None, evidence: Mapping[str, Any] | None) -> Shells | None:
        """The shells that are in force, which are kept."""
        if evidence is None:
            return None
        version = evidence["data_version"]
        if past is not None and version is not None and past.data_version == version:
            return past
        shells = Shells(evidence, past)
        most = int(_SHELLS * self._settings.retrieval.layer_cache_mb * 1_000_000)
        self._kept.shells.put(self._graph, shells, most, shells.size)
        return shells

    def _meant(self, shells: Shells, before: _Meant | None = None) -> _Meant:
        named = speakers_named(self._query, shells.speakers, self._lexer)
        text = without_names(self._query, set().union(*named.values()))
        vectors = before.vectors if before is not None and before.text == text else _embed(self._embedder, text)
        return _Meant(list(named), text, vectors, vectors if shells.model == self._embedder.model else None)

    def _bounds(self, shells: Shells) -> Bounds:
        node_id = self._question.node_id
        return Bounds(
            shells.number(node_id) if node_id is not None else None,
            self._settings.retrieval.max_anchors,
            self._settings.retrieval.max_searched_passages,
            self._question.limit,
        )

    def _leads(self, shells: Shells, meant: _Meant) -> Leads:
        route = meant.compared[1] if meant.compared is not None else None
        return lead(shells, self._query, self._lexemes, route, self._bounds(shells))

    def _candidates(self, rare: Mapping[str, float], meant: _Meant) -> dict[str, Any]:
        """The question as ``neurigraph.layers`` takes it, with the words by which passages may be looked up."""
        question = self._question
        told = {
            "stems": self._stems,
            "rare": rare,
            "model": self._embedder.model,
            "dimensions": self._embedder.dimensions,
            "limit": question.limit,
            "at": _moment(question.at),
            "occurred_after": _moment(question.occurred_after),
            "occurred_before": _moment(question.occurred_before),
            "source_kinds": [kind.value for kind in question.source_kinds],
            "speaker": question.cleaned_speaker(),
            "candidates": CANDIDATES,
            **WINDOW,
        }
        return {
            "question": Jsonb(told),
            "embedding": HalfVector(meant.compared[1]) if meant.compared is not None else None,
        }

    def _as_ranked(self, shells: Shells, meant: _Meant, said_by: str | None, weights: NDArray[Any]) -> Asked:
        """The question as the ranking takes it, with what is known of all that may be searched."""
        question = self._question
        return Asked(
            lexemes=dict(zip(self._lexemes, weights.tolist(), strict=True)),
            mean_length=max(WINDOW_LENGTH * shells.corpus_lexemes / max(shells.corpus_passages, 1), 1.0),
            limit=question.limit,
            message_limit=question.message_limit,
            vector=meant.compared[0] if meant.compared is not None else None,
            passage_vector=meant.compared[1] if meant.compared is not None else None,
            at=_seconds(question.at),
            occurred_after=_seconds(question.occurred_after),
            occurred_before=_seconds(question.occurred_before),
            source_kinds=tuple(kind.value for kind in question.source_kinds),
            speaker=said_by,
            speakers=tuple(meant.speakers),
            role=role_asked(self._query),
            periods=tuple((start.timestamp(), end.timestamp()) for start, end in question.periods),
            explain=question.explain,
            include_superseded=question.include_superseded,
        )

    def _stage(self, shells: Shells, targets: Sequence[Anchor]) -> int:
        """Have what lies around nodes staged, unless it was a moment ago; says how many nodes that are."""
        seconds = self._settings.lifecycle.warming_ttl_minutes * 60
        span = time.monotonic() // (seconds * _STAGED_SHARE)
        staged = [(self._claims, shells.data_version, target.number, span) for target in targets]
        if targets and (shells.data_version is None or not all(map(self._kept.staged.get, staged))):
            self._kept.awaited.add(self._claims)
            parameters = {"targets": [target.node_id for target in targets], "seconds": seconds}
            if self._database.later(self._claims, _QUERIES["stage"], parameters):
                for one in staged:
                    self._kept.staged.put(one, True, _STAGED)
        return len(shells.around([target.number for target in targets], STEPS_WARMED))


@dataclass(frozen=True, slots=True)
class _Meant:
    """What a question means in one graph.

    Attributes:
        speakers: Whom it is about.
        text: What is embedded of it.
        vectors: Of that; None where the embedder gave none.
        compared: These, where they can be compared with those in use.
    """

    speakers: list[str]
    text: str
    vectors: tuple[Floats, Floats] | None
    compared: tuple[Floats, Floats] | None


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


def _seconds(moment: datetime | None) -> float | None:
    return moment.timestamp() if moment is not None else None


def _moment(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment is not None else None


def _rare(lexemes: Sequence[str], occurrences: Sequence[int], weights: NDArray[Any]) -> dict[str, float]:
    """Those lexemes by which passages can be looked up: the rarest, as long as few hold them."""
    rare, before = {}, 0
    for passages, lexeme, weight in sorted(zip(occurrences, lexemes, weights.tolist(), strict=True)):
        if passages and before < _LOOKED_UP and passages < 5 * _LOOKED_UP:
            rare[lexeme] = weight
        before += passages
    return rare


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
