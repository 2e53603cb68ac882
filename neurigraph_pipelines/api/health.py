"""Health checks for load balancers; they need no key."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel

from neurigraph_pipelines.api.authentication import InstallationDep
from neurigraph_pipelines.api.problems import documented
from neurigraph_pipelines.migrations import require_current

router = APIRouter(tags=["health"])


class Status(BaseModel):
    """The health of the service."""

    status: Literal["ok", "ready"]


@router.get("/healthz", response_model=Status)
async def healthy() -> dict[str, str]:
    """Return `ok` if the process is running, even if all its threads are busy."""
    return {"status": "ok"}


@router.get("/readyz", response_model=Status, responses=documented(503))
def ready(installation: InstallationDep) -> dict[str, str]:
    """Return `ready` if the database answers and its schema is at the version that this release needs."""
    require_current(installation.database)
    return {"status": "ready"}
