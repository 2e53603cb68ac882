"""Single memories: their versions, their history, and changes to them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Response

from neurigraph_pipelines.faces.api import requests
from neurigraph_pipelines.faces.api.authentication import Caller, InstallationDep, Within
from neurigraph_pipelines.faces.api.idempotency import IsRepeated
from neurigraph_pipelines.faces.api.paging import Cursor, Limit
from neurigraph_pipelines.faces.api.preconditions import NOT_MODIFIED, IfNoneMatch, RecordGuard, read_record, tagged
from neurigraph_pipelines.faces.api.problems import documented
from neurigraph_pipelines.faces.api.sight import look
from neurigraph_pipelines.graph import history
from neurigraph_pipelines.graph import record_lists as listing
from neurigraph_pipelines.graph.record_lists import RecordFilter
from neurigraph_pipelines.ingestion import revision
from neurigraph_pipelines.model import ContentType
from neurigraph_pipelines.views import memories as views
from neurigraph_pipelines.views.records import ListedRecords

router = APIRouter(prefix="/records", tags=["memories"], responses=documented(401, 404, 422, 503))


@router.get("")
def list_records(
    caller: Within,
    installation: InstallationDep,
    node_id: Annotated[UUID | None, Query(description="In this node, or below it.")] = None,
    below: Annotated[bool, Query(description="False leaves out the nodes below `node_id`.")] = True,
    source_id: Annotated[UUID | None, Query(description="From this conversation, event or upload.")] = None,
    created_after: Annotated[datetime | None, Query(description="Stored at this time or later.")] = None,
    created_before: Annotated[datetime | None, Query(description="Stored before this time.")] = None,
    occurred_after: Annotated[datetime | None, Query(description="Of events then or later.")] = None,
    occurred_before: Annotated[datetime | None, Query(description="Of events before this time.")] = None,
    content_type: ContentType | None = None,
    superseded: Annotated[bool | None, Query(description="Whether a newer memory replaces it. Default: both.")] = None,
    entity: Annotated[str | None, Query(description="With this entity; case is ignored.")] = None,
    topic: Annotated[str | None, Query(description="With this topic; case is ignored.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> ListedRecords:
    """List memories of the whole graph, the last stored first."""
    look(installation, caller, node_id=node_id, source_id=source_id)
    wanted = RecordFilter(
        node_id,
        below,
        source_id,
        created_after,
        created_before,
        occurred_after,
        occurred_before,
        content_type,
        superseded,
        entity,
        topic,
    )
    found = listing.list_records(
        installation.database, installation.cursors, caller, wanted, limit=limit, cursor=cursor
    )
    return ListedRecords(records=found.items, next_cursor=found.next_cursor)


@router.get("/{record_id}", responses=NOT_MODIFIED)
def memory(
    record_id: UUID,
    response: Response,
    caller: Caller,
    installation: InstallationDep,
    if_none_match: IfNoneMatch = None,
    at: Annotated[
        datetime | None, Query(description="Return the memory as it was at this moment. Default: now.")
    ] = None,
) -> views.Memory:
    """Return one memory, in its present version or the version of a moment."""
    return tagged(response, *read_record(installation, caller, record_id, at), if_none_match)


@router.get("/{record_id}/history")
def deltas(
    record_id: UUID,
    caller: Caller,
    installation: InstallationDep,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> views.History:
    """List all changes of a memory, newest first."""
    found = history.page_of_history(installation.database, installation.cursors, caller, record_id, limit, cursor)
    return found.into(views.History)


@router.get("/{record_id}/diff")
def difference(
    record_id: UUID,
    caller: Caller,
    installation: InstallationDep,
    from_at: Annotated[datetime, Query(description="The first moment.")],
    to_at: Annotated[datetime | None, Query(description="The second moment. Default: now.")] = None,
) -> views.Difference:
    """Compare a memory at two moments."""
    return history.diff(installation.database, caller, record_id, from_at, to_at)


@router.patch("/{record_id}", responses=documented(403, 412))
def revise(
    record_id: UUID,
    body: requests.Revise,
    response: Response,
    caller: Caller,
    installation: InstallationDep,
    guard: RecordGuard,
    is_repeated: IsRepeated,
) -> views.Memory:
    """Change the title, summary or keywords of a memory. Its files do not change."""
    if not is_repeated:
        revision.revise(installation.acting_for(caller), record_id, body.revision, guard)
    return tagged(response, *read_record(installation, caller, record_id))


@router.post("/{record_id}/supersede", responses=documented(403, 409, 412))
def supersede(
    record_id: UUID,
    body: requests.Supersede,
    response: Response,
    caller: Caller,
    installation: InstallationDep,
    guard: RecordGuard,
    is_repeated: IsRepeated,
) -> views.Memory:
    """Mark a memory as replaced by a newer one, or undo that with null."""
    if not is_repeated:
        look(installation, caller, by=body.by)
        revision.supersede(installation.database, caller, record_id, body.by, guard)
    return tagged(response, *read_record(installation, caller, record_id))
