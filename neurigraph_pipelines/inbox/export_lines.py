"""Conversations of an export as lines of JSON, between the process that reads a file and the one that stores it.

``lines`` runs in the confined process, which is not trusted: ``conversations_of`` checks the shape of what it gets.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from neurigraph_pipelines.inbox.import_format import DOCUMENT, import_format
from neurigraph_pipelines.inbox.imports import FORMATS, read_conversations
from neurigraph_pipelines.inbox.imports.date_order import DateOrder
from neurigraph_pipelines.inbox.imports.vault import FORMAT as VAULT
from neurigraph_pipelines.inbox.zipped_vaults import note_lines
from neurigraph_pipelines.model import EventKind, ImportedConversation, IncomingMessage, RejectedItem, Role, Tier
from neurigraph_pipelines.model.errors import InvalidInputError, UnreadableFileError
from neurigraph_pipelines.model.sources import SourceDetails
from neurigraph_pipelines.model.tool_events import ToolEvent
from neurigraph_pipelines.views.kinds import Channel, DocumentType, MessageType
from neurigraph_pipelines.views.scalars import ValuesByName, WireObject

AS_IT_IS = "To store the file as it is, send it with format=document."

Line = WireObject
"""What a line says; its reader finds out by use whether it has the shape of one, because its writer is not trusted."""

_OF_TEXT = "text"
"""A dialogue in plain text: its author may mean a document, so only the command line reads it as a conversation."""


def lines(
    path: str, max_message_bytes: str, date_order: str = "", everything: str = "", format_name: str = ""
) -> Iterator[Line]:
    """Yield the format of a file, its conversations message by message with rejected items, and an end.

    The format of anything but an export of conversations is None, and nothing follows. A message that is too long for
    the reader of the lines is rejected here.

    A zip of conversations that must not be unpacked is an error.
    """
    file = Path(path)
    try:
        found = format_name or import_format(file)
    except UnreadableFileError as error:
        yield {"error": _without_folder(error.__cause__ or error, file)}
        return
    except InvalidInputError as error:
        notes_found = False
        for line in _notes(file, int(max_message_bytes)):
            notes_found = True
            yield line
        if not notes_found:
            yield {"error": f"{_without_folder(error.__cause__ or error, file)} {AS_IT_IS}"}
        return
    if found in (DOCUMENT, _OF_TEXT) and not format_name:
        yield {"format": None}
        return
    yield {"format": found}
    notes: list[str] = []
    try:
        for item in read_conversations(
            file,
            found,
            max_message_bytes=int(max_message_bytes),
            date_order=DateOrder(date_order) if date_order else None,
            everything=bool(everything),
            on_note=notes.append,
        ):
            yield from _lines_of(item, int(max_message_bytes))
    except InvalidInputError as error:
        yield {"rejected": [file.name, _without_folder(error, file)]}
    yield from ({"note": note} for note in notes)
    yield {"end": True}


def _notes(file: Path, longest: int) -> Iterator[Line]:
    """Yield the notes of a zip that is no export of conversations; nothing for any other file."""
    if not zipfile.is_zipfile(file):
        return
    try:
        yield from note_lines(file, longest)
    except UnreadableFileError as error:
        yield {"error": _without_folder(error, file)}


def _lines_of(item: ImportedConversation | RejectedItem, longest: int) -> Iterator[Line]:
    if isinstance(item, RejectedItem):
        yield {"rejected": [item.where, item.reason]}
        return
    for number, message in enumerate(item.messages, start=1):
        size = len(message.content.encode("utf-8", "surrogatepass"))
        if size > longest:
            where = f"{item.external_id}, message {message.external_id or number}"
            yield {"rejected": [where, f"it has {size:,} bytes and the limit is {longest:,}"]}
        else:
            yield {"message": _plain(asdict(message))}
    yield {"conversation": _plain(asdict(replace(item, messages=())))}


def _without_folder(error: BaseException, file: Path) -> str:
    return str(error).replace(str(file), file.name)


def format_of(found: Iterator[Line]) -> tuple[str | None, str]:
    """Return the format of a file by its first line, and the name of a vault; None for a document.

    Raises:
        UnreadableFileError: The file cannot be read, or nothing in it is read.
    """
    first = _checked(next(found))
    name = first.get("format")
    if name is not None and name not in (*FORMATS, VAULT):
        raise UnreadableFileError("the file cannot be read: its reader named no format")
    return name, str(first.get("vault", ""))


def conversations_of(
    found: Iterable[Line], on_note: Callable[[str], None] = lambda _: None
) -> Iterator[ImportedConversation | RejectedItem]:
    """Yield the conversations and rejections of the lines after the first, and hand on the notes.

    Raises:
        UnreadableFileError: The file cannot be read, or a line has another shape.
    """
    messages: list[IncomingMessage] = []
    for line in found:
        try:
            match _checked(line):
                case {"message": sent}:
                    messages.append(_message(sent))
                case {"conversation": sent}:
                    yield _conversation(sent, tuple(messages))
                    messages = []
                case {"rejected": [str(where), str(reason)]}:
                    yield RejectedItem(where, reason)
                case {"note": str(note)}:
                    on_note(note)
                case {"end": True}:
                    return
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            raise UnreadableFileError("the file cannot be read: its reader wrote a line of another shape") from error


def _checked(line: Line) -> Line:
    if "error" in line:
        raise UnreadableFileError(f"the file cannot be read: {line['error']}")
    return line


def _plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else value


def _message(sent: Line) -> IncomingMessage:
    event = sent["event"]
    return IncomingMessage(
        Role(sent["role"]),
        _text(sent["content"]) or "",
        author=_text(sent["author"]),
        external_id=_text(sent["external_id"]),
        occurred_at=_moment(sent["occurred_at"]),
        tool_calls=tuple(dict(call) for call in sent["tool_calls"]),
        complete=bool(sent["complete"]),
        event=ToolEvent(**{**event, "type": MessageType(event["type"])}) if event is not None else None,
    )


def _conversation(sent: Line, messages: tuple[IncomingMessage, ...]) -> ImportedConversation:
    kind = sent["event_kind"]
    return ImportedConversation(
        _text(sent["external_id"]) or "",
        messages,
        title=_text(sent["title"]),
        started_at=_moment(sent["started_at"]),
        ended_at=_moment(sent["ended_at"]),
        event_kind=EventKind(kind) if kind is not None else None,
        details=_details(sent["details"]),
        by_words=bool(sent["by_words"]),
        has_certain_times=bool(sent["has_certain_times"]),
        by_opening=bool(sent["by_opening"]),
        former_ids=tuple(str(one) for one in sent["former_ids"]),
    )


def _details(sent: Line) -> SourceDetails:
    stated: ValuesByName = {name: read(sent[name]) for name, read in _DETAILS.items() if sent[name] is not None}
    return SourceDetails(**stated)


def _text(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise TypeError
    return value


def _moment(value: Any) -> datetime | None:
    return None if value is None else datetime.fromisoformat(value)


_DETAILS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("origin", "url", "author"), _text),
    "document_type": DocumentType,
    "channel": Channel,
    "metadata": dict,
    "updated_at": _moment,
    "replaces": UUID,
    "tier": Tier,
    "container_tags": tuple,
}
"""What makes a value of each detail."""
