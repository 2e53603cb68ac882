"""The vectors of packed layers: those that a question compares at once, all of them for the next questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from psycopg.types.json import Jsonb

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.ports import Database
from neurigraph_pipelines.retrieval.index.caches import Cache
from neurigraph_pipelines.retrieval.index.layers import MetadataLayer
from neurigraph_pipelines.retrieval.index.pack import Pack
from neurigraph_pipelines.retrieval.index.packs import FORMAT, unpack_vectors
from neurigraph_pipelines.retrieval.index.postings import Floats, Numbers
from neurigraph_pipelines.retrieval.index.rows import Rows
from neurigraph_pipelines.retrieval.query.caching import cache_bytes, search_caches
from neurigraph_pipelines.retrieval.query.passage_vectors import PassageVectors, VectorsGoneError
from neurigraph_pipelines.text.lexemes import WINDOW

VECTORS_SHARE = 0.5
"""Share of the room for layers that vectors of packed layers may take."""

_BYTES_OF_HALF, _BYTES_OF_FLOAT = 4, 8
"""Bytes of a passage's two vectors for each dimension, packed and in memory."""

_QUERIES = statements("search")


def vectors_of(context: Context, rows: Rows) -> PassageVectors:
    """Return the vectors of some layers' passages; those of layers that are used again are read in the background."""
    cache, capacity = search_caches(context).vectors, int(VECTORS_SHARE * cache_bytes(context))
    room = capacity
    held: list[Floats | None] = []
    wanted: list[Pack] = []
    for layer in rows.layers:
        pack, vectors = layer.pack, layer.held_vectors
        if pack is not None and capacity:
            vectors = cache.get(pack.node_id, pack.version)
            size = _BYTES_OF_FLOAT * pack.width * layer.passages
            is_wanted = vectors is None and layer.is_used and 0 < size <= room
            if is_wanted:
                wanted.append(pack)
            if is_wanted or vectors is not None:  # so the layers of one question do not displace each other in turns
                room -= size
            layer.is_used = True
        held.append(vectors)
    if wanted:
        parameters = _parameters([(pack, None) for pack in wanted])
        keep = partial(_keep, cache, capacity, wanted)
        context.database.later(context.claims, _QUERIES["packed_vectors"], parameters, keep)
    return PassageVectors(rows, held, partial(read_vectors, context))


def read_whole(database: Database, claims: Claims, node_id: str) -> tuple[str, MetadataLayer] | None:
    """Return the version and the layer of a node, read from its tables; None if it is gone or may not be cached."""
    parameters = {"question": Jsonb(WINDOW), "nodes": [node_id], "horizons": [None], "embedding": None}
    rows = database.ask(claims, _QUERIES["layers"], parameters, binary=True)
    return next(((row["version"], MetadataLayer(row)) for row in rows if row["version"] is not None), None)


def read_vectors(context: Context, wanted: Sequence[tuple[Pack, Numbers]]) -> list[bytes]:
    """Return the packed vectors of some passages of packed layers.

    Raises:
        VectorsGoneError: One of the layers was packed again.
    """
    read = context.database.ask(context.claims, _QUERIES["packed_vectors"], _parameters(wanted), binary=True)
    found = {str(row["node_id"]): row["vectors"] for row in read}
    if gone := [pack.node_id for pack, _ in wanted if pack.node_id not in found]:
        raise VectorsGoneError(gone)
    return [found[pack.node_id] for pack, _ in wanted]


def _keep(cache: Cache[Floats], capacity: int, packs: Sequence[Pack], rows: Sequence[Mapping[str, Any]]) -> None:
    by_node = {pack.node_id: pack for pack in packs}
    for row in rows:
        pack = by_node[str(row["node_id"])]
        vectors = unpack_vectors(row["vectors"], pack.width)
        cache.put(pack.node_id, vectors, capacity, size=vectors.nbytes, version=pack.version)


def _parameters(wanted: Sequence[tuple[Pack, Numbers | None]]) -> dict[str, Any]:
    """Return the parameters of ``packed_vectors`` for some passages of packed layers; None for all passages."""
    return {
        "nodes": [pack.node_id for pack, _ in wanted],
        "versions": [pack.version for pack, _ in wanted],
        "widths": [_BYTES_OF_HALF * pack.width for pack, _ in wanted],
        # Sent as texts: psycopg takes longer to write a list of numbers than Postgres to read them.
        "passages": [" ".join(map(str, rows.tolist())) if rows is not None else None for _, rows in wanted],
        "format": FORMAT,
    }
