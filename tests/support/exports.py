"""Exports in the formats of other systems, written for the tests and read back."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from neurigraph_pipelines.inbox.imports import read_conversations
from neurigraph_pipelines.model import ImportedConversation, RejectedItem

START = 1_712_345_678.5
"""5 April 2024, 19:34:38.5 UTC."""


def chatgpt_node(
    key: str,
    parent: str | None,
    role: str | None,
    content: Any = None,
    *,
    time: float | None = None,
    name: str | None = None,
    **message: Any,
) -> dict[str, Any]:
    """A node of the mapping; without a role it has no message, and a text stands for a content of one part."""
    node: dict[str, Any] = {"id": key, "parent": parent, "children": [], "message": None}
    if role is not None:
        if isinstance(content, str):
            content = {"content_type": "text", "parts": [content]}
        node["message"] = {
            "id": key,
            "author": {"role": role, "name": name, "metadata": {}},
            "create_time": time,
            "update_time": None,
            "content": content,
            "status": "finished_successfully",
            "end_turn": True,
            "weight": 1.0,
            "metadata": {},
            "recipient": "all",
            **message,
        }
    return node


def chatgpt(nodes: list[dict[str, Any]], current: str | None, **fields: Any) -> dict[str, Any]:
    """A conversation of a ChatGPT export."""
    mapping = {node["id"]: node for node in nodes}
    for node in nodes:
        if node["parent"] in mapping:
            mapping[node["parent"]]["children"].append(node["id"])
    return {
        "title": "Deploy timeout",
        "create_time": START,
        "update_time": START + 60,
        "mapping": mapping,
        "moderation_results": [],
        "current_node": current,
        "plugin_ids": None,
        "conversation_id": "c-1",
        "is_archived": False,
        **fields,
    }


def chatgpt_dialogue(number: int, turns: int = 2, words: str = "hello") -> dict[str, Any]:
    """A ChatGPT conversation of alternating turns."""
    nodes = [chatgpt_node("root", None, None)]
    for turn in range(turns):
        key = f"{number}-{turn}"
        role = "assistant" if turn % 2 else "user"
        nodes.append(chatgpt_node(key, nodes[-1]["id"], role, f"{words} {key}", time=START + turn))
    return chatgpt(nodes, nodes[-1]["id"], conversation_id=f"c-{number}", title=f"Number {number}")


def claude(uuid: str, messages: list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
    """A conversation of a Claude export."""
    return {
        "uuid": uuid,
        "name": "Session cookies",
        "summary": "",
        "created_at": "2025-01-02T03:04:05.123456Z",
        "updated_at": "2025-01-02T04:00:00Z",
        "account": {"uuid": "a-1"},
        "chat_messages": messages,
        **fields,
    }


def claude_message(uuid: str, sender: str, text: str, **fields: Any) -> dict[str, Any]:
    """A message of a Claude export."""
    return {
        "uuid": uuid,
        "text": text,
        "content": [{"type": "text", "text": text, "citations": []}],
        "sender": sender,
        "created_at": "2025-01-02T03:04:06Z",
        "updated_at": "2025-01-02T03:04:06Z",
        "attachments": [],
        "files": [],
        **fields,
    }


def locomo(**sessions: Any) -> dict[str, Any]:
    """A LoCoMo sample; sessions by keyword, dates included."""
    return {"qa": [], "conversation": {"speaker_a": "Ann", "speaker_b": "Ben", **sessions}, "sample_id": "conv-1"}


def write(path: Path, value: Any) -> Path:
    """Write a value as JSON, all in ASCII as exports are."""
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def write_lines(path: Path, *conversations: Any) -> Path:
    """Write values as lines of JSON; a text is written as it is."""
    lines = (line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in conversations)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def read(path: Path, name: str, **options: Any) -> tuple[list[ImportedConversation], list[RejectedItem]]:
    """What could be read of a file, and what could not."""
    items = list(read_conversations(path, name, **options))
    return (
        [item for item in items if isinstance(item, ImportedConversation)],
        [item for item in items if isinstance(item, RejectedItem)],
    )


def read_one(path: Path, name: str, **options: Any) -> ImportedConversation:
    """The one conversation of a file in which nothing is wrong."""
    found, rejected = read(path, name, **options)
    assert rejected == []
    assert len(found) == 1
    return found[0]


def at(seconds: float) -> datetime:
    """Seconds after ``START``."""
    return datetime.fromtimestamp(START + seconds, UTC)
