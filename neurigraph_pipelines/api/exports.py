"""All of a user in one download. Restoring it is for the command line of whoever runs the database."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import chain

from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from neurigraph_pipelines.api.authentication import Here, Owner
from neurigraph_pipelines.api.problems import documented
from neurigraph_pipelines.errors import TransientError
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.portability.export import zipped
from neurigraph_pipelines.wiring import Installation

router = APIRouter(tags=["users"], responses=documented(401, 403, 503))

EXPORTS_AT_ONCE = 2
"""Each holds a connection to the database for as long as it is downloaded."""

_RUNNING = threading.BoundedSemaphore(EXPORTS_AT_ONCE)


@router.get(
    "/export",
    response_class=StreamingResponse,
    responses={200: {"content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}}}},
)
def export(caller: Owner, installation: Here) -> StreamingResponse:
    """Everything of the user, as a zip that is made while it is downloaded; one that breaks off cannot be opened.

    Only the owner of the graph gets one. It holds no API keys. `neurigraph import` restores it.
    """
    if not _RUNNING.acquire(blocking=False):
        raise TransientError("others are exporting at this moment: try again", retry_after=30)
    pieces = _zipped(installation, caller)
    # What is wrong from the beginning is an answer of its own; and only what has begun gives its place back.
    return StreamingResponse(
        chain([next(pieces)], pieces),
        media_type="application/zip",
        headers={"Content-Disposition": 'attachment; filename="neurigraph-export.zip"'},
    )


def _zipped(installation: Installation, caller: Claims) -> Iterator[bytes]:
    try:
        yield from zipped(installation.context, caller.user_id)
    finally:
        _RUNNING.release()
