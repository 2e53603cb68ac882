"""The data export of ChatGPT: ``conversations.json``, a list of conversations that are trees of messages.

OpenAI does not document the format and changes it silently. This module relies on what tools agree about that read real
exports from 2023 to 2026. ``json_stream`` reads the file as a stream.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from neurigraph_pipelines.inbox.imports.assemble import Item, assemble, derived_id, moment, objects_of, text_of
from neurigraph_pipelines.model import MessageType, NewMessage, RejectedItem, Role, ToolEvent

_DROPPED_CONTENT = ("user_editable_context", "model_editable_context", "thoughts", "reasoning_recap")
_MARK = re.compile("(?P<space>(?<![ \\t])[ \\t]*)\ue200(?P<inner>[^\ue200\ue201\\n]*)(?:\ue201|(?=\\n|$))")
_CITED = re.compile(r"(?<![ \t])[ \t]*【(?:\d+(?::\d+)?†[^】\n]{0,200}|turn\d+[a-z]+\d+[^】\n]{0,200})】")
"""Citations of earlier versions, such as ``【turn0search3】`` and ``【4:0†plan.pdf】``."""

_STRAY = re.compile("[\ue200-\ue206]")
_REFERENCE = re.compile(r"turn\d+[a-z]+\d+")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def conversations(item: dict[str, Any], where: str, fallback_time: datetime | None) -> Iterator[Item]:
    """Read one item of the list: the branch that ends in ``current_node``, without hidden messages."""
    mapping = item.get("mapping")
    if not isinstance(mapping, dict):
        yield RejectedItem(where, "it has no mapping of messages")
        return
    nodes = {key: node for key, node in mapping.items() if isinstance(node, dict)}
    branch = branch_of(nodes, item.get("current_node"))
    started_at = moment(item.get("create_time"))
    external_id = text_of(item.get("conversation_id")) or text_of(item.get("id"))
    yield from assemble(
        where,
        external_id or derived_id("chatgpt", started_at, *branch[:2]),
        _messages(nodes, branch, where),
        title=text_of(item.get("title")),
        started_at=started_at,
        fallback_time=moment(item.get("update_time")) or fallback_time,
    )


def branch_of(nodes: dict[str, dict[str, Any]], current: Any, time: str = "create_time") -> list[str]:
    """Return the keys of the current branch from the root down; if the export names none, of the latest branch.

    Args:
        nodes: The nodes of the tree by their keys.
        current: The key of the branch's end, if the export names it.
        time: The field of a message with its time.
    """
    if not isinstance(current, str) or current not in nodes:
        current = _latest_leaf(nodes, time)
    branch: dict[str, None] = {}  # a cycle ends at the first repeated node
    while isinstance(current, str) and current in nodes and current not in branch:
        branch[current] = None
        current = nodes[current].get("parent")
    return list(branch)[::-1]


def _latest_leaf(nodes: dict[str, dict[str, Any]], time: str) -> str | None:
    parents = {parent for node in nodes.values() if isinstance(parent := node.get("parent"), str)}
    with_message = [key for key, node in nodes.items() if isinstance(node.get("message"), dict)]
    leaves = [key for key in with_message if key not in parents] or with_message
    return max(leaves, key=lambda key: moment(nodes[key]["message"].get(time)) or _EPOCH, default=None)


def _messages(nodes: dict[str, dict[str, Any]], branch: list[str], where: str) -> Iterator[NewMessage | RejectedItem]:
    asked: str | None = None  # the latest use of a tool
    for key in branch:
        message = nodes[key].get("message")
        if message is None:
            continue
        if not isinstance(message, dict):
            yield RejectedItem(f"{where}, message {key}", "it is not an object")
            continue
        content, metadata, author = (_object(message.get(name)) for name in ("content", "metadata", "author"))
        if _is_hidden(message, content, metadata):
            continue
        text = without_marks(_text(content, metadata), is_quoted=author.get("role") == Role.USER)
        if not text:
            continue
        role = author.get("role")
        if role not in tuple(Role):
            yield RejectedItem(f"{where}, message {key}", f"its author has the unknown role {str(role)[:50]!r}")
            continue
        external_id = text_of(message.get("id")) or key
        event = _event(message, content, text, Role(role), asked or external_id, external_id)
        if event is not None and event.type is MessageType.TOOL_USE:
            asked = external_id
        yield NewMessage(
            role=Role(role),
            content=text,
            author=text_of(author.get("name")),
            external_id=external_id,
            occurred_at=moment(message.get("create_time")),
            event=event,
        )


def _event(
    message: dict[str, Any], content: dict[str, Any], text: str, role: Role, asked: str, external_id: str
) -> ToolEvent | None:
    """Return a message as the event of a tool: the call of the assistant, or the tool's result.

    The export names no uses: the id of the message that asked joins them.
    """
    if role is Role.ASSISTANT:
        recipient = text_of(message.get("recipient")) or "all"
        return None if recipient == "all" else ToolEvent(MessageType.TOOL_USE, recipient, external_id, input=text)
    if role is not Role.TOOL:
        return None
    name = text_of(_object(message.get("author")).get("name"))
    if content.get("content_type") == "system_error":
        return ToolEvent(MessageType.ERROR, name, asked, error=text)
    return ToolEvent(MessageType.TOOL_RESULT, name, asked, output=text)


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _is_hidden(message: dict[str, Any], content: dict[str, Any], metadata: dict[str, Any]) -> bool:
    """Return whether the user never saw the message: system instructions and the model's thinking."""
    return bool(
        message.get("weight") == 0
        or metadata.get("is_visually_hidden_from_conversation")
        or content.get("content_type") in _DROPPED_CONTENT
    )


