"""Find records, messages and facts in metadata layers for a parsed question; no file is opened.

Runs the steps gather, words, select, load and rank. ``search`` calls it, and adds times in the question's words, other
wordings, reranking, conflicts, expiry and the log.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from numpy.typing import NDArray

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.locks import retry_not_found
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.enriching import enriched
from neurigraph_pipelines.retrieval.excerpts import excerpt
from neurigraph_pipelines.retrieval.index.node_layers import NodeLayers, layer_key
from neurigraph_pipelines.retrieval.index.unstored import Unstored
from neurigraph_pipelines.retrieval.query.caching import ANSWER_SECONDS, cached_rows, graph_key, search_caches
from neurigraph_pipelines.retrieval.query.facts import (
    LENDING,
    RankedFact,
    fact_scores_of,
    show_facts,
    wants_facts,
)
from neurigraph_pipelines.retrieval.query.found import (
    UNSTORED,
    Found,
    as_of_moment,
    found_messages,
    found_records,
)
from neurigraph_pipelines.retrieval.query.gathering import Gathered, gather
from neurigraph_pipelines.retrieval.query.load import LoadedNode, load_layers, loaded
from neurigraph_pipelines.retrieval.query.parse import ParsedQuestion
from neurigraph_pipelines.retrieval.query.passage_vectors import VectorsGoneError
from neurigraph_pipelines.retrieval.query.rank import Ranked, rank, ranking_query
from neurigraph_pipelines.retrieval.query.rationale import rationale_of
from neurigraph_pipelines.retrieval.query.select import nodes_if_all, select_nodes
from neurigraph_pipelines.retrieval.query.stored_vectors import vectors_of
from neurigraph_pipelines.retrieval.query.warming import stage
from neurigraph_pipelines.retrieval.query.words import counted_in_graph, counted_in_rows, uncounted, words_of_graph
from neurigraph_pipelines.text.lexemes import lexer_of
from neurigraph_pipelines.views.facts import FoundFact

NODES_WARMED = 5
"""Nodes of the best records whose neighbourhood is staged."""

UNSTORED_CHARACTERS = 4_000
"""Most characters that an answer shows of a message that is not stored yet."""

WORDS_ALONE = "this answer comes from words alone"
"""The note if no vectors were compared."""

_QUERIES = statements("search")


class _Searched(NamedTuple):
    """The searched nodes: ``nodes`` are those selected, by their numbers, and then the one of unstored messages."""

    gathered: Gathered
    anchored: Sequence[LoadedNode]
    nodes: Sequence[LoadedNode]
    unstored: Unstored | None
    ranked: tuple[Sequence[Ranked], Sequence[Ranked], Sequence[RankedFact]]


@retry_not_found
def find(context: Context, parsed: ParsedQuestion) -> Found:
    """Return the result for a question, from the cache as long as nothing changed that it depends on.

    If the embedder cannot be reached, the result comes from words alone: late is worse than lexical. So it does if the
    embedder's model is not the one whose vectors the user has in use; vectors of two models are never compared.

    Raises:
        NotFoundError: The node to search below does not exist or is not visible.
    """
    settings, answers = context.settings, search_caches(context).answers
    if not settings.retrieval.answer_cache_entries:
        return _find_uncached(context, parsed)[0]
    limits = settings.retrieval
    bounds = (limits.max_anchors, limits.max_searched_passages, limits.unstored_messages, limits.fact_lending)
    key = (graph_key(context), parsed.question, context.embedder.model, settings.language, bounds)
    if answers.peek(Found, key) is not None:
        version = context.database.ask_value(context.claims, _QUERIES["data_version"])
        cached = answers.get(Found, key, version)
        if cached is not None:
            return cached
    found, version = _find_uncached(context, parsed)
    if version is not None:
        entries = settings.retrieval.answer_cache_entries
        answers.put(key, found, entries, version=version, seconds=ANSWER_SECONDS)
    return found


def _find_uncached(context: Context, parsed: ParsedQuestion) -> tuple[Found, str | None]:
    """Return the result, and the data version as long as which it may be cached."""
    loaded = _rank_in_nodes(context, parsed)
    if loaded is None:
        return Found(facts=() if parsed.question.include_facts else None), None
    gathered, anchored, nodes, unstored, (records, messages, facts) = loaded
    view, is_owner, question = gathered.view, context.claims.role == "user", parsed.question
    # Callers other than the owner may see less with the next question, and nothing says when.
    version = gathered.data_version if is_owner else None
    anchors = tuple(dict.fromkeys(node.anchor for node in anchored))
    said = found_messages(nodes, messages, view.shells, unstored, partial(_excerpt, context, parsed))
    hits = as_of_moment(context, parsed, found_records(nodes, records, view.shells, said, is_owner=is_owner))
    best = list(dict.fromkeys(one.node for one in hits if one.is_stored))[:NODES_WARMED]
    found = Found(
        tuple(hits),
        tuple(said),
        anchors,
        enriched("warming", lambda: stage(context, view.shells, best), lambda: 0),
        tuple(_notes(context, gathered)),
        enriched("facts", lambda: show_facts(context, facts, question.limit, version), tuple[FoundFact, ...])
        if question.include_facts
        else None,
        enriched("rationale", lambda: rationale_of(context, view, anchors, facts), lambda: None)
        if question.explain
        else None,
        view.shells.disagrees,
    )
    return found, version if view.embedding.record is not None else None


def _excerpt(context: Context, parsed: ParsedQuestion, text: str) -> str:
    """Return the part of an unstored message that a question is about."""
    return excerpt(text, frozenset(parsed.lexemes), lexer_of(context.settings.language), UNSTORED_CHARACTERS)


def _rank_in_nodes(context: Context, parsed: ParsedQuestion) -> _Searched | None:
    """Return the gathered values, the selected nodes and the passages found there; None if the caller sees nothing.

    They are gathered again if the user moved to another embedding model before the layers were read, or if records
    changed before their vectors were; if that happens twice, layers are read with all vectors.
    """
    packs = True
    while (gathered := gather(context, parsed)) is not None:
        selected = _selected(context, gathered, packs=packs)
        if selected is None:
            continue
        anchored, rarities = selected
        nodes = sorted(anchored, key=lambda node: node.anchor.number)  # the same rows for every question
        unstored = gathered.unstored.without(node.layer for node in nodes) if gathered.unstored else None
        if unstored is not None and unstored.sources:
            nodes.append(LoadedNode(UNSTORED, unstored.layer))
        try:
            return _Searched(gathered, anchored, nodes, unstored, _rank(context, gathered, rarities, nodes))
        except VectorsGoneError:
            for node in anchored:
                search_caches(context).nodes.drop(NodeLayers, layer_key(node.anchor.node_id, node.anchor.version))
            packs = not packs
    return None


def _selected(context: Context, gathered: Gathered, *, packs: bool) -> tuple[list[LoadedNode], NDArray[Any]] | None:
    """Return the nodes to search with their layers, best first, and the rarities of the question's words, or None.

    If all nodes are searched, their layers say where the words occur; of other graphs, the words of nodes say it.
    """
    shells, lexemes = gathered.view.shells, gathered.parsed.lexemes
    numbers = nodes_if_all(gathered)
    layers: dict[str, NodeLayers] | None = None
    if numbers is not None:
        versions = {node_id: version for node_id, version, _ in map(shells.location, numbers)}
        layers = load_layers(context, versions, shells.model, packs=packs)
        if layers is None:
            return None
        held = [
            (number, layer)
            for number, node_id in zip(numbers, versions, strict=True)
            if node_id in layers
            for layer in layers[node_id].layers
        ]
        words = uncounted(lexemes)
        if held:
            rows = cached_rows(context, tuple(layer for _, layer in held))
            words = counted_in_rows(rows, [number for number, _ in held], lexemes)
    elif shells.may_count:
        words = counted_in_graph(words_of_graph(context, shells), shells, lexemes)
    else:
        words = uncounted(lexemes)
    anchors = select_nodes(gathered, words)
    if layers is None:
        layers = load_layers(context, {one.node_id: one.version for one in anchors}, shells.model, packs=packs)
    return (loaded(anchors, layers), words.rarities) if layers is not None else None


def _rank(
    context: Context, gathered: Gathered, rarities: NDArray[Any], nodes: Sequence[LoadedNode]
) -> tuple[Sequence[Ranked], Sequence[Ranked], Sequence[RankedFact]]:
    if not nodes:
        return (), (), ()
    boosts, question = [node.anchor.boost for node in nodes], gathered.parsed.question
    rows = cached_rows(context, tuple(node.layer for node in nodes))
    facts = (
        enriched("facts", lambda: fact_scores_of(context, gathered, rarities, nodes, rows), lambda: None)
        if wants_facts(context, question)
        else None
    )
    lent = facts.added if facts is not None else None
    query = ranking_query(gathered, rarities)
    records, messages, score = rank(rows, boosts, query, vectors_of(context, nodes, rows), lent)
    if facts is None:
        return records, messages, ()
    most = max(2 * question.limit, LENDING)
    return records, messages, enriched("facts", lambda: facts.best(score, most), list[RankedFact])


def _notes(context: Context, gathered: Gathered) -> list[str]:
    model, in_use, notes = context.embedder.model, gathered.view.shells.model, []
    embedding = gathered.view.embedding
    if embedding.record is None:
        notes.append(f"{embedding.problem}: {WORDS_ALONE}.")
    elif in_use not in (None, model):
        notes.append(
            f"The vectors in use are of {in_use} and the embedder is {model}: {WORDS_ALONE} until a backfill of "
            "record_embeddings has moved all records."
        )
    if gathered.unstored is not None and gathered.unstored.is_cut:
        most = context.settings.retrieval.unstored_messages
        notes.append(f"More messages wait to be stored than a question searches: the newest, at most {most:,}.")
    return notes
