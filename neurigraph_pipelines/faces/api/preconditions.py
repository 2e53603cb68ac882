"""ETags: answers carry them, `If-None-Match` saves reading a known answer, and `If-Match` guards a change.

An ETag has two parts. The first is the version of the object, which changes when somebody changes the object; a change
with `If-Match` compares it in its own transaction. The second is a digest of the answer, which also shows what changes
by itself, such as the state of a file; `If-None-Match` compares the whole.
"""

from __future__ import annotations

import hashlib
import re
from typing import Annotated, Any, TypeVar
from uuid import UUID

from fastapi import Depends, Header, Request
from fastapi.exceptions import HTTPException
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from neurigraph_pipelines.access.guards import Guard, Unchanged, Versioned
from neurigraph_pipelines.faces.api.authentication import Caller
from neurigraph_pipelines.faces.api.idempotency import keyed_guard
from neurigraph_pipelines.faces.api.problems import Responses, problem
from neurigraph_pipelines.faces.operations.versions import read_node, read_record, read_source_version
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import InvalidInputError, NotFoundError
from neurigraph_pipelines.views.base import View
from neurigraph_pipelines.wiring.installation import Installation

_TAG = r'(?:W/)?"[\x21\x23-\x7e]{0,200}"'
_TAGS = re.compile(rf"\*|{_TAG}(?:[ \t]*,[ \t]*{_TAG}){{0,9}}")
_CACHING = {"Cache-Control": "private, no-cache"}
_NO_VERSION = "0"
_View = TypeVar("_View", bound=View)

NOT_MODIFIED: Responses = {304: {"description": "The ETag in `If-None-Match` is current."}}
"""The ``responses`` of an operation that takes ``If-None-Match``."""

IfNoneMatch = Annotated[
    str | None, Header(description="An ETag that the caller has; if it is still current, the answer is 304.")
]


def etag(version: str | None, answer: View) -> str:
    """Return the ETag of an answer about an object with a version."""
    content = answer.model_dump_json().encode()
    return f'"{version or _NO_VERSION}-{hashlib.blake2b(content, digest_size=12).hexdigest()}"'


def tagged(response: Response, version: str | None, answer: _View, if_none_match: str | None = None) -> _View:
    """Give a response the ETag of its answer, and return the answer.

    Raises:
        HTTPException: 304: the caller has this answer.
    """
    tag = etag(version, answer)
    known = _parsed("If-None-Match", if_none_match) if if_none_match is not None else []
    if any(one.removeprefix("W/") in ("*", tag) for one in known):
        raise HTTPException(304, headers={"ETag": tag, **_CACHING})
    response.headers.update({"ETag": tag, **_CACHING})
    return answer


async def changed_meanwhile(request: Request, error: Exception) -> Response:
    """Answer 412 with the current ETag of the object; 409 if the request made no condition."""
    versioned = getattr(request.state, "versioned", None)
    if versioned is None:
        return problem(409, str(error))
    kind, object_id, caller = versioned
    try:
        tag = await run_in_threadpool(_current_tag, request.app.state.installation, caller, kind, object_id)
    except NotFoundError:  # gone meanwhile
        return problem(412, str(error))
    return problem(412, str(error), headers={"ETag": tag})


def _current_tag(installation: Installation, caller: Claims, kind: Versioned, object_id: UUID) -> str:
    if kind == "record":
        return etag(*read_record(installation, caller, object_id))
    if kind == "node":
        return etag(*read_node(installation, caller, object_id))
    return etag(read_source_version(installation, caller, object_id), View())


def guard_of(kind: Versioned, name: str) -> Any:
    """Return a dependency that makes the guard of a change of the object in the path.

    Args:
        name: The parameter of the path with its id.
    """

    async def guard(
        request: Request,
        caller: Caller,
        if_match: Annotated[
            str | None,
            Header(description="An ETag of the object; if somebody has changed the object since, the answer is 412."),
        ] = None,
    ) -> Guard:
        if if_match is None:
            return keyed_guard(request)
        tags = _parsed("If-Match", if_match)
        object_id = UUID(request.path_params[name])
        # A weak tag never matches, and no version begins with the mark of one.
        expected = None if tags == ["*"] else [tag.strip('"').partition("-")[0] for tag in tags]
        request.state.versioned = (kind, object_id, caller)
        return keyed_guard(request, Unchanged(kind, object_id, expected))

    return Depends(guard)


RecordGuard = Annotated[Guard, guard_of("record", "record_id")]
NodeGuard = Annotated[Guard, guard_of("node", "node_id")]


def source_guard(kind: str) -> Any:
    """Return the type of the guard of a change of a source of a kind."""
    return Annotated[Guard, guard_of("source", f"{kind}_id")]


def _parsed(header: str, value: str) -> list[str]:
    """Return the entity tags of a header.

    Raises:
        InvalidInputError: The header is malformed.
    """
    if _TAGS.fullmatch(value.strip()) is None:
        raise InvalidInputError(f'{header} is `*`, or one to ten ETags in quotes, such as `"3f…-9a…"`')
    return re.findall(rf"\*|{_TAG}", value)
