"""Imports of messengers' exports: WhatsApp and Telegram."""

from __future__ import annotations

import json
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from neurigraph_pipelines.inbox.imports import detect_format
from neurigraph_pipelines.inbox.imports.date_order import DateOrder
from neurigraph_pipelines.model import ImportedConversation, Role
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.views.kinds import Channel
from tests.support.exports import read

MARK = "\u200e"


def written(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def said(conversation: ImportedConversation) -> list[tuple[str | None, str]]:
    assert all(message.role is Role.USER for message in conversation.messages)
    return [(message.author, message.content) for message in conversation.messages]


def times(conversations: list[ImportedConversation]) -> list[datetime]:
    return [message.occurred_at for one in conversations for message in one.messages if message.occurred_at]


# WhatsApp


def test_whatsapp_of_android(tmp_path: Path) -> None:
    path = written(
        tmp_path / "WhatsApp Chat with Ann Lee.txt",
        "24/12/2023, 17:58 - Messages and calls are end-to-end encrypted. Learn more.",
        "24/12/2023, 18:05 - Ann Lee: Shall we meet: at noon?",
        "24/12/2023, 18:06 - Ben: Yes.",
        "At the station",
        "",
        "24/12/2023, 18:07 - Ben: <Media omitted>",
        "24/12/2023, 18:08 - Ben: IMG-0012.jpg (file attached)",
        "The ticket",
        "25/12/2023, 03:59 - Ann Lee: Home at last <This message was edited>",
        "25/12/2023, 04:00 - Ben: Good morning",
    )
    assert detect_format(path) == "whatsapp"
    (first, second), rejected = read(path, "whatsapp")
    assert not rejected
    assert said(first) == [
        ("Ann Lee", "Shall we meet: at noon?"),
        ("Ben", "Yes.\nAt the station"),
        ("Ben", "[attached: IMG-0012.jpg]\nThe ticket"),
        ("Ann Lee", "Home at last <This message was edited>"),
    ]
    assert said(second) == [("Ben", "Good morning")]
    assert first.title == "Ann Lee, 2023-12-24"
    assert first.started_at == datetime(2023, 12, 24, 18, 5, tzinfo=UTC)
    assert (first.details.origin, first.details.channel) == ("whatsapp", Channel.DM)


def test_whatsapp_of_iphone_in_a_zip(tmp_path: Path) -> None:
    lines = (
        f"[3/14/24, 6:05:09\u202fPM] Trip: {MARK}Messages and calls are end-to-end encrypted.",
        "[3/14/24, 6:05:10\u202fPM] ~\u202fAnn: Who drives?",
        f"{MARK}[3/14/24, 6:06:11\u202fPM] Ben: {MARK}<attached: 00000003-PHOTO-2024.jpg>",
        f"[3/14/24, 12:07:00\u202fAM] Cid: I do {MARK}<This message was edited>",
        f"[3/14/24, 12:08:00\u202fAM] Cid: {MARK}image omitted",
    )
    path = tmp_path / "WhatsApp Chat - Trip.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("_chat.txt", "\r\n".join(lines))
        archive.writestr("00000003-PHOTO-2024.jpg", b"\xff\xd8\xff")
    assert detect_format(path) == "whatsapp"
    conversations, rejected = read(path, "whatsapp")
    assert not rejected
    assert [said(one) for one in conversations] == [
        [("Ann", "Who drives?"), ("Ben", "[attached: 00000003-PHOTO-2024.jpg]")],
        [("Cid", "I do")],
    ]
    assert conversations[0].title == "Trip, 2024-03-14"
    assert times(conversations)[0] == datetime(2024, 3, 14, 18, 5, 10, tzinfo=UTC)
    assert times(conversations)[2] == datetime(2024, 3, 14, 0, 7, tzinfo=UTC)
    assert {one.details.channel for one in conversations} == {Channel.PRIVATE}


@pytest.mark.parametrize(
    ("dates", "expected"),
    [
        (("13.02.24", "01.03.24"), "2024-03-01"),  # no month is 13
        (("02/13/24", "03/01/24"), "2024-03-01"),
        (("2024-02-13", "2024-03-01"), "2024-03-01"),
        (("03/04/24", "04/04/24", "05/04/24", "01/05/24"), "2024-05-01"),  # with the month first, time goes back
        (("03/04/24", "03/05/24", "04/01/24"), "2024-04-01"),  # with the day first, time goes back
        (("03/04/24",), "2024-04-03"),  # nothing tells
    ],
)
def test_whatsapp_order_of_dates(dates: tuple[str, ...], expected: str, tmp_path: Path) -> None:
    path = written(tmp_path / "chat.txt", *(f"{date}, 12:00 - Ann: number {n}" for n, date in enumerate(dates)))
    assert times(read(path, "whatsapp")[0])[-1].date().isoformat() == expected


@pytest.mark.parametrize("date", ["20/5/2567", "20/5/67", "20/5/2024", "20/5/24"])
def test_whatsapp_reads_years_of_the_buddhist_era(date: str, tmp_path: Path) -> None:
    conversations, rejected = read(written(tmp_path / "chat.txt", f"{date}, 12:00 - Ann: hello"), "whatsapp")
    assert not rejected
    assert times(conversations) == [datetime(2024, 5, 20, 12, tzinfo=UTC)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('Ann created group "Trip: Rome 2024"', []),
        ("Ann hat die Gruppe „Reise: Rom“ erstellt", []),
        ("Ann a créé le groupe « Voyage: Rome »", []),
        ('Ann changed the subject from "A" to "Trip: Rome"', []),
        ('Ann "Annie" Lee: He said "no"', [('Ann "Annie" Lee', 'He said "no"')]),
    ],
)
def test_notice_with_a_colon_is_said_by_nobody(line: str, expected: list[tuple[str, str]], tmp_path: Path) -> None:
    path = written(tmp_path / "chat.txt", f"24/12/2023, 17:58 - {line}", "24/12/2023, 17:59 - Ben: Hi")
    assert said(read(path, "whatsapp")[0][0]) == [*expected, ("Ben", "Hi")]


