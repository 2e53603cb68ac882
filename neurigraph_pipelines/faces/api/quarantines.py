"""Quarantine: hides memories from every retrieval, and brings them back. Only owners may; others get 403."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from neurigraph_pipelines.faces.api import requests
from neurigraph_pipelines.faces.api.authentication import InstallationDep, Owner
from neurigraph_pipelines.faces.api.paging import Cursor, Limit
from neurigraph_pipelines.faces.api.problems import documented
from neurigraph_pipelines.faces.api.sight import look
from neurigraph_pipelines.lifecycle.quarantine import holding, rules, suggestions
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.views import quarantines as views
from neurigraph_pipelines.wiring.installation import Installation

router = APIRouter(prefix="/quarantines", tags=["quarantine"], responses=documented(401, 403, 404, 422, 503))

_MOST_READ = 1_000


@router.post("", status_code=201, responses=documented(413))
def quarantine(body: requests.NewQuarantine, caller: Owner, installation: InstallationDep) -> views.Quarantine:
    """Put memories out of every retrieval at once, and keep them. The same conditions are in force once."""
    _look(installation, caller, body)
    return holding.quarantine(installation.acting_for(caller), body.rule, body.reason)


@router.post("/preview", responses=documented(413))
def preview(body: requests.NewQuarantine, caller: Owner, installation: InstallationDep) -> views.QuarantinePreview:
    """Return the memories that a quarantine would hide, and hide nothing."""
    _look(installation, caller, body)
    return rules.preview(installation.database, caller, body.rule)


def _look(installation: Installation, caller: Claims, body: requests.NewQuarantine) -> None:
    """Look at the ids of a rule; at a key later, since a deleted key has rules, too."""
    look(installation, caller, source_id=body.source_id, persona_id=body.persona_id)


@router.get("")
def list_quarantines(
    caller: Owner,
    installation: InstallationDep,
    all_of_them: Annotated[bool, Query(alias="all", description="Include released ones.")] = False,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> views.Quarantines:
    """List the quarantines of the graph, newest first: their conditions, authors, times and reasons."""
    found = rules.page_of_quarantines(
        installation.database, installation.cursors, caller, with_released=all_of_them, limit=limit, cursor=cursor
    )
    return found.into(views.Quarantines)


@router.get("/suggestions")
def suggest(
    caller: Owner,
    installation: InstallationDep,
    records: Annotated[
        int, Query(ge=1, le=_MOST_READ, description="How many of the newest records are read.")
    ] = suggestions.RECORDS_READ,
) -> views.Suggestions:
    """Return suspicious memories: hidden instructions, stuffed keywords, restatements and floods."""
    found = suggestions.suggest(installation.acting_for(caller), records=records)
    return views.Suggestions(suggestions=found)


@router.delete("/{quarantine_id}")
def release(quarantine_id: UUID, caller: Owner, installation: InstallationDep) -> views.Quarantine:
    """End a quarantine: memories that are in no other one are found again. Repeating it changes nothing."""
    return holding.release(installation.acting_for(caller), quarantine_id)
