"""Facts in search: those that a question finds, and the bounded score that a fact lends to the messages that say it.

The facts of the searched nodes are kept in memory, apart from the layers, once a question asks for them. The database
decides which of them the caller sees, and again when an answer shows them.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.database.asking import ask_views
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.facts import remaining
from neurigraph_pipelines.model.measuring import measured
from neurigraph_pipelines.retrieval.index.facts import FactRows, NodeFacts
from neurigraph_pipelines.retrieval.index.rows import Rows
from neurigraph_pipelines.retrieval.query.caching import (
    ANSWER_SECONDS,
    cache_bytes,
    graph_bytes,
    graph_key,
    search_caches,
)
from neurigraph_pipelines.retrieval.query.gathering import Gathered
from neurigraph_pipelines.retrieval.query.load import LoadedNode
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.text.languages import STEMMERS, language_of
from neurigraph_pipelines.text.lexemes import lexer_of
from neurigraph_pipelines.text.search_segments import lexeme_keys
from neurigraph_pipelines.views.facts import Fact, FoundFact

LENT = 0.1
"""Most that a fact adds to the score of the messages that say it, if facts lend."""

LENDING = 10
"""How many of the best facts lend."""

OF_MESSAGES = 0.5
"""Share of a fact's score that comes from its best message; the rest comes from the words of its statement."""

_BYTES_SHOWN = 4_000
"""Approximate size of a fact as a list shows it."""

_QUERIES, _LISTED = statements("fact_search"), statements("facts")
_OF_IDS = _LISTED["facts"].format(found=_LISTED["of_ids"])
_FILTERS = ("nodes", "record_id", "kind", "who", "tags", "status", "occurred_after", "occurred_before", "superseded")
_ANY: Mapping[str, object] = {**dict.fromkeys(_FILTERS), "forgotten": False}


class RankedFact(NamedTuple):
    """A fact in the ranking.

    Attributes:
        lent: The part of its messages' scores that it added.
    """

    fact_id: str
    score: float
    lent: float


class FactScores:
    """The facts of one question, with their own scores and the scores that they add to passages.

    Attributes:
        added: The score that the facts add to each passage; None if they add nothing.
    """

    def __init__(self, facts: FactRows, lexemes: Sequence[str], rarities: NDArray[Any], *, lends: bool) -> None:
        self._facts = facts
        self._met = facts.coverage(lexeme_keys(lexemes), rarities)
        self._lent = LENT * _best(self._met, LENDING) if lends else np.zeros(facts.facts)
        self.added = facts.best_in(self._lent) if self._lent.any() else None

    def best(self, passage_score: NDArray[Any], limit: int) -> list[RankedFact]:
        """Return the best facts that share words with the question themselves or in their messages, best first.

        Args:
            passage_score: Of each passage; -inf for one that the question leaves out, and with it what it states.
        """
        said = self._facts.best_of(passage_score)
        score = OF_MESSAGES * np.maximum(said, 0.0) + (1 - OF_MESSAGES) * self._met
        score[np.isneginf(said)] = 0.0
        order = np.argsort(-score, kind="stable")[:limit]
        lent = np.where(np.isneginf(said), 0.0, self._lent)
        return [
            RankedFact(self._facts.fact_id(fact), score.item(fact), lent.item(fact))
            for fact in order.tolist()
            if score[fact] > 0
        ]


def wants_facts(context: Context, question: Question) -> bool:
    """Return whether a question needs facts at all."""
    return question.include_facts or context.settings.retrieval.fact_lending


@measured("search.facts")
def fact_scores_of(
    context: Context, gathered: Gathered, rarities: NDArray[Any], nodes: Sequence[LoadedNode], rows: Rows
) -> FactScores:
    """Return the facts of the searched nodes, measured by the question.

    Args:
        rarities: Those of the question's lexemes.
        rows: Those of the nodes.
    """
    # Unstored messages lie in no node, and a node may have several layers.
    node_ids = list(dict.fromkeys(node.anchor.node_id for node in nodes if node.anchor.node_id))
    lends = context.settings.retrieval.fact_lending
    facts = load_facts(context, gathered, node_ids, rows)
    return FactScores(facts, gathered.parsed.lexemes, rarities, lends=lends)


def load_facts(context: Context, gathered: Gathered, node_ids: Sequence[str], rows: Rows) -> FactRows:
    """Return the facts of some nodes that the caller sees, joined to the rows that are ranked.

    They are kept until anything of the graph changes, and then read again only of nodes whose facts are others.
    Callers who have no version of the graph ask the database each time.
    """
    cache, key = search_caches(context).graphs, graph_key(context)
    # A fact becomes hidden from everybody but the owner when its time has come, without a change.
    version = gathered.view.shells.data_version if context.claims.role == "user" else None
    kept = cache.get(FactRows, key, version) if version is not None else None
    if kept is not None and kept.rows is rows:
        return kept
    facts = FactRows(rows, _facts_of_nodes(context, version, node_ids))
    capacity = graph_bytes(context)
    if capacity and version is not None:
        cache.put(key, facts, capacity, size=facts.size, version=version)
    return facts


