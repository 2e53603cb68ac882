"""Imports of other systems' exports: roles, texts, times, dropped and rejected messages."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from neurigraph_pipelines.inbox.imports.locomo import session_time
from neurigraph_pipelines.model import ImportedConversation, IncomingMessage, MessageType, Role, ToolEvent
from neurigraph_pipelines.model.errors import InvalidInputError
from tests.support import exports
from tests.support.exports import START, at, chatgpt_node, claude_message, read, read_one

DATA = Path(__file__).parents[3] / "shared" / "data" / "locomo"

USE, RESULT, ERROR = MessageType.TOOL_USE, MessageType.TOOL_RESULT, MessageType.ERROR

# ChatGPT


def test_chatgpt_current_branch(tmp_path: Path) -> None:
    hidden = {"is_visually_hidden_from_conversation": True}
    nodes = [
        chatgpt_node("root", None, None),
        chatgpt_node("sys", "root", "system", "You are helpful", metadata=hidden),
        chatgpt_node("ctx", "sys", "user", {"content_type": "user_editable_context", "user_profile": "x"}),
        chatgpt_node("zero", "ctx", "system", "internal", weight=0.0),
        chatgpt_node("q1", "zero", "user", "The deploy failed", time=START),
        chatgpt_node("old", "q1", "assistant", "abandoned answer", time=START + 5),
        chatgpt_node("think", "q1", "assistant", {"content_type": "thoughts", "thoughts": [{"summary": "hm"}]}),
        chatgpt_node("empty", "think", "assistant", ""),
        chatgpt_node("a1", "empty", "assistant", "Retry with backoff"),
        chatgpt_node("q2", "a1", "user", "Thanks", time=START + 20),
    ]
    conversation = read_one(exports.write(tmp_path / "x.json", [exports.chatgpt(nodes, "q2")]), "chatgpt")
    assert conversation == ImportedConversation(
        external_id="c-1",
        title="Deploy timeout",
        started_at=at(0),
        ended_at=at(20),
        messages=(
            IncomingMessage(Role.USER, "The deploy failed", None, "q1", at(0)),
            IncomingMessage(Role.ASSISTANT, "Retry with backoff", None, "a1", at(0)),
            IncomingMessage(Role.USER, "Thanks", None, "q2", at(20)),
        ),
    )


CONTENTS: list[tuple[str, Any, dict[str, Any]]] = [
    ("user", {"content_type": "text", "parts": ["one", "two"]}, {}),
    ("assistant", {"content_type": "code", "language": "python", "text": "print(1)"}, {"recipient": "python"}),
    ("assistant", {"content_type": "code", "language": "unknown", "text": "search('x')"}, {}),
    ("tool", {"content_type": "execution_output", "text": "1"}, {"name": "python"}),
    ("tool", {"content_type": "tether_quote", "url": "u/r/l", "domain": "d", "text": "quoted", "title": "T"}, {}),
    ("tool", {"content_type": "system_error", "name": "Timeout", "text": "failed"}, {}),
    ("tool", {"content_type": "tether_browsing_display", "result": "found", "summary": ""}, {}),
    (
        "user",
        {
            "content_type": "multimodal_text",
            "parts": [{"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-1"}, "look"],
        },
        {"metadata": {"attachments": [{"id": "file-1", "name": "cat.png"}, {"id": "f2", "name": "a.pdf"}]}},
    ),
    (
        "user",
        {
            "content_type": "multimodal_text",
            "parts": [
                {"content_type": "audio_transcription", "text": "spoken"},
                {"content_type": "audio_asset_pointer", "asset_pointer": "sediment://file_9"},
            ],
        },
        {},
    ),
    ("assistant", {"content_type": "something_new", "text": "still text"}, {}),
]


def test_chatgpt_content_types(tmp_path: Path) -> None:
    nodes = [chatgpt_node("root", None, None)]
    for number, (role, content, extra) in enumerate(CONTENTS):
        nodes.append(chatgpt_node(f"n{number}", nodes[-1]["id"], role, content, time=START, **extra))
    path = exports.write(tmp_path / "x.json", [exports.chatgpt(nodes, nodes[-1]["id"])])
    conversation = read_one(path, "chatgpt")
    assert [message.content for message in conversation.messages] == [
        "one\ntwo",
        "```python\nprint(1)\n```",
        "search('x')",
        "1",
        "T\nu/r/l\nquoted",
        "failed",
        "found",
        "[image: cat.png]\nlook\n[attached: a.pdf]",
        "spoken",
        "still text",
    ]
    assert conversation.messages[3].role is Role.TOOL
    assert conversation.messages[3].author == "python"
    assert [message.event for message in conversation.messages[1:6]] == [
        ToolEvent(USE, "python", "n1", input="```python\nprint(1)\n```"),
        None,
        ToolEvent(RESULT, "python", "n1", output="1"),
        ToolEvent(RESULT, None, "n1", output="T\nu/r/l\nquoted"),
        ToolEvent(ERROR, None, "n1", error="failed"),
    ]


@pytest.mark.parametrize("current", [None, "absent", 7])
def test_chatgpt_without_current_node(current: Any, tmp_path: Path) -> None:
    nodes = [
        chatgpt_node("q", "gone", "user", "q", time=START),
        chatgpt_node("early", "q", "assistant", "early", time=START + 1),
        chatgpt_node("late", "q", "assistant", "late", time=START + 9),
    ]
    conversation = read_one(exports.write(tmp_path / "x.json", [exports.chatgpt(nodes, current)]), "chatgpt")
    assert [message.content for message in conversation.messages] == ["q", "late"]


def test_chatgpt_survives_cycles_and_odd_nodes(tmp_path: Path) -> None:
    nodes = [chatgpt_node("a", "b", "user", "a", time=START), chatgpt_node("b", "a", "user", "b", time=START)]
    odd = exports.chatgpt(
        [
            chatgpt_node("x", None, "alien", "x"),
            chatgpt_node("y", "x", "user", "good", time=1e30),
            {"id": "z", "parent": "y", "message": "text"},
        ],
        "z",
        conversation_id=None,
        title="",
    )
    path = exports.write(tmp_path / "x.json", [exports.chatgpt(nodes, "b"), exports.chatgpt(nodes, None), odd])
    found, rejected = read(path, "chatgpt")
    assert [[m.content for m in item.messages] for item in found] == [["a", "b"], ["b", "a"], ["good"]]
    assert found[2].external_id.startswith("chatgpt-")
    assert found[2].messages[0].occurred_at == found[2].started_at == at(0)
    assert [item.where for item in rejected] == [
        "x.json, conversation 3, message x",
        "x.json, conversation 3, message z",
    ]


def test_grown_export_keeps_ids(tmp_path: Path) -> None:
    ids = []
    for turns in (4, 6):
        path = exports.write(tmp_path / "x.json", [exports.chatgpt_dialogue(1, turns)])
        conversation = read_one(path, "chatgpt")
        ids.append((conversation.external_id, [message.external_id for message in conversation.messages]))
    assert ids[0][0] == ids[1][0]
    assert ids[0][1] == ids[1][1][:4]
    assert len(ids[1][1]) == 6


# Claude


def test_claude_messages_tools_and_attachments(tmp_path: Path) -> None:
    blocks = [
        {"type": "thinking", "thinking": "secret"},
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "id": "t1", "name": "web_search", "input": {"q": "cookies", "n": 2.5}},
        {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "10 results"}]},
        {"type": "tool_result", "tool_use_id": "t9", "name": "lost", "content": "alone"},
        {"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": "no net"},
        {"type": "text", "text": "Found it."},
    ]
    messages: list[Any] = [
        claude_message(
            "m1",
            "human",
            "See this",
            attachments=[{"file_name": "notes.txt", "file_size": 5, "extracted_content": "inside"}],
            files=[{"file_name": "cat.png"}],
        ),
        claude_message("m2", "assistant", "flat text with placeholders", content=blocks),
        {"uuid": "m3", "text": "old export", "sender": "human", "created_at": "2025-01-02T03:05:00+00:00"},
        claude_message("m4", "assistant", ""),
        claude_message("m5", "alien", "who"),
        "text",
    ]
    path = exports.write(tmp_path / "x.json", [exports.claude("u1", messages)])
    (conversation,), rejected = read(path, "claude")
    first, *said, third = conversation.messages
    assert first.content == "See this\n\n[attached: notes.txt]\ninside\n\n[attached: cat.png]"
    assert (first.role, first.external_id) == (Role.USER, "m1")
    assert [(message.external_id, message.role, message.content, message.event) for message in said] == [
        ("m2", Role.ASSISTANT, "Let me look.", None),
        ("m2#2", Role.ASSISTANT, "", ToolEvent(USE, "web_search", "t1", input={"q": "cookies", "n": 2.5})),
        ("m2#3", Role.TOOL, "", ToolEvent(RESULT, "web_search", "t1", output="10 results")),
        ("m2#4", Role.TOOL, "", ToolEvent(RESULT, "lost", "t9", output="alone")),
        ("m2#5", Role.TOOL, "", ToolEvent(RESULT, "web_search", "t1", error="no net")),
        ("m2#6", Role.ASSISTANT, "Found it.", None),
    ]
    assert third.content == "old export"
    assert conversation.title == "Session cookies"
    assert conversation.ended_at == datetime(2025, 1, 2, 3, 5, tzinfo=UTC)
    assert [item.where for item in rejected] == [
        "x.json, conversation 1, message 5",
        "x.json, conversation 1, message 6",
    ]


def test_duplicate_ids_and_empty_conversations(tmp_path: Path) -> None:
    same = claude_message("m1", "human", "hi")
    other = claude_message("m1", "human", "something else")
    path = exports.write(
        tmp_path / "x.json",
        [exports.claude("u1", [same, same, other]), exports.claude("u2", []), exports.claude("u" * 301, [same])],
    )
    (conversation,), rejected = read(path, "claude")
    assert [message.content for message in conversation.messages] == ["hi"]
    assert "occurs twice" in rejected[0].reason
    assert rejected[1].reason == "no messages"
    assert "limit is 300" in rejected[2].reason


# LoCoMo


def test_locomo_sessions_become_conversations(tmp_path: Path) -> None:
    turns = [
        {"speaker": "Ann", "dia_id": "D2:1", "text": "Look", "blip_caption": "a dog", "img_url": ["u"]},
        {"speaker": "Ben", "dia_id": "D2:2", "text": "", "blip_caption": "a cat"},
        {"speaker": "Ben", "dia_id": "D2:3"},
    ]
    sample = exports.locomo(
        session_10=turns[:1],
        session_10_date_time="12:05 am on 29 February, 2024",
        session_2=turns,
        session_2_date_time="1:56 pm on 8 May, 2023",
        session_3=turns,
        session_3_date_time="yesterday",
        session_4=[],
        session_4_date_time="1:56 pm on 8 May, 2023",
        session_5_date_time="1:56 pm on 8 May, 2023",
    )
    found, rejected = read(exports.write(tmp_path / "x.json", [sample]), "locomo")
    assert [item.external_id for item in found] == ["conv-1:session_2", "conv-1:session_10"]
    date = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert found[0] == ImportedConversation(
        "conv-1:session_2",
        (
            IncomingMessage(Role.USER, "Look [shares a photo: a dog]", "Ann", "D2:1", date + timedelta(seconds=1)),
            IncomingMessage(Role.USER, "[shares a photo: a cat]", "Ben", "D2:2", date + timedelta(seconds=2)),
        ),
        "Ann and Ben",
        date,
        date + timedelta(seconds=2),
    )
    assert [item.where for item in rejected] == ["conv-1:session_2, turn 3", "conv-1:session_3", "conv-1:session_4"]


@pytest.mark.parametrize(
    "text", ["8 May, 2023", "13:00 pm on 8 May, 2023", "1:56 pm on 31 June, 2023", "1:56 pm on 8 may, 2023", None]
)
def test_locomo_dates_are_strict(text: str | None) -> None:
    with pytest.raises(InvalidInputError):
        session_time(text)


def test_locomo_noon_and_midnight() -> None:
    assert session_time("12:00 am on 1 January, 2023").hour == 0
    assert session_time("12:09 pm on 1 January, 2023").hour == 12


@pytest.mark.skipif(not DATA.is_dir(), reason="the LoCoMo conversations are not beside the project (../shared/data)")
def test_real_locomo_is_read_without_loss() -> None:
    for path in sorted(path for path in DATA.glob("*.json") if "." not in path.stem):
        raw = json.loads(path.read_text(encoding="utf-8"))["conversation"]
        found, rejected = read(path, "locomo")
        assert rejected == []
        assert sum(len(item.messages) for item in found) == sum(len(v) for v in raw.values() if isinstance(v, list))
        assert all(item.external_id.startswith(f"{path.stem}:session_") for item in found)


BIG = "123456789012345678901234567890123.5"


@pytest.mark.parametrize("name", ["claude", "openai", "jsonl"])
def test_numbers_and_names_of_json_are_kept(name: str, tmp_path: Path) -> None:
    use = f'{{"a": {BIG}, "b": 1e-400, "c": 123456789012345678901234567890, "d": 1, "d": 2}}'
    files = {
        "claude": f'[{{"uuid": "c", "chat_messages": [{{"sender": "assistant", "uuid": "m", "content": [{{"type": '
        f'"tool_use", "id": "t", "name": "pay", "input": {use}}}]}}]}}]',
        "openai": f'{{"messages": [{{"role": "assistant", "content": null, "tool_calls": [{{"id": "t", "function": '
        f'{{"name": "pay", "arguments": {use}}}}}]}}, {{"role": "user", "content": []}}]}}',
        "jsonl": f'{{"messages": [{{"type": "tool_use", "tool_name": "pay", "tool_use_id": "t", "input": {use}}}]}}',
    }
    path = tmp_path / f"x.{'jsonl' if name == 'jsonl' else 'json'}"
    path.write_text(files[name], encoding="utf-8")
    (conversation,), (said,) = read(path, name)
    event = conversation.messages[0].event
    assert event is not None
    assert event.input == {
        "a": BIG,
        "b": "1e-400",
        "c": 123456789012345678901234567890,
        "d": 1,
        "d (given twice)": 2,
    }
    assert "the same name twice ('d')" in said.reason


def test_words_that_a_message_has_twice_are_said(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"messages": [{"role": "user", "content": "one", "content": "two"}]}', encoding="utf-8")
    (conversation,), (said,) = read(path, "jsonl")
    assert ([one.content for one in conversation.messages], "'content'" in said.reason) == (["one"], True)


def test_time_of_more_digits_than_a_number_holds_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    stamp = "1712345678.12345671653747561"
    path.write_text(f'{{"messages": [{{"role": "user", "content": "a", "occurred_at": {stamp}}}]}}', encoding="utf-8")
    time = read_one(path, "jsonl").messages[0].occurred_at
    assert time is not None
    assert int(time.timestamp()) == 1712345678
