"""Imports of assistants' and messengers' exports in JSON: branches, what is kept beside chats, marks, recognition."""

from __future__ import annotations

import json
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from neurigraph_pipelines.inbox.imports import detect_format, read_conversations
from neurigraph_pipelines.inbox.imports.branches import ROOT
from neurigraph_pipelines.model import ImportedConversation
from neurigraph_pipelines.model.errors import InvalidInputError
from tests.support import exports
from tests.support.exports import chatgpt, chatgpt_node, claude, claude_message, read, read_one, write

Said = list[tuple[str, str | None, str]]


def said(path: Path, name: str | None = None) -> Said:
    """Role, author and words of all messages of a file of one format."""
    found, _ = read(path, name or detect_format(path))
    return [(one.role.value, one.author, one.content) for each in found for one in each.messages]


# Claude


def branched(*messages: tuple[str, str | None]) -> dict[str, Any]:
    """A conversation of messages that are called as they say, with their parents."""
    return claude(
        "u-1",
        [
            claude_message(
                name,
                "human" if name.startswith("h") else "assistant",
                name,
                created_at=f"2025-11-03T08:{place:02}:00Z",
                **({"parent_message_uuid": parent} if parent is not None else {}),
            )
            for place, (name, parent) in enumerate(messages)
        ],
    )


def test_claude_says_which_parts_it_does_not_read(tmp_path: Path) -> None:
    result = {"type": "tool_result", "content": [{"type": "local_resource", "path": "a"}]}
    blocks = [{"type": "hologram", "data": "x"}, {"type": "thinking"}, {"type": "text", "text": "Yes."}, result]
    path = write(tmp_path / "c.json", [claude("u-1", [claude_message("a1", "assistant", "", content=blocks)])])
    notes: list[str] = []
    (found,) = read_conversations(path, "claude", on_note=notes.append)
    assert isinstance(found, ImportedConversation)
    assert found.messages[0].content == "Yes."
    kinds = ("hologram", "local_resource")
    assert notes == [f"left out: parts of messages of the kind '{kind}', which is not read: 1" for kind in kinds]


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ((("h1", ROOT), ("a1", "h1"), ("h1b", ROOT), ("a1b", "h1b"), ("h2", "a1b")), ["h1b", "a1b", "h2"]),
        ((("h1", ROOT), ("a1", "h1"), ("a1b", "h1")), ["h1", "a1b"]),  # an answer that was repeated
        ((("h1", None), ("a1", None), ("h2", None)), ["h1", "a1", "h2"]),  # an export without parents
        ((("h1", ROOT), ("a1", "gone"), ("h2", "a1")), ["h1", "a1", "h2"]),  # a parent that is missing
        ((("h1", "x"), ("a1", "h1"), ("h1b", "x"), ("a1b", "h1b")), ["h1b", "a1b"]),  # another name of the root
        ((("h1", "a1"), ("a1", "h1")), ["h1", "a1"]),  # a cycle
    ],
)
def test_claude_reads_the_current_branch(
    messages: tuple[tuple[str, str | None], ...], expected: list[str], tmp_path: Path
) -> None:
    conversation = read_one(write(tmp_path / "x.json", [branched(*messages)]), "claude")
    assert [one.content for one in conversation.messages] == expected


def test_claude_keeps_artifacts_and_pasted_text(tmp_path: Path) -> None:
    pasted = claude_message("h1", "human", "", content=[], attachments=[{"file_name": "", "extracted_content": "Rune"}])
    use = {"type": "tool_use", "name": "artifacts", "input": {"content": "# Moving list\n- boxes by 12 March"}}
    made = claude_message("a1", "assistant", "", content=[{"type": "text", "text": "Here."}, use])
    conversation = read_one(write(tmp_path / "x.json", [claude("u", [pasted, made])]), "claude")
    assert [one.content for one in conversation.messages] == ["[attached: without a name]\nRune", "Here.", ""]
    event = conversation.messages[2].event
    assert event is not None
    assert event.input == use["input"]


def test_claude_keeps_voice_notes(tmp_path: Path) -> None:
    voice = {"type": "voice_note", "title": "Key", "text": "The spare key is blue."}
    blocks = [{"type": "thinking", "thinking": "x", "text": "x"}, {"type": "text", "text": "Listen."}, voice]
    conversation = read_one(
        write(tmp_path / "x.json", [claude("u", [claude_message("h1", "human", "", content=blocks)])]), "claude"
    )
    assert [one.content for one in conversation.messages] == ["Listen.\n\nKey\nThe spare key is blue."]


