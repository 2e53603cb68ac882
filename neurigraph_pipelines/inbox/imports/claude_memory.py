"""Claude's memories beside conversations: ``memories.json``, and the instructions and documents of ``projects.json``.

Anthropic does not document the fields. ``claude`` reads the conversations.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from neurigraph_pipelines.inbox.imports.assemble import Item, assemble, derived_id, moment, moment_of
from neurigraph_pipelines.model import IncomingMessage, Role
from neurigraph_pipelines.model.sources import SourceDetails
from neurigraph_pipelines.text.json_fields import Json, JsonObject, as_text, object_of, objects_of, text_of

_DETAILS = SourceDetails(origin="claude")


def conversations(item: JsonObject, where: str, fallback_time: datetime | None) -> Iterator[Item]:
    """Read a project, or the memories of an account. Changed texts are added to those that were imported before."""
    read = _memories(item) if "conversations_memory" in item else _project(item)
    messages = [message for message in read if message.content]
    if not messages:
        return
    is_project = "conversations_memory" not in item
    key = as_text(item.get("uuid" if is_project else "account_uuid"))
    kind = "project" if is_project else "memory"
    yield from assemble(
        where,
        f"claude:{kind}:{key}" if key else derived_id(f"claude:{kind}", messages[0].content),
        messages,
        title=f"Project {as_text(item.get('name')) or ''}".strip() if is_project else "Claude's memory",
        started_at=moment_of(item, "created_at"),
        fallback_time=moment_of(item, "updated_at") or fallback_time,
        details=_DETAILS,
    )


def _memories(item: JsonObject) -> Iterator[IncomingMessage]:
    yield _message(item.get("conversations_memory"), None, None)
    for memory in object_of(item, "project_memories").values():
        yield _message(memory, None, None)


def _project(item: JsonObject) -> Iterator[IncomingMessage]:
    yield _message(item.get("description"), None, item.get("created_at"))
    yield _message(item.get("prompt_template"), "[instructions of the project]", item.get("created_at"))
    for document in objects_of(item, "docs"):
        name = text_of(document, "filename") or "without a name"
        yield _message(document.get("content"), f"[attached: {name}]", document.get("created_at"))


def _message(value: Json, heading: str | None, time: Json) -> IncomingMessage:
    words = as_text(value)
    content = "\n".join(filter(None, (heading, words))) if words else ""
    return IncomingMessage(Role.USER, content, external_id=derived_id("m", content), occurred_at=moment(time))
