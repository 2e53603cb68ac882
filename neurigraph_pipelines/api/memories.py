"""Single memories: their versions, their history, and changes to them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Response

from neurigraph_pipelines import history, presentation
from neurigraph_pipelines.api import requests
from neurigraph_pipelines.api.authentication import Caller, InstallationDep
from neurigraph_pipelines.api.idempotency import IsRepeated
from neurigraph_pipelines.api.nodes import MAX_PAGE
from neurigraph_pipelines.api.paging import Offset, page
from neurigraph_pipelines.api.preconditions import NOT_MODIFIED, IfNoneMatch, RecordGuard, read_record, tagged
from neurigraph_pipelines.api.problems import documented
from neurigraph_pipelines.api.responses import memories as responses
from neurigraph_pipelines.api.sight import look
from neurigraph_pipelines.ingestion import revision

router = APIRouter(prefix="/records/{record_id}", tags=["memories"], responses=documented(401, 404, 422, 503))


@router.get("", response_model=responses.Memory, responses=NOT_MODIFIED)
def memory(
    record_id: UUID,
    response: Response,
    caller: Caller,
    installation: InstallationDep,
    if_none_match: IfNoneMatch = None,
    at: Annotated[
        datetime | None, Query(description="Return the memory as it was at this moment. Default: now.")
    ] = None,
) -> Mapping[str, Any]:
    """Return one memory, as it is or as it was at a moment."""
    return tagged(response, *read_record(installation, caller, record_id, at), if_none_match)


@router.get("/history", response_model=responses.History)
def deltas(
    record_id: UUID,
    caller: Caller,
    installation: InstallationDep,
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 50,
    offset: Offset = 0,
) -> dict[str, Any]:
    """List all changes of a memory, newest first."""
    found = history.history(installation.database, caller, record_id, limit=limit + 1, offset=offset)
    return page("deltas", [presentation.delta(delta) for delta in found], limit, offset)


@router.get("/diff", response_model=responses.Difference)
def difference(
    record_id: UUID,
    caller: Caller,
    installation: InstallationDep,
    from_at: Annotated[datetime, Query(description="The first moment.")],
    to_at: Annotated[datetime | None, Query(description="The second moment. Default: now.")] = None,
) -> dict[str, Any]:
    """Compare a memory at two moments."""
    changes = history.diff(installation.database, caller, record_id, from_at, to_at)
    return presentation.difference(record_id, changes)


@router.patch("", response_model=responses.Memory, responses=documented(403, 412))
def revise(
    record_id: UUID,
    body: requests.Revise,
    response: Response,
    caller: Caller,
    installation: InstallationDep,
    guard: RecordGuard,
    is_repeated: IsRepeated,
) -> Mapping[str, Any]:
    """Change the title, summary or keywords of a memory. Its files do not change."""
    if not is_repeated:
        revision.revise(installation.acting_for(caller), record_id, body.revision, guard)
    return tagged(response, *read_record(installation, caller, record_id))


@router.post("/supersede", response_model=responses.Memory, responses=documented(403, 409, 412))
def supersede(
    record_id: UUID,
    body: requests.Supersede,
    response: Response,
    caller: Caller,
    installation: InstallationDep,
    guard: RecordGuard,
    is_repeated: IsRepeated,
) -> Mapping[str, Any]:
    """Mark a memory as replaced by a newer one, or undo that with null."""
    if not is_repeated:
        look(installation, caller, by=body.by)
        revision.supersede(installation.database, caller, record_id, body.by, guard)
    return tagged(response, *read_record(installation, caller, record_id))