def test_claude_memories_and_projects(tmp_path: Path) -> None:
    path = tmp_path / "claude.zip"
    document = {"filename": "keys.md", "content": "The key is with Liv.", "created_at": "2025-11-01T00:00:00Z"}
    members = {
        "conversations.json": [branched(("h1", ROOT))],
        "memories.json": [{"conversations_memory": "He has two cats.", "project_memories": {"p": "A move."}}],
        "projects.json": [{"uuid": "p", "name": "Move", "prompt_template": "Be brief", "docs": [document]}],
        "users.json": [{"uuid": "acc"}],
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, json.dumps(content))
    assert detect_format(path) == "claude"
    assert [words for _, _, words in said(path)] == [
        "h1",
        "He has two cats.",
        "A move.",
        "[instructions of the project]\nBe brief",
        "[attached: keys.md]\nThe key is with Liv.",
    ]
    assert [one.external_id for one in read(path, "claude")[0]][2] == "claude:project:p"
    assert [words for _, _, words in said(write(tmp_path / "memories.json", members["memories.json"]))] == [
        "He has two cats.",
        "A move.",
    ]


# ChatGPT


@pytest.mark.parametrize(
    ("role", "text", "expected"),
    [
        (
            "assistant",
            "Replace it. \ue200cite\ue202turn0search1\ue202turn0search4\ue201 It costs 15 €. "
            '\ue200entity\ue202["company","Brompton",0]\ue201',
            "Replace it. It costs 15 €. Brompton",
        ),
        ("assistant", "See \ue200url\ue202the shop\ue202turn0search1\ue201.", "See the shop."),
        ("assistant", "Done\ue200filecite\ue202turn0file0\ue201.", "Done."),
        ("assistant", "Cut off \ue200cite\ue202turn0sea", "Cut off"),
        ("assistant", "A \ue200entity\ue202[broken\ue201 B", "A B"),
        ("assistant", "Worn【turn0search3】 and old 【4:0†plan.pdf】.", "Worn and old."),
        ("assistant", "看【注意】这里", "看【注意】这里"),
        ("assistant", "\ue203Bold\ue204 words", "Bold words"),
        ("user", "What is 【12†source】?", "What is 【12†source】?"),
    ],
)
def test_chatgpt_marks_are_not_kept(role: str, text: str, expected: str, tmp_path: Path) -> None:
    nodes = [chatgpt_node("r", None, None), chatgpt_node("m", "r", role, text)]
    (message,) = read_one(write(tmp_path / "x.json", [chatgpt(nodes, "m")]), "chatgpt").messages
    assert message.content == expected


def test_missing_times_are_those_of_the_member_and_said(tmp_path: Path) -> None:
    nodes = [chatgpt_node("r", None, None), chatgpt_node("m", "r", "user", "heron")]
    content = json.dumps([chatgpt(nodes, "m", create_time=None, update_time=None)])
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(zipfile.ZipInfo("conversations.json", (2024, 5, 20, 12, 0, 0)), content)
    notes: list[str] = []
    (conversation,) = read_conversations(path, "chatgpt", on_note=notes.append)
    assert getattr(conversation, "started_at", None) == datetime(2024, 5, 20, 12, tzinfo=UTC)
    assert notes == ["conversations without a time of their own, dated by the file: 1"]


# More formats

