"""The data export of Claude: ``conversations.json``, a list of conversations with their messages in order.

Anthropic does not document the format. This module relies on what tools agree about that read real exports.
``json_stream`` reads the file as a stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

from neurigraph_pipelines.errors import InvalidInputError
from neurigraph_pipelines.ingestion.imports.assemble import (
    assemble,
    derived_id,
    message_id,
    moment,
    objects_of,
    text_of,
)
from neurigraph_pipelines.model import NewConversation, NewMessage, RejectedItem, Role
from neurigraph_pipelines.text.hygiene import clean_json

_ROLES = {"human": Role.USER, "user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM}


def conversations(
    item: dict[str, Any], where: str, fallback_time: datetime | None
) -> Iterator[NewConversation | RejectedItem]:
    """Read one item of the list: its messages in the order of the array, without the model's thinking."""
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
        try:
            calls = clean_json(_tool_calls(raw), "repair")[0]
        except InvalidInputError as error:
            yield RejectedItem(f"{here}, its tool calls", str(error))
            calls = []
        content = _text(raw)
        if not content and not calls:
            continue
        message = NewMessage(role, content, occurred_at=moment(raw.get("created_at")), tool_calls=tuple(calls))
        yield replace(message, external_id=text_of(raw.get("uuid")) or message_id(number, message))


def _text(raw: dict[str, Any]) -> str:
    """Return the text and then the attachments, which the model read and which so belong to the message."""
    blocks = [text_of(block.get("text")) for block in objects_of(raw.get("content")) if block.get("type") == "text"]
    body = [text for text in blocks if text] or [text for text in [text_of(raw.get("text"))] if text]
    for attachment in objects_of(raw.get("attachments")) + objects_of(raw.get("files")):
        name = text_of(attachment.get("file_name")) or "without a name"
        extracted = text_of(attachment.get("extracted_content"))
        body.append(f"[attached: {name}]" + (f"\n{extracted}" if extracted else ""))
    return "\n\n".join(body)


def _tool_calls(raw: dict[str, Any]) -> list[dict[str, Any]]:
    """Return each tool call together with its result."""
    calls: list[dict[str, Any]] = []
    by_id: dict[str, dict[str, Any]] = {}
    for block in objects_of(raw.get("content")):
        if block.get("type") == "tool_use":
            call = {"name": block.get("name"), "input": block.get("input")}
            calls.append(call)
            if isinstance(block.get("id"), str):
                by_id[block["id"]] = call
        elif block.get("type") == "tool_result":
            call = by_id.get(str(block.get("tool_use_id"))) or {"name": block.get("name")}
            if call not in calls:
                calls.append(call)
            call["result"] = _result(block.get("content"))
    return calls


def _result(content: Any) -> str:
    """Return the texts of a tool result."""
    pieces = [content] if isinstance(content, str) else [piece.get("text") for piece in objects_of(content)]
    return "\n".join(text for piece in pieces if (text := text_of(piece)))
