"""Step 5, load: the metadata layers of the selected nodes, from the cache or in one call to the database."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.measuring import measured
from neurigraph_pipelines.retrieval.index.caches import Cache
from neurigraph_pipelines.retrieval.index.layers import MetadataLayer
from neurigraph_pipelines.retrieval.index.node_layers import NodeLayers, layer_key, layers_of
from neurigraph_pipelines.retrieval.index.packs import FORMAT
from neurigraph_pipelines.retrieval.query.caching import cache_bytes, search_caches
from neurigraph_pipelines.retrieval.query.select import Anchor
from neurigraph_pipelines.text.search_segments import DamagedSegmentError

_log = logging.getLogger(__name__)
_QUERIES = statements("search")


class LoadedNode(NamedTuple):
    """A node to search, with one of its metadata layers."""

    anchor: Anchor
    layer: MetadataLayer


@measured("search.load")
def load_layers(
    context: Context, versions: Mapping[str, str | None], model: str | None, *, packs: bool = True
) -> dict[str, NodeLayers] | None:
    """Return the layers of some nodes, from the cache where it is up to date, the others in one call to the database.

    A node that no longer exists is left out.

    Args:
        versions: The version in force of each node; None if its layer may not be cached.
        model: The embedding model in use.
        packs: Whether packed layers may be used, whose vectors are read when they are compared.

    Returns:
        None if the user moved to another embedding model meanwhile.
    """
    cache, capacity = search_caches(context).nodes, cache_bytes(context)
    found, missing = _cached(cache if capacity > 0 else None, versions, model, packs=packs)
    of_model = {"packs": FORMAT if packs else None, "model": model, "dimensions": context.embedder.dimensions}
    while missing:
        before, missing = missing, {}
        horizons = [past.horizon if past is not None else None for past in before.values()]
        parameters = {"nodes": list(before), "horizons": horizons, **of_model}
        for row in context.database.ask(context.claims, _QUERIES["layers"], parameters, binary=True):
            node_id = str(row["node_id"])
            try:
                layers = layers_of(row, before[node_id])
            except DamagedSegmentError as error:
                _log.warning("%s: node %s is read from its segments until it changes", error, node_id)
                layers, of_model["packs"] = None, None
            if layers is None:
                missing[node_id] = None  # to be read as a whole
                continue
            found[node_id] = layers
            if capacity and row["version"] is not None:
                _keep(cache, capacity, node_id, row["version"], layers)
    return found if all(one.model == model for one in found.values()) else None


def loaded(anchors: Sequence[Anchor], layers: Mapping[str, NodeLayers]) -> list[LoadedNode]:
    """Return the layers of selected nodes, in their order."""
    return [
        LoadedNode(anchor, layer)
        for anchor in anchors
        if anchor.node_id in layers
        for layer in layers[anchor.node_id].layers
    ]


def _cached(
    cache: Cache | None, versions: Mapping[str, str | None], model: str | None, *, packs: bool
) -> tuple[dict[str, NodeLayers], dict[str, NodeLayers | None]]:
    """Return the layers that are cached and up to date, and the other nodes with their outdated layers, if any."""
    found: dict[str, NodeLayers] = {}
    missing: dict[str, NodeLayers | None] = {}
    for node_id, version in versions.items():
        key = layer_key(node_id, version)
        layers = cache.get(NodeLayers, key, (version, model)) if cache is not None and version is not None else None
        if layers is not None and (packs or layers.base.held.vectors is not None):
            found[node_id] = layers
        elif cache is None or version is None:
            missing[node_id] = None
        else:
            missing[node_id] = _outdated(cache, key, model, packs=packs)
    return found, missing


def _keep(cache: Cache, capacity: int, node_id: str, version: str, layers: NodeLayers) -> None:
    layers.base.compute_sign_hashes()
    cache.put(layer_key(node_id, version), layers, capacity, size=layers.size, version=(version, layers.model))


def _outdated(cache: Cache, key: str, model: str | None, *, packs: bool) -> NodeLayers | None:
    """Return cached layers to which the changes since can be added."""
    past = cache.peek(NodeLayers, key)
    if past is None or past.model != model or past.horizon is None:
        return None
    return past if packs or past.base.held.vectors is not None else None
