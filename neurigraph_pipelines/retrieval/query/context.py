"""What every step of a search works with: the database, the embedder, the settings and the caller's claims."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.ports import Database, Embedder
from neurigraph_pipelines.retrieval.index.caches import SearchCaches, caches_of
from neurigraph_pipelines.settings import Settings


@dataclass(frozen=True, slots=True)
class SearchContext:
    """One caller's access to one installation."""

    database: Database
    embedder: Embedder
    settings: Settings
    claims: Claims

    @property
    def caches(self) -> SearchCaches:
        """The caches of the database."""
        return caches_of(self.database)

    @property
    def graph(self) -> Hashable:
        """The key of what the caller sees of a graph, in caches."""
        return self.claims, self.embedder.dimensions

    @property
    def cache_bytes(self) -> int:
        """Bytes of metadata layers that may be cached; 0 switches caching off."""
        return self.settings.retrieval.layer_cache_mb * 1_000_000
