"""Imports of bare lists of messages, and of conversations in ShareGPT's form."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from neurigraph_pipelines.inbox.imports import detect_format
from neurigraph_pipelines.model.errors import InvalidInputError
from tests.support.exports import read

SAID = [("user", "My kiln is blue."), ("assistant", "Noted.")]
BARE = [{"role": role, "content": words} for role, words in SAID]
SHARED = [{"from": name, "value": words} for name, (_, words) in zip(("human", "gpt"), SAID, strict=True)]
PARTS = [{"role": "user", "parts": [{"text": SAID[0][1]}]}, {"role": "model", "parts": [{"text": "Noted."}]}]


@pytest.mark.parametrize(
    "objects",
    [
        BARE,
        SHARED,
        PARTS,
        [{"id": "s", "conversations": SHARED}],
        [{"conversation": BARE}],
        [{"items": [{"from": "Human", "text": SAID[0][1]}, {"from": "Bot", "text": "Noted."}]}],
        [{"messages": SHARED}],
    ],
)
@pytest.mark.parametrize("is_lines", [False, True])
def test_lists_of_messages_are_conversations(objects: list[Any], is_lines: bool, tmp_path: Path) -> None:
    path = tmp_path / ("chat.jsonl" if is_lines else "chat.json")
    path.write_text("\n".join(map(json.dumps, objects)) if is_lines else json.dumps(objects), encoding="utf-8")
    assert detect_format(path) == "openai"
    (found,), rejected = read(path, "openai")
    assert [(one.role.value, one.content) for one in found.messages] == SAID
    assert rejected == []


def test_unknown_speakers_are_rejected_and_a_system_text_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    shared = {"system": "Be brief.", "conversations": [*SHARED, {"from": "wizard", "value": "Hm."}]}
    path.write_text(json.dumps([shared, *BARE, {"role": "wizard", "content": "Hm."}]), encoding="utf-8")
    (first, second), rejected = read(path, "openai")
    assert [one.content for one in first.messages] == ["Be brief.", "My kiln is blue.", "Noted."]
    assert [one.content for one in second.messages] == ["My kiln is blue.", "Noted."]
    assert [one.reason for one in rejected] == ["it has the unknown role 'wizard'"] * 2


def test_list_of_other_roles_is_no_conversation(tmp_path: Path) -> None:
    path = tmp_path / "staff.json"
    path.write_text(json.dumps([{"role": "manager", "content": "leads"}]), encoding="utf-8")
    with pytest.raises(InvalidInputError, match="is not recognised"):
        detect_format(path)


@pytest.mark.parametrize(
    "time",
    [
        {"createdAt": "2025-03-01T10:00:00Z"},
        {"created_at": 1740823200},
        {"timestamp": 1740823200000},
        {"createTime": 1740823200000.0},
    ],
)
def test_times_of_messages_are_read(time: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps([{"role": "user", "content": "Hi", **time}]), encoding="utf-8")
    (found,), rejected = read(path, "openai")
    assert rejected == []
    assert found.messages[0].occurred_at == datetime(2025, 3, 1, 10, tzinfo=UTC)
