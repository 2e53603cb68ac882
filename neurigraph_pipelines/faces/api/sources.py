"""The lists, the progress and the privacy of conversations, events, notes and uploads."""

from __future__ import annotations

from inspect import Parameter, Signature
from typing import Annotated, Any, TypeVar
from uuid import UUID

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from pydantic.fields import FieldInfo
from starlette.concurrency import run_in_threadpool

from neurigraph_pipelines.access.guards import Guard
from neurigraph_pipelines.faces.api.authentication import Author, Caller, InstallationDep, Within
from neurigraph_pipelines.faces.api.preconditions import (
    NOT_MODIFIED,
    IfNoneMatch,
    guard_of,
    read_source_version,
    tagged,
)
from neurigraph_pipelines.faces.api.problems import documented
from neurigraph_pipelines.faces.operations import requests
from neurigraph_pipelines.faces.operations.forms import Cursor, Limit
from neurigraph_pipelines.inbox import privacy
from neurigraph_pipelines.inbox.source_lists import SourceFilter, get_source, list_sources
from neurigraph_pipelines.inbox.waiting import MAX_WAIT_SECONDS
from neurigraph_pipelines.model import SETTLED, SourceKind
from neurigraph_pipelines.views.sources import (
    Conversations,
    ConversationState,
    Events,
    EventState,
    Notes,
    NoteState,
    Upload,
    Uploads,
)


async def _wanted(**given: Any) -> SourceFilter:
    return SourceFilter(**given)


def _filter(name: str, about: FieldInfo) -> Parameter:
    asked: Any = Annotated[about.annotation, Query(description=about.description)]
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=asked, default=None)


_filters = [_filter(name, about) for name, about in SourceFilter.model_fields.items()]
_wanted.__signature__ = Signature(_filters)  # type: ignore[attr-defined]
Wanted = Annotated[SourceFilter, Depends(_wanted)]
"""The filters of a list."""

_Page = TypeVar("_Page", Conversations, Events, Uploads, Notes)
_State = TypeVar("_State", ConversationState, EventState, Upload, NoteState)


Wait = Annotated[
    float, Query(ge=0, le=MAX_WAIT_SECONDS, description="Seconds to wait until it is stored or has failed.")
]
"""How long a caller waits."""


def add_common(
    router: APIRouter,
    path: str,
    kind: SourceKind,
    page: type[_Page],
    state: type[_State],
    *,
    who: str = ". Only the owner may do so.",
    sees: str = " A persona sees its own.",
) -> None:
    """Add the routes that list the sources of a kind, return one with its progress, and set its privacy.

    Args:
        who: Who may set it, for its description.
        sees: What callers see of the list.
    """
    one = f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
    _add_list(router, path, kind, page, f"List {kind}s with their states, the last received first.{sees}")
    path = f"{path}/{{{kind}_id}}"
    _add_progress(router, path, kind, state, f"Return the state of {one}, and the memories that it became.")
    _add_sharing(router, path, kind, f"Make {one} and all memories from it private, or share them again{who}")


def _add_list(router: APIRouter, path: str, kind: SourceKind, page: type[_Page], said: str) -> None:
    def listed(
        caller: Within, installation: InstallationDep, wanted: Wanted, limit: Limit = 50, cursor: Cursor = None
    ) -> Any:
        database, cursors = installation.database, installation.cursors
        return list_sources(database, cursors, caller, kind, wanted, limit=limit, cursor=cursor).into(page)

    router.add_api_route(path, listed, response_model=page, name=f"list_{kind}s", description=said)


def _add_progress(router: APIRouter, path: str, kind: SourceKind, state: type[_State], said: str) -> None:
    in_path: Any = Path(alias=f"{kind}_id")

    async def progress(
        request: Request,
        response: Response,
        caller: Caller,
        installation: InstallationDep,
        source_id: UUID = in_path,
        wait: Wait = 0.0,
        if_none_match: IfNoneMatch = None,
    ) -> Any:
        found = await run_in_threadpool(get_source, installation.database, caller, kind, source_id)
        if wait and found.state not in SETTLED:  # waiting occupies no thread
            await request.app.state.waiters.wait(source_id, wait)
            found = await run_in_threadpool(get_source, installation.database, caller, kind, source_id)
        version = await run_in_threadpool(read_source_version, installation, caller, source_id)
        return tagged(response, version, found, if_none_match)

    name = f"{kind}_state"
    router.add_api_route(path, progress, response_model=state, name=name, responses=NOT_MODIFIED, description=said)


def _add_sharing(router: APIRouter, path: str, kind: SourceKind, said: str) -> None:
    in_path: Any = Path(alias=f"{kind}_id")

    def share(
        body: requests.Sharing,
        caller: Author,
        installation: InstallationDep,
        source_id: UUID = in_path,
        guard: Guard = guard_of("source", f"{kind}_id"),  # noqa: B008 - FastAPI's
    ) -> None:
        privacy.set_privacy(installation.database, caller, source_id, body.privacy, kind, guard=guard)

    name, answers = f"share_{kind}", documented(412)
    router.add_api_route(
        path, share, methods=["PATCH"], status_code=204, name=name, responses=answers, description=said
    )


router = APIRouter(tags=["add"], responses=documented(401, 403, 404, 409, 413, 422, 503))
add_common(router, "/conversations", SourceKind.CONVERSATION, Conversations, ConversationState)
add_common(router, "/events", SourceKind.EVENT, Events, EventState)
add_common(router, "/notes", SourceKind.NOTE, Notes, NoteState)