def _text(content: dict[str, Any], metadata: dict[str, Any]) -> str:
    """Return the readable text of a message, with the names of attachments."""
    kind = content.get("content_type")
    names = {
        file["id"]: name
        for file in objects_of(metadata.get("attachments"))
        if isinstance(file.get("id"), str) and (name := text_of(file.get("name")))
    }
    body: list[str] = []
    if kind == "code":
        body.append(_code(content))
    elif kind == "tether_quote":
        heading = text_of(content.get("title")) or text_of(content.get("domain"))
        source = text_of(content.get("url"))
        quoted = (heading, source if source != heading else None, text_of(content.get("text")))
        body.append("\n".join(line for line in quoted if line))
    else:
        parts = content.get("parts")
        body += _parts(parts, names) if isinstance(parts, list) else []
        # execution_output and system_error have ``text``, tether_browsing_display has ``result``.
        body += [text for name in ("text", "result") if (text := text_of(content.get(name)))]
    body += [f"[attached: {name}]" for name in names.values()]
    return "\n".join(line for line in body if line.strip())


def without_marks(text: str, *, is_quoted: bool) -> str:
    """Return a text without the marks of citations; of a mark that stands for a name, the name stays.

    Args:
        text: As the export has it.
        is_quoted: Whether a person wrote it: then brackets such as 【3】 are the person's own.
    """
    if "\ue200" in text:
        text = _MARK.sub(_shown, text)
    if not is_quoted and "【" in text:
        text = _CITED.sub("", text)
    return _STRAY.sub("", text)


def _shown(match: re.Match[str]) -> str:
    """Return what ChatGPT shows for a mark: the name of an entity, the label of a link, else nothing."""
    kind, *rest = match["inner"].split("\ue202")
    shown = ""
    if kind in ("entity", "product_entity") and rest:
        try:
            fields = json.loads(rest[0])
        except (ValueError, RecursionError):
            fields = None
        names = [one for one in fields if isinstance(one, str)] if isinstance(fields, list) else []
        shown = names[1] if len(names) > 1 else names[0] if names else ""
    elif kind in ("url", "link", "link_title") and rest and not _REFERENCE.fullmatch(rest[0]):
        shown = rest[0]
    return match["space"] + shown if shown else ""


def _code(content: dict[str, Any]) -> str:
    code = text_of(content.get("text"))
    language = text_of(content.get("language"))
    if code is None or language in (None, "unknown"):
        return code or ""
    return f"```{language}\n{code}\n```"


def _parts(parts: list[Any], names: dict[str, str]) -> Iterator[str]:
    """Yield texts and transcriptions, and other parts by name; remove the used names from ``names``."""
    transcribed = any(text_of(part.get("text")) for part in objects_of(parts))
    for part in parts:
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict):
            text = text_of(part.get("text"))
            kind = str(part.get("content_type") or "asset").removesuffix("_asset_pointer").replace("_", " ")
            if text is not None:
                yield text
            elif "audio" not in kind or not transcribed:
                pointer = (text_of(part.get("asset_pointer")) or "").rpartition("/")[2]
                yield f"[{kind}: {names.pop(pointer, pointer)}]" if pointer else f"[{kind}]"
