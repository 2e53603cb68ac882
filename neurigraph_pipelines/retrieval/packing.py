"""Packed layers: nodes are packed after a commit and in the background, so that a first question reads no tables.

``retrieval.index.packs`` has their form. A packed layer is used only while its node has the version of which it was
made, so packing may fail, lag behind or be interrupted at any time.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from contextlib import suppress
from uuid import UUID

from psycopg import errors

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.locks import lock_graph_shared
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.retrieval.index.layers import MetadataLayer
from neurigraph_pipelines.retrieval.index.node_layers import whole_of
from neurigraph_pipelines.retrieval.index.packs import FORMAT, pack
from neurigraph_pipelines.text.search_segments import DamagedSegmentError

MOST_AFTER_A_COMMIT, PASSAGES_AFTER_A_COMMIT = 200, 5_000
"""More nodes, and larger ones, are not packed after each commit but in the background."""

MOST_PACKED = 1_000_000
"""Larger nodes, in passages, are not packed: a pack has a kilobyte a passage at most, and a value has a gigabyte."""

LONGEST_WAIT_MILLISECONDS = 250
"""Longest wait for a writer of the same node; then the node is packed in a later round."""

_log = logging.getLogger(__name__)
_QUERIES, _SEARCH = statements("layer_packs"), statements("search")


def pack_layers(
    context: Context, limit: int, *, user_ids: Collection[UUID] | None = None, most_passages: int = MOST_PACKED
) -> int:
    """Pack up to ``limit`` nodes whose packed layer is missing or outdated, smallest first.

    Args:
        user_ids: Only nodes of these users; None for all.
        most_passages: Only nodes of up to so many.

    Returns:
        How many were packed.
    """
    with context.database.pipeline() as tx:
        due = tx.execute(_QUERIES["due"], _due(user_ids, most_passages, limit)).fetchall()
    return sum(_pack(context, node["user_id"], node["node_id"]) for node in due)


def pack_after_commit(context: Context, user_ids: Collection[UUID] | None) -> None:
    """Pack the nodes that a commit wrote to; if that fails, it is left to the background."""
    try:
        pack_layers(context, MOST_AFTER_A_COMMIT, user_ids=user_ids, most_passages=PASSAGES_AFTER_A_COMMIT)
    except Exception as error:  # a defect of packing keeps no run from ending
        _log.warning("layers were not packed (%s)", type(error).__name__)


def _pack(context: Context, user_id: UUID, node_id: UUID) -> bool:
    """Pack one node; return False if the node is gone, or if another transaction writes to it."""
    try:
        return _pack_free(context, user_id, node_id)
    except errors.LockNotAvailable:
        return False


def _pack_free(context: Context, user_id: UUID, node_id: UUID) -> bool:
    with context.database.pipeline() as tx:
        tx.execute(_QUERIES["limit_waits"], {"milliseconds": LONGEST_WAIT_MILLISECONDS})
        # Nothing is erased meanwhile: packed rows were not erased before, and are erased with their node from now on.
        lock_graph_shared(tx, user_id)
        found = _read_whole(context, user_id, node_id)
        if found is None:
            return False
        version, layer = found
        packed = pack(layer)
        tx.execute(_QUERIES["forget_changes"], {"node_id": node_id, "horizon": layer.horizon})
        tx.execute(
            _QUERIES["write"],
            {
                "node_id": node_id,
                "user_id": user_id,
                "version": version,
                "model": layer.model,
                "format": FORMAT,
                "horizon": layer.horizon,
                "layer": packed.layer,
                "words": packed.words,
            },
        )
    return True


def _read_whole(context: Context, user_id: UUID, node_id: UUID) -> tuple[str, MetadataLayer] | None:
    """Return the version and the layer of a node; None if it is gone or may not be cached.

    Its pack, if it has one, is read with the records that changed since, and without the vectors of the others.
    """
    for packs in (FORMAT, None):
        parameters = {"nodes": [node_id], "horizons": [None], "packs": packs, "model": None, "dimensions": 0}
        rows = context.database.ask(Claims.of_user(user_id), _SEARCH["layers"], parameters, binary=True)
        row = next((row for row in rows if row["version"] is not None), None)
        if row is None:
            return None
        with suppress(DamagedSegmentError):  # of the pack before
            if (layer := whole_of(row)) is not None:
                return row["version"], layer
    return None


def _due(user_ids: Collection[UUID] | None, most_passages: int, limit: int | None) -> dict[str, object]:
    return {
        "format": FORMAT,
        "user_ids": list(user_ids) if user_ids is not None else None,
        "passages": most_passages,
        "limit": limit,
    }
