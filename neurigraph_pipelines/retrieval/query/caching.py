"""The caches of a search: which one a context uses, the caller's key in it, and its size."""

from __future__ import annotations

from collections.abc import Hashable

from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.retrieval.index.caches import SearchCaches, caches_of
from neurigraph_pipelines.retrieval.index.layers import MetadataLayer
from neurigraph_pipelines.retrieval.index.rows import Rows

ANSWER_SECONDS = 60.0
"""Age at which a cached answer expires, so that a node that is asked about often is still seen to be in use."""

_GRAPHS_SHARE = 0.5
"""Share of the room for nodes that the cache of graphs has, in addition to it."""


def search_caches(context: Context) -> SearchCaches:
    """Return the caches of the context's database."""
    return caches_of(context.database)


def graph_key(context: Context) -> Hashable:
    """Return the key, in caches, of the caller's view of a graph."""
    return context.claims, context.embedder.dimensions


def cache_bytes(context: Context) -> int:
    """Return how many bytes of nodes may be cached; 0 switches caching off."""
    return context.settings.retrieval.layer_cache_mb * 1_000_000


def graph_bytes(context: Context) -> int:
    """Return how many bytes of graphs, as callers see them, may be cached; 0 switches caching off."""
    return int(_GRAPHS_SHARE * cache_bytes(context))


def cached_rows(context: Context, layers: tuple[MetadataLayer, ...]) -> Rows:
    """Return the rows of some layers; they are the cached ones as long as the layers are the same.

    There is one entry for the nodes that a question searches, and one with the messages that are not stored yet.
    """
    capacity, cache = graph_bytes(context), search_caches(context).graphs
    key = (graph_key(context), bool(layers) and layers[-1].model is None)
    rows = cache.get(Rows, key, layers) if capacity else None
    if rows is None:
        rows = Rows(layers)
        if capacity:
            cache.put(key, rows, capacity, size=sum(layer.size for layer in layers) // 2, version=layers)
    return rows
