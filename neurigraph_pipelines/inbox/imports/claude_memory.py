"""What Claude keeps beside conversations: ``memories.json``, and the instructions and documents of ``projects.json``.

Anthropic does not document the fields. ``claude`` reads the conversations.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from neurigraph_pipelines.inbox.imports.assemble import (
    Item,
    assemble,
    derived_id,
    moment,
    objects_of,
    text_of,
)
from neurigraph_pipelines.model import NewMessage, Role
from neurigraph_pipelines.model.sources import SourceDetails

_DETAILS = SourceDetails(origin="claude")


def conversations(item: dict[str, Any], where: str, fallback_time: datetime | None) -> Iterator[Item]:
    """Read a project, or the memories of an account. Texts that changed are added to what was imported before."""
    read = _memories(item) if "conversations_memory" in item else _project(item)
    messages = [message for message in read if message.content]
    if not messages:
        return
    is_project = "conversations_memory" not in item
    key = text_of(item.get("uuid" if is_project else "account_uuid"))
    kind = "project" if is_project else "memory"
    yield from assemble(
        where,
        f"claude:{kind}:{key}" if key else derived_id(f"claude:{kind}", messages[0].content),
        messages,
        title=f"Project {text_of(item.get('name')) or ''}".strip() if is_project else "Claude's memory",
        started_at=moment(item.get("created_at")),
        fallback_time=moment(item.get("updated_at")) or fallback_time,
        details=_DETAILS,
    )


def _memories(item: dict[str, Any]) -> Iterator[NewMessage]:
    yield _message(item.get("conversations_memory"), None, None)
    of_projects = item.get("project_memories")
    for memory in of_projects.values() if isinstance(of_projects, dict) else ():
        yield _message(memory, None, None)


def _project(item: dict[str, Any]) -> Iterator[NewMessage]:
    yield _message(item.get("description"), None, item.get("created_at"))
    yield _message(item.get("prompt_template"), "[instructions of the project]", item.get("created_at"))
    for document in objects_of(item.get("docs")):
        name = text_of(document.get("filename")) or "without a name"
        yield _message(document.get("content"), f"[attached: {name}]", document.get("created_at"))


def _message(value: Any, heading: str | None, time: Any) -> NewMessage:
    words = text_of(value)
    content = "\n".join(filter(None, (heading, words))) if words else ""
    return NewMessage(Role.USER, content, external_id=derived_id("m", content), occurred_at=moment(time))
