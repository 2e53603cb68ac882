"""The vectors of passages in the database: some for a question, and all of a node that is asked about again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID

import numpy as np

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.retrieval.index.layers import MetadataLayer
from neurigraph_pipelines.retrieval.index.node_layers import NodeLayers, layer_key
from neurigraph_pipelines.retrieval.index.postings import Floats, Numbers
from neurigraph_pipelines.retrieval.index.rows import Rows
from neurigraph_pipelines.retrieval.query.caching import cache_bytes, search_caches
from neurigraph_pipelines.retrieval.query.load import LoadedNode
from neurigraph_pipelines.retrieval.query.passage_vectors import PassageVectors, VectorsGoneError
from neurigraph_pipelines.text.search_segments import DamagedSegmentError, read_vectors

_BYTES_OF_FLOATS = 8
"""Bytes of a passage's two vectors for each dimension."""

_QUERIES = statements("search")


def vectors_of(context: Context, nodes: Sequence[LoadedNode], rows: Rows) -> PassageVectors:
    """Return the vectors of some layers' passages; those of layers that are used again are read in the background."""
    cache, capacity = search_caches(context).nodes, cache_bytes(context)
    room = capacity - cache.size
    for node in nodes:
        layer, held = node.layer, node.layer.held
        if held.vectors is not None or not capacity or not layer.width or not node.anchor.version:
            continue
        size = _BYTES_OF_FLOATS * layer.width * layer.passages
        if held.are_wanted and size <= room:
            room -= size
            key = layer_key(node.anchor.node_id, node.anchor.version)
            keep = partial(_keep, layer, partial(cache.measure, NodeLayers, key, capacity, _size))
            context.database.later(context.claims, _QUERIES["vectors"], _all_of(layer), keep)
        held.are_wanted = True
    return PassageVectors(rows, partial(read, context))


def read(context: Context, layer: MetadataLayer, rows: Numbers) -> Floats:
    """Return the vectors of some passages of a layer, ``(n, 2, dimensions)``, which are in ascending order.

    Raises:
        VectorsGoneError: A record changed meanwhile, or its vectors are damaged.
    """
    records, places = layer.record[rows], rows - np.searchsorted(layer.record, layer.record[rows]) + 1
    begins = np.flatnonzero(np.diff(records, prepend=-1))
    wanted = [layer.record_ids[record] for record in records[begins].tolist()]
    # Sent as texts: psycopg takes longer to write a list of numbers than Postgres to read them.
    numbers = [" ".join(map(str, run.tolist())) for run in np.split(places, begins[1:])]
    parameters = {"records": wanted, "passages": numbers, "model": layer.model}
    found = context.database.ask(context.claims, _QUERIES["vectors"], parameters, binary=True)
    packed = {str(row["record_id"]): row["vectors"] for row in found}
    if len(packed) < len(wanted):
        raise VectorsGoneError
    runs = np.diff(begins, append=len(rows)).tolist()
    vectors: Floats = np.zeros((len(rows), 2, layer.width), np.float32)
    for begin, passages, record_id in zip(begins.tolist(), runs, wanted, strict=True):
        if packed[record_id] is None:  # they are pending
            continue
        try:
            one = read_vectors(packed[record_id], passages)
        except DamagedSegmentError as error:
            raise VectorsGoneError from error
        vectors[begin : begin + passages, :, : one.shape[2]] = one[..., : layer.width]
    return vectors


def _size(layers: NodeLayers) -> int:
    return layers.size


def _all_of(layer: MetadataLayer) -> dict[str, Any]:
    """Return the parameters of the query of all vectors of a layer."""
    present = np.flatnonzero(~layer.gone) if layer.gone is not None else np.arange(layer.records)
    records = [layer.record_ids[record] for record in present.tolist()]
    return {"records": records, "passages": [None] * len(records), "model": layer.model}


def _keep(layer: MetadataLayer, then: Callable[[], None], rows: Sequence[Mapping[str, Any]]) -> None:
    """Keep the vectors of a layer in memory. Records that changed meanwhile are in another layer, or soon will be."""
    numbers = {record_id: number for number, record_id in enumerate(layer.record_ids)}
    vectors = np.zeros((layer.passages, 2, layer.width), np.float32)
    first = np.searchsorted(layer.record, np.arange(layer.records + 1)).tolist()
    for row in rows:
        if row["vectors"] is None:
            continue
        number = numbers[str(UUID(str(row["record_id"])))]
        begin, end = first[number], first[number + 1]
        one = read_vectors(row["vectors"], end - begin)
        vectors[begin:end, :, : one.shape[2]] = one[..., : layer.width]
    layer.held.vectors = vectors
    then()