@pytest.mark.parametrize(
    ("first", "second", "expected", "is_assumed"),
    [
        ("[1/2/24, 9:00:00 AM]", "[1/3/24, 9:00:00 AM]", "2024-01-03", True),  # the clock of the United States
        ("[1/2/24, 9:00:00 AM]", "[1/25/24, 9:00:00 AM]", "2024-01-25", False),
        ("[01/02/2024, 9:00:00 am]", "[01/03/2024, 9:00:00 am]", "2024-03-01", True),
        ("[01/02/24, 09:00:00]", "[01/03/24, 09:00:00]", "2024-03-01", True),
        ("[2024-01-02, 09:00:00]", "[2024-01-03, 09:00:00]", "2024-01-03", False),
    ],
)
def test_whatsapp_says_which_order_of_dates_it_assumes(
    first: str, second: str, expected: str, is_assumed: bool, tmp_path: Path
) -> None:
    notes: list[str] = []
    path = written(tmp_path / "_chat.txt", f"{first} Mona: Happy new year", f"{second} Theo: Thanks")
    conversations, _ = read(path, "whatsapp", on_note=notes.append)
    assert times(conversations)[-1].date().isoformat() == expected
    assert [("assumed" in note, "`dates`" in note) for note in notes] == [(True, True)] * is_assumed
    assert {one.has_certain_times for one in conversations} == {not is_assumed}
    for order, day in (("dmy", "2024-03-01"), ("mdy", "2024-01-03")):
        if is_assumed:
            stated, _ = read(path, "whatsapp", date_order=DateOrder(order))
            assert times(stated)[-1].date().isoformat() == day
            assert [one.external_id for one in stated] == [one.external_id for one in conversations]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("2024/5/20 下午9:43 - Theo: 好", "2024-05-20T21:43"),
        ("[2024/5/20 上午12:43:05] Theo: 好", "2024-05-20T00:43"),
        ("[2024/05/20 午後9:43:05] Theo: はい", "2024-05-20T21:43"),
        ("2024. 5. 20. 오후 9:43, Theo : 네", "2024-05-20T21:43"),
        ("20/5/24, 9:43 p.\u00a0m. - Theo: Sí", "2024-05-20T21:43"),
        ("20.5.2024 klo 21.43 - Theo: Joo", "2024-05-20T21:43"),
    ],
)
def test_whatsapp_of_phones_in_other_languages(line: str, expected: str, tmp_path: Path) -> None:
    path = written(tmp_path / "chat.txt", line)
    assert detect_format(path) == "whatsapp"
    (conversation,), _ = read(path, "whatsapp")
    assert times([conversation])[0].isoformat().startswith(expected)
    assert conversation.messages[0].author == "Theo"


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (
            "The bill last time was 42.50 (without the tip), so bring cash",
            "The bill last time was 42.50 (without the tip), so bring cash",
        ),
        ("It starts at 18.30 (not 19.30)", "It starts at 18.30 (not 19.30)"),
        ("See plan.pdf (second page) for the seats", "See plan.pdf (second page) for the seats"),
        ("https://x.example/a.pdf (the file)", "https://x.example/a.pdf (the file)"),
        ("<tbd>", "<tbd>"),
        ("<note: bring the media>", "<note: bring the media>"),
        ("I omitted the media", "I omitted the media"),
        (f"{MARK}IMG-1.jpg (file attached)", "[attached: IMG-1.jpg]"),
        (f"{MARK}IMG-1.jpg (Datei angehängt)", "[attached: IMG-1.jpg]"),
        (f"{MARK}IMG-1.jpg (添付ファイル)", "[attached: IMG-1.jpg]"),
        ("IMG-1.jpg (archivo adjunto)", "[attached: IMG-1.jpg]"),
        ("IMG-1.jpg (ficheiro anexado)", "[attached: IMG-1.jpg]"),
        (f"{MARK}<Anhang: 0001-PHOTO.jpg>", "[attached: 0001-PHOTO.jpg]"),
        (f"plan.pdf • 3 pages {MARK}document omitted", "[attached: plan.pdf]"),
        (f"{MARK}Location: https://maps.example/?q=1,2", "Location: https://maps.example/?q=1,2"),
        (f"{MARK}+47 900 12 345 is my new number", "+47 900 12 345 is my new number"),
        (f"{MARK}\u202a+47 900 12 345\u202c left", None),
        (f"{MARK}+49 151 234567 hat die Gruppe verlassen", None),
        (f"The boat {MARK}<attached: 00000012-PHOTO.jpg>", "The boat\n[attached: 00000012-PHOTO.jpg]"),
        (
            f"The boat {MARK}<attached: 00000012-PHOTO.jpg> {MARK}<This message was edited>",
            "The boat\n[attached: 00000012-PHOTO.jpg]",
        ),
        (f"{MARK}image omitted", None),
        ("<Media omitted>", None),
        ("<Medien ausgeschlossen>", None),
        ("<Multimedia omitido>", None),
        ("<Médias omis>", None),
        ("<Media omessi>", None),
        ("<Media weggelaten>", None),
        ("<Mídia oculta>", None),
        ("<省略多媒体文件>", None),
        ("‹省略多媒體檔案›", None),
        ("<メディアなし>", None),
        ("<미디어 파일 제외>", None),
        ("This message was deleted", None),
        ("Diese Nachricht wurde gelöscht.", None),
        ("Se eliminó este mensaje", None),
        ("Ce message a été supprimé", None),
        ("Questo messaggio è stato eliminato", None),
        ("Dit bericht is verwijderd", None),
        ("Mensagem apagada", None),
        ("此消息已被删除", None),
        ("このメッセージは削除されました", None),
        ("삭제된 메시지입니다", None),
    ],
)
def test_only_the_words_of_the_app_are_attachments(sent: str, expected: str | None, tmp_path: Path) -> None:
    notes: list[str] = []
    path = written(tmp_path / "chat.txt", f"5/20/24, 9:43 PM - Theo: {sent}", "5/20/24, 9:44 PM - Mona: Yes")
    (conversation,), rejected = read(path, "whatsapp", on_note=notes.append)
    assert [words for _, words in said(conversation)] == [*([expected] if expected else []), "Yes"]
    assert not rejected
    assert sum(note.startswith("left out: ") for note in notes) == (expected is None)


