"""The client's calls about mentions, edges and names of nodes, a part of ``AsyncMemory``."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any
from uuid import UUID

from neurigraph_client.calls_asynchronous import AsyncCalls
from neurigraph_pipelines.views.evidence import (
    EdgeEvidence,
    ListedAlias,
    Mention,
    NodeAlias,
    RemovedAliases,
    StatedEvidence,
)


class AsyncEvidence(AsyncCalls):
    """Reads mentions of nodes and evidence of edges, and states evidence by hand."""

    def mentions(self, node_id: UUID, **filters: Any) -> AsyncIterator[Mention]:
        """Yield the memories that speak of a node, the last stored first; ``role`` is a filter."""
        return self._pages(f"/v1/nodes/{node_id}/mentions", "mentions", Mention, filters)

    def evidence(self, edge_id: UUID) -> AsyncIterator[EdgeEvidence]:
        """Yield the evidence of an edge, the newest first."""
        return self._pages(f"/v1/edges/{edge_id}/evidence", "evidence", EdgeEvidence, {})

    async def state_evidence(
        self,
        edge_id: UUID,
        stance: str,
        *,
        valid_from: datetime | None = None,
        valid_until: datetime | None = None,
    ) -> StatedEvidence:
        """State by hand that an edge holds (``asserts``), has ended (``ends``) or never was (``denies``).

        Args:
            valid_from: Since when it holds, or does not; not of an end.
            valid_until: Until when. Default of an end: now.

        Returns:
            The evidence; ``created`` is False if you said the same before.
        """
        body = {"stance": stance, "valid_from": valid_from, "valid_until": valid_until}
        return StatedEvidence.model_validate(await self.call("POST", f"/v1/edges/{edge_id}/evidence", body))

    async def take_back_evidence(self, edge_id: UUID, evidence_id: UUID) -> None:
        """Take back a statement about an edge that you made by hand."""
        await self.call("DELETE", f"/v1/edges/{edge_id}/evidence/{evidence_id}")

    def aliases(self, node_id: UUID | None = None, **filters: Any) -> AsyncIterator[ListedAlias]:
        """Yield the aliases and ids of a node, or of all nodes those with a ``value`` or a ``type``."""
        return self._pages(
            f"/v1/nodes/{node_id}/aliases" if node_id else "/v1/aliases", "aliases", ListedAlias, filters
        )

    async def give_alias(self, node_id: UUID, value: str, **fields: Any) -> NodeAlias:
        """Give a node another name, or an id of a ``type``; ``verified`` says that you vouch for it."""
        given = await self.call("POST", f"/v1/nodes/{node_id}/aliases", {"value": value, **fields})
        return NodeAlias.model_validate(given)

    async def remove_alias(self, node_id: UUID, value: str, **query: Any) -> int:
        """Remove a name or an id of a node, and return how many there were."""
        answer = await self.call("DELETE", f"/v1/nodes/{node_id}/aliases", value=value, **query)
        return RemovedAliases.model_validate(answer).removed
