"""The data export of Claude: ``conversations.json``, a list of conversations, and ``memories.json``, ``projects.json``.

Anthropic does not document the format. This module relies on what tools agree about that read real exports.
``json_stream`` reads the file as a stream.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import groupby

from neurigraph_pipelines.inbox.imports import claude_memory
from neurigraph_pipelines.inbox.imports.assemble import Item, Spoken, assemble, derived_id, message_id, moment_of
from neurigraph_pipelines.inbox.imports.branches import current_branch
from neurigraph_pipelines.model import ImportNote, IncomingMessage, MessageType, RejectedItem, Role, ToolEvent
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.text.hygiene import clean_json
from neurigraph_pipelines.text.json_fields import Json, JsonObject, as_objects, as_text, objects_of, text_of

_ROLES = {"human": Role.USER, "user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM}

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TOOL_USE = "tool_use"
_THOUGHTS = ("thinking", "redacted_thinking")
_WORDLESS = (*_THOUGHTS, "text", "voice_note", "token_budget", "flag")
"""Kinds of blocks that are left out without a word if they have no text."""

_EVENTS = (_TOOL_USE, "tool_result")
_LONGEST_KIND = 50


def conversations(item: JsonObject, where: str, fallback_time: datetime | None) -> Iterator[Item]:
    """Read one item of a list: a kept memory, or the current branch of a conversation without the model's thinking.

    A message in which tools are used becomes several: its texts, and the uses and results between them.
    """
    if "conversations_memory" in item or "prompt_template" in item:
        yield from claude_memory.conversations(item, where, fallback_time)
        return
    messages = item.get("chat_messages")
    if not isinstance(messages, list):
        yield RejectedItem(where, "it has no list of chat_messages")
        return
    first = next(iter(as_objects(messages)), {})
    yield from assemble(
        where,
        text_of(item, "uuid") or derived_id("claude", first.get("uuid"), first.get("created_at"), _text(first)),
        _messages(_branch(messages), where),
        title=text_of(item, "name"),
        started_at=moment_of(item, "created_at"),
        fallback_time=moment_of(item, "updated_at") or fallback_time,
    )


def _branch(messages: list[Json]) -> list[tuple[int, JsonObject | None]]:
    """Return the messages of the current branch, and items that are no objects, with their places in the list."""
    read = [(place, raw) for place, raw in enumerate(messages, 1) if isinstance(raw, dict)]
    broken = [(place, None) for place, raw in enumerate(messages, 1) if not isinstance(raw, dict)]
    branch = current_branch(
        read,
        key=lambda one: text_of(one[1], "uuid"),
        parent=lambda one: text_of(one[1], "parent_message_uuid"),
        time=lambda one: moment_of(one[1], "created_at") or _EPOCH,
    )
    return [*branch, *broken]


def _messages(messages: list[tuple[int, JsonObject | None]], where: str) -> Iterator[Spoken]:
    for number, raw in messages:
        here = f"{where}, message {number}"
        if raw is None:
            yield RejectedItem(here, "it is not an object")
            continue
        role = _ROLES.get(str(raw.get("sender")))
        if role is None:
            yield RejectedItem(here, f"it has the unknown sender {str(raw.get('sender'))[:50]!r}")
            continue
        uuid = text_of(raw, "uuid")
        yield from _unread(objects_of(raw, "content"))
        for part, said in enumerate(_said(raw, role, uuid or f"m{number:04}"), 1):
            message = replace(said, occurred_at=moment_of(raw, "created_at"))
            if message.event is not None:
                try:
                    clean_json([message.event.input, message.event.output], "repair")
                except InvalidInputError as error:
                    yield RejectedItem(f"{here}, its tool calls", str(error))
                    continue
            external_id = uuid if part == 1 or uuid is None else f"{uuid}#{part}"
            yield replace(message, external_id=external_id or message_id(number, message))


def _unread(blocks: Sequence[JsonObject]) -> Iterator[ImportNote]:
    """Yield a note for each block of a kind that is not known and has no text, also in the results of tools."""
    for block in blocks:
        kind = str(block.get("type"))
        if kind == "tool_result":
            yield from _unread(objects_of(block, "content"))
        elif kind not in (*_WORDLESS, _TOOL_USE) and not _texts([block]):
            yield ImportNote(f"left out: parts of messages of the kind {kind[:_LONGEST_KIND]!r}, which is not read", 1)


def _said(raw: JsonObject, role: Role, name: str) -> Iterator[IncomingMessage]:
    """Yield the texts of a message and the events of tools between them, in order.

    Args:
        name: Names the uses of tools that have no id.
    """
    blocks = objects_of(raw, "content")
    if not any(block.get("type") in _EVENTS for block in blocks):
        if text := _text(raw):
            yield IncomingMessage(role, text)
        return
    names: dict[str, str | None] = {}
    for is_text, run in groupby(blocks, key=lambda block: block.get("type") not in _EVENTS):
        part = list(run)
        if is_text:
            if text := "\n\n".join(_texts(part)):
                yield IncomingMessage(role, text)
            continue
        for block in part:
            event = _event(block, names, f"{name}-{len(names)}")
            yield IncomingMessage(event.type.role, "", event=event)
    if attached := "\n\n".join(_attachments(raw)):
        yield IncomingMessage(role, attached)


def _event(block: JsonObject, names: dict[str, str | None], unnamed: str) -> ToolEvent:
    """Return the event of a block; ``names`` collects the names of tools by the ids of their uses."""
    if block["type"] == _TOOL_USE:
        use_id = text_of(block, "id") or unnamed
        names[use_id] = text_of(block, "name") or "tool"
        return ToolEvent(MessageType.TOOL_USE, names[use_id], use_id, input=block.get("input"))
    use_id = text_of(block, "tool_use_id") or unnamed
    name, said = names.get(use_id) or text_of(block, "name"), _result(block.get("content"))
    if block.get("is_error"):
        return ToolEvent(MessageType.TOOL_RESULT, name, use_id, error=said or "unknown")
    return ToolEvent(MessageType.TOOL_RESULT, name, use_id, output=said)


def _text(raw: JsonObject) -> str:
    """Return the text and then the attachments, which the model read and which so belong to the message."""
    texts = _texts(objects_of(raw, "content")) or _texts([{"type": "text", "text": raw.get("text")}])
    return "\n\n".join([*texts, *_attachments(raw)])


def _texts(blocks: Sequence[JsonObject]) -> list[str]:
    """Return the words of blocks: of texts, of voice notes with their titles, and of any other kind with a text."""
    found: list[str] = []
    for block in blocks:
        title = text_of(block, "title") if block.get("type") == "voice_note" else None
        text = text_of(block, "text")
        if block.get("type") not in _THOUGHTS and (title or text):
            found.append("\n".join(filter(None, (title, text))))
    return found


def _attachments(raw: JsonObject) -> Iterator[str]:
    for attachment in objects_of(raw, "attachments") + objects_of(raw, "files"):
        name = text_of(attachment, "file_name") or "without a name"
        extracted = text_of(attachment, "extracted_content")
        yield f"[attached: {name}]" + (f"\n{extracted}" if extracted else "")


def _result(content: Json) -> str:
    """Return the texts of a tool result."""
    pieces = [content] if isinstance(content, str) else [piece.get("text") for piece in as_objects(content)]
    return "\n".join(text for piece in pieces if (text := as_text(piece)))
