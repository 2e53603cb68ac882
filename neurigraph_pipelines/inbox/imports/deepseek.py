"""The data export of DeepSeek: ``conversations.json``, a list of conversations that are trees of fragments.

DeepSeek does not document the format. The trees are those of ``chatgpt``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from neurigraph_pipelines.inbox.imports.assemble import Item, Opening, Spoken, assemble, moment_of
from neurigraph_pipelines.inbox.imports.chatgpt import branch_of
from neurigraph_pipelines.model import IncomingMessage, RejectedItem, Role
from neurigraph_pipelines.model.sources import SourceDetails
from neurigraph_pipelines.text.json_fields import JsonObject, objects_of, text_of

_CITED = re.compile(r"(?<![ \t])[ \t]*\[citation:\d+\]")
_UNSEEN = {"THINK", "SEARCH", "READ_LINK"}
"""Fragments that are the model's thinking and its searches."""


def conversations(item: JsonObject, where: str, fallback_time: datetime | None) -> Iterator[Item]:
    """Read one item of the list: the latest branch, without the model's thinking."""
    mapping = item.get("mapping")
    if not isinstance(mapping, dict):
        yield RejectedItem(where, "it has no mapping of messages")
        return
    nodes = {key: node for key, node in mapping.items() if isinstance(node, dict)}
    branch = branch_of(nodes, item.get("current_message_id"), "inserted_at")
    yield from assemble(
        where,
        text_of(item, "id") or Opening("deepseek", moment_of(item, "inserted_at")),
        _messages(nodes, branch),
        title=text_of(item, "title"),
        started_at=moment_of(item, "inserted_at"),
        fallback_time=moment_of(item, "updated_at") or fallback_time,
        details=SourceDetails(origin="deepseek"),
    )


def _messages(nodes: dict[str, JsonObject], branch: list[str]) -> Iterator[Spoken]:
    for key in branch:
        message = nodes[key].get("message")
        if not isinstance(message, dict):
            continue
        time = moment_of(message, "inserted_at")
        files = [f"[attached: {name}]" for one in objects_of(message, "files") if (name := _name(one))]
        fragments = objects_of(message, "fragments")
        is_asked = any(one.get("type") == "REQUEST" for one in fragments)
        said = [_CITED.sub("", text_of(one, "content") or "") for one in fragments if one.get("type") not in _UNSEEN]
        if words := "\n".join(filter(None, [*said, *files])):
            yield IncomingMessage(Role.USER if is_asked else Role.ASSISTANT, words, external_id=key, occurred_at=time)


def _name(file: JsonObject) -> str | None:
    return text_of(file, "file_name", "name")
