"""Health checks for load balancers; they need no key."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, Field

from neurigraph_pipelines.faces.api.problems import documented, problem, retry_after
from neurigraph_pipelines.ingestion.readiness import Checks

router = APIRouter(tags=["health"])


class Status(BaseModel):
    """The service runs."""

    status: Literal["ok"] = "ok"


class Ready(BaseModel):
    """The service reads, writes and ingests."""

    status: Literal["ready"] = "ready"
    queue_age_seconds: float = Field(description="Seconds for which the oldest segment has waited to be stored.")


async def _checks(request: Request) -> Checks:
    checks: Checks = request.app.state.checks
    return checks


@router.get("/healthz", response_model=Status)
async def healthy() -> Status:
    """Return `ok` if the process is running, even if all its threads are busy."""
    return Status()


@router.get("/readyz", response_model=Ready, responses=documented(503))
async def ready(checks: Annotated[Checks, Depends(_checks)]) -> Ready | Response:
    """Return `ready` if reading, writing and ingestion work; otherwise 503 with the reasons.

    Checked by doing it, at most every five seconds: a statement with signed claims, a row and an object written, the
    last ticks of all sensors, the age of the queue, and free space.
    """
    found = await checks.readiness()
    if found.faults or found.queue_age_seconds is None:
        reasons = "; ".join(f"{fault.part}: {fault.reason}" for fault in found.faults)
        return problem(503, reasons, headers=retry_after(None))
    return Ready(queue_age_seconds=round(found.queue_age_seconds, 3))
