"""Step 4, load: the metadata layers of the selected nodes, from the cache or in one call to the database."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from numpy.typing import NDArray
from pgvector import HalfVector
from psycopg.types.json import Jsonb

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.measuring import measured
from neurigraph_pipelines.model.ports import Database
from neurigraph_pipelines.retrieval.index.caches import Cache
from neurigraph_pipelines.retrieval.index.layers import MetadataLayer
from neurigraph_pipelines.retrieval.index.node_layers import NodeLayers, layer_key
from neurigraph_pipelines.retrieval.index.packs import FORMAT, unpack
from neurigraph_pipelines.retrieval.query.caching import cache_bytes, search_caches
from neurigraph_pipelines.retrieval.query.gathering import Gathered
from neurigraph_pipelines.retrieval.query.select import Anchor
from neurigraph_pipelines.text.lexemes import WINDOW

CANDIDATES = 100
"""Passages that an indexed node contributes by each of its two vectors; by words it contributes five times as many."""

_LOOKED_UP = 4_000
"""About how many passages of an indexed node are looked up by their words."""

_WHOLE_NODES: Mapping[str, Any] = {"question": WINDOW, "embedding": None}
_BYTES_OF_PASSAGE = 4
"""Bytes of a packed passage for each dimension of its two vectors."""

_QUERIES = statements("search")


class LoadedNode(NamedTuple):
    """A node to search, with one of its metadata layers."""

    anchor: Anchor
    layer: MetadataLayer


@measured("search.load")
def load_nodes(
    context: Context, gathered: Gathered, anchors: Sequence[Anchor], *, packs: bool = True
) -> list[LoadedNode] | None:
    """Load the layers of the selected nodes, in their order; a node that no longer exists is left out.

    Args:
        packs: Whether packed layers may be used; without them, all vectors are in memory.

    Returns:
        None if the user moved to another embedding model after the shells were gathered.
    """
    model = gathered.view.shells.model
    layers = (gathered.layers if packs else None) or read_layers(
        context.database,
        search_caches(context).layers,
        max(cache_bytes(context) - search_caches(context).vectors.size, 0),
        context.claims,
        {anchor.node_id: anchor.version for anchor in anchors},
        model,
        lambda: _candidates(context, gathered),
        packs=packs,
    )
    if any(one.model != model for one in layers.values()):
        return None
    return [
        LoadedNode(anchor, layer)
        for anchor in anchors
        if anchor.node_id in layers
        for layer in layers[anchor.node_id].layers
    ]


def read_layers(
    database: Database,
    cache: Cache[NodeLayers],
    capacity: int,
    claims: Claims,
    versions: Mapping[str, str | None],
    model: str | None,
    candidates: Callable[[], Mapping[str, Any]] = lambda: _WHOLE_NODES,
    *,
    packs: bool = True,
) -> dict[str, NodeLayers]:
    """Return the layers of nodes, from the cache where it is up to date, the others in one call to the database.

    Args:
        capacity: Bytes that may be cached; with 0 nothing is, and the cache is not used.
        versions: The version in force of each node; None if its layer may not be cached.
        model: The embedding model in use.
        candidates: Gives ``question`` and ``embedding`` as ``neurigraph.layers`` takes them: of a node with vector
            indexes that is not packed only candidates for the question are read. It is called if anything is read.
        packs: Whether packed layers may be used. Their vectors are read when they are compared.

    Returns:
        By node. A node that no longer exists is left out; if its user moved to another model, the layer has vectors of
        that one.
    """
    found: dict[str, NodeLayers] = {}
    missing: dict[str, NodeLayers | None] = {}
    for node_id, version in versions.items():
        is_cached = capacity > 0 and version is not None
        layers = cache.get(layer_key(node_id, version), (version, model)) if is_cached else None
        if layers is not None and (packs or layers.base.held_vectors is not None):
            found[node_id] = layers
        else:
            missing[node_id] = _outdated(cache, layer_key(node_id, version), model, packs=packs) if is_cached else None
    asked = candidates() if missing else {}
    while missing:
        before, missing = missing, {}
        for row in database.ask(claims, _QUERIES["layers"], _parameters(asked, before, packs=packs), binary=True):
            node_id = str(row["node_id"])
            layers = _layers_of(row, before[node_id])
            if layers is None:
                missing[node_id] = None  # to be read as a whole
                continue
            found[node_id] = layers
            if capacity and row["version"] is not None:
                layers.base.compute_sign_hashes()
                key = layer_key(node_id, row["version"])
                cache.put(key, layers, capacity, size=layers.size, version=(row["version"], layers.model))
    return found


def _parameters(asked: Mapping[str, Any], before: Mapping[str, NodeLayers | None], *, packs: bool) -> dict[str, object]:
    """Return the parameters of ``neurigraph.layers``, given what is cached of each node."""
    return {
        "question": Jsonb(asked["question"] | ({"packs": FORMAT} if packs else {})),
        "embedding": asked["embedding"],
        "nodes": list(before),
        "horizons": [past.horizon if past is not None else None for past in before.values()],
    }


def _layers_of(row: Mapping[str, Any], past: NodeLayers | None) -> NodeLayers | None:
    """Return the layers that a row describes; None if the row does not say enough."""
    if row["pack"] is not None:
        node_id, version = str(row["node_id"]), row["pack_version"]
        past = NodeLayers(unpack(row["pack"], node_id, version, row["model"], row["horizon"]))
    if row["changed"] is None:
        return past if row["pack"] is not None else NodeLayers(MetadataLayer(row))
    return past.updated(row) if past is not None else None


def _outdated(cache: Cache[NodeLayers], key: str, model: str | None, *, packs: bool) -> NodeLayers | None:
    """Return cached layers to which the changes since can be added."""
    past = cache.peek(key)
    if past is None or past.model != model or past.horizon is None:
        return None
    return past if packs or past.base.held_vectors is not None else None


def _candidates(context: Context, gathered: Gathered) -> dict[str, Any]:
    """Return the question as ``neurigraph.layers`` takes it, to look up candidates in indexed nodes."""
    parsed, vector = gathered.parsed, gathered.view.passage_vector
    question = parsed.question
    asked = {
        "stems": parsed.stems,
        "rare": _rare_lexemes(parsed.lexemes, gathered.words.occurrences, gathered.rarities),
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
