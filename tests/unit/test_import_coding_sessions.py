"""Sessions of coding agents: what is kept, cut files, and what the programs put in themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from neurigraph_pipelines.inbox.imports import detect_format, read_conversations
from neurigraph_pipelines.inbox.imports.coding_sessions import KEPT_CHARACTERS
from neurigraph_pipelines.model import ImportedConversation, MessageType, RejectedItem, Role

PUT_IN = "<environment_context>x</environment_context>"


def claude(kind: str, content: Any, uuid: str, **more: Any) -> dict[str, Any]:
    message = {"role": kind, "content": content}
    at = "2026-01-20T11:57:17Z"
    return {"type": kind, "uuid": uuid, "sessionId": "s1", "cwd": "/shop", "timestamp": at, "message": message, **more}


def write(path: Path, *lines: Any, cut: str = "") -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines) + cut, encoding="utf-8")
    return path


def read(path: Path, name: str) -> tuple[ImportedConversation, list[RejectedItem]]:
    assert detect_format(path) == name
    items = list(read_conversations(path, name))
    (talk,) = [one for one in items if isinstance(one, ImportedConversation)]
    return talk, [one for one in items if isinstance(one, RejectedItem)]


def test_words_uses_results_and_failures_are_kept(tmp_path: Path) -> None:
    use = {
        "type": "tool_use",
        "id": "t1",
        "name": "Edit",
        "input": {"file_path": "/shop/a.py", "new_string": "y" * 9_000},
    }
    lines = [
        {"type": "summary", "summary": "The login", "leafUuid": "x"},
        claude("user", "Why does it fail?<system-reminder>Be kind.</system-reminder>", "u1"),
        claude("assistant", [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "I look."}, use], "u2"),
        claude("user", [{"type": "tool_result", "tool_use_id": "t1", "content": "z" * 9_000}], "u3"),
        claude("user", [{"type": "tool_result", "tool_use_id": "t2", "is_error": True, "content": "exit 1"}], "u4"),
        claude("user", "A caveat", "u5", isMeta=True),
        claude("assistant", "A subagent", "u6", isSidechain=True),
        {"type": "progress", "uuid": "u7", "sessionId": "s1"},
    ]
    talk, rejected = read(write(tmp_path / "s1.jsonl", *lines, cut='{"type": "user", "uu'), "claude-code")
    assert (talk.external_id, talk.title, talk.details.origin) == ("claude-code:s1", "The login", "claude-code")
    assert talk.details.metadata["folder"] == "/shop"
    said = [(one.role, one.content, one.event.type if one.event else None) for one in talk.messages]
    assert said == [
        (Role.USER, "Why does it fail?", None),
        (Role.ASSISTANT, "I look.", None),
        (Role.ASSISTANT, "", MessageType.TOOL_USE),
        (Role.TOOL, "", MessageType.TOOL_RESULT),
        (Role.TOOL, "", MessageType.ERROR),
    ]
    events = [one.event for one in talk.messages if one.event]
    assert events[0].input["file_path"] == "/shop/a.py"
    for text in (events[0].input["new_string"], events[1].output):
        assert KEPT_CHARACTERS < len(text) < KEPT_CHARACTERS + 50
    assert events[2].error == "exit 1"
    assert len({one.external_id for one in talk.messages}) == len(talk.messages)
    assert [one.where for one in rejected] == ["s1.jsonl, line 9"]


def test_grown_session_keeps_its_ids(tmp_path: Path) -> None:
    lines = [claude("user", "One", "u1"), claude("assistant", "Two", "u2")]
    first, _ = read(write(tmp_path / "s1.jsonl", lines[0]), "claude-code")
    grown, _ = read(write(tmp_path / "s1.jsonl", *lines), "claude-code")
    assert grown.external_id == first.external_id
    assert grown.messages[0].external_id == first.messages[0].external_id


def test_codex_tells_failures_by_their_code(tmp_path: Path) -> None:
    def item(**payload: Any) -> dict[str, Any]:
        return {"timestamp": "2026-01-20T11:57:17Z", "type": "response_item", "payload": payload}

    output = json.dumps({"output": "2 failed", "metadata": {"exit_code": 1}})
    path = write(
        tmp_path / "rollout-1.jsonl",
        {"timestamp": "2026-01-20T11:57:17Z", "type": "session_meta", "payload": {"id": "c1", "cwd": "/shop"}},
        item(
            type="message",
            role="user",
            content=[{"type": "input_text", "text": PUT_IN}],
        ),
        item(type="message", role="user", content=[{"type": "input_text", "text": "Run the tests."}]),
        item(type="reasoning", summary=[]),
        item(type="function_call", name="shell", arguments="{}", call_id="k1"),
        item(type="function_call_output", call_id="k1", output=output),
        item(type="function_call_output", call_id="k2", output="fine"),
        item(type="message", role="assistant", content=[{"type": "output_text", "text": "Two fail."}]),
    )
    talk, rejected = read(path, "codex")
    assert talk.external_id == "codex:c1"
    assert not rejected
    told = [one.content or (one.event.type if one.event else "") for one in talk.messages]
    assert told == ["Run the tests.", MessageType.TOOL_USE, MessageType.ERROR, MessageType.TOOL_RESULT, "Two fail."]


def test_cursor_has_the_words_alone(tmp_path: Path) -> None:
    words = {"role": "user", "message": {"content": [{"type": "text", "text": "<user_query>\nWhy?\n</user_query>"}]}}
    talk, _ = read(write(tmp_path / "abc.jsonl", words), "cursor")
    assert (talk.external_id, [one.content for one in talk.messages]) == ("cursor:abc", ["Why?"])


BROKEN = {
    "claude-code": b'{"type": 1, "uuid": 2, "sessionId": 3, "message": 4}',
    "codex": b'{"type": "response_item", "payload": "x"}',
    "cursor": b'{"role": [], "message": 3}',
}


@pytest.mark.parametrize("name", list(BROKEN))
def test_broken_lines_are_listed(tmp_path: Path, name: str) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(BROKEN[name] + b'\n[1]\nnull\n\xff\n{"a": ' + b"[" * 5_000 + b"\n")
    items = list(read_conversations(path, name))
    rejected = [one.where for one in items if isinstance(one, RejectedItem)]
    assert len(rejected) == len(items)
    assert rejected[:4] == [f"s.jsonl, line {number}" for number in range(2, 6)]
