"""Chats of WhatsApp as phones of many languages write them, and notices of the app among words of people."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from neurigraph_pipelines.inbox.imports import detect_format, read_conversations
from neurigraph_pipelines.model import ImportedConversation

EVENING = datetime(2024, 5, 20, 18, 5, tzinfo=UTC)
MORNING = datetime(2024, 5, 20, 6, 5, tzinfo=UTC)


def said(path: Path, text: str, notes: list[str] | None = None) -> list[tuple[str | None, str, datetime | None]]:
    path.write_text(text, encoding="utf-8")
    assert detect_format(path) == "whatsapp"
    found = list(read_conversations(path, "whatsapp", on_note=(notes if notes is not None else []).append))
    assert all(isinstance(one, ImportedConversation) for one in found), found
    messages = [m for one in found if isinstance(one, ImportedConversation) for m in one.messages]
    return [(one.author, one.content, one.occurred_at) for one in messages]


@pytest.mark.parametrize(
    ("stamp", "time"),
    [
        ("20/5/24, 6:05 μ.μ. - ", EVENING),  # Greek
        ("20/5/24, 6:05 π.μ. - ", MORNING),
        ("[20/5/24, 6:05:00 μ.μ.] ", EVENING),
        ("20/05/2024, 18:05 - ", EVENING),
        ("\u200f20/5/2024, 6:05 م - ", EVENING),  # Arabic
        ("٢٠\u200f/٥\u200f/٢٠٢٤، ٦:٠٥ م - ", EVENING),
        ("[٢٠\u200f/٥\u200f/٢٠٢٤، ٦:٠٥:٠٠ ص] ", MORNING),
        ("20\u200f/5\u200f/2024\u200f، 18:05 - ", EVENING),
        ("۲۰۲۴/۵/۲۰،\u200f ۱۸:۰۵ - ", EVENING),  # Persian
        ("۱۴۰۳/۲/۳۱، ۱۸:۰۵ - ", EVENING),
        ("[۱۴۰۳/۲/۳۱،\u200f ۶:۰۵:۰۰ ب.ظ.] ", EVENING),
        ("20/5/2024, 6:05 بعدازظهر - ", EVENING),
        ("20.5.2024, 18:05 - ", EVENING),  # Hebrew
        ("\u200f[20.5.2024, 18:05:00] ", EVENING),
        ("20.5.2024, 6:05 אחה״צ - ", EVENING),
        ("20.05.24 г., 18:05 - ", EVENING),  # Bulgarian
        ("20.05.24 г., 18:05 ч. - ", EVENING),
        ("[20.05.2024 г., 18:05:00 ч.] ", EVENING),
        ("18:05, 20/05/2024 - ", EVENING),  # Vietnamese
        ("[18:05:00, 20/05/2024] ", EVENING),
        ("6:05 CH, 20/05/2024 - ", EVENING),
        ("20/5/2567 18:05 - ", EVENING),  # Thai
        ("๒๐/๕/๒๕๖๗ ๑๘:๐๕ น. - ", EVENING),
        ("20/5/24, 6:05 pm - ", EVENING),  # Hindi
        ("२०/५/२०२४, ६:०५ अपराह्न - ", EVENING),
        ("20/05/2024 à 18:05 - ", EVENING),  # French
        ("20/05/2024 18:05:00: ", EVENING),
        ("2024. 5. 20. 오후 6:05 - ", EVENING),  # Korean
        ("2024년 5월 20일 오후 6:05, ", EVENING),
        ("2024년 5월 20일 18:05 - ", EVENING),
        ("2024年5月20日 下午6:05 - ", EVENING),
        ("[2024/5/20 午後6:05:00] ", EVENING),
        ("20. 5. 2024 18:05 - ", EVENING),
        ("20.05.2024 kl. 18.05 - ", EVENING),
        ("2024. 05. 20. du. 6:05 - ", EVENING),
        ("20.05.2024 ÖS 6:05 - ", EVENING),
    ],
)
def test_stamp_of_a_phone_is_read(stamp: str, time: datetime, tmp_path: Path) -> None:
    text = f"{stamp}Ann: hello\nand more\n{stamp}Ben: yes: 5\n"
    assert said(tmp_path / "x.txt", text) == [("Ann", "hello\nand more", time), ("Ben", "yes: 5", time)]


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        ("Messages and calls are end-to-end encrypted.", False),
        ("الرسائل والمكالمات مشفرة تمامًا بين الطرفين التامة بين الطرفين.", False),
        ("Cid left", False),
        ("Cid hat die Gruppe verlassen", False),
        ("You added Dora", False),
        ("Missed voice call", False),
        ("Zed joined using this group's invite link", True),  # nobody else of this chat says so
        ("The keys are left of the door", True),
        ("Meet me at the harbour", True),
        ("שלום לכולם", True),
        ("مرحبا بالجميع", True),
    ],
)
def test_mark_alone_makes_no_notice(words: str, kept: bool, tmp_path: Path) -> None:
    notes: list[str] = []
    lines = ("Ann: hello", "Cid: ok", f"Ann: \u200e{words}")
    text = "".join(f"[20/05/2024, 18:05:00] {line}\n" for line in lines)
    found = said(tmp_path / "x.txt", text, notes)
    assert ((("Ann", words, EVENING) in found), any("mark of notices" in one for one in notes)) == (kept, kept)


@pytest.mark.parametrize(
    "omitted",
    [
        "تم حذف الصورة",
        "image absente",
        "vidéo absente",
        "Bild weggelassen",
        "imagen omitida",
        "התמונה הושמטה",
        "忽略图片",
    ],
)
def test_file_that_was_left_out_is_no_message(omitted: str, tmp_path: Path) -> None:
    text = f"[20/05/2024, 18:05:00] Ann: hello\n[20/05/2024, 18:05:00] Ann: \u200e{omitted}\n"
    assert said(tmp_path / "x.txt", text) == [("Ann", "hello", EVENING)]


def test_lines_of_a_group_are_notices(tmp_path: Path) -> None:
    text = "".join(
        f"[20/05/2024, 18:05:00] {line}\n"
        for line in ("Trip: \u200eZed joined using this group's invite link", "Ann: hello", "Trip: \u200eAnn added Ben")
    )
    assert said(tmp_path / "x.txt", text) == [("Ann", "hello", EVENING)]


@pytest.mark.parametrize("date", ["12/09/1445", "١٢\u200f/٩\u200f/١٤٤٥ هـ", "1445/9/12", "12/9/45"])
def test_dates_of_saudi_arabia_are_said_to_be_unread(date: str, tmp_path: Path) -> None:
    path = tmp_path / "_chat.txt"
    notes: list[str] = []
    found = said(path, f"{date}, 18:05 - Ann: Hi\n{date}, 18:06 - Ben: Hello\n", notes)
    written = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    assert found == [("Ann", "Hi", written), ("Ben", "Hello", written)]
    assert "messages dated by the file, because their dates are of the Islamic calendar, which is not read: 2" in notes
