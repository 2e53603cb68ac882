"""The caches of a search: which one a context uses, the caller's key in it, and its size."""

from __future__ import annotations

from collections.abc import Hashable

from neurigraph_pipelines.context import Context
from neurigraph_pipelines.retrieval.index.caches import SearchCaches, caches_of


def search_caches(context: Context) -> SearchCaches:
    """Return the caches of the context's database."""
    return caches_of(context.database)


def graph_key(context: Context) -> Hashable:
    """Return the key, in caches, of what the caller sees of a graph."""
    return context.claims, context.embedder.dimensions


def cache_bytes(context: Context) -> int:
    """Return how many bytes of metadata layers may be cached; 0 switches caching off."""
    return context.settings.retrieval.layer_cache_mb * 1_000_000
