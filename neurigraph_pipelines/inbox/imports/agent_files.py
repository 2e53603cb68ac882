"""Conversations of other memory systems: the agents of Letta and MemGPT, and the threads of Zep.

Shapes are those of the systems' own sources: ``AgentFileSchema`` and, before it, ``AgentSchema`` of Letta's agent files
(``.af``), and ``Message`` of Zep's Python client. An agent becomes a conversation, and each of its blocks a memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime

from neurigraph_pipelines.inbox.imports import kept_memories
from neurigraph_pipelines.inbox.imports.assemble import (
    Item,
    Opening,
    Spoken,
    assemble,
    derived_id,
    message_id,
    moment_of,
)
from neurigraph_pipelines.inbox.imports.openai import text_of_parts
from neurigraph_pipelines.model import ImportNote, IncomingMessage, Role
from neurigraph_pipelines.model.sources import SourceDetails
from neurigraph_pipelines.text.json_fields import (
    JsonObject,
    as_object,
    as_objects,
    list_of,
    object_of,
    objects_of,
    text_of,
)
from neurigraph_pipelines.views.kinds import DocumentType

_ROLES = {"user": Role.USER, "human": Role.USER, "assistant": Role.ASSISTANT, "ai": Role.ASSISTANT}
_SAID_BY_TOOL = "send_message"
"""The tool through which agents of Letta speak; what stands beside it is reasoning."""

_PLACELESS = ("tools", "groups", "files", "sources", "mcp_servers")


def of_zep(item: JsonObject, where: str, fallback_time: datetime | None) -> Iterator[Item]:
    """Read a thread of Zep with its messages, or the memories of its graph."""
    if not isinstance(item.get("messages"), list):
        yield from kept_memories.of_zep(item, where, fallback_time)
        return
    key = next((name for field in ("thread_id", "session_id") if (name := text_of(item, field))), None)
    user = text_of(item, "user_id")
    yield from assemble(
        where,
        f"zep:{key}" if key else Opening("zep"),
        _messages("zep", objects_of(item, "messages")),
        fallback_time=moment_of(item, "thread_created_at", "created_at") or fallback_time,
        details=SourceDetails(origin="zep", metadata={"user_id": user} if user else {}),
    )


def of_letta(item: JsonObject, where: str, fallback_time: datetime | None) -> Iterator[Item]:
    """Read the agents and the blocks of an agent file."""
    for agent in as_objects(item["agents"]) if isinstance(item.get("agents"), list) else [item]:
        name = text_of(agent, "name")
        if list_of(agent, "messages"):
            yield from assemble(
                f"{where}, agent {name}",
                Opening("letta"),
                _messages("letta", objects_of(agent, "messages")),
                title=name,
                fallback_time=moment_of(agent, "created_at") or fallback_time,
                details=SourceDetails(origin="letta", metadata={"agent": name} if name else {}),
            )
        if agent.get("system"):
            yield ImportNote("letta: instructions of agents have no place here", 1)
    for block in [*objects_of(item, "blocks"), *objects_of(item, "core_memory")]:
        yield from _block(block, where, fallback_time)
    for name in _PLACELESS:
        if count := len(list_of(item, name)):
            yield ImportNote(f"letta: {name.replace('_', ' ')} have no place here", count)


def _block(block: JsonObject, where: str, fallback_time: datetime | None) -> Iterator[Item]:
    label, value = text_of(block, "label") or "block", text_of(block, "value")
    if value is None:
        yield ImportNote("letta: blocks without a value", 1)
        return
    time = moment_of(block, "updated_at", "created_at") or fallback_time
    yield from assemble(
        f"{where}, block {label}",
        derived_id("letta", label, value),
        [IncomingMessage(Role.USER, value, None, "1", time)],
        title=label,
        fallback_time=fallback_time,
        details=SourceDetails(origin="letta", document_type=DocumentType.NOTE, metadata={"block": label}),
    )


def _messages(origin: str, rows: list[JsonObject]) -> Iterator[Spoken]:
    for number, row in enumerate(rows, 1):
        role = text_of(row, "role_type") or text_of(row, "role") or ""
        said = _said(row)
        if role not in _ROLES:
            yield ImportNote(f"{origin}: messages of the role {role[:40]!r} have no place here", 1)
        elif said is None:
            yield ImportNote(f"{origin}: messages without words, such as uses of tools, have no place here", 1)
        else:
            author = text_of(row, "name") or (text_of(row, "role") if "role_type" in row else None)
            message = IncomingMessage(_ROLES[role], said, author, None, moment_of(row, "created_at"))
            key = text_of(row, "uuid") or message_id(number, message)
            yield IncomingMessage(message.role, said, author, key, message.occurred_at)


def _said(row: JsonObject) -> str | None:
    """Return the words of a message: of an agent that speaks through a tool, the text that it sent."""
    sent = [
        text
        for call in objects_of(row, "tool_calls")
        if text_of(function := object_of(call, "function"), "name") == _SAID_BY_TOOL
        and (text := text_of(_parsed(text_of(function, "arguments")), "message"))
    ]
    if sent:
        return "\n".join(sent)
    if list_of(row, "tool_calls"):
        return None
    text = text_of_parts(row.get("content"))
    packed = _parsed(text) if text.startswith("{") else {}
    if "type" not in packed:
        return text or None
    return text_of(packed, "message") if packed["type"] == "user_message" else None


def _parsed(text: str | None) -> JsonObject:
    """Return the object that a text is; an empty one if it is none."""
    with suppress(ValueError, RecursionError):
        return as_object(json.loads(text or ""))
    return {}
