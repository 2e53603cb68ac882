"""Step 4, load: the metadata layers of the selected nodes, from the cache or in one call to the database."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from numpy.typing import NDArray
from pgvector import HalfVector
from psycopg.types.json import Jsonb

from neurigraph_pipelines.context import Context
from neurigraph_pipelines.measuring import measured
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.ports import Database
from neurigraph_pipelines.retrieval.index.caches import Cache
from neurigraph_pipelines.retrieval.index.layers import MetadataLayer
from neurigraph_pipelines.retrieval.index.packs import FORMAT, unpack
from neurigraph_pipelines.retrieval.index.rows import Rows
from neurigraph_pipelines.retrieval.query.caching import cache_bytes, graph_key, search_caches
from neurigraph_pipelines.retrieval.query.evidence import Evidence
from neurigraph_pipelines.retrieval.query.select import Anchor
from neurigraph_pipelines.statements import statements
from neurigraph_pipelines.text.lexemes import WINDOW

CANDIDATES = 100
"""Passages that an indexed node contributes by each of its two vectors; by words it contributes five times as many."""

_LOOKED_UP = 4_000
"""About how many passages of an indexed node are looked up by their words."""

_ROWS_SHARE = 0.25
"""Share of the cache of layers that may be held by cached rows, in addition to that cache."""

_WHOLE_NODES: Mapping[str, Any] = {"question": WINDOW, "embedding": None}
_BYTES_OF_PASSAGE = 4
"""Bytes of a packed passage for each dimension of its two vectors."""

_QUERIES = statements("search")


class LoadedNode(NamedTuple):
    """A node to search, with its metadata layer."""

    anchor: Anchor
    layer: MetadataLayer


@measured("search.load")
def load_nodes(
    context: Context, evidence: Evidence, anchors: Sequence[Anchor], *, packs: bool = True
) -> list[LoadedNode] | None:
    """Load the layers of the selected nodes, in their order; a node that no longer exists is left out.

    Args:
        packs: Whether packed layers may be used; without them, all vectors are in memory.

    Returns:
        None if the user moved to another embedding model after the evidence was gathered.
    """
    model = evidence.view.shells.model
    layers = (evidence.layers if packs else None) or read_layers(
        context.database,
        search_caches(context).layers,
        max(cache_bytes(context) - search_caches(context).vectors.size, 0),
        context.claims,
        {anchor.node_id: anchor.version for anchor in anchors},
        model,
        lambda: _candidates(context, evidence),
        packs=packs,
    )
    if any(layer.model != model for layer in layers.values()):
        return None
    return [LoadedNode(anchor, layers[anchor.node_id]) for anchor in anchors if anchor.node_id in layers]


def rows_of(context: Context, nodes: Sequence[LoadedNode]) -> Rows:
    """Return the rows of the layers of some nodes; they are the cached ones as long as the layers are the same."""
    layers, capacity = tuple(node.layer for node in nodes), int(_ROWS_SHARE * cache_bytes(context))
    cache, key = search_caches(context).rows, graph_key(context)
    rows = cache.get(key, layers) if capacity else None
    if rows is None:
        rows = Rows(layers)
        if capacity:
            cache.put(key, rows, capacity, size=sum(layer.size for layer in layers), version=layers)
    return rows


def read_layers(
    database: Database,
    cache: Cache[MetadataLayer],
    capacity: int,
    claims: Claims,
    versions: Mapping[str, str | None],
    model: str | None,
    candidates: Callable[[], Mapping[str, Any]] = lambda: _WHOLE_NODES,
    *,
    packs: bool = True,
) -> dict[str, MetadataLayer]:
    """Return the layers of nodes, from the cache where it is up to date, the others in one call to the database.

    Args:
        capacity: Bytes that may be cached; with 0 nothing is, and the cache is not used.
        versions: The version in force of each node; None if its layer may not be cached.
        model: The embedding model in use.
        candidates: Gives ``question`` and ``embedding`` as ``neurigraph.layers`` takes them: of a node with vector
            indexes only candidates for the question are read. It is called if anything is read.
        packs: Whether packed layers may be used. Their vectors are read when they are compared.

    Returns:
        By node. A node that no longer exists is left out; if its user moved to another model, the layer has vectors of
        that one.
    """
    found: dict[str, MetadataLayer] = {}
    missing: dict[str, MetadataLayer | None] = {}
    for node_id, version in versions.items():
        layer = cache.get(node_id, (version, model)) if capacity and version is not None else None
        if layer is not None and (packs or layer.held_vectors is not None):
            found[node_id] = layer
        else:
            missing[node_id] = _outdated(cache, node_id, model) if capacity and version is not None else None
    while missing:
        asked = candidates()
        parameters = {
            "question": Jsonb(asked["question"] | {"packs": FORMAT if packs else None}),
            "embedding": asked["embedding"],
            "nodes": list(missing),
            "horizons": [past.horizon if past is not None else None for past in missing.values()],
        }
        before, missing = missing, {}
        for row in database.ask(claims, _QUERIES["layers"], parameters, binary=True):
            node_id, past = str(row["node_id"]), before[str(row["node_id"])]
            layer = _layer_of(row, past)
            if layer is None:
                missing[node_id] = None  # to be read as a whole
                continue
            found[node_id] = layer
            if capacity and row["version"] is not None:
                layer.compute_sign_hashes()
                cache.put(node_id, layer, capacity, size=layer.size, version=(row["version"], layer.model))
    return found


def _layer_of(row: Mapping[str, Any], past: MetadataLayer | None) -> MetadataLayer | None:
    """Return the layer that a row describes; None if the row does not say enough."""
    if row["pack"] is not None:
        return unpack(row["pack"], str(row["node_id"]), row["version"], row["model"], row["horizon"])
    return MetadataLayer(row) if row["present"] is None or past is None else past.updated(row)


def _outdated(cache: Cache[MetadataLayer], node_id: str, model: str | None) -> MetadataLayer | None:
    """Return a cached layer to which the changes since can be added."""
    layer = cache.peek(node_id)
    return layer if layer is not None and _can_be_updated(layer, model) else None


def _can_be_updated(layer: MetadataLayer, model: str | None) -> bool:
    return layer.model == model and layer.horizon is not None and layer.held_vectors is not None


def _candidates(context: Context, evidence: Evidence) -> dict[str, Any]:
    """Return the question as ``neurigraph.layers`` takes it, to look up candidates in indexed nodes."""
    parsed, vector = evidence.parsed, evidence.view.passage_vector
    question = parsed.question
    asked = {
        "stems": parsed.stems,
        "rare": _rare_lexemes(parsed.lexemes, evidence.words.occurrences, evidence.rarities),
        "model": context.embedder.model,
        "dimensions": context.embedder.dimensions,
        "limit": question.limit,
        "at": _text(question.at),
        "occurred_after": _text(question.occurred_after),
        "occurred_before": _text(question.occurred_before),
        "source_kinds": [kind.value for kind in question.source_kinds],
        "speaker": question.speaker,
        "candidates": CANDIDATES,
        **WINDOW,
    }
    return {"question": asked, "embedding": HalfVector(vector) if vector is not None else None}


def _rare_lexemes(lexemes: Sequence[str], occurrences: Sequence[int], rarities: NDArray[Any]) -> dict[str, float]:
    """Return the lexemes by which passages can be looked up, the rarest as long as few hold them, with their rarity."""
    rare, before = {}, 0
    for passages, lexeme, rarity in sorted(zip(occurrences, lexemes, rarities.tolist(), strict=True)):
        if passages and before < _LOOKED_UP and passages < 5 * _LOOKED_UP:
            rare[lexeme] = rarity
        before += passages
    return rare


def _text(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment is not None else None
