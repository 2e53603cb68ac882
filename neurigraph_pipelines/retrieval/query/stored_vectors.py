"""The vectors of passages in the database: some for a question, and all of a node that is asked about again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple
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
from neurigraph_pipelines.views.scalars import Row

_BYTES_OF_FLOATS = 4
"""Bytes of a passage's vector for each dimension."""

_QUERIES = statements("search")


def vectors_of(context: Context, nodes: Sequence[LoadedNode], rows: Rows) -> PassageVectors:
    """Return the vectors of some layers' passages. Vectors of layers that recur are read in the background."""
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


def read(context: Context, wanted: Sequence[tuple[MetadataLayer, Numbers]]) -> list[Floats]:
    """Return the vectors of some passages of layers, ``(n, dimensions)`` each; passages are in ascending order.

    Raises:
        VectorsGoneError: A record changed meanwhile.
    """
    asked = [_Asked.of(layer, rows) for layer, rows in wanted]
    record_ids = [record_id for one in asked for record_id in one.record_ids]
    parameters = {
        "records": record_ids,
        # Sent as texts: psycopg takes longer to write a list of numbers than Postgres to read them.
        "passages": [" ".join(map(str, run)) for one in asked for run in one.runs],
        "model": wanted[0][0].model,
    }
    found = context.database.ask(context.claims, _QUERIES["vectors"], parameters, binary=True)
    packed = {str(row["record_id"]): row["vectors"] for row in found}
    if len(packed) < len(record_ids):
        raise VectorsGoneError
    try:
        return [_unpacked(layer, one, packed) for (layer, _), one in zip(wanted, asked, strict=True)]
    except DamagedSegmentError as error:
        raise VectorsGoneError from error


class _Asked(NamedTuple):
    """The records of passages of a layer, each with the numbers of its passages from 1."""

    record_ids: list[str]
    runs: list[list[int]]

    @classmethod
    def of(cls, layer: MetadataLayer, rows: Numbers) -> _Asked:
        records = layer.record[rows]
        numbers = (rows - np.searchsorted(layer.record, records) + 1).tolist()
        runs: dict[int, list[int]] = {}
        for record, number in zip(records.tolist(), numbers, strict=True):
            runs.setdefault(record, []).append(number)
        return cls([layer.record_ids[record] for record in runs], list(runs.values()))


def _unpacked(layer: MetadataLayer, asked: _Asked, packed: Mapping[str, bytes | None]) -> Floats:
    """Return the vectors of passages of a layer; zeros for those that are pending."""
    counts = list(map(len, asked.runs))
    vectors: Floats = np.zeros((sum(counts), layer.width), np.float32)
    parts = [packed[record_id] for record_id in asked.record_ids]
    whole = [part for part in parts if part is not None]
    if (
        len(whole) == len(parts)
        and len({len(part) / passages for part, passages in zip(whole, counts, strict=True)}) == 1
    ):
        one = read_vectors(b"".join(whole), len(vectors))  # most often all have one width
        vectors[:, : one.shape[1]] = one[:, : layer.width]
        return vectors
    begin = 0
    for part, passages in zip(parts, counts, strict=True):
        if part is not None:
            one = read_vectors(part, passages)
            vectors[begin : begin + passages, : one.shape[1]] = one[:, : layer.width]
        begin += passages
    return vectors


def _size(layers: NodeLayers) -> int:
    return layers.size


def _all_of(layer: MetadataLayer) -> dict[str, object]:
    """Return the parameters of the query of all vectors of a layer."""
    present = np.flatnonzero(~layer.gone) if layer.gone is not None else np.arange(layer.records)
    records = [layer.record_ids[record] for record in present.tolist()]
    return {"records": records, "passages": [None] * len(records), "model": layer.model}


def _keep(layer: MetadataLayer, then: Callable[[], None], rows: Sequence[Row]) -> None:
    """Keep the vectors of a layer in memory. Records that changed meanwhile are in another layer, or soon will be."""
    numbers = {record_id: number for number, record_id in enumerate(layer.record_ids)}
    vectors = np.zeros((layer.passages, layer.width), np.float32)
    first = np.searchsorted(layer.record, np.arange(layer.records + 1)).tolist()
    for row in rows:
        if row["vectors"] is None:
            continue
        number = numbers[str(UUID(str(row["record_id"])))]
        begin, end = first[number], first[number + 1]
        one = read_vectors(row["vectors"], end - begin)
        vectors[begin:end, : one.shape[1]] = one[:, : layer.width]
    layer.held.vectors = vectors
    then()
