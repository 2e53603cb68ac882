"""Conversations, events, notes and uploads alike: their lists, their progress and their privacy."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Annotated, Any, TypeVar
from uuid import UUID

from pydantic import Field

from neurigraph_pipelines.faces.operations.call import Call, Who
from neurigraph_pipelines.faces.operations.forms import Cursor, Limit
from neurigraph_pipelines.faces.operations.registry import OperationGroup
from neurigraph_pipelines.faces.operations.requests import Sharing
from neurigraph_pipelines.faces.operations.versions import read_source_version
from neurigraph_pipelines.inbox import privacy
from neurigraph_pipelines.inbox.source_lists import SourceFilter, get_source, list_sources
from neurigraph_pipelines.model import SETTLED, SourceKind
from neurigraph_pipelines.views import sources as views

_Page = TypeVar("_Page", views.Conversations, views.Events, views.Uploads, views.Notes)
_State = TypeVar("_State", views.ConversationState, views.EventState, views.Upload, views.NoteState)

operation = OperationGroup("add")


def _declare(kind: SourceKind, page: type[_Page], state: type[_State], *, who: str, sees: str) -> None:
    """Declare the operations of one kind of source.

    Args:
        who: A clause about the callers who may set the privacy.
        sees: A sentence about the rows that callers see.
    """
    one = f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
    source_id = Annotated[UUID, Field(alias=f"{kind}_id")]
    path = f"/{kind}s/{{{kind}_id}}"

    def listed(call: Call, wanted: SourceFilter, limit: int, cursor: str | None) -> _Page:
        return call.page(page, list_sources, kind, wanted, limit=limit, cursor=cursor)

    def progress(call: Call, source_id: UUID) -> Any:
        found = call.do(get_source, kind, source_id)
        if found.state not in SETTLED:
            call.told.later = source_id, lambda: progress(call, source_id)
        return call.versioned(read_source_version(call.installation, call.caller, source_id), found)

    def share(call: Call, source_id: UUID, body: Sharing) -> None:
        call.do(privacy.set_privacy, source_id, body.privacy, kind, guard=call.once)

    filters = {"wanted": (SourceFilter, Parameter.empty), "limit": (Limit, 50), "cursor": (Cursor, None)}
    said = f"List {kind}s with their states, the last received first.{sees}"
    _describe(listed, f"list_{kind}s", said, filters, page)
    operation(f"GET /{kind}s", in_spaces=True)(listed)
    said = f"Return the state of {one}, and the memories that it became."
    _describe(progress, f"{kind}_state", said, {"source_id": (source_id, Parameter.empty)}, state)
    operation(f"GET {path}", has_version=True, waits=True)(progress)
    said = f"Make {one} and all memories from it private, or share them again{who}"
    taken = {"source_id": (source_id, Parameter.empty), "body": (Sharing, Parameter.empty)}
    _describe(share, f"share_{kind}", said, taken, None)
    operation(f"PATCH {path}", who=Who.AUTHOR, status=204, guarded=f"{kind}_id")(share)


def _describe(
    function: Callable[..., Any], name: str, said: str, takes: dict[str, tuple[Any, Any]], result: Any
) -> None:
    """Give a function its name, its description, and its parameters besides the call with types and defaults."""
    function.__name__, function.__doc__ = name, said
    parameters = [Parameter("call", Parameter.KEYWORD_ONLY, annotation=Call)]
    for argument, (kind, default) in takes.items():
        parameters.append(Parameter(argument, Parameter.KEYWORD_ONLY, annotation=kind, default=default))
    function.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    function.__annotations__ = {one.name: one.annotation for one in parameters} | {"return": result}


_OWNER, _OWN = ". Only the owner may do so.", " A persona sees its own."
_SENDER = ", as the owner or the member who sent it."
_declare(SourceKind.CONVERSATION, views.Conversations, views.ConversationState, who=_OWNER, sees=_OWN)
_declare(SourceKind.EVENT, views.Events, views.EventState, who=_OWNER, sees=_OWN)
_declare(SourceKind.NOTE, views.Notes, views.NoteState, who=_OWNER, sees=_OWN)
_declare(SourceKind.UPLOAD, views.Uploads, views.Upload, who=_SENDER, sees="")
