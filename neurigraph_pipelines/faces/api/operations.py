"""Routes of operations: FastAPI gets each operation's parameters, form, view and problems from its declaration."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from types import NoneType
from typing import Annotated, Any

from fastapi import APIRouter, BackgroundTasks, Depends, Path, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from neurigraph_pipelines.access.guards import Guard
from neurigraph_pipelines.faces.api import authentication, preconditions
from neurigraph_pipelines.faces.api.authentication import InstallationDep
from neurigraph_pipelines.faces.api.idempotency import IsRepeated, Once
from neurigraph_pipelines.faces.api.lag import NotesLag
from neurigraph_pipelines.faces.api.preconditions import NOT_MODIFIED, IfNoneMatch, tagged
from neurigraph_pipelines.faces.api.problems import documented
from neurigraph_pipelines.faces.operations.call import Call, Who
from neurigraph_pipelines.faces.operations.registry import Operation, OperationGroup, Parameter
from neurigraph_pipelines.inbox.waiting import MAX_WAIT_SECONDS
from neurigraph_pipelines.model import Claims, SourceKind
from neurigraph_pipelines.views.scalars import WireObject

_ALWAYS = (401, 403, 404, 422, 503)
_CALLERS = {
    Who.READER: authentication.Caller,
    Who.WRITER: authentication.Writer,
    Who.AUTHOR: authentication.Author,
    Who.OWNER: authentication.Owner,
    Who.OPERATOR: authentication.Administrator,
}
_GUARDS: dict[str | None, Any] = {
    None: Once,
    "record_id": preconditions.RecordGuard,
    "node_id": preconditions.NodeGuard,
    **{f"{kind}_id": preconditions.source_guard(kind) for kind in SourceKind},
}
Wait = Annotated[
    float, Query(ge=0, le=MAX_WAIT_SECONDS, description="Seconds to wait until it is stored or has failed.")
]
"""How long a caller waits."""


def router_of(subject: OperationGroup) -> APIRouter:
    """Return the routes of a subject's operations."""
    router = APIRouter(responses=documented(*_ALWAYS))
    for one in subject.operations:
        refusals = [
            *one.refusals,
            *([412] if one.guarded else []),
            *([413] if one.form is not None else []),
        ]
        router.add_api_route(
            one.path,
            _endpoint(one),
            methods=[one.method],
            tags=[one.tag or subject.name],
            status_code=one.status,
            dependencies=[NotesLag] if one.notes_lag else None,
            response_model_exclude_unset=one.is_sparse,
            responses=documented(*refusals)
            | {status: dict(answer) for status, answer in one.answers.items()}
            | (NOT_MODIFIED if one.has_version and one.method == "GET" else {}),
        )
    return router


def _endpoint(operation: Operation) -> Callable[..., Any]:
    """Return the function of an operation with the parameters that FastAPI reads."""
    endpoint = _waiting(operation) if operation.waits else _at_once(operation)
    caller = authentication.Within if operation.in_spaces else _CALLERS[operation.who]
    call = Annotated[Call, Depends(_call_of(caller, _GUARDS[operation.guarded]))]
    parameters = [_parameter("call", call), _parameter("response", Response)]
    if operation.waits:
        parameters += [_parameter("request", Request), _parameter("wait", Wait, 0.0)]
    for one in operation.parameters:
        place = Path if operation.is_in_path(one) else Query
        notes = (*one.about.metadata, place(**_described(one)))
        kind: Any = Annotated[one.kind, *notes]
        parameters.append(_parameter(one.argument, kind, one.default))
    if operation.form is not None:
        name, form, is_optional = operation.form
        parameters.append(_parameter(name, form | None, None) if is_optional else _parameter(name, form))
    if operation.has_version and operation.method == "GET":
        parameters.append(_parameter("if_none_match", IfNoneMatch, None))
    endpoint.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        parameters, return_annotation=None if operation.hints["return"] is NoneType else operation.hints["return"]
    )
    return endpoint


def _at_once(operation: Operation) -> Callable[..., Any]:
    """Return a function that answers a request at once."""

    @wraps(operation.function)
    def answer(call: Call, response: Response, if_none_match: str | None = None, **given: Any) -> Any:
        return _told(call, response, operation.run(call, **given), if_none_match)

    return answer


def _waiting(operation: Operation) -> Callable[..., Any]:
    """Return a function that answers a request once its source is stored, if the caller waits for that."""

    @wraps(operation.function)
    async def answer(
        request: Request, call: Call, response: Response, wait: float, if_none_match: str | None = None, **given: Any
    ) -> Any:
        result = await run_in_threadpool(operation.run, call, **given)
        if wait and call.told.later is not None:  # waiting occupies no thread
            source_id, later = call.told.later
            await request.app.state.waiters.wait(source_id, wait)
            result = await run_in_threadpool(later)
        return _told(call, response, result, if_none_match)

    return answer


def _told(call: Call, response: Response, result: Any, if_none_match: str | None) -> Any:
    """Give a response what its operation told besides the result, and return the result."""
    told = call.told
    response.status_code = told.status or response.status_code
    response.headers.update(told.headers)
    return tagged(response, told.versions[-1], result, if_none_match) if told.versions else result


def _parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _described(parameter: Parameter) -> WireObject:
    about = parameter.about
    return {"description": about.description, "alias": about.alias, "json_schema_extra": about.json_schema_extra}


def _call_of(caller_kind: Any, guard_kind: Any) -> Callable[..., Any]:
    """Return the dependency that makes the call of an operation, for one kind of caller and of guard."""

    async def call(
        background: BackgroundTasks,
        caller: Claims,
        installation: InstallationDep,
        once: Guard,
        is_repeated: IsRepeated,
    ) -> Call:
        return Call(installation, caller, "api", once, is_repeated, run_after=background.add_task)

    call.__annotations__ |= {"caller": caller_kind, "once": guard_kind}
    return call
