"""Messages in the form of OpenAI's chat API: an object with ``messages`` of roles, or a list of such objects.

OpenAI documents the form; many programs export it. ``json_stream`` reads the file as a stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from neurigraph_pipelines.inbox.imports.assemble import Item, Opening, Spoken, assemble, message_id, moment, moment_of
from neurigraph_pipelines.model import IncomingMessage, MessageType, RejectedItem, Role, ToolEvent
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.text.hygiene import clean_json
from neurigraph_pipelines.text.json_fields import (
    Json,
    JsonObject,
    as_object,
    as_text,
    number_of,
    object_of,
    objects_of,
    text_of,
)

ROLES = {
    **{role.value: role for role in Role},
    "developer": Role.SYSTEM,
    "function": Role.TOOL,
    "model": Role.ASSISTANT,
}
_TIMES = ("occurred_at", "created_at", "create_time", "timestamp", "created", "createdAt", "createTime")
_FIRST_OF_MILLISECONDS = 1e11
"""Smaller numbers are seconds since 1970, up to the year 5138."""


def conversations(item: JsonObject, where: str, fallback_time: datetime | None) -> Iterator[Item]:
    """Read one object: its messages in order, with all parts of each, and the uses of tools as events."""
    listed = item.get("messages")
    if not isinstance(listed, list):
        yield RejectedItem(where, "it has no list of messages")
        return
    messages = list(_messages(listed, where))
    key = next((key for name in ("external_id", "conversation_id", "id") if (key := text_of(item, name))), None)
    yield from assemble(
        where,
        key or Opening("openai", _time(item)),
        messages,
        title=text_of(item, "title"),
        started_at=_time(item),
        fallback_time=fallback_time,
    )


def text_of_parts(content: Json) -> str:
    """Return the words of a content: a text, or a list of parts, of which those without words are named."""
    if isinstance(content, str):
        return content
    listed = content if isinstance(content, list) else [content]
    return "\n".join(filter(None, (part if isinstance(part, str) else _part(part) for part in listed)))


def _part(part: Json) -> str:
    if not isinstance(part, dict):
        return ""
    for name in ("text", "refusal", "transcript"):
        value = part.get(name)
        if isinstance(value, dict):
            value = value.get("value")
        if (said := as_text(value)) is not None:
            return said
    kind = str(part.get("type") or "part").removeprefix("input_")
    if kind in ("thinking", "reasoning", "think"):
        return ""
    inside = part.get(str(part.get("type")))
    inside = inside if isinstance(inside, dict) else {"url": inside}
    named = next((found for key in ("filename", "name", "transcript", "url") if (found := text_of(inside, key))), None)
    kind = kind.removesuffix("_url").replace("_", " ")
    return f"[{kind}]" if named is None or named.startswith("data:") else f"[{kind}: {named}]"


def _messages(listed: list[Json], where: str) -> Iterator[Spoken]:
    number = 0
    for place, one in enumerate(listed, 1):
        here, raw = f"{where}, message {place}", as_object(one)
        role = ROLES.get(str(raw.get("role")))
        if role is None:
            found = f"the unknown role {str(raw.get('role'))[:50]!r}" if isinstance(one, dict) else "no object"
            yield RejectedItem(here, f"it has {found}")
            continue
        try:
            clean_json([raw], "repair")
        except InvalidInputError as error:
            yield RejectedItem(here, str(error))
            continue
        for said in _said(raw, role, f"m{place:04}"):
            number += 1
            message = replace(said, occurred_at=_time(raw), author=_author(raw) if said.event is None else None)
            external_id = text_of(raw, "external_id", "id")
            is_first = said.event is None and external_id is not None
            yield replace(message, external_id=external_id if is_first else message_id(number, message))


def _author(raw: JsonObject) -> str | None:
    return text_of(raw, "author", "name")


def _said(raw: JsonObject, role: Role, unnamed: str) -> Iterator[IncomingMessage]:
    """Yield the words of a message, and the uses of tools in it."""
    words = text_of_parts(raw.get("content"))
    use = text_of(raw, "tool_call_id")
    if role is Role.TOOL:
        event = ToolEvent(MessageType.TOOL_RESULT, text_of(raw, "name"), use or unnamed, output=words)
        yield IncomingMessage(Role.TOOL, "", event=event)
        return
    if words.strip():
        yield IncomingMessage(role, words)
    called = raw.get("function_call")
    former: list[JsonObject] = [{"function": called}] if isinstance(called, dict) else []
    for number, call in enumerate([*objects_of(raw, "tool_calls"), *former], 1):
        function = object_of(call, "function") or call
        name = text_of(function, "name") or "tool"
        key = text_of(call, "id") or f"{unnamed}-{number}"
        yield IncomingMessage(
            Role.ASSISTANT, "", event=ToolEvent(MessageType.TOOL_USE, name, key, input=function.get("arguments"))
        )


def _time(raw: JsonObject) -> datetime | None:
    milliseconds = (number / 1000 for name in _TIMES if (number := number_of(raw, name) or 0) >= _FIRST_OF_MILLISECONDS)
    return moment_of(raw, *_TIMES) or moment(next(milliseconds, None))
