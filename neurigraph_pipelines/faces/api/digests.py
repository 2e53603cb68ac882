"""Digests: summaries, in a few sentences, of windows of a node or of memories that the owner names."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import Field

from neurigraph_pipelines.faces.api.authentication import Caller, InstallationDep, Owner
from neurigraph_pipelines.faces.api.paging import Cursor, Limit
from neurigraph_pipelines.faces.api.problems import documented
from neurigraph_pipelines.faces.api.requests import Form
from neurigraph_pipelines.faces.api.sight import look
from neurigraph_pipelines.knowledge import digesting, digests
from neurigraph_pipelines.views import digests as views

router = APIRouter(tags=["digests"], responses=documented(401, 404, 422, 503))

Days = Annotated[Literal["7", "30", "90"] | None, Query(description="Only windows of so many days.")]


class NewDigest(Form):
    """Memories to put into words."""

    record_ids: list[UUID] = Field(min_length=digesting.LEAST_COVERED, max_length=digesting.MOST_COVERED)


@router.get("/digests")
def list_digests(
    caller: Caller,
    installation: InstallationDep,
    node_id: Annotated[UUID | None, Query(description="Only windows of this node.")] = None,
    record_id: Annotated[UUID | None, Query(description="Only digests that are derived from this memory.")] = None,
    days: Days = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> views.Digests:
    """List digests, newest first. A caller sees a digest who may read all memories that it is made from."""
    found = digests.page_of_digests(
        installation.database,
        installation.cursors,
        caller,
        node_id=node_id,
        record_id=record_id,
        days=int(days) if days is not None else None,
        limit=limit,
        cursor=cursor,
    )
    return views.Digests(digests=found.items, next_cursor=found.next_cursor)


@router.post("/digests", status_code=201, responses=documented(403, 409, 413))
def make_digest(body: NewDigest, caller: Owner, installation: InstallationDep) -> views.Digest:
    """Put some memories into words. The same memories again give the digest that is there."""
    for record_id in body.record_ids:
        look(installation, caller, record_id=record_id)
    digest_id = digesting.digest_of_records(installation.acting_for(caller), body.record_ids)
    return digests.get_digest(installation.database, caller, digest_id)


@router.get("/digests/{digest_id}")
def digest(digest_id: UUID, caller: Caller, installation: InstallationDep) -> views.Digest:
    """Return a digest, with the memories that it is derived from."""
    return digests.get_digest(installation.database, caller, digest_id)


@router.delete("/digests/{digest_id}", responses=documented(403))
def remove_digest(
    digest_id: UUID,
    caller: Caller,
    installation: InstallationDep,
    dry_run: Annotated[bool, Query(description="Return the digest that would be removed, and change nothing.")] = False,
) -> views.RemovedDigest:
    """Remove a digest. Its memories stay. The digest of a window is made again if digests are switched on."""
    found = digests.remove_digest(installation.database, caller, digest_id, dry_run=dry_run)
    return views.RemovedDigest(dry_run=dry_run, digest=found)


@router.get("/nodes/{node_id}/digests")
def digests_of_node(
    node_id: UUID,
    caller: Caller,
    installation: InstallationDep,
    days: Days = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> views.Digests:
    """List the digests of a node's windows, the last made first."""
    return list_digests(caller, installation, node_id=node_id, days=days, limit=limit, cursor=cursor)
