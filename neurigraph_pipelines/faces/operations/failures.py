"""The caller's segments and uploads whose processing failed, and their replay."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from pydantic import Field

from neurigraph_pipelines.faces.operations.call import Call
from neurigraph_pipelines.faces.operations.forms import Cursor, Limit
from neurigraph_pipelines.faces.operations.registry import OperationGroup
from neurigraph_pipelines.ingestion import failures
from neurigraph_pipelines.views import failures as views

operation = OperationGroup("failures")


@operation("GET /failures")
def list_failures(
    call: Call,
    replayed: Annotated[bool, Field(description="Include failures that were replayed.")] = False,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> views.Failures:
    """List segments and uploads whose last attempt failed, newest first."""
    return call.page(views.Failures, failures.page_of_failures, with_replayed=replayed, limit=limit, cursor=cursor)


@operation("POST /failures/{failure_id}/replay")
def replay_failure(call: Call, failure_id: UUID) -> views.Replay:
    """Put a failed segment or upload back into its queue with all its attempts. Repeating the call changes nothing."""
    return call.do(failures.replay_own, failure_id)
