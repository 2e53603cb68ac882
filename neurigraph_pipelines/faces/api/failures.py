"""The caller's segments and uploads whose processing failed, and their replay."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from neurigraph_pipelines.faces.api.authentication import Caller, InstallationDep
from neurigraph_pipelines.faces.api.paging import Cursor, Limit
from neurigraph_pipelines.faces.api.problems import documented
from neurigraph_pipelines.ingestion import failures
from neurigraph_pipelines.views import failures as views

router = APIRouter(prefix="/failures", tags=["failures"], responses=documented(401, 404, 422, 503))


@router.get("")
def list_failures(
    caller: Caller,
    installation: InstallationDep,
    replayed: Annotated[bool, Query(description="Include failures that were replayed.")] = False,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> views.Failures:
    """List segments and uploads whose last attempt failed, newest first."""
    found = failures.page_of_failures(
        installation.database, installation.cursors, caller, with_replayed=replayed, limit=limit, cursor=cursor
    )
    return found.into(views.Failures)


@router.post("/{failure_id}/replay")
def replay_failure(failure_id: UUID, caller: Caller, installation: InstallationDep) -> views.Replay:
    """Put a failed segment or upload back into its queue with all its attempts. Repeating the call changes nothing."""
    return failures.replay_own(installation.database, caller, failure_id)
