"""Digests: what several memories say, in a few sentences, of windows of a node or of memories that the owner names."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import Field

from neurigraph_pipelines.faces.api.authentication import Caller, InstallationDep, Owner
from neurigraph_pipelines.faces.api.paging import Cursor, Limit
from neurigraph_pipelines.faces.api.problems import documented
from neurigraph_pipelines.faces.api.requests import Form
from neurigraph_pipelines.faces.api.responses import digests as responses
from neurigraph_pipelines.faces.api.sight import look
from neurigraph_pipelines.knowledge import digesting, digests

router = APIRouter(tags=["digests"], responses=documented(401, 404, 422, 503))

Days = Annotated[Literal["7", "30", "90"] | None, Query(description="Only windows of so many days.")]


class NewDigest(Form):
    """Memories to put into words."""

    record_ids: list[UUID] = Field(min_length=digesting.LEAST_COVERED, max_length=digesting.MOST_COVERED)


@router.get("/digests", response_model=responses.Digests)
def list_digests(
    caller: Caller,
    installation: InstallationDep,
    node_id: Annotated[UUID | None, Query(description="Only windows of this node.")] = None,
    record_id: Annotated[UUID | None, Query(description="Only digests that are derived from this memory.")] = None,
    days: Days = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> dict[str, Any]:
    """List digests, those made last first: those of which the caller may read everything that they are derived from."""
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
    return found.shown("digests")


@router.post("/digests", status_code=201, response_model=responses.Digest, responses=documented(403, 409, 413))
def make_digest(body: NewDigest, caller: Owner, installation: InstallationDep) -> dict[str, Any]:
    """Put some memories into words. The same memories again give the digest that is there."""
    for record_id in body.record_ids:
        look(installation, caller, record_id=record_id)
    digest_id = digesting.digest_of_records(installation.acting_for(caller), body.record_ids)
    return digests.get_digest(installation.database, caller, digest_id)


@router.get("/digests/{digest_id}", response_model=responses.Digest)
def digest(digest_id: UUID, caller: Caller, installation: InstallationDep) -> dict[str, Any]:
    """Return a digest, with the memories that it is derived from."""
    return digests.get_digest(installation.database, caller, digest_id)


@router.delete("/digests/{digest_id}", response_model=responses.RemovedDigest, responses=documented(403))
def remove_digest(
    digest_id: UUID,
    caller: Caller,
    installation: InstallationDep,
    dry_run: Annotated[bool, Query(description="Only say what would be removed.")] = False,
) -> dict[str, Any]:
    """Remove a digest. Its memories stay, and one of a window is made again if digests are switched on."""
    found = digests.remove_digest(installation.database, caller, digest_id, dry_run=dry_run)
    return {"dry_run": dry_run, "digest": found}


@router.get("/nodes/{node_id}/digests", response_model=responses.Digests)
def digests_of_node(
    node_id: UUID,
    caller: Caller,
    installation: InstallationDep,
    days: Days = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> dict[str, Any]:
    """List the digests of a node's windows, those made last first."""
    return list_digests(caller, installation, node_id=node_id, days=days, limit=limit, cursor=cursor)
