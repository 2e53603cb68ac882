"""Problem details (RFC 9457): turns every error into a response. The mapping of errors to HTTP status belongs here."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from http import HTTPStatus
from uuid import UUID

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from psycopg import OperationalError
from psycopg.errors import DeadlockDetected, ForeignKeyViolation, InsufficientPrivilege, LockNotAvailable, QueryCanceled
from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import ErrorDetails
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import Response

from neurigraph_pipelines.access.authentication import require_remembered
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import (
    ConfigurationError,
    ConflictError,
    ForbiddenError,
    ForgottenError,
    InvalidInputError,
    LostObjectError,
    NeurigraphError,
    NotFoundError,
    ProviderError,
    RehydratingError,
    RunningError,
    StorageError,
    TooOftenError,
    TransientError,
    UnauthenticatedError,
    is_for_operators,
)

REQUEST_ID: ContextVar[str | None] = ContextVar("request_id", default=None)
"""The id of the request that is being handled; None outside of requests."""

PROBLEM_MEDIA_TYPE = "application/problem+json"
MAX_ERRORS_SHOWN = 20
DEFAULT_RETRY_AFTER_SECONDS = 5

LOST_OBJECT = "urn:neurigraph:lost_object"
"""The type of problems about files whose copies are lost."""

_STATUS: dict[type[NeurigraphError], int] = {
    InvalidInputError: 422,
    UnauthenticatedError: 401,
    ForbiddenError: 403,
    NotFoundError: 404,
    ConflictError: 409,
    RehydratingError: 409,
    ForgottenError: 410,
    TooOftenError: 429,
    TransientError: 503,
    ConfigurationError: 503,
    ProviderError: 502,
    LostObjectError: 410,
    StorageError: 500,
}
_DESCRIPTIONS = {
    400: "The body is not JSON, a header is malformed, or the address holds a key.",
    401: "The request has no valid key.",
    403: "The key does not allow this operation.",
    404: "The object does not exist, or the key may not see it.",
    408: "The body arrived too slowly.",
    409: "The request conflicts with stored data, or the file is being decompressed.",
    410: f"The user of the key was forgotten, or both copies of a file are lost (`type` is `{LOST_OBJECT}`).",
    412: "The object was changed since the ETag in `If-Match`; `ETag` has the current one.",
    413: "The body is too long.",
    422: "The request is not valid; nothing was stored.",
    429: "Too many requests with this key, or wrong passwords or codes; `Retry-After` says when to try again.",
    502: "The provider of a model refused, or gave no usable answer.",
    503: "A part of the service is unavailable; `Retry-After` says when to try again.",
}
Responses = dict[int | str, dict[str, object]]
"""The ``responses`` of an operation, by status, as FastAPI takes them."""

_LOST = "a stored object is lost or damaged: the log of the service names it"
_INTERNAL = "the service cannot answer: its log gives the reason"
_NOT_FOUND = "not found"
_log = logging.getLogger("neurigraph.api")


class InvalidPart(BaseModel):
    """One invalid part of a request: a ``pointer`` into the body (RFC 6901), or the name of a parameter."""

    detail: str
    pointer: str | None = None
    parameter: str | None = None


class Problem(BaseModel):
    """Problem details (RFC 9457)."""

    model_config = ConfigDict(
        json_schema_extra={"example": {"type": "about:blank", "title": "Not Found", "status": 404}}
    )

    type: str = Field(default="about:blank", description=f"`{LOST_OBJECT}` for a file whose copies are lost.")
    title: str = Field(description="The phrase of the HTTP status.")
    status: int
    detail: str | None = Field(default=None, description="One sentence that says what is wrong and how to correct it.")
    errors: list[InvalidPart] | None = Field(
        default=None, description=f"The invalid parts of the request; at most {MAX_ERRORS_SHOWN}."
    )
    file_id: UUID | None = Field(default=None, description="The file whose copies are lost.")
    request_id: str | None = Field(default=None, description="The value of the header `X-Request-Id`, for the log.")


def problem_definition() -> JsonSchemaValue:
    """Return the JSON schema of ``Problem``, for the OpenAPI document."""
    return Problem.model_json_schema(ref_template="#/components/schemas/Problem/$defs/{model}")


def documented(*statuses: int) -> Responses:
    """Return the ``responses`` of an operation that may answer with these statuses."""
    reference = {"$ref": "#/components/schemas/Problem"}
    if 401 in statuses:  # of a key that was ended with its user
        statuses = (*statuses, *{409, 410}.difference(statuses))
    return {
        status: {"description": _DESCRIPTIONS[status], "content": {PROBLEM_MEDIA_TYPE: {"schema": reference}}}
        for status in statuses
    }


def problem(
    status: int,
    detail: str | None = None,
    *,
    headers: Mapping[str, str] | None = None,
    errors: Sequence[InvalidPart] = (),
    lost: LostObjectError | None = None,
) -> Response:
    """Return problem details as a response."""
    body = Problem(
        type="about:blank" if lost is None else LOST_OBJECT,
        file_id=None if lost is None else lost.file_id,
        title=HTTPStatus(status).phrase,
        status=status,
        detail=detail,
        errors=list(errors) or None,
        request_id=REQUEST_ID.get(),
    )
    # JSON is escaped to ASCII because it may quote input that UTF-8 cannot encode, such as lone surrogates.
    content = json.dumps(body.model_dump(mode="json", exclude_none=True))
    return Response(content, status, headers, media_type=PROBLEM_MEDIA_TYPE)


def retry_after(seconds: float | None) -> dict[str, str]:
    """Return a ``Retry-After`` header in whole seconds."""
    return {"Retry-After": str(math.ceil(seconds) if seconds is not None else DEFAULT_RETRY_AFTER_SECONDS)}


def add_problem_handlers(app: FastAPI) -> None:
    """Register handlers that answer every error of the application with problem details."""
    app.add_exception_handler(NeurigraphError, _known_error)
    app.add_exception_handler(OperationalError, _known_error)
    app.add_exception_handler(InsufficientPrivilege, _denied)
    app.add_exception_handler(ForeignKeyViolation, _denied)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _framework_error)
    app.add_exception_handler(Exception, _unexpected)


def problem_of(error: NeurigraphError | OperationalError) -> Response:
    """Return the problem details of an error of the domain or of the database, and log it if it is the service's."""
    if isinstance(error, OperationalError):
        return _database_problem(error)
    status = next((_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS), 500)
    if status >= 500 or isinstance(error, LostObjectError):
        _log.error("%s: %s", type(error).__name__, error)
    if isinstance(error, NotFoundError):
        return problem(status, _NOT_FOUND)
    if isinstance(error, UnauthenticatedError):
        return problem(status, str(error), headers={"WWW-Authenticate": 'Bearer realm="neurigraph"'})
    if isinstance(error, TransientError):
        return problem(status, str(error), headers=retry_after(error.retry_after))
    if isinstance(error, RunningError):
        return problem(status, str(error), headers=retry_after(1.0))
    if isinstance(error, RehydratingError):
        return problem(status, str(error), headers=retry_after(error.retry_after_seconds))
    if isinstance(error, LostObjectError):
        return problem(status, _LOST if is_for_operators(error) else str(error), lost=error)
    if is_for_operators(error):
        return problem(status, _INTERNAL)
    return problem(status, str(error))


