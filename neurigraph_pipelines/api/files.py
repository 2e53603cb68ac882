"""Phase two: the bytes of one file, or one message of it. Uploading one is for ``uploads``."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Annotated, Any
from urllib.parse import quote
from uuid import UUID

from fastapi import APIRouter, Query, Response
from fastapi.responses import JSONResponse, StreamingResponse

from neurigraph_pipelines.api import responses
from neurigraph_pipelines.api.authentication import Caller, Here
from neurigraph_pipelines.api.problems import documented
from neurigraph_pipelines.retrieval.open import TRANSCRIPT_MEDIA_TYPE, open_file, open_message

router = APIRouter(prefix="/files", tags=["retrieval"], responses=documented(401, 404, 422, 503))

_LARGEST_SEQ = 2**31 - 1
_UNQUOTED = re.compile(r"[^A-Za-z0-9._-]")


@router.post(
    "/{file_id}/open",
    response_class=Response,
    responses={
        200: {
            "description": "The file; of an upload, as it was uploaded. With `message`, that message alone.",
            "content": {
                "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
                TRANSCRIPT_MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}},
                "application/json": {"schema": responses.Message.model_json_schema()},
            },
        }
    },
)
def open_by_id(
    file_id: UUID,
    caller: Caller,
    installation: Here,
    message: Annotated[int | None, Query(ge=1, le=_LARGEST_SEQ, description="Number of one message.")] = None,
    text: Annotated[bool, Query(description="Of an upload, the text that was read out of it.")] = False,
) -> Response:
    """Open exactly one file; it counts as accessed now."""
    if message is not None:
        opened = open_message(installation.database, installation.objects, caller, file_id, message)
        return JSONResponse(responses.Message(**asdict(opened)).model_dump(mode="json"))
    file = open_file(installation.database, installation.objects, caller, file_id, as_text=text)
    headers: dict[str, Any] = {
        "Content-Disposition": _disposition(file.file_name),
        "ETag": f'"{file.file_id}"',  # a file's bytes never change
        "X-Content-Type-Options": "nosniff",
        "Content-Length": str(file.size_bytes),
    }
    return StreamingResponse(file.chunks(), media_type=file.media_type, headers=headers)


def _disposition(file_name: str) -> str:
    """A name for saving: plain for old programs, and in full by RFC 5987."""
    return f"attachment; filename=\"{_UNQUOTED.sub('_', file_name)}\"; filename*=UTF-8''{quote(file_name, safe='')}"
