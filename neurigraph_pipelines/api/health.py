"""Whether the process lives and can work; for load balancers, without a key."""

from __future__ import annotations

from fastapi import APIRouter

from neurigraph_pipelines.api import responses
from neurigraph_pipelines.api.authentication import Here
from neurigraph_pipelines.api.problems import documented
from neurigraph_pipelines.migrations import require_current

router = APIRouter(tags=["health"])


@router.get("/healthz", response_model=responses.Status)
async def healthy() -> dict[str, str]:
    """The process answers, even when every thread of it is busy."""
    return {"status": "ok"}


@router.get("/readyz", response_model=responses.Status, responses=documented(503))
def ready(installation: Here) -> dict[str, str]:
    """The database answers, and its schema is the one this version works with."""
    require_current(installation.database)
    return {"status": "ready"}
