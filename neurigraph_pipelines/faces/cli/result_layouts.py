"""Lays the results of operations out for a terminal, by the fields of their layouts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel
from rich.console import RenderableType

from neurigraph_pipelines.faces.cli import layouts
from neurigraph_pipelines.faces.cli.session import next_step
from neurigraph_pipelines.faces.operations.call import Call
from neurigraph_pipelines.retrieval.quotes import best_quotes
from neurigraph_pipelines.views.access import CreatedUser, IssuedKey
from neurigraph_pipelines.views.answers import Reply
from neurigraph_pipelines.views.base import View
from neurigraph_pipelines.views.fact_queries import QueriedFacts
from neurigraph_pipelines.views.files import Message
from neurigraph_pipelines.views.graph import Shell, TreeNode
from neurigraph_pipelines.views.inbox import Note
from neurigraph_pipelines.views.memories import Difference, History, Memory
from neurigraph_pipelines.views.profiles import PersonProfile, PromptContext
from neurigraph_pipelines.views.scalars import ValuesByName
from neurigraph_pipelines.views.search import Found


def _written(note: Note) -> RenderableType:
    """Return whether a note is new, and which process stores it."""
    if not note.created:
        return layouts.lines(f"Note {note.note_id} says the same already.")
    version = f", version {note.version}" if note.version > 1 else ""
    return layouts.lines(f"Note {note.note_id}{version} is written.", next_step())


_BY_VIEW: dict[type[BaseModel], Callable[[Any], RenderableType]] = {
    TreeNode: layouts.tree,
    Shell: layouts.node,
    Memory: layouts.memory,
    History: lambda found: layouts.deltas(found.deltas),
    Difference: layouts.changes,
    QueriedFacts: layouts.walked,
    PersonProfile: lambda found: layouts.stacked(
        layouts.lines(found.name),
        *(layouts.stacked(layouts.lines(f"\n{one.section}"), listed(one.items, None)) for one in found.sections),
    ),
    PromptContext: lambda found: layouts.unbroken(
        found.text or "\n\n".join(one.content if found.messages else one.text for one in found.messages or found.lines)
    ),
    Note: _written,
    IssuedKey: lambda found: layouts.unbroken(found.api_key),  # so that a shell can keep it in a file
    CreatedUser: lambda found: layouts.unbroken(found.api_key),
}
"""Views with a layout of their own."""

SHOWN_ID = 8
"""Characters of an id in a table on a terminal: of a million ids, one in four thousand needs more."""

_QUOTED_CHARACTERS = 240
_EMPTY: tuple[object, ...] = (None, "", [], {})


def quoted(call: Call, given: ValuesByName, result: object) -> Mapping[UUID, Message]:
    """Return the best messages of the hits of a search, to be shown with them; of other results none."""
    if not isinstance(result, Found):
        return {}
    return best_quotes(call.context, given["query"], result, _QUOTED_CHARACTERS)


def shown(result: object, says: str, user: str = "", quotes: Mapping[UUID, Message] | None = None) -> RenderableType:
    """Lay a view out for a person: its fields, then each of its lists as a table.

    Args:
        says: The line for an operation that returns nothing.
        user: Whose memory it is, for commands that open what is shown.
        quotes: Messages of the hits of a search.
    """
    if isinstance(result, Found):
        return layouts.answer(result, user, quotes or {})
    if isinstance(result, Reply):
        return layouts.reply(result, user)
    for view, layout in _BY_VIEW.items():
        if isinstance(result, view):
            return layout(result)
    if not isinstance(result, BaseModel):
        return layouts.lines(says if result is None else str(result))
    next_cursor = getattr(result, "next_cursor", None)
    fields: dict[str, object] = {}
    below: list[RenderableType] = []
    for name, value in result:
        if isinstance(value, BaseModel):
            below.append(shown(value, says))
        elif isinstance(value, list) and (not value or isinstance(value[0], BaseModel)):
            below += [listed(value, next_cursor)] if value or len(type(result).model_fields) <= 2 else []
        elif value not in _EMPTY and name != "next_cursor":
            fields[name.replace("_", " ")] = _text(value)
    return layouts.stacked(*([layouts.fields(fields)] if fields else []), *below)


def listed(items: Sequence[BaseModel], next_cursor: str | None) -> RenderableType:
    """Return items as a table: of the columns that their view names, or of all that have a value in some row."""
    first = dict(items[0]) if items else {}
    names = (items[0].COLUMNS if items and isinstance(items[0], View) else ()) or [
        name
        for name in first
        if not isinstance(first[name], BaseModel | list | dict)
        and any(getattr(one, name) not in _EMPTY for one in items)
    ]
    rows = [{name.replace("_", " "): _cell(getattr(one, name)) for name in names} for one in items]
    return layouts.page(rows, next_cursor)


def _cell(value: object) -> str:
    """Return a value for a table; on a terminal, an id is as short as commands take it."""
    return str(value)[:SHOWN_ID] if isinstance(value, UUID) and sys.stdout.isatty() else _text(value)


def _text(value: object) -> str:
    if isinstance(value, datetime):
        return value.astimezone().strftime("%Y-%m-%d %H:%M")
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_text(one)}" for name, one in value.items() if one not in _EMPTY)
    if isinstance(value, list | tuple | set):
        return ", ".join(map(_text, value))
    return "" if value is None else str(value)
