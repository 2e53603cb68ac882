"""Neurigraph's own format: one conversation per line, with the keys of the HTTP API (see ``docs/import.md``)."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from neurigraph_pipelines.inbox.imports.assemble import Item, Opening, assemble, derived_id, message_id, moment
from neurigraph_pipelines.inbox.imports.json_stream import parse_object, said_twice
from neurigraph_pipelines.inbox.imports.openai import text_of_parts
from neurigraph_pipelines.inbox.imports.source import Reading
from neurigraph_pipelines.inbox.tool_events import TOOL_EVENTS, typed
from neurigraph_pipelines.model import (
    TOOL_FIELDS,
    IncomingMessage,
    MessageType,
    RejectedItem,
    Role,
    Tier,
)
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.model.sources import SourceDetails
from neurigraph_pipelines.text.exact_json import KeepingParser
from neurigraph_pipelines.text.hygiene import clean_json
from neurigraph_pipelines.text.json_fields import Json, JsonObject, as_objects
from neurigraph_pipelines.views.kinds import Channel, DocumentType

MAX_LINE_BYTES = 256 * 1024**2
"""Longest line; real ones reach tens of megabytes."""

MAX_NOTED_KEYS = 20
"""Maximum number of unknown keys that are logged; a file with more has another format."""

_DETAILS = ("origin", "document_type", "url", "channel", "author", "metadata", "updated_at", "replaces", "tier")
CONVERSATION_KEYS = frozenset({"external_id", "title", "started_at", "ended_at", "messages", *_DETAILS})
MESSAGE_KEYS = frozenset(
    {"role", "type", "content", "author", "external_id", "occurred_at", "tool_calls", *TOOL_FIELDS}
)

_logger = logging.getLogger(__name__)


def of_file(reading: Reading) -> Iterator[Item]:
    """Read a file as ``conversations`` does."""
    with reading.open() as stream:
        yield from conversations(stream, reading.part.name, reading.fallback_time)


def conversations(
    stream: io.BufferedReader, name: str, fallback_time: datetime | None, max_line_bytes: int = MAX_LINE_BYTES
) -> Iterator[Item]:
    """Read a stream line by line. A broken line is rejected, and reading continues with the next.

    Args:
        stream: A stream of UTF-8, with lines that end in a line feed.
        name: Name of the stream, for people.
        fallback_time: The time of a conversation that contains no time.
        max_line_bytes: Longer lines are skipped, without loading them into memory.
    """
    unknown: set[str] = set()
    parser = KeepingParser()
    for number, line in lines_of(stream, max_line_bytes):
        where = f"{name}, line {number}"
        if isinstance(line, RejectedItem):
            yield replace(line, where=where)
            continue
        try:
            raw = parse_object(line, parser)
            _note_unknown(raw, CONVERSATION_KEYS, unknown, name)
            title, started_at, ended_at = (
                _text(raw, "title"),
                _time(raw, "started_at"),
                _time(raw, "ended_at"),
            )
            details = _details(raw)
            messages = list(_messages(raw.get("messages"), where, unknown, name))
            external_id = _text(raw, "external_id") or (
                _opening(title, started_at, messages) if details.replaces is None else ""
            )
        except InvalidInputError as error:
            parser.twice.clear()
            yield RejectedItem(where, str(error))
            continue
        yield from said_twice(where, parser)
        yield from assemble(
            where,
            external_id,
            messages,
            title=title,
            started_at=started_at,
            ended_at=ended_at,
            fallback_time=fallback_time,
            details=details,
        )


def lines_of(
    stream: io.BufferedReader, max_bytes: int, *, blank: bool = False
) -> Iterator[tuple[int, bytes | RejectedItem]]:
    """Yield the lines with their numbers, without those that are blank unless these are asked for."""
    number = 0
    while line := stream.readline(max_bytes):
        number += 1
        if len(line) == max_bytes and not line.endswith(b"\n"):
            while (rest := stream.readline(max_bytes)) and not rest.endswith(b"\n"):
                continue
            yield (
                number,
                RejectedItem("", f"it is longer than {max_bytes:,} bytes: split the conversation"),
            )
        elif blank or line.strip():
            yield number, line


def _messages(value: Json, where: str, unknown: set[str], name: str) -> Iterator[IncomingMessage | RejectedItem]:
    if not isinstance(value, list):
        raise InvalidInputError("it has no list of messages")
    for number, raw in enumerate(value, 1):
        try:
            if not isinstance(raw, dict):
                raise InvalidInputError(f"expected an object, found {type(raw).__name__}")
            _note_unknown(raw, MESSAGE_KEYS, unknown, name)
            message = _message(raw)
        except InvalidInputError as error:
            yield RejectedItem(f"{where}, message {number}", str(error))
            continue
        yield message if message.external_id else replace(message, external_id=message_id(number, message))


def _message(raw: JsonObject) -> IncomingMessage:
    role, kind, content, calls = raw.get("role"), raw.get("type"), raw.get("content"), raw.get("tool_calls") or []
    if kind is not None and kind not in tuple(MessageType):
        raise InvalidInputError(f"its type {str(kind)[:50]!r} is not one of {', '.join(MessageType)}")
    if (role is not None or kind is None) and role not in tuple(Role):
        raise InvalidInputError(f"its role {str(role)[:50]!r} is not one of {', '.join(Role)}")
    listed = as_objects(calls)
    if not isinstance(calls, list) or len(listed) < len(calls):
        raise InvalidInputError("its tool_calls are not a list of objects")
    said = {name: raw.get(name) for name in TOOL_FIELDS}
    clean_json([calls, said], "repair")  # rejects too deep nesting; the inbox repairs when it stores the message
    if content is None and (calls or kind in TOOL_EVENTS):
        content = ""
    if isinstance(content, list):
        content = text_of_parts(content)
    if not isinstance(content, str):
        raise InvalidInputError("its content is not a text")
    for name in ("tool_name", "tool_use_id", "error"):
        _text(raw, name)
    message = IncomingMessage(
        role=Role.USER,
        content=content,
        author=_text(raw, "author"),
        external_id=_text(raw, "external_id"),
        occurred_at=_time(raw, "occurred_at"),
        tool_calls=tuple(listed),
    )
    return typed(message, MessageType(kind) if kind else None, Role(role) if role else None, said)


def _details(raw: JsonObject) -> SourceDetails:
    """Return where a conversation comes from; the inbox checks the values."""
    kind, channel = _text(raw, "document_type"), _text(raw, "channel")
    metadata: Any = raw.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise InvalidInputError("its metadata are not an object")
    if kind is not None and kind not in tuple(DocumentType):
        raise InvalidInputError(f"its document_type {kind[:50]!r} is not one of {', '.join(DocumentType)}")
    if channel is not None and channel not in tuple(Channel):
        raise InvalidInputError(f"its channel {channel[:50]!r} is not one of {', '.join(Channel)}")
    tier = _text(raw, "tier")
    if tier is not None and tier not in tuple(Tier):
        raise InvalidInputError(f"its tier {tier[:50]!r} is not one of {', '.join(Tier)}")
    return SourceDetails(
        origin=_text(raw, "origin"),
        document_type=DocumentType(kind) if kind else None,
        url=_text(raw, "url"),
        channel=Channel(channel) if channel else None,
        author=_text(raw, "author"),
        metadata=metadata,
        updated_at=_time(raw, "updated_at"),
        replaces=_id(raw, "replaces"),
        tier=Tier(tier) if tier else None,
    )


def _text(raw: JsonObject, key: str) -> str | None:
    value = raw.get(key)
    if value is not None and not isinstance(value, str):
        raise InvalidInputError(f"its {key} is not a text")
    return value or None


def _id(raw: JsonObject, key: str) -> UUID | None:
    value = _text(raw, key) or ""
    try:
        return UUID(value) if value else None
    except ValueError:
        raise InvalidInputError(f"its {key} is not the id of a source: {value[:50]!r}") from None


def _time(raw: JsonObject, key: str) -> datetime | None:
    value = raw.get(key)
    time = moment(value)
    if time is None and value is not None:
        raise InvalidInputError(f"its {key} is not a time in ISO 8601 between 1970 and 2200: {str(value)[:50]!r}")
    return time


def _note_unknown(raw: JsonObject, known: frozenset[str], noted: set[str], name: str) -> None:
    """Log the ignored keys, each once per file."""
    for key in raw:
        if key not in known and key not in noted and len(noted) < MAX_NOTED_KEYS:
            noted.add(key)
            _logger.warning("%s: ignored the unknown key %r", name, key[:50])


def _opening(title: str | None, started_at: datetime | None, messages: list[IncomingMessage | RejectedItem]) -> Opening:
    """Return an id for a conversation that has none."""
    first = next((one for one in messages if isinstance(one, IncomingMessage)), None)
    said = (first.role, first.author, first.content, first.external_id, first.occurred_at) if first else ()
    return Opening("jsonl", started_at, former=(derived_id("jsonl", title, started_at, *said),))
