"""Step 2, gather: everything that says which nodes hold an answer, in one call to the database.

``neurigraph.search_gate`` checks the claims. The shells of the graph come from the cache, or with that call if they
changed; names, edges and centroids are scored from them while the database works.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.enriching import enriched
from neurigraph_pipelines.model.errors import ConfigurationError, NeurigraphError, NotFoundError
from neurigraph_pipelines.model.measuring import measured
from neurigraph_pipelines.model.ports import Embedder
from neurigraph_pipelines.retrieval.index.postings import Floats
from neurigraph_pipelines.retrieval.index.shells import Shells
from neurigraph_pipelines.retrieval.index.unstored import Unstored
from neurigraph_pipelines.retrieval.log import remember_watches
from neurigraph_pipelines.retrieval.query.caching import cache_bytes, graph_bytes, graph_key, search_caches
from neurigraph_pipelines.retrieval.query.node_scores import Bounds, NodeScores, score_nodes
from neurigraph_pipelines.retrieval.query.parse import ParsedQuestion, in_languages
from neurigraph_pipelines.retrieval.query.speakers import speakers_named, without_names
from neurigraph_pipelines.retrieval.query.unstored import MissingMessageError, cached_unstored, parameters, unstored_of
from neurigraph_pipelines.retrieval.query.words import compares_stems, shares_in_shells
from neurigraph_pipelines.text.disguises import undisguised
from neurigraph_pipelines.text.lexemes import lexer_of
from neurigraph_pipelines.text.vectors import to_passage_vectors, to_record_vector
from neurigraph_pipelines.views.scalars import Row, ValuesByName

_QUERIES = statements("search")


@dataclass(frozen=True, slots=True)
class QueryEmbedding:
    """The embedding of a question.

    Attributes:
        text: The text that was embedded: the query without the names of speakers.
        record: The vector to compare with those of records; None if the embedder made none.
        passage: The vector to compare with those of passages; None likewise.
        problem: Why it made none.
    """

    text: str
    record: Floats | None = None
    passage: Floats | None = None
    problem: str = "The embedder could not be reached"


@dataclass(frozen=True, slots=True)
class GraphView:
    """The answer of the shells of a graph to a question.

    Attributes:
        speakers: The speakers whom the question names, in lower case.
        embedding: The embedding of the question.
        is_comparable: Whether that can be compared with the vectors in use.
    """

    shells: Shells
    speakers: tuple[str, ...]
    embedding: QueryEmbedding
    is_comparable: bool
    bounds: Bounds
    scores: NodeScores

    @property
    def record_vector(self) -> Floats | None:
        """The vector of the question, if it can be compared with those of records."""
        return self.embedding.record if self.is_comparable else None

    @property
    def passage_vector(self) -> Floats | None:
        """The vector of the question, if it can be compared with those of passages."""
        return self.embedding.passage if self.is_comparable else None


@dataclass(frozen=True, slots=True)
class Gathered:
    """Everything that says which nodes hold an answer.

    Attributes:
        parsed: The question, in the languages of the memories.
        in_shells: For each node, the share of the question's stems that its shell holds.
        said_by: The speaker asked for, in the lower case of the database.
        unstored: The messages that were not stored yet in that moment.
        data_version: The version of all that it comes from; None if the caller may not know it.
    """

    parsed: ParsedQuestion
    view: GraphView
    in_shells: NDArray[Any]
    said_by: str | None = None
    unstored: Unstored | None = None
    data_version: str | None = None


@measured("search.gather")
def gather(context: Context, parsed: ParsedQuestion) -> Gathered | None:
    """Gather everything that says which nodes hold an answer; None if the caller sees nothing.

    The question is asked in the languages that the cached shells name, and again if there are others by now: after the
    first memory in a language, and in the first search of a process.

    Raises:
        NotFoundError: The node to search below does not exist or is not visible.
    """
    earlier = search_caches(context).graphs.get(Shells, graph_key(context)) if cache_bytes(context) else None
    known = earlier.languages if earlier else ()
    gathered = _gather(context, in_languages(parsed, known), earlier)
    if gathered is None or gathered.view.shells.languages == known:
        return gathered
    shells = gathered.view.shells
    asked_again = in_languages(parsed, shells.languages)
    if asked_again.stems == gathered.parsed.stems:
        return gathered
    return _gather(context, asked_again, shells if cache_bytes(context) else None, gathered.view.embedding)


def _version(shells: Shells, unstored_version: str | None) -> str | None:
    """Return the version of all that an answer comes from, as ``neurigraph.data_version`` does; None if unknown."""
    return f"{shells.data_version}{unstored_version or ''}" if shells.data_version is not None else None


def _gather(
    context: Context, parsed: ParsedQuestion, earlier: Shells | None, embedding: QueryEmbedding | None = None
) -> Gathered | None:
    known = cached_unstored(context, parsed.question)
    try:
        return _ask(context, parsed, earlier, embedding, known)
    except MissingMessageError:
        return _ask(context, parsed, earlier, embedding, None)


def _ask(
    context: Context,
    parsed: ParsedQuestion,
    earlier: Shells | None,
    embedding: QueryEmbedding | None,
    known: Unstored | None,
) -> Gathered | None:
    cached = earlier if earlier and earlier.data_version is not None else None
    view = None
    if cached and context.embedder.is_remote:  # no connection is held while a remote embedder works
        view = view_graph(context, parsed, cached, embedding)
    if cached and parsed.question.speaker is None and compares_stems(cached, parsed.stems):
        # Most often nothing has changed, which the smallest statement says: score while the database works.
        with context.database.asking_value(context.claims, _QUERIES["data_version"]) as value:
            view = view or view_graph(context, parsed, cached, embedding)
            version = value()
        if version == _version(cached, known.version if known else None):
            _require_node(parsed, cached)
            return Gathered(parsed, view, shares_in_shells(cached, None, parsed.stems), None, known, version)
    values = _parameters(context, parsed, cached, known)
    if cached and view is None:
        with context.database.asking(context.claims, _QUERIES["search_gate"], values, binary=True) as rows:
            view = view_graph(context, parsed, cached, embedding)
            found = rows()
    else:
        found = context.database.ask(context.claims, _QUERIES["search_gate"], values, binary=True)
    row = next(iter(found), None)
    shells = _shells_in_force(context, earlier, row) if row is not None else None
    _require_node(parsed, shells)
    if row is None or not shells:
        return None
    if view is None or view.shells is not shells:  # the shells are new, or changed meanwhile
        view = view_graph(context, parsed, shells, view.embedding if view else embedding)
    in_shells = shares_in_shells(shells, row["words"], parsed.stems)
    unstored = unstored_of(context, parsed.question, row, known)
    return Gathered(parsed, view, in_shells, row["said_by"], unstored, _version(shells, row["unstored_version"]))


def _require_node(parsed: ParsedQuestion, shells: Shells | None) -> None:
    node_id = parsed.question.node_id
    if node_id is not None and (shells is None or shells.number(node_id) is None):
        raise NotFoundError


def view_graph(
    context: Context, parsed: ParsedQuestion, shells: Shells, embedding: QueryEmbedding | None = None
) -> GraphView:
    """Name the speakers, embed the question and score the nodes of a graph.

    Args:
        embedding: An earlier embedding of the question, which is used if the same text is to be embedded.
    """
    query = parsed.question.query
    lexer = lexer_of(context.settings.language)
    named = enriched("speakers named", lambda: speakers_named(query, shells.speakers, lexer), dict[str, frozenset[str]])
    text = enriched("names", lambda: without_names(parsed.asked, set().union(*named.values())), lambda: parsed.asked)
    if embedding is None or embedding.text != text:
        embedding = _embed(context.embedder, text)
    is_comparable = shells.model in (None, context.embedder.model)  # none: nothing has vectors but unstored messages
    bounds = _bounds(context, parsed, shells)
    vector = embedding.passage if is_comparable else None
    scores = score_nodes(shells, query, parsed.lexemes, vector, bounds)
    return GraphView(shells, tuple(named), embedding, is_comparable, bounds, scores)


def _parameters(
    context: Context, parsed: ParsedQuestion, shells: Shells | None, unstored: Unstored | None
) -> ValuesByName:
    """Return the parameters of ``neurigraph.search_gate``, given the known shells and unstored messages."""
    return {
        "stems": "" if shells is not None and compares_stems(shells, parsed.stems) else " ".join(parsed.stems),
        "speaker": parsed.question.speaker,
        "dimensions": context.embedder.dimensions,
        "known_version": shells.data_version if shells else None,
        **parameters(context, parsed.question, unstored),
    }


def _shells_in_force(context: Context, earlier: Shells | None, row: Row) -> Shells:
    """Return the cached shells if they are of the version in force, otherwise those of the row, which are cached."""
    version = row["data_version"]
    if earlier is not None and version is not None and earlier.data_version == version:
        return earlier
    shells = Shells(row, earlier)
    search_caches(context).graphs.put(graph_key(context), shells, graph_bytes(context), size=shells.size)
    remember_watches(context.database, context.claims, row)
    return shells


def _bounds(context: Context, parsed: ParsedQuestion, shells: Shells) -> Bounds:
    node_id = parsed.question.node_id
    return Bounds(
        shells.number(node_id) if node_id is not None else None,
        context.settings.retrieval.max_anchors,
        context.settings.retrieval.max_searched_passages,
        parsed.question.limit,
    )


def _embed(embedder: Embedder, text: str) -> QueryEmbedding:
    try:
        return enriched("vector of a question", lambda: _embedded(embedder, text), lambda: QueryEmbedding(text))
    except ConfigurationError as error:
        return QueryEmbedding(text, problem=f"The embedder cannot be used, because {error}")
    except NeurigraphError:
        return QueryEmbedding(text)


def _embedded(embedder: Embedder, text: str) -> QueryEmbedding:
    vectors = embedder.embed([undisguised(text)], kind="query")
    passage = to_passage_vectors(vectors, embedder.prefix_trained)[0].astype(np.float32)
    return QueryEmbedding(text, to_record_vector(vectors[0]), passage)