DEEPSEEK = {
    "id": "ds-1",
    "inserted_at": "2025-06-01T10:00:00+08:00",
    "mapping": {
        "root": {"parent": None, "message": None},
        "1": {"parent": "root", "message": {"fragments": [{"type": "REQUEST", "content": "Only 220 degrees."}]}},
        "2": {
            "parent": "1",
            "message": {
                "inserted_at": "2025-06-01T10:00:09+08:00",
                "fragments": [
                    {"type": "THINK", "content": "hm"},
                    {"type": "RESPONSE", "content": "Bake longer [citation:2]."},
                ],
            },
        },
    },
}
GEMINI = {
    "header": "Gemini Apps",
    "title": "Prompted My kayak is Otter",
    "time": "2025-08-01T09:12:33.123Z",
    "products": ["Gemini Apps"],
    "safeHtmlItem": [{"html": "<p>Nice &amp; short.</p><script>x()</script><p>Name</p>"}],
}
DISCORD = {
    "guild": {"id": "1", "name": "Boat club"},
    "channel": {"id": "2", "type": "GuildTextChat", "name": "general"},
    "messages": [
        {"id": "11", "type": "Default", "timestamp": "2025-04-30T20:00:00+02:00", "content": "The mast arrives"}
        | {"author": {"name": "kari", "nickname": "Kari"}},
        {"id": "12", "type": "GuildMemberJoin", "content": "joined", "author": {"name": "lars"}},
        {"id": "13", "type": "Reply", "content": "", "author": {"name": "lars"}}
        | {"embeds": [{"title": "Weather", "description": "Wind"}], "attachments": [{"fileName": "a.png"}]},
    ],
}
RULE = "=" * 30
DISCORD_TEXT = (
    f"{RULE}\nGuild: Boat club\nChannel: Text / general\n{RULE}\n\n[30/04/2025 20:00] kari\nThe mast arrives\n\n"
    "[30/04/2025 20:01] lars (pinned)\nGreat\n\n{Attachments}\nhttps://x.example/a.png\n\n{Reactions}\n:up: (2)\n\n"
    f"{RULE}\nExported 2 message(s)\n{RULE}\n"
)
GOOGLE_CHAT = {
    "messages": [
        {"creator": {"name": "Eva"}, "created_date": "Monday, May 20, 2024 at 12:00:00\u202fPM UTC", "text": "Blue box"}
        | {"topic_id": "t", "message_id": "s/t/m"},
        {"creator": {"name": "Eva"}, "message_state": "DELETED", "topic_id": "t", "message_id": "s/t/n"},
        {"creator": {"name": "Tom"}, "created_date": "Tuesday, 21 May 2024 at 08:00:00 UTC", "text": "Thanks"}
        | {"topic_id": "t", "message_id": "s/t/o"},
    ]
}
LIBRECHAT = {
    "conversationId": "l1",
    "messages": [
        {"messageId": "1", "text": "Number 77.", "isCreatedByUser": True, "createdAt": "2025-07-01T10:00:00Z"}
        | {
            "children": [
                {"messageId": "2", "sender": "GPT", "text": "Old.", "createdAt": "2025-07-01T10:00:05Z"},
                {"messageId": "3", "sender": "GPT", "text": "Noted.", "createdAt": "2025-07-01T10:00:09Z"},
            ]
        }
    ],
}
MESSENGER = {
    "participants": [{"name": "ZoÃ« Brunn"}, {"name": "Max"}],
    "thread_path": "inbox/zoe_1",
    "messages": [
        {"sender_name": "ZoÃ« Brunn", "timestamp_ms": 1716206460000, "content": "CafÃ© um 3"},
        {"sender_name": "Max", "timestamp_ms": 1716206430000, "content": "gone", "is_unsent": True},
        {"sender_name": "Max", "timestamp_ms": 1716206400000, "content": "When?"},
    ],
}
OPENAI = {
    "messages": [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "What is due?"}, {"type": "text", "text": "Form 77."}]},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "function": {"name": "find"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "May"},
        {"role": "assistant", "content": [{"type": "output_text", "text": "In May."}]},
    ]
}
OF_OPENAI: Said = [
    ("system", None, "Be brief."),
    ("user", None, "What is due?\nForm 77."),
    ("assistant", None, ""),
    ("tool", None, ""),
    ("assistant", None, "In May."),
]
FOUND: dict[str, tuple[Any, Said, str]] = {
    "deepseek": ([DEEPSEEK], [("user", None, "Only 220 degrees."), ("assistant", None, "Bake longer.")], "ds-1"),
    "gemini": (
        [GEMINI],
        [("user", None, "My kayak is Otter"), ("assistant", None, "Nice & short.\nName")],
        "gemini:2025-08-01T09:12:33Z",
    ),
    "discord": (
        DISCORD,
        [("user", "Kari", "The mast arrives"), ("user", "lars", "Weather\nWind\n[attached: a.png]")],
        "discord:2:2025-04-30",
    ),
    "google-chat": (
        GOOGLE_CHAT,
        [("user", "Eva", "Blue box"), ("user", "Tom", "Thanks")],
        "google-chat:s:2024-05-20",
    ),
    "librechat": (LIBRECHAT, [("user", None, "Number 77."), ("assistant", None, "Noted.")], "l1"),
    "messenger": (MESSENGER, [("user", "Max", "When?"), ("user", "Zoë Brunn", "Café um 3")], "messenger:1:2024-05-20"),
    "openai": (OPENAI, OF_OPENAI, "openai-"),
}


@pytest.mark.parametrize("name", FOUND)
@pytest.mark.parametrize("indent", [None, 2])
def test_more_chats_are_read(name: str, indent: int | None, tmp_path: Path) -> None:
    content, expected, external_id = FOUND[name]
    path = tmp_path / "export.json"
    path.write_text(json.dumps(content, indent=indent), encoding="utf-8")
    assert detect_format(path) == name
    assert said(path) == expected
    found, rejected = read(path, name)
    assert not rejected
    assert found[0].external_id.startswith(external_id)


