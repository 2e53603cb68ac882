"""Quarantine: hides memories from every retrieval, and brings them back. Only owners may; others get 403."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from pydantic import Field

from neurigraph_pipelines.faces.operations import requests
from neurigraph_pipelines.faces.operations.call import Call, Who
from neurigraph_pipelines.faces.operations.forms import Cursor, Limit
from neurigraph_pipelines.faces.operations.registry import OperationGroup
from neurigraph_pipelines.lifecycle.quarantine import holding, rules, suggestions
from neurigraph_pipelines.views import quarantines as views

operation = OperationGroup("quarantine")

_MOST_READ = 1_000


@operation(
    "POST /quarantines",
    "memory quarantine add",
    status=201,
    who=Who.OWNER,
    options={"reason": "--reason"},
)
def quarantine(call: Call, body: requests.NewQuarantine) -> views.Quarantine:
    """Put memories out of every retrieval at once, and keep them. The same conditions are in force once."""
    return holding.quarantine(call.context, body.rule, body.reason)


@operation(
    "POST /quarantines/preview",
    "memory quarantine preview",
    is_read=True,
    who=Who.OWNER,
    options={"reason": "--reason"},
)
def preview(call: Call, body: requests.NewQuarantine) -> views.QuarantinePreview:
    """Return the memories that a quarantine would hide, and hide nothing."""
    return call.do(rules.preview, body.rule)


@operation("GET /quarantines", "memory quarantine list", who=Who.OWNER)
def list_quarantines(
    call: Call,
    all_of_them: Annotated[bool, Field(alias="all", description="Include released ones.")] = False,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> views.Quarantines:
    """List the quarantines of the graph, newest first: their conditions, authors, times and reasons."""
    return call.page(
        views.Quarantines, rules.page_of_quarantines, with_released=all_of_them, limit=limit, cursor=cursor
    )


@operation("GET /quarantines/suggestions", "memory quarantine suggest", who=Who.OWNER)
def suggest(
    call: Call,
    records: Annotated[
        int, Field(ge=1, le=_MOST_READ, description="How many of the newest records are read.")
    ] = suggestions.RECORDS_READ,
) -> views.Suggestions:
    """Return suspicious memories: hidden instructions, stuffed keywords, restatements and floods."""
    found = suggestions.suggest(call.context, records=records)
    return views.Suggestions(suggestions=found)


@operation("DELETE /quarantines/{quarantine_id}", "memory quarantine remove", who=Who.OWNER)
def release(call: Call, quarantine_id: UUID) -> views.Quarantine:
    """End a quarantine: memories that are in no other one are found again. Repeating it changes nothing."""
    return holding.release(call.context, quarantine_id)
