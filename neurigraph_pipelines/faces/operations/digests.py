"""Digests: summaries, in a few sentences, of windows of a node or of memories that the owner names."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from neurigraph_pipelines.faces.operations.call import Call, Who
from neurigraph_pipelines.faces.operations.forms import Cursor, Limit
from neurigraph_pipelines.faces.operations.registry import OperationGroup
from neurigraph_pipelines.knowledge import digesting, digests
from neurigraph_pipelines.views import digests as views
from neurigraph_pipelines.views.base import Form

operation = OperationGroup("digests")

Days = Annotated[Literal["7", "30", "90"] | None, Field(description="Only windows of so many days.")]


class NewDigest(Form):
    """Memories to put into words."""

    record_ids: list[UUID] = Field(min_length=digesting.LEAST_COVERED, max_length=digesting.MOST_COVERED)


@operation("GET /digests", "memory digest list")
def list_digests(
    call: Call,
    node_id: Annotated[UUID | None, Field(description="Only windows of this node.")] = None,
    record_id: Annotated[UUID | None, Field(description="Only digests that are derived from this memory.")] = None,
    days: Days = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> views.Digests:
    """List digests, newest first. A caller sees a digest who may read all memories that it is made from."""
    return call.page(
        views.Digests,
        digests.page_of_digests,
        node_id=node_id,
        record_id=record_id,
        days=int(days) if days is not None else None,
        limit=limit,
        cursor=cursor,
    )


@operation("POST /digests", "memory digest add", status=201, refusals=(409, 502), who=Who.OWNER)
def make_digest(call: Call, body: NewDigest) -> views.Digest:
    """Put some memories into words. The same memories again give the digest that is there."""
    digest_id = digesting.digest_of_records(call.context, body.record_ids)
    return call.do(digests.get_digest, digest_id)


@operation("GET /digests/{digest_id}", "memory digest show")
def digest(call: Call, digest_id: UUID) -> views.Digest:
    """Return a digest, with the memories that it is derived from."""
    return call.do(digests.get_digest, digest_id)


@operation("DELETE /digests/{digest_id}", "memory digest remove")
def remove_digest(
    call: Call,
    digest_id: UUID,
    dry_run: Annotated[bool, Field(description="Return the digest that would be removed, and change nothing.")] = False,
) -> views.RemovedDigest:
    """Remove a digest. Its memories stay. The digest of a window is made again if digests are switched on."""
    found = call.do(digests.remove_digest, digest_id, dry_run=dry_run)
    return views.RemovedDigest(dry_run=dry_run, digest=found)
