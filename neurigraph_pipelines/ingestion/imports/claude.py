"""The data export of Claude: ``conversations.json``, a list of conversations with their messages in order.

Anthropic does not document the format. This module relies on what tools agree about that read real exports.
``json_stream`` reads the file as a stream.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from typing import Any

from neurigraph_pipelines.errors import InvalidInputError
from neurigraph_pipelines.ingestion.imports.assemble import (
    Item,
    assemble,
    derived_id,
    message_id,
    moment,
    objects_of,
    text_of,
)
from neurigraph_pipelines.model import MessageType, NewMessage, RejectedItem, Role, ToolEvent
from neurigraph_pipelines.text.hygiene import clean_json

_ROLES = {"human": Role.USER, "user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM}

_TOOL_USE = "tool_use"
_EVENTS = {_TOOL_USE, "tool_result"}


def conversations(item: dict[str, Any], where: str, fallback_time: datetime | None) -> Iterator[Item]:
    """Read one item of the list: its messages in the order of the array, without the model's thinking.

    A message in which tools are used becomes several: its texts, and the uses and results between them.
    """
    messages = item.get("chat_messages")
    if not isinstance(messages, list):
        yield RejectedItem(where, "it has no list of chat_messages")
        return
    title = text_of(item.get("name"))
    started_at = moment(item.get("created_at"))
    first = objects_of(messages)[:1]
    yield from assemble(
        where,
        text_of(item.get("uuid")) or derived_id("claude", title, started_at, first and first[0].get("uuid")),
        _messages(messages, where),
        title=title,
        started_at=started_at,
        fallback_time=moment(item.get("updated_at")) or fallback_time,
    )


def _messages(messages: list[Any], where: str) -> Iterator[NewMessage | RejectedItem]:
    for number, raw in enumerate(messages, 1):
        here = f"{where}, message {number}"
        if not isinstance(raw, dict):
            yield RejectedItem(here, "it is not an object")
            continue
        role = _ROLES.get(str(raw.get("sender")))
        if role is None:
            yield RejectedItem(here, f"it has the unknown sender {str(raw.get('sender'))[:50]!r}")
            continue
        uuid = text_of(raw.get("uuid"))
        for part, said in enumerate(_said(raw, role, uuid or f"m{number:04}"), 1):
            message = replace(said, occurred_at=moment(raw.get("created_at")))
            if message.event is not None:
                try:
                    clean_json([message.event.input, message.event.output], "repair")
                except InvalidInputError as error:
                    yield RejectedItem(f"{here}, its tool calls", str(error))
                    continue
            external_id = uuid if part == 1 or uuid is None else f"{uuid}#{part}"
            yield replace(message, external_id=external_id or message_id(number, message))


def _said(raw: dict[str, Any], role: Role, name: str) -> Iterator[NewMessage]:
    """Yield the texts of a message and the events of tools between them, in order.

    Args:
        name: Names the uses of tools that have no id.
    """
    blocks = objects_of(raw.get("content"))
    if not any(block.get("type") in _EVENTS for block in blocks):
        if text := _text(raw):
            yield NewMessage(role, text)
        return
    names: dict[str, str | None] = {}
    for is_text, run in groupby(blocks, key=lambda block: block.get("type") not in _EVENTS):
        part = list(run)
        if is_text:
            if text := "\n\n".join(_texts(part)):
                yield NewMessage(role, text)
            continue
        for block in part:
            event = _event(block, names, f"{name}-{len(names)}")
            yield NewMessage(event.type.role, "", event=event)
    if attached := "\n\n".join(_attachments(raw)):
        yield NewMessage(role, attached)


def _event(block: dict[str, Any], names: dict[str, str | None], unnamed: str) -> ToolEvent:
    """Return the event of a block; ``names`` collects the names of tools by the ids of their uses."""
    if block["type"] == _TOOL_USE:
        use_id = text_of(block.get("id")) or unnamed
        names[use_id] = text_of(block.get("name")) or "tool"
        return ToolEvent(MessageType.TOOL_USE, names[use_id], use_id, input=block.get("input"))
    use_id = text_of(block.get("tool_use_id")) or unnamed
    name, said = names.get(use_id) or text_of(block.get("name")), _result(block.get("content"))
    if block.get("is_error"):
        return ToolEvent(MessageType.TOOL_RESULT, name, use_id, error=said or "unknown")
    return ToolEvent(MessageType.TOOL_RESULT, name, use_id, output=said)


def _text(raw: dict[str, Any]) -> str:
    """Return the text and then the attachments, which the model read and which so belong to the message."""
    texts = _texts(objects_of(raw.get("content"))) or _texts([{"type": "text", "text": raw.get("text")}])
    return "\n\n".join([*texts, *_attachments(raw)])


def _texts(blocks: Sequence[dict[str, Any]]) -> list[str]:
    found = [text_of(block.get("text")) for block in blocks if block.get("type") == "text"]
    return [text for text in found if text]


def _attachments(raw: dict[str, Any]) -> Iterator[str]:
    for attachment in objects_of(raw.get("attachments")) + objects_of(raw.get("files")):
        name = text_of(attachment.get("file_name")) or "without a name"
        extracted = text_of(attachment.get("extracted_content"))
        yield f"[attached: {name}]" + (f"\n{extracted}" if extracted else "")


def _result(content: Any) -> str:
    """Return the texts of a tool result."""
    pieces = [content] if isinstance(content, str) else [piece.get("text") for piece in objects_of(content)]
    return "\n".join(text for piece in pieces if (text := text_of(piece)))
