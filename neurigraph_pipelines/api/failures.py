"""Segments of the caller that could not be stored, uploads that could not be read, and another try."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query

from neurigraph_pipelines.api import responses
from neurigraph_pipelines.api.authentication import Caller, Here
from neurigraph_pipelines.api.problems import documented
from neurigraph_pipelines.ingestion import failures

router = APIRouter(prefix="/failures", tags=["failures"], responses=documented(401, 404, 422, 503))


@router.get("", response_model=responses.Failures)
def list_failures(
    caller: Caller,
    installation: Here,
    replayed: Annotated[bool, Query(description="Those that were replayed, too.")] = False,
    limit: Annotated[int, Query(ge=1, le=failures.MAX_FAILURES)] = 50,
    offset: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
) -> dict[str, Any]:
    """Segments and uploads whose last attempt failed, newest first."""
    with installation.database.agent(caller) as tx:
        found = failures.list_failures(tx, caller.user_id, with_replayed=replayed, limit=limit + 1, offset=offset)
    next_offset = offset + limit if len(found) > limit else None
    return {"failures": [asdict(each) for each in found[:limit]], "next_offset": next_offset}


@router.post("/{failure_id}/replay", response_model=responses.Replay)
def replay_failure(failure_id: UUID, caller: Caller, installation: Here) -> dict[str, Any]:
    """Put a segment or an upload back into its queue with fresh attempts. Repeating it changes nothing."""
    return asdict(failures.replay_own(installation.database, caller, failure_id))
