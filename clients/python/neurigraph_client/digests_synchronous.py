"""Waiting calls about digests. Written by docs/generate.py from ``digests_asynchronous``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal
from uuid import UUID

from neurigraph_client.calls_synchronous import Calls
from neurigraph_client.transport import given
from neurigraph_pipelines.views.digests import Digest, RemovedDigest


class Digests(Calls):
    """Makes, lists and removes digests."""

    def make_digest(self, record_ids: Sequence[UUID]) -> Digest:
        """Put memories into words. The same memories again give the digest that is there."""
        body = {"record_ids": list(map(str, record_ids))}
        return Digest.model_validate(self.call("POST", "/v1/digests", body))

    def digests(
        self, *, node_id: UUID | None = None, record_id: UUID | None = None, days: Literal[7, 30, 90] | None = None
    ) -> Iterator[Digest]:
        """Yield digests, the last made first.

        Args:
            node_id: Only windows of this node.
            record_id: Only those that are derived from this memory.
            days: Only windows of so many days.
        """
        filters = given(node_id=node_id, record_id=record_id, days=days)
        return self._pages("/v1/digests", "digests", Digest, filters)

    def digest(self, digest_id: UUID) -> Digest:
        """Return a digest, with the memories that it is derived from."""
        return Digest.model_validate(self.call("GET", f"/v1/digests/{digest_id}"))

    def remove_digest(self, digest_id: UUID, *, dry_run: bool = False) -> Digest:
        """Remove a digest, and return it. Its memories stay.

        Args:
            dry_run: Only return what would be removed.
        """
        found = self.call("DELETE", f"/v1/digests/{digest_id}", dry_run=dry_run)
        return RemovedDigest.model_validate(found).digest