def test_whatsapp_days_do_not_depend_on_names_or_the_order_of_dates(tmp_path: Path) -> None:
    lines = ("1/2/24, 9:00 AM - Ann: Hello", "1/3/24, 1:00 AM - Ben: Late", "1/3/24, 9:00 AM - Ann: Yes")
    before, _ = read(written(tmp_path / "Chat.txt", *lines), "whatsapp")
    grown = written(tmp_path / "WhatsApp Chat with Trip.txt", *lines, "1/25/24, 9:00 AM - Cid: I am new")
    after, _ = read(grown, "whatsapp")
    other, _ = read(grown, "whatsapp", date_order=DateOrder.DMY)
    for conversations in (after, other):
        assert [one.external_id for one in conversations][:2] == [one.external_id for one in before]
        assert [[m.external_id for m in one.messages] for one in conversations][:2] == [
            [m.external_id for m in one.messages] for one in before
        ]


def test_whatsapp_date_that_does_not_exist(tmp_path: Path) -> None:
    path = written(tmp_path / "chat.txt", "31/12/2023, 12:00 - Ann: real", "31/11/2023, 12:00 - Ann: not real")
    conversations, rejected = read(path, "whatsapp")
    assert [said(one) for one in conversations] == [[("Ann", "real")]]
    assert [(item.where, "does not exist" in item.reason) for item in rejected] == [("chat.txt, 31/11/2023", True)]