def show_facts(context: Context, ranked: Sequence[RankedFact], limit: int, version: Hashable) -> tuple[FoundFact, ...]:
    """Return the first ranked facts with the fields that the caller sees; facts that say the same come once.

    One that is gone meanwhile is left out.

    Args:
        ranked: Best first.
        limit: How many at most; of those that say the same, the best stands for all.
        version: That of the caller's data, as long as which facts are as they were; None if nothing says how long.
    """
    shown: dict[UUID, FoundFact] = {}
    for first in range(0, len(ranked), max(limit, 1)):
        part = ranked[first : first + limit]
        found = _by_id(context, [one.fact_id for one in part], version)
        for one in part:
            if one.fact_id in found and len(shown) < limit:
                shown.setdefault(found[one.fact_id].canonical_id, FoundFact.of(found[one.fact_id], one.score))
        if len(shown) >= limit:
            break
    weight = context.settings.retrieval.decay_weight
    if not weight:
        return tuple(shown.values())
    return tuple(sorted((_faded(one, weight) for one in shown.values()), key=lambda one: -one.score))


def _by_id(context: Context, fact_ids: Sequence[str], version: Hashable) -> dict[str, Fact]:
    """Return facts as lists show them, those that are kept without a question to the database."""
    cache, key = search_caches(context).graphs, graph_key(context)
    found: dict[str, Fact] = {}
    for fact_id in fact_ids if version is not None else ():
        fact = cache.get(Fact, (key, fact_id), version)
        if fact is not None and not (fact.forget_after and fact.forget_after <= datetime.now(UTC)):
            found[fact_id] = fact
    for fact in _listed(context, [UUID(fact_id) for fact_id in fact_ids if fact_id not in found]):
        found[str(fact.fact_id)] = fact
        if version is not None:
            place, capacity = (key, str(fact.fact_id)), graph_bytes(context)
            cache.put(place, fact, capacity, size=_BYTES_SHOWN, version=version, seconds=ANSWER_SECONDS)
    return found


def facts_by_id(context: Context, fact_ids: Sequence[UUID]) -> dict[UUID, Fact]:
    """Return facts as lists show them, by id: those that the caller sees and that are not forgotten."""
    return {one.fact_id: one for one in _listed(context, fact_ids)}


def _listed(context: Context, fact_ids: Sequence[UUID]) -> Sequence[Fact]:
    if not fact_ids:
        return ()
    wanted = {"user_id": context.claims.user_id, "fact_ids": fact_ids, "limit": len(fact_ids)}
    return ask_views(context.database, context.claims, _OF_IDS, Fact, {**_ANY, **wanted})


def _faded(one: FoundFact, weight: float) -> FoundFact:
    """Return a fact whose score is partly its remaining weight since it occurred, was read or was confirmed."""
    times = (one.recorded_at, one.occurred_until, one.confirmed_at)
    age = datetime.now(UTC) - max(time for time in times if time is not None)
    left = remaining(one.impact, age.total_seconds() / 86_400)
    return FoundFact.of(one, (1 - weight) * one.score + weight * left)


def _facts_of_nodes(context: Context, version: Hashable, node_ids: Sequence[str]) -> list[NodeFacts]:
    cache, key = search_caches(context).nodes, graph_key(context)
    found: dict[str, NodeFacts] = {}
    past: dict[str, NodeFacts | None] = {}
    for node_id in node_ids:
        facts = cache.get(NodeFacts, (key, node_id), version) if version is not None else None
        if facts is not None:
            found[node_id] = facts
        else:
            past[node_id] = cache.peek(NodeFacts, (key, node_id))
    if not past:
        return list(found.values())
    lexemes = partial(_lexemes, context.settings.language)
    known = [facts.version if facts is not None else None for facts in past.values()]
    parameters = {"nodes": [UUID(node_id) for node_id in past], "known": known}
    for row in context.database.ask(context.claims, _QUERIES["facts_of_nodes"], parameters, binary=True):
        node_id = str(row["node_id"])
        facts = NodeFacts(row, lexemes) if row["is_new"] else past[node_id]
        if facts is not None:
            found[node_id] = facts
            cache.put((key, node_id), facts, cache_bytes(context), size=facts.size, version=version)
    return list(found.values())


def _lexemes(usual: str, statement: str) -> list[str]:
    """Return the distinct lexemes of a statement, in its own language and in the usual one."""
    languages = dict.fromkeys((usual, STEMMERS.get(language_of(statement) or "", usual)))
    return list(dict.fromkeys(lexeme for language in languages for lexeme in lexer_of(language).lexemes(statement)))


def _best(values: NDArray[Any], count: int) -> NDArray[Any]:
    """Return the highest values, and 0 for the others."""
    if len(values) <= count:
        return values
    return np.where(values >= np.partition(values, -count)[-count], values, 0.0)