def test_chats_of_another_program_in_a_zip_are_named(tmp_path: Path) -> None:
    path = tmp_path / "takeout.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("Takeout/My Activity/Gemini Apps/MyActivity.json", json.dumps([GEMINI]))
        archive.writestr("Takeout/Google Chat/Groups/Space A/messages.json", json.dumps(GOOGLE_CHAT))
    assert detect_format(path) == "gemini"
    notes: list[str] = []
    read(path, "gemini", on_note=notes.append)
    assert notes == [
        "not read, because it is of another program: Takeout/Google Chat/Groups/Space A/messages.json",
    ]


def test_discord_as_text(tmp_path: Path) -> None:
    (tmp_path / "discord.txt").write_text(DISCORD_TEXT, encoding="utf-8")
    assert detect_format(tmp_path / "discord.txt") == "discord"
    found = read_one(tmp_path / "discord.txt", "discord")
    assert said(tmp_path / "discord.txt") == [
        ("user", "kari", "The mast arrives"),
        ("user", "lars", "Great\n\nhttps://x.example/a.png"),
    ]
    assert found.started_at == datetime(2025, 4, 30, 20, tzinfo=UTC)


def test_lines_of_openai_keep_all_parts(tmp_path: Path) -> None:
    path = exports.write_lines(tmp_path / "tuning.jsonl", {"messages": OPENAI["messages"][1:2]}, OPENAI)
    assert detect_format(path) == "jsonl"
    assert said(path)[0] == ("user", None, "What is due?\nForm 77.")


@pytest.mark.parametrize("content", [{"messages": [{"who": "me", "says": "hi"}]}, [{"messages": [{"x": 1}]}]])
def test_unknown_chats_are_refused_in_one_line(content: Any, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(content, indent=2), encoding="utf-8")
    with pytest.raises(InvalidInputError, match=r"no export known here\. Conversations are read of ChatGPT, Claude,"):
        detect_format(path)


@pytest.mark.parametrize(
    "date",
    [
        "Monday, May 20, 2024 at 12:00:00\u202fPM UTC",
        "Montag, 20. Mai 2024 um 12:00:00 UTC",
        "lundi 20 mai 2024 à 12:00:00 UTC",
        "lunes, 20 de mayo de 2024, 12:00:00 UTC",
        "lunedì 20 maggio 2024 alle ore 12:00:00 UTC",
        "maandag 20 mei 2024 om 12:00:00 UTC",
        "segunda-feira, 20 de maio de 2024 às 12:00:00 UTC",
        "понедельник, 20 мая 2024 г. в 12:00:00 UTC",
        "2024年5月20日月曜日 12:00:00 UTC",
        "2024年5月20日星期一 UTC 12:00:00",
        "2024년 5월 20일 월요일 오후 12시 0분 0초 UTC",
        "in the Year of the Dragon",
    ],
)
def test_google_chat_is_dated_in_each_language(date: str, tmp_path: Path) -> None:
    chat = {"messages": [{**GOOGLE_CHAT["messages"][0], "created_date": date}, *GOOGLE_CHAT["messages"][1:]]}
    found, rejected = read(write(tmp_path / "messages.json", chat), "google-chat")
    reasons = [f"its date '{date}' is not understood"] if "Dragon" in date else []
    assert [item.reason for item in rejected] == reasons
    assert [one.started_at for one in found] == [
        *([] if reasons else [datetime(2024, 5, 20, 12, tzinfo=UTC)]),
        datetime(2024, 5, 21, 8, tzinfo=UTC),
    ]


NAMELESS: dict[str, Any] = {
    "google-chat": {"creator": {}, "created_date": "Monday, May 20, 2024 at 12:00:00 PM UTC", "text": "Sold"}
    | {"topic_id": "t", "message_id": "s/t/m"},
    "discord": {"id": "11", "type": "Default", "timestamp": "2025-04-30T20:00:00+02:00", "content": "Sold"},
    "messenger": {"sender_name": None, "timestamp_ms": 1716206400000, "content": "Sold"},
}


@pytest.mark.parametrize("name", NAMELESS)
def test_somebody_without_a_name_is_not_the_owner(name: str, tmp_path: Path) -> None:
    chat = write(tmp_path / "export.json", FOUND[name][0] | {"messages": [NAMELESS[name]]})
    (message,) = read_one(chat, name).messages
    assert (message.author, message.content) == ("Unknown", "Sold")
