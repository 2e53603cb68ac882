"""The cached layers of one node: a metadata layer, and a small one of the later changes.

So a question after a write reads and copies what is new, and not what is there. ``query.load`` reads both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from neurigraph_pipelines.retrieval.index.columns import Records, records_of
from neurigraph_pipelines.retrieval.index.layers import MetadataLayer
from neurigraph_pipelines.retrieval.index.packs import unpack
from neurigraph_pipelines.views.scalars import Row

_LEAST_RECENT, _RECENT_SHARE = 500, 1 / 8
"""So many passages, and such a share of those of the node, may have changed before all of the node is joined again."""

MOST_PER_HASHED = 2
"""So many times the passages from whose mean signs are taken may be hashed: then the mean has moved."""


def layer_key(node_id: str, version: str | None) -> str:
    """Return the key of a node's layers in caches.

    Callers from whom something is hidden see a part of a node. The version of a part, which begins with a slash, says
    what it holds: those who see the same share it, and it lies beside the whole node and other parts.
    """
    return node_id + version if version is not None and version.startswith("/") else node_id


class NodeLayers(NamedTuple):
    """The layers of one node.

    Attributes:
        base: The node as it was read, without the records that changed since.
        recent: The records that changed since, as they are now; None if the base is all.
    """

    base: MetadataLayer
    recent: MetadataLayer | None = None

    @property
    def layers(self) -> tuple[MetadataLayer, ...]:
        """The layers to rank."""
        return (self.base, self.recent) if self.recent is not None and self.recent.records else (self.base,)

    @property
    def model(self) -> str | None:
        """The embedding model of the vectors."""
        return self.base.model

    @property
    def horizon(self) -> int | None:
        """The transaction from which on changes are missing; None if unknown."""
        return self.base.horizon if self.recent is None or self._is_due else self.recent.horizon

    @property
    def _is_due(self) -> bool:
        """Whether so much changed that the changes are joined with the rest."""
        most = max(_LEAST_RECENT, int(_RECENT_SHARE * self.base.passages))
        return self.recent is not None and self.recent.passages > most

    def updated(self, row: Row) -> NodeLayers | None:
        """Return these layers with the changes since ``horizon``, which a row of ``neurigraph.layers`` lists.

        Returns:
            None if the vectors of the row are of another model.
        """
        if row["model"] != self.model:
            return None
        changed = np.frombuffer(row["changed"], "S16")
        base = self.base.without(changed)
        sent: tuple[Records, str | None, int | None] = (records_of(row), row["model"], row["horizon"])
        if self._is_due:  # the row lists everything since the base was read
            layer = _joined(base, *sent)
            return NodeLayers(layer) if layer is not None else None
        past = (self.recent, ~np.isin(self.recent.ids, changed)) if self.recent is not None else None
        return NodeLayers(base, MetadataLayer(*sent, past))

    @property
    def size(self) -> int:
        """Approximate size in bytes."""
        return sum(layer.size for layer in self.layers)


def whole_of(row: Row) -> MetadataLayer | None:
    """Return the layer of a whole node, in a row of ``neurigraph.layers``.

    A pack is joined with the records that changed since. Then only their vectors are in memory, and those of the pack
    are hashed.

    Returns:
        None if the hashes are of too few of the vectors: the node has to be read without its pack.
    """
    if row["pack"] is not None and row["changed"] is None:
        return _base_of(row)
    sent: tuple[Records, str | None, int | None] = (records_of(row), row["model"], row["horizon"])
    if row["pack"] is None:
        return MetadataLayer(*sent)
    return _joined(_base_of(row).without(np.frombuffer(row["changed"], "S16")), *sent)


def layers_of(row: Mapping[str, object], past: NodeLayers | None) -> NodeLayers | None:
    """Return the layers that a row of ``neurigraph.layers`` describes; None if the row does not say enough.

    Args:
        past: The known history of the node.
    """
    if row["changed"] is None:
        layer = whole_of(row)
        return NodeLayers(layer) if layer is not None else None
    if row["pack"] is not None:
        past = NodeLayers(_base_of(row))
    return past.updated(row) if past is not None else None


def _base_of(row: Row) -> MetadataLayer:
    """Return the layer in a pack; it has no horizon if records changed since."""
    base = unpack(row["pack"])
    base.model, base.horizon = row["model"], row["horizon"] if row["changed"] is None else None
    return base


def _joined(base: MetadataLayer, records: Records, model: str | None, horizon: int | None) -> MetadataLayer | None:
    """Return a layer without the records that are gone, and with those that were sent, as one; None as ``whole_of``."""
    stays = ~base.gone if base.gone is not None else np.ones(base.records, bool)
    layer = MetadataLayer(records, model, horizon, (base, stays))
    are_known = layer.held.vectors is not None or not layer.passages
    hashes = layer.sign_hashes
    return layer if are_known or (hashes is not None and layer.passages <= MOST_PER_HASHED * hashes.sample) else None
