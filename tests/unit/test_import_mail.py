"""Imports of e-mail, subtitles, and the memories that other systems kept."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from neurigraph_pipelines.inbox.imports import detect_format, mail, read_conversations
from neurigraph_pipelines.model import EventKind, ImportedConversation
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.views.kinds import Channel, DocumentType
from tests.conftest import ROOT
from tests.support.exports import read, read_one
from tests.support.large_mailbox import write_mailbox


def letter(
    key: str, body: str, *, subject: str = "Boiler", answers: str = "", day: int = 1, **headers: str
) -> EmailMessage:
    message = EmailMessage()
    message["From"] = headers.pop("sender", "Ann Lee <ann@example.org>")
    message["Subject"], message["Message-ID"] = subject, f"<{key}@example.org>"
    message["Date"] = f"{day:02} May 2024 10:00:00 +0200"
    if answers:
        message["References"] = " ".join(f"<{one}@example.org>" for one in answers.split())
    message.set_content(body)
    return message


def mailbox(path: Path, *messages: bytes) -> Path:
    path.write_bytes(b"".join(b"From MAILER-DAEMON Fri May 03 2024\n" + message + b"\n\n" for message in messages))
    return path


def bodies(conversation: ImportedConversation) -> list[str]:
    return [message.content for message in conversation.messages]


def test_threads_of_a_mailbox(tmp_path: Path) -> None:
    path = mailbox(
        tmp_path / "all.mbox",
        letter("c", "Then Tuesday.", subject="Re: Boiler", answers="a b", day=3).as_bytes(),
        letter("x", "Another matter", subject="Roof").as_bytes(),
        letter(
            "b", "Monday?\n\nOn 1 May 2024, Ann wrote:\n\n> It is cold.\n", subject="RE: Boiler", answers="a", day=2
        ).as_bytes(),
        letter("a", "It is cold.\n\nFrom Ann, with love\n\n>From me, too").as_bytes(),
    )
    assert detect_format(path) == "mail"
    conversations, rejected = read(path, "mail")
    assert not rejected
    thread, other = conversations
    assert bodies(thread) == ["It is cold.\n\nFrom Ann, with love\n\nFrom me, too", "Monday?", "Then Tuesday."]
    assert (thread.external_id, thread.title) == ("mail:a@example.org", "Boiler")
    assert [message.external_id for message in thread.messages] == [f"{one}@example.org" for one in "abc"]
    assert thread.started_at == datetime(2024, 5, 1, 8, tzinfo=UTC)
    assert thread.messages[0].author == "Ann Lee"
    assert thread.details.channel is Channel.PRIVATE
    assert (other.title, bodies(other)) == ("Roof", ["Another matter"])


def test_markup_and_attachments(tmp_path: Path) -> None:
    message = letter("a", "unused")
    message.set_content(
        "<html><head><style>p{}</style></head><body><p>Dear <b>Ben</b>,</p>It rains &amp; pours.<br>Bye"
        "<blockquote>quoted <p>words</blockquote><script>alert(1)</script></body></html>",
        subtype="html",
    )
    message.add_attachment(
        b"%PDF-1.4", maintype="application", subtype="pdf", filename="bill\n2024.pdf".replace("\n", " ")
    )
    (tmp_path / "one.eml").write_bytes(message.as_bytes())
    assert detect_format(tmp_path / "one.eml") == "mail"
    conversation = read_one(tmp_path / "one.eml", "mail")
    assert bodies(conversation) == ["Dear Ben,\nIt rains & pours.\nBye\n[attached: bill 2024.pdf]"]


@pytest.mark.parametrize(
    "head",
    [
        b"From: =?bogus?q?x?= <a@b>\nDate: never\nMessage-ID: <a@b\n",
        b"From: a@b\nDate: Fri, 99 May 2024 99:00:00 +9999\nContent-Type: text/plain; charset=nonsense\n",
        b"From: \xff\xfe\nDate: x\nContent-Type: multipart/mixed; boundary=\nReferences: <<<>>>\n",
        b"From: \"a\" <a@b\nDate: x\nSubject: =?utf-8?b?////?=\nContent-Disposition: attachment; filename*=x''%\n",
    ],
)
def test_broken_heads_lose_no_words(head: bytes, tmp_path: Path) -> None:
    path = tmp_path / "one.eml"
    path.write_bytes(head + b"\nThe words are here.\n")
    conversations, rejected = read(path, "mail")
    assert len(conversations) + len(rejected) == 1
    if "attachment" not in head.decode("latin-1"):
        assert "The words are here." in bodies(conversations[0])[0]


def test_long_message_is_split_and_longer_one_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = mailbox(
        tmp_path / "all.mbox", letter("a", "word " * 400).as_bytes(), letter("b", "short", answers="a").as_bytes()
    )
    (conversation,) = read_conversations(path, "mail", max_message_bytes=1_000)
    assert isinstance(conversation, ImportedConversation)
    assert " ".join(bodies(conversation)[:-1]).split() == ["word"] * 400
    assert [message.external_id for message in conversation.messages] == [
        "a@example.org",
        "a@example.org#2",
        "b@example.org",
    ]
    monkeypatch.setattr(mail, "MAX_MAIL_BYTES", 600)
    (conversation,), rejected = read(path, "mail")
    assert bodies(conversation) == ["short"]
    assert [("longer than allowed" in item.reason) for item in rejected] == [True]


def test_progress_of_a_mailbox_is_its_size(tmp_path: Path) -> None:
    path = mailbox(tmp_path / "all.mbox", *(letter(str(n), "hello " * n).as_bytes() for n in range(20)))
    seen: list[int] = []
    list(read_conversations(path, "mail", on_bytes=seen.append))
    marks = 20 * len(b"From MAILER-DAEMON Fri May 03 2024\n")
    assert sum(seen) == path.stat().st_size - marks


@pytest.mark.slow
@pytest.mark.parametrize(("is_zipped", "least_bytes"), [(False, 40_000_000), (True, 20_000_000)])
def test_memory_does_not_grow_with_the_mailbox(is_zipped: bool, least_bytes: int, tmp_path: Path) -> None:
    """Read as an import reads it, in a process of its own, because memory is that of a process."""
    path = tmp_path / "large.mbox"
    mails, size = write_mailbox(path, least_bytes)
    if is_zipped:
        with zipfile.ZipFile(tmp_path / "large.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            archive.write(path, path.name)
        path = tmp_path / "large.zip"
    command = [sys.executable, "-m", "tests.support.large_mailbox", str(path)]
    cost = json.loads(subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout)
    assert cost["messages"] == mails
    assert (cost["peak"] - cost["before"]) * 1_000_000 < size / 4


# Subtitles


def test_webvtt_with_voices(tmp_path: Path) -> None:
    path = tmp_path / "standup.vtt"
    path.write_text(
        "WEBVTT\n\nNOTE by the recorder\n\n1\n00:00:01.000 --> 00:00:03.000 align:start\n<v Ann Lee>We ship</v>\n\n"
        "00:03.500 --> 00:05.000\n<v Ann Lee>on <i>Friday</i>.</v>\n\n01:00:00.250 --> 01:00:02.000\n"
        "<v.loud Ben>Good &amp; well.</v>\n",
        encoding="utf-8",
    )
    assert detect_format(path) == "subtitles"
    meeting = read_one(path, "subtitles")
    assert (meeting.event_kind, meeting.title) == (EventKind.MEETING, "standup")
    assert [(one.author, one.content) for one in meeting.messages] == [
        ("Ann Lee", "We ship on Friday."),
        ("Ben", "Good & well."),
    ]
    first, second = (one.occurred_at for one in meeting.messages)
    assert first is not None
    assert second is not None
    assert second - first == timedelta(hours=1, milliseconds=-750)


def test_subrip_with_names(tmp_path: Path) -> None:
    path = tmp_path / "talk.srt"
    path.write_text(
        "1\r\n00:00:01,000 --> 00:00:02,000\r\nAnn: Hello.\r\n\r\n2\r\n00:00:03,000 --> 00:00:04,000\r\nBen: Hi.\r\n",
        encoding="utf-8",
    )
    assert detect_format(path) == "subtitles"
    assert [(one.author, one.content) for one in read_one(path, "subtitles").messages] == [
        ("Ann", "Hello."),
        ("Ben", "Hi."),
    ]


def test_rolling_subtitles_are_not_doubled(tmp_path: Path) -> None:
    path = tmp_path / "live.srt"
    cues = ("we will", "we will", "go home.", "Tomorrow is a holiday.")
    path.write_text(
        "\n\n".join(f"{n}\n00:00:0{n},000 --> 00:00:0{n},900\n{words}" for n, words in enumerate(cues, 1)),
        encoding="utf-8",
    )
    assert bodies(read_one(path, "subtitles")) == ["we will go home.", "Tomorrow is a holiday."]


def test_subtitles_without_cues(tmp_path: Path) -> None:
    (tmp_path / "a.vtt").write_text("WEBVTT\n\nNOTE nothing\n", encoding="utf-8")
    with pytest.raises(InvalidInputError, match="has no line such as"):
        read(tmp_path / "a.vtt", "subtitles")


# Other memory systems


def exported(path: Path, content: Any) -> Path:
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


MEM0 = {
    "id": "m-1",
    "memory": "Dev works at TechCorp",
    "user_id": "dev",
    "hash": "x",
    "metadata": {"type": "professional", "nested": {"a": 1}},
    "created_at": "2024-05-20T12:00:00-07:00",
    "updated_at": None,
}


@pytest.mark.parametrize("content", [[MEM0, {"id": "m-2", "memory": " "}], {"results": [MEM0, {"id": "m-2"}]}])
def test_mem0(content: Any, tmp_path: Path) -> None:
    path = exported(tmp_path / "memories.json", content)
    assert detect_format(path) == "mem0"
    (kept,), rejected = read(path, "mem0")
    assert bodies(kept) == ["Dev works at TechCorp"]
    assert kept.external_id == "mem0:m-1"
    assert kept.started_at == datetime(2024, 5, 20, 19, tzinfo=UTC)
    assert (kept.details.origin, kept.details.document_type) == ("mem0", DocumentType.NOTE)
    assert kept.details.metadata == {"type": "professional", "user_id": "dev"}
    assert [item.reason for item in rejected] == ["it has no memory"]


def test_supermemory(tmp_path: Path) -> None:
    document = {
        "id": "d-1",
        "customId": "page-7",
        "title": "Pruning",
        "content": "Cut in March.",
        "type": "webpage",
        "url": "https://example.org/pruning",
        "containerTags": ["sm_project_garden", "no tag!", 7],
        "createdAt": "2024-05-20T12:00:00Z",
    }
    path = exported(tmp_path / "a.json", {"memories": [document, {"id": "d-2", "content": None}], "pagination": {}})
    assert detect_format(path) == "supermemory"
    assert detect_format(exported(tmp_path / "b.json", [document])) == "supermemory"
    (kept,), rejected = read(path, "supermemory")
    assert (kept.external_id, kept.title, bodies(kept)) == ("supermemory:page-7", "Pruning", ["Cut in March."])
    assert (kept.details.document_type, kept.details.url) == (DocumentType.WEBPAGE, "https://example.org/pruning")
    assert kept.details.container_tags == ("sm_project_garden",)
    assert [item.reason for item in rejected] == ["it has no content"]
