"""The cached layers of one node: a metadata layer, and a small one of the later changes.

So a question after a write reads and copies what is new, and not what is there. ``query.load`` reads both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from neurigraph_pipelines.retrieval.index.layers import MetadataLayer

_LEAST_RECENT, _RECENT_SHARE = 500, 1 / 8
"""So many passages, and such a share of those of the node, may have changed before all of the node is joined again."""


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
        """The transaction from which on changes are missing; None if the node has to be read as a whole."""
        if self.recent is None or (self._is_due and self.base.held_vectors is not None):
            return self.base.horizon
        return None if self._is_due else self.recent.horizon

    @property
    def _is_due(self) -> bool:
        """Whether so much changed that the changes are joined with the rest."""
        most = max(_LEAST_RECENT, int(_RECENT_SHARE * self.base.passages))
        return self.recent is not None and self.recent.passages > most

    def updated(self, row: Mapping[str, Any]) -> NodeLayers | None:
        """Return these layers with the changes since ``horizon``, which a row of ``neurigraph.layers`` lists.

        Returns:
            None if the vectors of the row are of another model.
        """
        if row["model"] != self.model:
            return None
        changed = np.frombuffer(row["changed"], "S16")
        base = self.base.without(changed)
        if self._is_due:  # the row lists everything since the base was read
            stays = ~base.gone if base.gone is not None else np.ones(base.records, bool)
            return NodeLayers(MetadataLayer(row, (base, stays)))
        past = (self.recent, ~np.isin(self.recent.ids, changed)) if self.recent is not None else None
        return NodeLayers(base, MetadataLayer(row, past))

    @property
    def size(self) -> int:
        """Approximate size in bytes."""
        return sum(layer.size for layer in self.layers)
