"""Files: open a file or one message of it. ``uploads`` receives new files."""

from __future__ import annotations

import asyncio
import re
import time
from typing import Annotated
from urllib.parse import quote
from uuid import UUID

from fastapi import APIRouter, Query, Response
from fastapi.responses import JSONResponse, StreamingResponse
from starlette.concurrency import run_in_threadpool

from neurigraph_pipelines.faces.api.authentication import Caller, InstallationDep
from neurigraph_pipelines.faces.api.problems import documented, retry_after
from neurigraph_pipelines.model import CompressionState
from neurigraph_pipelines.model.errors import RehydratingError
from neurigraph_pipelines.retrieval.open import TRANSCRIPT_MEDIA_TYPE, OpenedFile, open_file, open_message
from neurigraph_pipelines.views import files as views

router = APIRouter(prefix="/files", tags=["files"], responses=documented(401, 404, 422, 503))

MAX_WAIT_SECONDS = 30.0
"""Longest time that one call waits for a file that another caller decompresses."""

_PAUSE_SECONDS = 0.2
_LARGEST_SEQ = 2**31 - 1
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")


@router.post(
    "/{file_id}/open",
    response_class=Response,
    responses={
        200: {
            "description": "The file; an upload as it was uploaded. Each line of a transcript has the `author` under "
            "which it is shown, the `stated_author` and the `voice`. With `message`, only that message.",
            "content": {
                "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
                TRANSCRIPT_MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}},
            },
            "model": views.Message,
        },
        202: {
            "model": views.Rehydrating,
            "description": "Another caller is decompressing the file: ask again after `Retry-After`.",
        },
    },
)
async def open_by_id(
    file_id: UUID,
    caller: Caller,
    installation: InstallationDep,
    message: Annotated[int | None, Query(ge=1, le=_LARGEST_SEQ, description="Number of one message.")] = None,
    text: Annotated[bool, Query(description="For an upload, return the text that was extracted from it.")] = False,
    stored: Annotated[
        bool, Query(description="Return a transcript byte by byte as it is stored, with stated authors alone.")
    ] = False,
    wait: Annotated[
        float, Query(ge=0, le=MAX_WAIT_SECONDS, description="Seconds to wait while another caller decompresses it.")
    ] = 0.0,
) -> Response:
    """Open exactly one file, which counts as an access. The first caller decompresses a dormant file."""
    context = installation.acting_for(caller)
    if message is not None:
        opened = await run_in_threadpool(open_message, context, file_id, message)
        return JSONResponse(opened.model_dump(mode="json"))
    until = time.monotonic() + wait
    while True:
        try:
            file = await run_in_threadpool(open_file, context, file_id, as_text=text, as_stored=stored)
            return _content(file)
        except RehydratingError as error:
            left = until - time.monotonic()
            if left <= 0:
                body = {"file_id": str(file_id), "state": CompressionState.REHYDRATING}
                return JSONResponse(body, 202, retry_after(error.retry_after_seconds))
        # Waiting here occupies no thread, so a slow file does not block other requests.
        await asyncio.sleep(min(_PAUSE_SECONDS, left))


def _content(file: OpenedFile) -> Response:
    headers = {"Content-Disposition": _disposition(file.file_name), "X-Content-Type-Options": "nosniff"}
    if file.as_stored:  # stored bytes never change; the names of personas may
        headers |= {"ETag": f'"{file.file_id}"', "Content-Length": str(file.size_bytes)}
    return StreamingResponse(file.chunks(), media_type=file.media_type, headers=headers)


def _disposition(file_name: str) -> str:
    """Return a ``Content-Disposition`` with the file name in ASCII for old clients, and in full as in RFC 5987."""
    return f"attachment; filename=\"{_UNSAFE.sub('_', file_name)}\"; filename*=UTF-8''{quote(file_name, safe='')}"
