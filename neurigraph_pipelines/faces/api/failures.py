"""The caller's segments and uploads whose processing failed, and their replay."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query

from neurigraph_pipelines.faces.api.authentication import Caller, InstallationDep
from neurigraph_pipelines.faces.api.paging import Cursor, Limit
from neurigraph_pipelines.faces.api.problems import documented
from neurigraph_pipelines.faces.api.responses import inbox as responses
from neurigraph_pipelines.ingestion import failures

router = APIRouter(prefix="/failures", tags=["failures"], responses=documented(401, 404, 422, 503))


@router.get("", response_model=responses.Failures)
def list_failures(
    caller: Caller,
    installation: InstallationDep,
    replayed: Annotated[bool, Query(description="Include failures that were replayed.")] = False,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> dict[str, Any]:
    """List segments and uploads whose last attempt failed, newest first."""
    found = failures.page_of_failures(
        installation.database, installation.cursors, caller, with_replayed=replayed, limit=limit, cursor=cursor
    )
    return found.shown("failures", asdict)


@router.post("/{failure_id}/replay", response_model=responses.Replay)
def replay_failure(failure_id: UUID, caller: Caller, installation: InstallationDep) -> dict[str, Any]:
    """Put a failed segment or upload back into its queue with all its attempts. Repeating the call changes nothing."""
    return asdict(failures.replay_own(installation.database, caller, failure_id))
