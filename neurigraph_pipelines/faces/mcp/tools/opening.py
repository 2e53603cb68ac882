"""``open_memory``: the words of one memory, message by message."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Annotated
from uuid import UUID

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from neurigraph_pipelines.access.short_ids import id_of, place_of
from neurigraph_pipelines.faces.mcp.budget import DEFAULT_TOKENS, Budget
from neurigraph_pipelines.faces.mcp.calls import AgentCall, stop_if_cancelled
from neurigraph_pipelines.faces.mcp.failures import said
from neurigraph_pipelines.faces.mcp.framing import described, inline, kept_until, path_of, quoted
from neurigraph_pipelines.faces.mcp.tools.answer import Result, Shown, shown
from neurigraph_pipelines.faces.mcp.tools.tool import Arguments, Cursor, ListOf, MaxTokens, Tool
from neurigraph_pipelines.faces.operations.memories import memory
from neurigraph_pipelines.faces.operations.search import unstored
from neurigraph_pipelines.model.errors import InvalidInputError, LostObjectError, NotFoundError
from neurigraph_pipelines.retrieval.open import open_messages
from neurigraph_pipelines.text.visible import visible
from neurigraph_pipelines.views.files import Message
from neurigraph_pipelines.views.memories import Memory

READ_AT_ONCE = 20
"""Messages that are read before the next are asked for."""

_LEAST = 100  # characters of a message, so that the next cursor lies further on
_CURSOR = re.compile(r"(\d{1,9})(?:\+(\d{1,9}))?")


class OpenArguments(Arguments):
    """Arguments of ``open_memory``."""

    record_id: str = Field(description="Of a hit; its source_id if not stored yet; or a place: 1f3a9c2d:5.")
    messages: ListOf[Annotated[int, Field(ge=0, le=2_147_483_647)]] = Field(
        default=[], max_length=50, description="Numbers of messages; default: all."
    )
    cursor: Cursor = ""
    max_tokens: MaxTokens = DEFAULT_TOKENS


class OpenedMessage(Shown[Message]):
    """One message, or a part of it."""

    SHOWS = ("seq", "author", "role", "voice", "occurred_at", "content")

    is_whole: bool

    def lines(self) -> Iterator[str]:
        """Yield who said it and when, and the words."""
        one = self.view
        who = f"{one.voice}, {inline(one.author)}" if one.author else one.voice
        part = "" if self.is_whole else ", a part of it"
        yield f"message {one.seq}, said by {who}, {one.occurred_at.isoformat()}{part}"
        yield quoted(one.content)


class Opened(Result):
    """A memory with its messages; or the messages of a source, which is no memory yet."""

    record_id: str | None
    source_id: str | None = None
    stored: bool = True
    title: str
    summary: str
    node_id: str | None
    node_path: str | None
    file_id: str | None
    superseded_by: str | None
    expires_at: SkipJsonSchema[str | None] = None  # every agent pays for schemas
    messages: list[OpenedMessage]
    lost: SkipJsonSchema[str | None] = None
    next_cursor: str | None = None

    def lines(self) -> Iterator[str]:
        """Yield the title of the memory, its messages, and the next step."""
        if self.stored:
            yield f"record_id {self.record_id}, in {path_of(self.node_path)}, file_id {self.file_id}"
        else:
            yield f"source_id {self.source_id}, not stored yet"
        if self.superseded_by:
            yield f"A newer memory replaces this one: record_id {self.superseded_by}."
        yield from kept_until(self.expires_at)
        yield from described(self.title, self.summary)
        for message in self.messages:
            yield ""
            yield from message.lines()
        if self.lost:
            yield f"\nIts messages cannot be read: {self.lost}."
        elif not self.messages:
            yield "It has no such messages."
        if self.next_cursor:
            yield f"\nThere is more: call again with cursor={self.next_cursor!r}."


def open_memory(call: AgentCall, given: OpenArguments) -> Opened:
    """Read the messages that fit, of a record from its object, or of a source whose messages are not stored yet."""
    known, message = place_of(given.record_id)
    if message is not None:
        given = given.model_copy(update={"messages": [message, *given.messages]})
    try:
        found = call.do(memory, {"record_id": known})
    except NotFoundError:
        return _open_unstored(call, given, id_of(call.installation.database, call.claims, "source", known))
    first, offset = _place(given.cursor)
    wanted = sorted(set(given.messages)) or range(found.first_message, found.last_message + 1)
    budget = call.budget(given.max_tokens)
    if given.cursor:  # the answer before has shown it
        found = found.model_copy(update={"summary": ""})
    budget.fits(found.title, found.summary)
    lost, messages, cursor = None, list[OpenedMessage](), None
    try:
        cursor = _read(call, found.file_id, [seq for seq in wanted if seq >= first], (first, offset), budget, messages)
    except LostObjectError as error:
        lost = said(error)
    return Opened(
        **shown(found, Opened.model_fields.keys() & Memory.model_fields.keys()),
        messages=messages,
        next_cursor=cursor,
        lost=lost,
    )


def _open_unstored(call: AgentCall, given: OpenArguments, source_id: UUID) -> Opened:
    """Read the messages of a source that are not stored yet and fit.

    Raises:
        NotFoundError: There is no such source, or nothing of it is visible to the caller.
    """
    call.require_visible("source", source_id)
    first, offset = _place(given.cursor)
    budget = call.budget(given.max_tokens)
    wanted, shown, cursor = set(given.messages), list[OpenedMessage](), None
    asked = {"source_id": source_id, "limit": READ_AT_ONCE}
    found = call.do(unstored, asked | {"from_message": max(first, 1)})
    records = found.record_ids
    while found.messages and cursor is None:
        stop_if_cancelled()
        chosen = [one for one in found.messages if not wanted or one.seq in wanted]
        cursor = _show(chosen, (first, offset), budget, shown)
        found = call.do(unstored, asked | {"from_message": found.messages[-1].seq + 1})
    summary = f"Stored by now, as record_id {', '.join(map(str, records))}." if records and not shown else ""
    return Opened(
        record_id=None,
        source_id=str(source_id),
        stored=False,
        title="",
        summary=summary,
        node_id=None,
        node_path=None,
        file_id=None,
        superseded_by=None,
        messages=shown,
        next_cursor=cursor,
    )


def _place(cursor: str) -> tuple[int, int]:
    """Return the message and the character at which to go on."""
    if not cursor:
        return 0, 0
    place = _CURSOR.fullmatch(cursor)
    if place is None:
        raise InvalidInputError("the cursor is not valid: use the next_cursor of the answer before, or leave it out")
    return int(place[1]), int(place[2] or 0)


def _read(
    call: AgentCall,
    file_id: UUID | None,
    wanted: Sequence[int],
    place: tuple[int, int],
    budget: Budget,
    shown: list[OpenedMessage],
) -> str | None:
    """Add the messages that fit to those shown, and return where to go on if not all do."""
    if file_id is None:
        return None
    for start in range(0, len(wanted), READ_AT_ONCE):
        stop_if_cancelled()
        opened = open_messages(call.context, file_id, wanted[start : start + READ_AT_ONCE])
        cursor = _show(opened, place, budget, shown)
        if cursor is not None:
            return cursor
    return None


def _show(opened: Sequence[Message], place: tuple[int, int], budget: Budget, shown: list[OpenedMessage]) -> str | None:
    """Add the messages that fit to those shown, and return where to go on if not all do."""
    for one in opened:
        begin = place[1] if one.seq == place[0] else 0
        if shown and budget.is_spent:
            return f"{one.seq}+{begin}" if begin else str(one.seq)
        message = _message(one, begin, budget)
        shown.append(message)
        end = begin + len(message.view.content)
        if end < len(one.content):
            return f"{one.seq}+{end}"
    return None


def _message(opened: Message, begin: int, budget: Budget) -> OpenedMessage:
    budget.fits("\n".join(_part(opened, "", is_whole=True).lines()))
    whole = visible(opened.content)
    part = budget.cut(whole[begin:]) or whole[begin : begin + _LEAST]
    return _part(opened, part, is_whole=len(part) == len(opened.content))


def _part(opened: Message, content: str, *, is_whole: bool) -> OpenedMessage:
    return OpenedMessage(view=opened.model_copy(update={"content": content}), is_whole=is_whole)


OPEN_MEMORY = Tool(
    "open_memory",
    "Read the messages of one memory word for word, with who said each and when.",
    OpenArguments,
    Opened,
    open_memory,
)
