"""The client's calls about how long memories are kept, and about the archive; a part of ``AsyncMemory``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from uuid import UUID

from neurigraph_client.calls_asynchronous import AsyncCalls
from neurigraph_client.models import Tier
from neurigraph_pipelines.views.retention import Archived, Purge
from neurigraph_pipelines.views.retention import Retention as Kept


class AsyncRetention(AsyncCalls):
    """Keeps, archives and restores memories."""

    async def retention(self, record_id: UUID) -> Kept:
        """Return how long a memory is meant to be kept."""
        return Kept.model_validate(await self.call("GET", f"/v1/records/{record_id}/retention"))

    async def keep(
        self,
        record_id: UUID,
        tier: Tier,
        *,
        expires_at: datetime | None = None,
        reason: str | None = None,
        etag: str | None = None,
    ) -> Kept:
        """Set how long a memory is kept: ``short``, ``mid`` or ``long``, which is for good.

        Args:
            expires_at: When it expires, if not by the lifetime of the tier.
            etag: Change it only if the memory is as it was read.
        """
        moment = expires_at.isoformat() if expires_at is not None else None
        body = {"tier": tier, "expires_at": moment, "reason": reason}
        return Kept.model_validate(await self.call("PUT", f"/v1/records/{record_id}/retention", body, etag=etag))

    async def promote(self, record_id: UUID, *, etag: str | None = None) -> Kept:
        """Move a memory to the next tier."""
        return Kept.model_validate(await self.call("POST", f"/v1/records/{record_id}/promote", etag=etag))

    async def archive(self, record_ids: Sequence[UUID], reason: str) -> list[UUID]:
        """Archive memories: default reads leave them out. Returns those that were not in the archive before."""
        body = {"record_ids": list(map(str, record_ids)), "reason": reason}
        return [UUID(one) for one in (await self.call("POST", "/v1/archive", body))["record_ids"]]

    def archived(self) -> AsyncIterator[Archived]:
        """Yield the memories in the archive, the last archived first."""
        return self._pages("/v1/archive", "records", Archived, {})

    async def restore(self, record_ids: Sequence[UUID]) -> list[UUID]:
        """Bring memories back from the archive, with the tiers that they had."""
        body = {"record_ids": list(map(str, record_ids))}
        return [UUID(one) for one in (await self.call("POST", "/v1/archive/restore", body))["record_ids"]]

    async def purge_archive(self, older_than_days: float, *, dry_run: bool = True) -> Purge:
        """Forget memories that have been in the archive for so many days, for good, or list them with a dry run.

        Args:
            dry_run: Pass False to forget.
        """
        body = {"older_than_days": older_than_days, "dry_run": dry_run}
        return Purge.model_validate(await self.call("POST", "/v1/archive/purge", body))
