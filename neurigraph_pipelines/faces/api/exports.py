"""Download of all data of a user. The operator restores it on the command line with `neurigraph import`."""

from __future__ import annotations

import threading
from collections.abc import Generator
from itertools import chain

import anyio
from fastapi import APIRouter
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from neurigraph_pipelines.exchange.portability.export import written, zipped
from neurigraph_pipelines.faces.api.authentication import InstallationDep, Owner
from neurigraph_pipelines.faces.api.problems import documented
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import TransientError
from neurigraph_pipelines.wiring.installation import Installation

router = APIRouter(tags=["users"], responses=documented(401, 403, 503))

EXPORTS_AT_ONCE = 2
"""Most exports at the same time, since each holds a database connection until its download ends."""

_SLOTS = threading.BoundedSemaphore(EXPORTS_AT_ONCE)


class _Download(StreamingResponse):
    """The zip file of an export, which ends with the response, also if the client breaks it off."""

    def __init__(self, pieces: Generator[bytes]) -> None:
        self._pieces = pieces
        super().__init__(
            chain([next(pieces)], pieces),
            media_type="application/zip",
            headers={"Content-Disposition": 'attachment; filename="neurigraph-export.zip"'},
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the file, and free its connection and its slot."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            with anyio.CancelScope(shield=True):
                await run_in_threadpool(self._pieces.close)


@router.get(
    "/export",
    response_class=StreamingResponse,
    responses={200: {"content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}}}},
)
def export(caller: Owner, installation: InstallationDep) -> StreamingResponse:
    """Download all data of the user as a zip file.

    The zip file is written while it is downloaded. An interrupted download leaves a file that cannot be opened. Only
    the owner of the graph may export it. The file contains no API keys. `neurigraph import` restores it.
    """
    if not _SLOTS.acquire(blocking=False):
        raise TransientError("too many exports are running: try again later", retry_after=30)
    # It reads the first piece at once, which turns early errors into proper responses.
    return _Download(_zipped(installation, caller))


def _zipped(installation: Installation, caller: Claims) -> Generator[bytes]:
    try:
        yield from zipped(written(installation.context, caller.user_id))
    finally:
        _SLOTS.release()
