"""Files as programs and people leave them: other encodings, old line ends, only notices, and parts beside text."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from neurigraph_pipelines.inbox.import_format import import_format
from neurigraph_pipelines.inbox.imports.vault import open_vault
from neurigraph_pipelines.inbox.zipped_vaults import note_lines, unpacked
from tests.support.exports import read

HELLO = '{"messages": [{"role": "user", "content": "Grüße"}]}\n'
CHAT = "20/05/2024, 18:05 - Ann: hello"
HEAD = "From: Jo <j@x.org>\nSubject: Boat\nDate: Mon, 20 May 2024 10:00:00 +0000\n"
PARTS = f"{HEAD}Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\nHello.\n--b\n"
CALENDAR = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Boat day\nDTSTART:20240601T100000Z\nEND:VEVENT\nEND:VCALENDAR\n"
MAILBOX = "From a@b Mon May 20 12:00:00 2024\nFrom: a <a@b>\nSubject: s\n\nHello\n>From here we row.\n"
DISCORD = {"guild": {"id": "1"}, "channel": {"id": "2", "name": "c"}}


def discord(**fields: Any) -> bytes:
    message = {"id": "1", "type": "Default", "timestamp": "2024-05-20T12:00:00.1+00:00", "author": {"name": "a"}}
    return json.dumps({**DISCORD, "messages": [{**message, "content": "", **fields}]}).encode()


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("x.jsonl", HELLO.encode("utf-16"), ["Grüße"]),
        ("x.json", f"[{HELLO}]".encode("utf-16-be").join([b"\xfe\xff", b""]), ["Grüße"]),
        ("x.txt", f"{CHAT}\r{CHAT.replace('Ann', 'Ben')}\r".encode(), ["hello", "hello"]),
        ("x.txt", f"\ufeff{CHAT}\n".encode("utf-16"), ["hello"]),
        ("x.srt", b"1\n00:00:01,000 --> 00:00:02,000\n{\\an8}<i>Hi there.</i>\n", ["Hi there."]),
        ("x.mbox", MAILBOX.encode(), ["Hello\nFrom here we row."]),
        (
            "x.eml",
            f"{PARTS}Content-Type: text/calendar\n\n{CALENDAR}--b--".encode(),
            ["Hello.\n[attached: invitation: Boat day, 2024-06-01 10:00:00+00:00]"],
        ),
        (
            "x.eml",
            f"{PARTS}Content-Type: text/calendar\n\nno calendar\n--b--".encode(),
            ["Hello.\n[attached: invitation]"],
        ),
        (
            "x.eml",
            f"{PARTS}Content-Type: text/enriched\n\n<bold>x</bold>\n--b--".encode(),
            ["Hello.\n[attached: text/enriched]"],
        ),
        ("x.eml", f"{PARTS}Content-Type: text/markdown\n\n# Row\n--b--".encode(), ["Hello.\n\n# Row"]),
        ("x.json", discord(stickers=[{"name": "wave"}]), ["[sticker: wave]"]),
        (
            "x.json",
            discord(
                poll={"question": {"text": "When?"}, "answers": [{"text": "May"}, {"pollMedia": {"text": "June"}}]}
            ),
            ["[poll: When?]\n- May\n- June"],
        ),
    ],
)
def test_words_are_kept(name: str, content: bytes, expected: list[str], tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    found, rejected = read(path, import_format(path))
    assert ([message.content for one in found for message in one.messages], rejected) == (expected, [])


def test_chat_of_notices_says_so(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("20/05/2024, 18:05 - Messages and calls are end-to-end encrypted.\n", encoding="utf-8")
    notes: list[str] = []
    assert read(path, "whatsapp", on_note=notes.append) == ([], [])
    assert notes == ["left out: notices of the app: 1"]


def test_encrypted_chat_of_messenger_is_read_from_its_zip(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    message = {"senderName": "Zoe", "timestamp": 1716206400000, "text": "hi", "type": "text"}
    with zipfile.ZipFile(path, "w") as archive:
        chat = {"participants": ["Zoe"], "threadName": "Zoe_1", "messages": [message]}
        archive.writestr("messages/Zoe_1.json", json.dumps(chat))
    assert import_format(path) == "messenger"
    assert [one.messages[0].content for one in read(path, "messenger")[0]] == ["hi"]


def test_files_beside_notes_of_a_zip_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("V/a.md", "V/.obsidian/app.json", "V/plan.pdf"):
            archive.writestr(name, "words")
    with unpacked("V", note_lines(path, 1_000)) as (folder, rejected):
        vault = open_vault(folder)
        assert ([note.path for note in vault.notes], vault.others, rejected) == (["a.md"], 1, [])
