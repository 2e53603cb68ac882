"""Uploads of files and their progress. ``files`` opens stored files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import partial
from typing import IO, Any, BinaryIO, Literal

from fastapi import APIRouter, Request, Response
from pydantic import ConfigDict, Field, Json, ValidationError, field_validator
from pydantic.json_schema import JsonSchemaValue
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile

from neurigraph_pipelines.faces.api.authentication import Author, InstallationDep
from neurigraph_pipelines.faces.api.lag import NotesLag
from neurigraph_pipelines.faces.api.problems import documented
from neurigraph_pipelines.faces.operations.sight import look
from neurigraph_pipelines.faces.operations.source_fields import CONTAINER_TAGS, PRIVACY, VersionFields
from neurigraph_pipelines.inbox.imports.date_order import DateOrder, with_order
from neurigraph_pipelines.inbox.imports.zones import with_zone
from neurigraph_pipelines.inbox.web_pages import receive_address
from neurigraph_pipelines.model import Privacy
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.model.limits import MAX_TITLE_LENGTH
from neurigraph_pipelines.model.spaces import MAX_TAGS
from neurigraph_pipelines.text.exact_json import keep_exactly
from neurigraph_pipelines.text.external_ids import MAX_EXTERNAL_ID_LENGTH, require_few_parts
from neurigraph_pipelines.views import inbox as views
from neurigraph_pipelines.views.scalars import MetadataValue

router = APIRouter(tags=["add"], responses=documented(401, 404, 422, 503))

FORM_BYTES = 1_048_576
"""Bytes allowed for the rest of a multipart body beside the file."""

_READ_BYTES = 1 << 20
_MAX_FIELDS = 20


class _Fields(VersionFields):
    """The form fields beside the file."""

    model_config = ConfigDict(extra="forbid")

    title: str | None = Field(default=None, json_schema_extra={"maxLength": MAX_TITLE_LENGTH})
    external_id: str | None = Field(default=None, json_schema_extra={"maxLength": MAX_EXTERNAL_ID_LENGTH})
    occurred_at: datetime | None = Field(default=None, description="Default: now.")
    time_zone: str | None = Field(
        default=None,
        description="Time zone of an export's times that name none, such as `Europe/Berlin`; kept among the metadata. "
        "Default: UTC.",
    )
    dates: Literal["dmy", "mdy", "ymd"] | None = Field(
        default=None,
        description="Order of day, month and year in an export's dates in numbers; kept among the metadata. "
        "Default: as the file shows.",
    )
    privacy: Literal["shared", "private"] | None = Field(default=None, description=PRIVACY)
    format: Literal["auto", "document"] = Field(
        default="auto",
        description="`auto` adds the conversations of an export; `document` stores any file as it is.",
    )
    metadata: Json[dict[str, MetadataValue]] = Field(
        default_factory=dict,
        description="A JSON object, as `metadata` of a note.",
    )
    container_tags: list[str] = Field(
        default_factory=list, max_length=MAX_TAGS, description=f"Separated by commas. {CONTAINER_TAGS}"
    )

    @field_validator("metadata", mode="before")
    @classmethod
    def _unchanged(cls, given: Any) -> Any:
        is_text = isinstance(given, str)
        return keep_exactly(given.encode("utf-8", "surrogatepass"), names_twice=False) if is_text else given

    @field_validator("container_tags", mode="before")
    @classmethod
    def _separated(cls, given: Any) -> Any:
        return given.split(",") if isinstance(given, str) else given


def _form_schema() -> JsonSchemaValue:
    """Return the JSON schema of the form, for the OpenAPI document."""
    schema = _Fields.model_json_schema(ref_template="#/components/schemas/{model}")
    del schema["$defs"]  # other requests define the same
    file = {"type": "string", "format": "binary"}
    required = [{"required": ["file"]}, {"required": ["url"]}]
    return {**schema, "properties": {"file": file, **schema["properties"]}, "anyOf": required}


@router.post(
    "/files",
    dependencies=[NotesLag],
    status_code=202,
    responses={
        200: {"model": views.Uploaded, "description": "The same bytes were uploaded before."},
        **documented(403, 409, 413),
    },
    openapi_extra={"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": _form_schema()}}}},
)
async def upload(request: Request, response: Response, caller: Author, installation: InstallationDep) -> views.Uploaded:
    """Upload a file, or without one have the web page at `url` fetched.

    A `url` that ends with `.git`, or comes with the `document_type` `repository`, is fetched as a repository.
    It is read and stored in the background: see `GET /v1/uploads/{upload_id}`.
    """
    # The form goes to disk beyond a megabyte. It is read only here so that nobody without a key can fill the disk.
    async with request.form(max_files=1, max_fields=_MAX_FIELDS) as form:
        file = form.get("file")
        if not isinstance(file, UploadFile) and (file is not None or not form.get("url")):
            raise InvalidInputError("the form has no file in a field called `file`, and no `url` to fetch")
        fields = _fields({name: value for name, value in form.items() if name != "file"})
        look(installation.database, caller, replaces=fields.replaces)
        require_few_parts("id of a document", fields.external_id or "")
        receive = (
            partial(
                installation.uploads.receive,
                caller,
                file.filename or "",
                _chunks(file.file),
                is_document=fields.format == "document",
            )
            if isinstance(file, UploadFile)
            else partial(receive_address, installation.uploads, installation.web, caller, fields.url or "")
        )
        received = await run_in_threadpool(
            receive,
            title=fields.title,
            external_id=fields.external_id,
            occurred_at=fields.occurred_at,
            privacy=Privacy(fields.privacy) if fields.privacy is not None else None,
            details=with_order(
                with_zone(fields.details, fields.time_zone), DateOrder(fields.dates) if fields.dates else None
            ),
        )
    if not received.new:
        response.status_code = 200
    response.headers["Location"] = f"/v1/uploads/{received.upload_id}"
    return views.Uploaded(upload_id=received.upload_id, notes=list(received.notes))


def _fields(given: Mapping[str, object]) -> _Fields:
    try:
        return _Fields.model_validate({name: value for name, value in given.items() if value != ""})
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, part['loc']))}: {part['msg']}" for part in error.errors())
        raise InvalidInputError(f"the form is not valid: {wrong}") from error


def _chunks(file: BinaryIO | IO[bytes]) -> Iterator[bytes]:
    while chunk := file.read(_READ_BYTES):
        yield chunk