def test_whatsapp_export_that_begins_later_adds_only_what_is_new(tmp_path: Path) -> None:
    lines = [f"{day}/05/2024, 10:0{minute} - Ann: ok" for day in (20, 21) for minute in (0, 0, 1)]
    earlier = read(written(tmp_path / "a.txt", *lines), "whatsapp")[0]
    later = read(written(tmp_path / "b.txt", *lines[3:], "21/05/2024, 11:00 - Ann: more"), "whatsapp")[0]
    assert later[0].external_id == earlier[1].external_id
    ids = [message.external_id for message in later[0].messages]
    assert ids[:3] == [message.external_id for message in earlier[1].messages]
    assert len(set(ids)) == 4


def test_text_that_is_no_whatsapp_chat(tmp_path: Path) -> None:
    path = written(tmp_path / "diary.txt", "On 12/03/2024 I went home: it rained.")
    assert detect_format(path) == "text"
    with pytest.raises(InvalidInputError, match="has no line such as"):
        read(path, "whatsapp")


# Telegram


def telegram(*messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"name": "Ann", "type": "personal_chat", "id": 77, "messages": list(messages), **fields}


def test_telegram_chat(tmp_path: Path) -> None:
    message = {"type": "message", "from": "Ann", "from_id": "user1", "date": "2024-05-20T12:00:00"}
    chat = telegram(
        {"id": 1, "type": "service", "action": "phone_call", "date": "2024-05-20T11:00:00", "text": ""},
        {**message, "id": 2, "date_unixtime": "1716206400", "text": "Hello"},
        {**message, "id": 3, "text": ["See ", {"type": "link", "text": "example.org"}, "!"]},
        {**message, "id": 4, "text": "", "photo": "photos/p.jpg"},
        {**message, "id": 5, "text": "note", "file": "files/a.pdf", "file_name": "plan.pdf"},
        {**message, "id": 6, "text": "", "date": "2024-05-20T12:00:00"},
        {**message, "id": 7, "text": "when?", "date": "soon"},
        {**message, "id": 8, "text": "late", "date": "2024-05-22T12:00:00"},
    )
    path = tmp_path / "result.json"
    path.write_text(json.dumps(chat), encoding="utf-8")
    assert detect_format(path) == "telegram"
    (first, second), rejected = read(path, "telegram")
    assert said(first) == [
        ("Ann", "Hello"),
        ("Ann", "See example.org!"),
        ("Ann", "[attached: p.jpg]"),
        ("Ann", "[attached: plan.pdf]\nnote"),
    ]
    assert said(second) == [("Ann", "late")]
    assert first.external_id == "telegram:77:2024-05-20"
    assert [message.external_id for message in first.messages] == ["2", "3", "4", "5"]
    assert [message.occurred_at for message in first.messages][:2] == [datetime(2024, 5, 20, 12, tzinfo=UTC)] * 2
    assert first.details.channel is Channel.DM
    assert [item.where.endswith("message 7") for item in rejected] == [True]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"forwarded_from": "Rita Soto", "text": "I sell the boat"}, ("Rita Soto", "I sell the boat")),
        ({"forwarded_from": None, "text": "I sell the boat"}, ("Deleted account", "I sell the boat")),
        ({"from": None, "text": "I sell the boat"}, ("Deleted account", "I sell the boat")),
        (
            {"contact_information": {"first_name": "Rita", "last_name": "Soto", "phone_number": "+34 600"}},
            ("Ann", "[contact: Rita Soto +34 600]"),
        ),
        (
            {
                "poll": {
                    "question": "When?",
                    "answers": [{"text": "Monday", "voters": 2}, {"text": ["Tue"], "voters": 0}],
                }
            },
            ("Ann", "[poll: When?]\n- Monday (2 votes)\n- Tue (0 votes)"),
        ),
        (
            {"place_name": "Dock", "address": "Quay 1", "location_information": {"latitude": 51.1, "longitude": 3.7}},
            ("Ann", "[place: Dock, Quay 1, 51.1, 3.7]"),
        ),
        (
            {"file": "(File not included. Change data exporting settings to download.)", "media_type": "voice_message"},
            ("Ann", "[voice message]"),
        ),
        (
            {"todo_list": {"title": ["Boat"], "answers": [{"id": 1, "text": "mast"}, {"id": 2, "text": ["sail"]}]}},
            ("Ann", "[list: Boat]\n- mast\n- sail"),
        ),
        (
            {"invoice_information": {"title": "Mast", "description": "Of wood", "amount": 40050, "currency": "EUR"}},
            ("Ann", "[invoice: Mast, Of wood, 400.50 EUR]"),
        ),
        (
            {"invoice_information": {"title": "Star", "amount": 25, "currency": "XTR"}, "text": "for you"},
            ("Ann", "[invoice: Star, 25 XTR]\nfor you"),
        ),
        ({"game_title": "Lumber", "game_description": "Cut trees"}, ("Ann", "[game: Lumber: Cut trees]")),
        ({"type": "service", "action": "pin_message"}, None),
    ],
)
def test_telegram_keeps_what_is_said(
    fields: dict[str, Any], expected: tuple[str | None, str] | None, tmp_path: Path
) -> None:
    base = {"id": 1, "type": "message", "from": "Ann", "date": "2024-05-20T12:00:00", "text": ""}
    last = {**base, "id": 2, "text": "end"}
    path = tmp_path / "result.json"
    path.write_text(json.dumps(telegram({**base, **fields}, last)), encoding="utf-8")
    notes: list[str] = []
    (conversation,), _ = read(path, "telegram", on_note=notes.append)
    assert said(conversation) == [*([expected] if expected else []), ("Ann", "end")]
    assert notes == [] if expected else ["left out: notices of the app: 1"]


def test_telegram_export_of_all_chats(tmp_path: Path) -> None:
    one = {"id": 1, "type": "message", "from": "Ann", "date": "2024-05-20T12:00:00", "text": "hi"}
    kinds = {"personal_chat": Channel.DM, "private_group": Channel.PRIVATE, "public_channel": Channel.PUBLIC}
    chats = [telegram(one, id=number, type=kind) for number, kind in enumerate(kinds)]
    whole = {"about": "x", "chats": {"about": "y", "list": chats[:2]}}
    whole["left_chats"] = {"about": "z", "list": [*chats[2:], {"name": "broken"}]}
    path = tmp_path / "result.json"
    path.write_text(json.dumps(whole), encoding="utf-8")
    assert detect_format(path) == "telegram"
    conversations, rejected = read(path, "telegram")
    assert [conversation.details.channel for conversation in conversations] == list(kinds.values())
    assert [item.reason for item in rejected] == ["it has no list of messages"]
