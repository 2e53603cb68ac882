"""The caches of a search: which one a context uses, the caller's key in it, and its size."""

from __future__ import annotations

from collections.abc import Hashable

from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.retrieval.index.caches import SearchCaches, caches_of
from neurigraph_pipelines.retrieval.index.layers import MetadataLayer
from neurigraph_pipelines.retrieval.index.rows import Rows

_ROWS_SHARE = 0.25
"""Share of the cache of layers that may be held by cached rows, in addition to that cache."""


def search_caches(context: Context) -> SearchCaches:
    """Return the caches of the context's database."""
    return caches_of(context.database)


def graph_key(context: Context) -> Hashable:
    """Return the key, in caches, of what the caller sees of a graph."""
    return context.claims, context.embedder.dimensions


def cache_bytes(context: Context) -> int:
    """Return how many bytes of metadata layers may be cached; 0 switches caching off."""
    return context.settings.retrieval.layer_cache_mb * 1_000_000


def cached_rows(context: Context, layers: tuple[MetadataLayer, ...], *, whole: bool = False) -> Rows:
    """Return the rows of some layers; they are the cached ones as long as the layers are the same.

    There is one entry for the nodes that a question searches, one with the messages that are not stored yet, and one
    for the whole graph.
    """
    capacity, cache = int(_ROWS_SHARE * cache_bytes(context)), search_caches(context).rows
    key = (graph_key(context), whole, bool(layers) and layers[-1].model is None)
    rows = cache.get(key, layers) if capacity else None
    if rows is None:
        rows = Rows(layers)
        if capacity:
            cache.put(key, rows, capacity, size=sum(layer.size for layer in layers), version=layers)
    return rows