def _database_problem(error: OperationalError) -> Response:
    _log.error("%s: %s", type(error).__name__, error)
    if isinstance(error, DeadlockDetected | LockNotAvailable):
        return problem(503, "others are changing the same data: try again in a moment", headers=retry_after(1.0))
    too_long = isinstance(error, QueryCanceled)
    detail = (
        "the database query took too long: ask for less, or try later" if too_long else "the database did not answer"
    )
    return problem(503, detail, headers=retry_after(None))


async def _known_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, NeurigraphError | OperationalError)
    ending = await _ending(request) if isinstance(error, NotFoundError | ForbiddenError) else None
    return problem_of(ending or error)


async def _denied(request: Request, __: Exception) -> Response:
    # A row that a policy rejects and a reference to a missing row get the same answer, which reveals nothing.
    ending = await _ending(request)
    return problem_of(ending) if ending is not None else problem(404, _NOT_FOUND)


async def _ending(request: Request) -> NeurigraphError | None:
    """Return why a write that was let in found nothing, if its caller was forgotten meanwhile."""
    caller, database = getattr(request.state, "caller", None), request.app.state.installation.database
    if isinstance(caller, Claims) and request.method not in ("GET", "HEAD"):
        try:
            await run_in_threadpool(require_remembered, database, caller.user_id)
        except NeurigraphError as error:
            return error
    return None


async def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    for found in error.errors():
        if found["type"] == "json_invalid":
            return problem(400, f"the body is not JSON: {found['ctx']['error']} at character {found['loc'][1]}")
    parts = [_invalid_part(found) for found in error.errors()[:MAX_ERRORS_SHOWN]]
    return problem(422, "the request does not match the documented form", errors=parts)


async def _framework_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 304:
        return Response(status_code=304, headers=error.headers)
    detail = _NOT_FOUND if error.status_code == 404 else error.detail
    return problem(error.status_code, detail, headers=error.headers)


async def _unexpected(_: Request, __: Exception) -> Response:
    # Starlette logs the error with its traceback after this response, and the server closes the connection.
    return problem(500, _INTERNAL, headers={"Connection": "close"})


def _invalid_part(found: ErrorDetails) -> InvalidPart:
    location, *steps = [str(step)[:100] for step in found["loc"]] or ["body"]
    detail = found["msg"][:500]
    if found["type"] == "extra_forbidden" and steps:
        detail += f": there is no field {steps[-1]!r}"
    if location == "body":
        pointer = "#" + "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in steps)
        return InvalidPart(detail=detail, pointer=pointer)
    return InvalidPart(detail=detail, parameter=steps[-1] if steps else location)
