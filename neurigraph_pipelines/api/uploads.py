"""Files coming in: uploads, and how far each has come. Opening a stored file is for ``files``."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import IO, Annotated, Any, BinaryIO, Literal
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile

from neurigraph_pipelines.api import requests, responses, sources
from neurigraph_pipelines.api.authentication import Caller, Here, Owner
from neurigraph_pipelines.api.problems import documented
from neurigraph_pipelines.errors import InvalidInputError
from neurigraph_pipelines.ingestion.inbox import MAX_EXTERNAL_ID_LENGTH, MAX_TITLE_LENGTH
from neurigraph_pipelines.ingestion.uploads import MAX_LISTED
from neurigraph_pipelines.model import Privacy, SourceKind

router = APIRouter(tags=["inbox"], responses=documented(401, 404, 422, 503))

FORM_BYTES = 1_048_576
"""Room for what stands around a file in the body of a request."""

_READ_BYTES = 1 << 20
_MOST_FIELDS = 8


class _Fields(BaseModel):
    """What may stand beside the file."""

    model_config = ConfigDict(extra="forbid")

    title: str | None = Field(default=None, json_schema_extra={"maxLength": MAX_TITLE_LENGTH})
    external_id: str | None = Field(default=None, json_schema_extra={"maxLength": MAX_EXTERNAL_ID_LENGTH})
    occurred_at: datetime | None = Field(default=None, description="Unset: now.")
    privacy: Literal["shared", "private"] = Field(
        default="shared", description="`private`: seen by the owner of the graph alone."
    )


def _form_schema() -> dict[str, Any]:
    """The form as the OpenAPI document shows it."""
    schema = _Fields.model_json_schema()
    file = {"type": "string", "format": "binary"}
    return {**schema, "properties": {"file": file, **schema["properties"]}, "required": ["file"]}


@router.post(
    "/files",
    status_code=202,
    response_model=responses.Uploaded,
    responses={
        200: {"model": responses.Uploaded, "description": "The same bytes were there already."},
        **documented(403, 409, 413),
    },
    openapi_extra={"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": _form_schema()}}}},
)
async def upload(request: Request, response: Response, caller: Owner, installation: Here) -> dict[str, UUID]:
    """Upload a file. Its text is read, and it becomes findable, a little later: `GET /v1/uploads/{upload_id}`."""
    # The form is read only here, so that nobody without a key can fill the disk; beyond a megabyte it is on the disk.
    async with request.form(max_files=1, max_fields=_MOST_FIELDS) as form:
        file = form.get("file")
        if not isinstance(file, UploadFile):
            raise InvalidInputError("the form has no file in a field called `file`")
        fields = _fields({name: value for name, value in form.items() if name != "file"})
        received = await run_in_threadpool(
            installation.uploads.receive,
            caller,
            file.filename or "",
            _chunks(file.file),
            title=fields.title,
            external_id=fields.external_id,
            occurred_at=fields.occurred_at,
            privacy=Privacy(fields.privacy),
        )
    if not received.new:
        response.status_code = 200
    response.headers["Location"] = f"/v1/uploads/{received.upload_id}"
    return {"upload_id": received.upload_id}


@router.get("/uploads", response_model=responses.Uploads)
def list_uploads(
    caller: Caller,
    installation: Here,
    limit: Annotated[int, Query(ge=1, le=MAX_LISTED)] = 50,
    offset: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
) -> dict[str, Any]:
    """Uploaded files, newest first, and how far each has come."""
    found = installation.uploads.listed(caller, limit + 1, offset)
    return {"uploads": found[:limit], "next_offset": offset + limit if len(found) > limit else None}


@router.get("/uploads/{upload_id}", response_model=responses.Upload)
def upload_status(upload_id: UUID, caller: Caller, installation: Here) -> dict[str, Any]:
    """How far an upload has come."""
    return installation.uploads.status(caller, upload_id)


@router.patch("/uploads/{upload_id}", status_code=204)
def share_upload(upload_id: UUID, body: requests.Sharing, caller: Owner, installation: Here) -> None:
    """Make an upload private, or share it again, with all memories that came from it. Only the owner may."""
    sources.set_privacy(installation, caller, SourceKind.UPLOAD, upload_id, body)


def _fields(given: dict[str, Any]) -> _Fields:
    try:
        return _Fields.model_validate({name: value for name, value in given.items() if value != ""})
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, part['loc']))}: {part['msg']}" for part in error.errors())
        raise InvalidInputError(f"the form cannot be accepted: {wrong}") from error


def _chunks(file: BinaryIO | IO[bytes]) -> Iterator[bytes]:
    while chunk := file.read(_READ_BYTES):
        yield chunk
