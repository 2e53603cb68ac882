"""Single memories: their versions, their history, and changes to them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field

from neurigraph_pipelines.faces.operations import requests
from neurigraph_pipelines.faces.operations.call import Call
from neurigraph_pipelines.faces.operations.forms import Cursor, Limit
from neurigraph_pipelines.faces.operations.registry import OperationGroup
from neurigraph_pipelines.faces.operations.versions import read_record
from neurigraph_pipelines.graph import history
from neurigraph_pipelines.graph import record_lists as listing
from neurigraph_pipelines.graph.record_lists import RecordFilter
from neurigraph_pipelines.ingestion import revision
from neurigraph_pipelines.views import memories as views
from neurigraph_pipelines.views.records import ListedRecords

operation = OperationGroup("memories")


@operation("GET /records", "memory list", tool="browse_graph", in_spaces=True)
def list_records(call: Call, wanted: RecordFilter, limit: Limit = 50, cursor: Cursor = None) -> ListedRecords:
    """List memories of the whole graph, newest first."""
    return call.page(ListedRecords, listing.list_records, wanted, limit=limit, cursor=cursor)


@operation("GET /records/{record_id}", "memory show", tool="memory_history", has_version=True)
def memory(
    call: Call,
    record_id: UUID,
    at: Annotated[
        datetime | None, Field(description="Return the memory as it was at this moment. Default: now.")
    ] = None,
) -> views.Memory:
    """Return one memory, in its present version or the version of a moment."""
    return call.versioned(*read_record(call.installation, call.caller, record_id, at))


@operation("GET /records/{record_id}/history", "memory history", tool="memory_history")
def deltas(call: Call, record_id: UUID, limit: Limit = 50, cursor: Cursor = None) -> views.History:
    """List all changes of a memory, newest first."""
    return call.page(views.History, history.page_of_history, record_id, limit=limit, cursor=cursor)


@operation("GET /records/{record_id}/diff", "memory diff", options={"to_at": "--to"})
def difference(
    call: Call,
    record_id: UUID,
    from_at: Annotated[datetime, Field(description="The first moment.")],
    to_at: Annotated[datetime | None, Field(description="The second moment. Default: now.")] = None,
) -> views.Difference:
    """Compare a memory at two moments."""
    return call.do(history.diff, record_id, from_at, to_at)


@operation("PATCH /records/{record_id}", "memory edit", guarded="record_id")
def revise(call: Call, record_id: UUID, body: revision.Revision) -> views.Memory:
    """Change the title, summary or keywords of a memory. Its files do not change."""
    if not call.is_repeated:
        revision.revise(call.context, record_id, body, call.once)
    return call.versioned(*read_record(call.installation, call.caller, record_id))


@operation(
    "POST /records/{record_id}/supersede",
    "memory supersede",
    tool="supersede",
    refusals=(409,),
    guarded="record_id",
    options={"by": "--by"},
)
def supersede(call: Call, record_id: UUID, body: requests.Supersede) -> views.Memory:
    """Mark a memory as replaced by a newer one, or undo that with null."""
    if not call.is_repeated:
        call.do(revision.supersede, record_id, body.by, call.once)
    return call.versioned(*read_record(call.installation, call.caller, record_id))
