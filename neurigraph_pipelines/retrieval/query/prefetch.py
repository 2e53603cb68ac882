"""Predictive warming, the part that takes time: what a search has staged is brought into memory after its answer.

Which nodes are staged, two edges out, is decided by the search itself; nothing here opens a file.
"""

from __future__ import annotations

from contextlib import suppress

from psycopg import Error

from neurigraph_pipelines.errors import NeurigraphError
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.ports import Database
from neurigraph_pipelines.retrieval.index.caches import kept_of
from neurigraph_pipelines.retrieval.index.layers import read_layers
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.statements import statements

_QUERIES = statements("search")


def is_awaited(database: Database, claims: Claims) -> bool:
    """Whether a search of this process has staged something that was not brought in since."""
    return claims in kept_of(database).awaited


def prefetch(database: Database, settings: Settings, claims: Claims) -> int:
    """Bring the layers of the nodes that are staged for whoever is asking into memory.

    Meant to run after an answer was given: it is a prediction, so whatever keeps it from its work is nobody's error.

    Returns:
        How many nodes; 0 when nothing is staged, or warming or memory is switched off.
    """
    kept_of(database).awaited.discard(claims)
    database.wait_for_background()
    if not settings.lifecycle.warming_nodes or not settings.retrieval.layer_cache_mb:
        return 0
    with suppress(Error, NeurigraphError):
        nodes = database.ask(claims, _QUERIES["staged"], {"most": settings.lifecycle.warming_nodes})
        if nodes:
            kept, most = kept_of(database).layers, settings.retrieval.layer_cache_mb * 1_000_000
            versions = {node["node_id"]: node["version"] for node in nodes}
            return len(read_layers(database, kept, most, claims, versions, nodes[0]["model"]))
    return 0
