"""The data export of ChatGPT: ``conversations.json``, a list of conversations that are trees of messages.

OpenAI does not document the format and changes it silently. This module relies on what tools agree about that read real
exports from 2023 to 2026. ``json_stream`` reads the file as a stream.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime

from neurigraph_pipelines.inbox.imports.assemble import Item, assemble, derived_id, moment_of
from neurigraph_pipelines.model import IncomingMessage, MessageType, RejectedItem, Role, ToolEvent
from neurigraph_pipelines.text.json_fields import Json, JsonObject, as_objects, list_of, object_of, objects_of, text_of

_DROPPED_CONTENT = ("user_editable_context", "model_editable_context", "thoughts", "reasoning_recap")
_MARK = re.compile("(?P<space>(?<![ \\t])[ \\t]*)\ue200(?P<inner>[^\ue200\ue201\\n]*)(?:\ue201|(?=\\n|$))")
_CITED = re.compile(r"(?<![ \t])[ \t]*【(?:\d+(?::\d+)?†[^】\n]{0,200}|turn\d+[a-z]+\d+[^】\n]{0,200})】")
"""Citations of earlier versions, such as ``【turn0search3】`` and ``【4:0†plan.pdf】``."""

_STRAY = re.compile("[\ue200-\ue206]")
_REFERENCE = re.compile(r"turn\d+[a-z]+\d+")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def conversations(item: JsonObject, where: str, fallback_time: datetime | None) -> Iterator[Item]:
    """Read one item of the list: the branch that ends in ``current_node``, without hidden messages."""
    mapping = item.get("mapping")
    if not isinstance(mapping, dict):
        yield RejectedItem(where, "it has no mapping of messages")
        return
    nodes = {key: node for key, node in mapping.items() if isinstance(node, dict)}
    branch = branch_of(nodes, item.get("current_node"))
    started_at = moment_of(item, "create_time")
    external_id = text_of(item, "conversation_id", "id")
    yield from assemble(
        where,
        external_id or derived_id("chatgpt", started_at, *branch[:2]),
        _messages(nodes, branch, where),
        title=text_of(item, "title"),
        started_at=started_at,
        fallback_time=moment_of(item, "update_time") or fallback_time,
    )


def branch_of(nodes: dict[str, JsonObject], current: Json, time: str = "create_time") -> list[str]:
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


def _latest_leaf(nodes: dict[str, JsonObject], time: str) -> str | None:
    parents = {parent for node in nodes.values() if isinstance(parent := node.get("parent"), str)}
    with_message = [key for key, node in nodes.items() if isinstance(node.get("message"), dict)]
    leaves = [key for key in with_message if key not in parents] or with_message
    return max(leaves, key=lambda key: moment_of(object_of(nodes[key], "message"), time) or _EPOCH, default=None)


def _messages(nodes: dict[str, JsonObject], branch: list[str], where: str) -> Iterator[IncomingMessage | RejectedItem]:
    asked: str | None = None  # the latest use of a tool
    for key in branch:
        message = nodes[key].get("message")
        if message is None:
            continue
        if not isinstance(message, dict):
            yield RejectedItem(f"{where}, message {key}", "it is not an object")
            continue
        content, metadata, author = (object_of(message, name) for name in ("content", "metadata", "author"))
        if _is_hidden(message, content, metadata):
            continue
        text = without_marks(_text(content, metadata), is_quoted=author.get("role") == Role.USER)
        if not text:
            continue
        role = author.get("role")
        if role not in tuple(Role):
            yield RejectedItem(f"{where}, message {key}", f"its author has the unknown role {str(role)[:50]!r}")
            continue
        external_id = text_of(message, "id") or key
        event = _event(message, content, text, Role(role), asked or external_id, external_id)
        if event is not None and event.type is MessageType.TOOL_USE:
            asked = external_id
        yield IncomingMessage(
            role=Role(role),
            content=text,
            author=text_of(author, "name"),
            external_id=external_id,
            occurred_at=moment_of(message, "create_time"),
            event=event,
        )


def _event(
    message: JsonObject, content: JsonObject, text: str, role: Role, asked: str, external_id: str
) -> ToolEvent | None:
    """Return a message as the event of a tool: the call of the assistant, or the tool's result.

    The export names no uses: the id of the message that asked joins them.
    """
    if role is Role.ASSISTANT:
        recipient = text_of(message, "recipient") or "all"
        return None if recipient == "all" else ToolEvent(MessageType.TOOL_USE, recipient, external_id, input=text)
    if role is not Role.TOOL:
        return None
    name = text_of(object_of(message, "author"), "name")
    if content.get("content_type") == "system_error":
        return ToolEvent(MessageType.ERROR, name, asked, error=text)
    return ToolEvent(MessageType.TOOL_RESULT, name, asked, output=text)


def _is_hidden(message: JsonObject, content: JsonObject, metadata: JsonObject) -> bool:
    """Return whether the user never saw the message: system instructions and the model's thinking."""
    return bool(
        message.get("weight") == 0
        or metadata.get("is_visually_hidden_from_conversation")
        or content.get("content_type") in _DROPPED_CONTENT
    )


def _text(content: JsonObject, metadata: JsonObject) -> str:
    """Return the readable text of a message, with the names of attachments."""
    kind = content.get("content_type")
    names = {
        key: name
        for file in objects_of(metadata, "attachments")
        if (key := text_of(file, "id")) and (name := text_of(file, "name"))
    }
    body: list[str] = []
    if kind == "code":
        body.append(_code(content))
    elif kind == "tether_quote":
        heading = text_of(content, "title", "domain")
        source = text_of(content, "url")
        quoted = (heading, source if source != heading else None, text_of(content, "text"))
        body.append("\n".join(line for line in quoted if line))
    else:
        body += _parts(list_of(content, "parts"), names)
        # execution_output and system_error have ``text``, tether_browsing_display has ``result``.
        body += [text for name in ("text", "result") if (text := text_of(content, name))]
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
    """Return the text that ChatGPT shows for a mark: the name of an entity, the label of a link, else nothing."""
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


def _code(content: JsonObject) -> str:
    code = text_of(content, "text")
    language = text_of(content, "language")
    if code is None or language in (None, "unknown"):
        return code or ""
    return f"```{language}\n{code}\n```"


def _parts(parts: list[Json], names: dict[str, str]) -> Iterator[str]:
    """Yield texts and transcriptions, and other parts by name; remove the used names from ``names``."""
    transcribed = any(text_of(part, "text") for part in as_objects(parts))
    for part in parts:
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict):
            text = text_of(part, "text")
            kind = str(part.get("content_type") or "asset").removesuffix("_asset_pointer").replace("_", " ")
            if text is not None:
                yield text
            elif "audio" not in kind or not transcribed:
                pointer = (text_of(part, "asset_pointer") or "").rpartition("/")[2]
                yield f"[{kind}: {names.pop(pointer, pointer)}]" if pointer else f"[{kind}]"
