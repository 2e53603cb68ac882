"""Facts: single statements that memories make."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query

from neurigraph_pipelines import presentation
from neurigraph_pipelines.api.authentication import Caller, InstallationDep
from neurigraph_pipelines.api.paging import Cursor, Limit
from neurigraph_pipelines.api.problems import documented
from neurigraph_pipelines.api.responses import facts as responses
from neurigraph_pipelines.api.sight import look
from neurigraph_pipelines.listing import facts as listing
from neurigraph_pipelines.listing.facts import FactFilter
from neurigraph_pipelines.model.facts import FactKind

router = APIRouter(tags=["facts"], responses=documented(401, 404, 422, 503))


@router.get("/facts", response_model=responses.Facts)
def list_facts(
    caller: Caller,
    installation: InstallationDep,
    node_id: Annotated[UUID | None, Query(description="Of memories in this node, or below it.")] = None,
    below: Annotated[bool, Query(description="False leaves out the nodes below `node_id`.")] = True,
    kind: FactKind | None = None,
    who: Annotated[str | None, Query(description="About this person, as the fact names them.")] = None,
    occurred_after: Annotated[datetime | None, Query(description="Of what happened then or later.")] = None,
    occurred_before: Annotated[datetime | None, Query(description="Of what happened before this time.")] = None,
    superseded: Annotated[bool | None, Query(description="Whether a newer memory replaces it. Default: both.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> dict[str, Any]:
    """List facts of the whole graph, newest first."""
    look(installation, caller, node_id=node_id)
    wanted = FactFilter(node_id, below, None, kind, who, occurred_after, occurred_before, superseded)
    found = listing.list_facts(installation.database, installation.cursors, caller, wanted, limit=limit, cursor=cursor)
    return found.shown("facts", presentation.fact)


@router.get("/records/{record_id}/facts", response_model=responses.Facts)
def facts_of_record(
    record_id: UUID, caller: Caller, installation: InstallationDep, limit: Limit = 50, cursor: Cursor = None
) -> dict[str, Any]:
    """List the facts of one memory. A memory is read for facts soon after it was stored."""
    wanted = FactFilter(record_id=record_id)
    found = listing.list_facts(installation.database, installation.cursors, caller, wanted, limit=limit, cursor=cursor)
    return found.shown("facts", presentation.fact)
