"""Predictive warming: search stages the nodes around its hits, and they are prefetched after the answer.

Nodes up to two edges away are staged in the database; prefetching brings their layers into memory. No file is opened.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress

from psycopg import Error

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import NeurigraphError
from neurigraph_pipelines.model.ports import Database
from neurigraph_pipelines.retrieval.index.caches import caches_of
from neurigraph_pipelines.retrieval.index.shells import Shells
from neurigraph_pipelines.retrieval.query.caching import graph_bytes, search_caches
from neurigraph_pipelines.retrieval.query.load import load_layers
from neurigraph_pipelines.retrieval.query.select import Anchor

STEPS_WARMED = 2
"""How many edges from the hits nodes are staged."""

_STAGED_SHARE, _BYTES_OF_NUMBER = 0.1, 60
"""The share of the warming time in which a node is not staged again, and the size of its number in a set."""

_QUERIES = statements("search")


def stage(context: Context, shells: Shells, targets: Sequence[Anchor]) -> int:
    """Have the neighbourhood of nodes staged in the background, unless it was a moment ago or reads leave no trace.

    Returns:
        How many nodes that are.
    """
    caches, seconds = search_caches(context), context.settings.lifecycle.warming_ttl_minutes * 60
    numbers = frozenset(target.number for target in targets)
    key = (context.claims, shells.data_version, time.monotonic() // (seconds * _STAGED_SHARE))
    staged = (caches.graphs.get(frozenset, key) if shells.data_version is not None else None) or frozenset()
    if context.is_noted and not numbers <= staged:
        caches.unfetched.add(context.claims)
        parameters = {"targets": [target.node_id for target in targets], "seconds": seconds}
        if context.database.later(context.claims, _QUERIES["stage"], parameters):
            size = _BYTES_OF_NUMBER * len(staged | numbers)
            caches.graphs.put(key, staged | numbers, graph_bytes(context), size=size)
    return len(shells.around(numbers, STEPS_WARMED))


def is_prefetch_due(database: Database, claims: Claims) -> bool:
    """Return whether nodes were staged for these claims in this process and not prefetched since."""
    return claims in caches_of(database).unfetched


def prefetch(context: Context) -> int:
    """Read the layers of the nodes that are staged for the caller into memory.

    It runs after an answer was given and is only a prediction, so its errors are suppressed.

    Returns:
        How many nodes; 0 if none are staged, or if warming or caching is switched off.
    """
    settings, caches = context.settings, search_caches(context)
    caches.unfetched.discard(context.claims)
    context.database.wait_for_background()
    if not settings.lifecycle.warming_nodes or not settings.retrieval.layer_cache_mb:
        return 0
    with suppress(Error, NeurigraphError):
        nodes = context.database.ask(context.claims, _QUERIES["staged"], {"most": settings.lifecycle.warming_nodes})
        if nodes:
            versions = {node["node_id"]: node["version"] for node in nodes}
            return len(load_layers(context, versions, nodes[0]["model"]) or ())
    return 0
