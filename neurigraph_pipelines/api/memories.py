"""Single memories: as they are or were, their history, and changes of them."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query

from neurigraph_pipelines import history
from neurigraph_pipelines.api import requests, responses
from neurigraph_pipelines.api.authentication import Caller, Here
from neurigraph_pipelines.api.nodes import LARGEST_OFFSET, MAX_PAGE
from neurigraph_pipelines.api.problems import documented
from neurigraph_pipelines.ingestion import revision

router = APIRouter(prefix="/records/{record_id}", tags=["memories"], responses=documented(401, 404, 422, 503))


@router.get("", response_model=responses.Memory)
def memory(
    record_id: UUID,
    caller: Caller,
    installation: Here,
    at: Annotated[datetime | None, Query(description="As it was at this moment. Unset: as it is.")] = None,
) -> dict[str, Any]:
    """One memory, now or as it was."""
    return history.record_at(installation.database, caller, record_id, at)


@router.get("/history", response_model=responses.History)
def deltas(
    record_id: UUID,
    caller: Caller,
    installation: Here,
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 50,
    offset: Annotated[int, Query(ge=0, le=LARGEST_OFFSET)] = 0,
) -> dict[str, Any]:
    """Every change of a memory, newest first."""
    found = history.history(installation.database, caller, record_id, limit=limit + 1, offset=offset)
    return {
        "deltas": [asdict(delta) for delta in found[:limit]],
        "next_offset": offset + limit if len(found) > limit else None,
    }


@router.get("/diff", response_model=responses.Difference)
def difference(
    record_id: UUID,
    caller: Caller,
    installation: Here,
    w1: Annotated[datetime, Query(description="From this moment.")],
    w2: Annotated[datetime | None, Query(description="To this moment. Unset: now.")] = None,
) -> dict[str, Any]:
    """What changed of a memory from one moment to another."""
    return {"record_id": record_id, "changes": history.diff(installation.database, caller, record_id, w1, w2)}


@router.patch("", response_model=responses.Memory, responses=documented(403, 409))
def revise(record_id: UUID, body: requests.Revise, caller: Caller, installation: Here) -> dict[str, Any]:
    """Give a memory another title, summary or keywords; its files stay as they are."""
    revision.revise(
        installation.acting_for(caller),
        record_id,
        body.revision,
        body.expected_delta,
    )
    return history.record_at(installation.database, caller, record_id)


@router.post("/supersede", response_model=responses.Memory, responses=documented(403, 409))
def supersede(record_id: UUID, body: requests.Supersede, caller: Caller, installation: Here) -> dict[str, Any]:
    """Let a newer memory take the place of this one, or, with null, let it stand for itself again."""
    revision.supersede(installation.database, caller, record_id, body.by, body.expected_delta)
    return history.record_at(installation.database, caller, record_id)
