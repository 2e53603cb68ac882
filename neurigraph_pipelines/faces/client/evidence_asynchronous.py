"""The client's calls about mentions, edges and names of nodes, a part of ``AsyncMemory``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any
from uuid import UUID


class AsyncEvidence(ABC):
    """Reads what nodes and edges rest on, and states it by hand."""

    @abstractmethod
    async def call(self, method: str, path: str, body: Any = None, *, etag: str | None = None, **query: Any) -> Any:
        """Make a call of the API and return its JSON."""

    @abstractmethod
    def _pages(self, path: str, name: str, filters: dict[str, Any]) -> AsyncIterator[dict[str, Any]]: ...

    async def mentions(self, node_id: UUID, **filters: Any) -> AsyncIterator[dict[str, Any]]:
        """Yield what speaks of a node, those stored last first; ``role`` is a filter."""
        async for one in self._pages(f"/v1/nodes/{node_id}/mentions", "mentions", filters):
            yield one

    async def evidence(self, edge_id: UUID) -> AsyncIterator[dict[str, Any]]:
        """Yield what an edge rests on, the newest first."""
        async for one in self._pages(f"/v1/edges/{edge_id}/evidence", "evidence", {}):
            yield one

    async def state_evidence(
        self,
        edge_id: UUID,
        stance: str,
        *,
        valid_from: datetime | None = None,
        valid_until: datetime | None = None,
    ) -> dict[str, Any]:
        """State by hand that an edge holds (``asserts``), has ended (``ends``) or never was (``denies``).

        Args:
            valid_from: Since when it holds, or does not; not of an end.
            valid_until: Until when. Default of an end: now.

        Returns:
            The evidence, with its ``evidence_id``, and ``created``: False if you said the same before.
        """
        body = {"stance": stance, "valid_from": valid_from, "valid_until": valid_until}
        answer: dict[str, Any] = await self.call("POST", f"/v1/edges/{edge_id}/evidence", body)
        return answer

    async def take_back_evidence(self, edge_id: UUID, evidence_id: UUID) -> None:
        """Take back what you stated about an edge by hand."""
        await self.call("DELETE", f"/v1/edges/{edge_id}/evidence/{evidence_id}")

    async def aliases(self, node_id: UUID | None = None, **filters: Any) -> AsyncIterator[dict[str, Any]]:
        """Yield other names and ids of a node, or those that have a ``value``, of a ``type``."""
        async for one in self._pages(f"/v1/nodes/{node_id}/aliases" if node_id else "/v1/aliases", "aliases", filters):
            yield one

    async def give_alias(self, node_id: UUID, value: str, **fields: Any) -> dict[str, Any]:
        """Give a node another name, or an id of a ``type``; ``verified`` says that you vouch for it."""
        answer: dict[str, Any] = await self.call("POST", f"/v1/nodes/{node_id}/aliases", {"value": value, **fields})
        return answer

    async def remove_alias(self, node_id: UUID, value: str, **query: Any) -> int:
        """Remove a name or an id of a node, and return how many there were."""
        removed: int = (await self.call("DELETE", f"/v1/nodes/{node_id}/aliases", value=value, **query))["removed"]
        return removed
