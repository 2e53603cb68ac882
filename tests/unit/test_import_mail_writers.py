"""Whose words a mail has: quotations, answers between them, forwards, notices, encodings, and Outlook's own files."""

from __future__ import annotations

from pathlib import Path

import pytest

from neurigraph_pipelines.inbox.imports import detect_format
from tests.support.documents import msg_of
from tests.support.mails import HEAD, HEADS, RENT, SENTENCES, mail, part, parts, said


@pytest.mark.parametrize(
    "quoted", [*(f"{head}\n\nI sell my boat." for head in HEADS), *(f"{one}\n\n> I sell my boat." for one in SENTENCES)]
)
def test_words_quoted_below_an_answer_are_left_out(quoted: str, tmp_path: Path) -> None:
    assert said(mail(tmp_path, "Re: Boat", f"Yes, I buy it.\n\n{quoted}\n"))[0] == [("Jo", "Yes, I buy it.")]


ANSWERED = "> Do you still have the key?\nYes.\n> Is Carla coming?\nNo."


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (ANSWERED, ANSWERED),
        (f"{SENTENCES[0]}\n{ANSWERED}", f"{SENTENCES[0]}\n{ANSWERED}"),
        (f"See my answers.\n\n{HEADS[0]}\n\n{ANSWERED}", f"See my answers.\n\n{ANSWERED}"),
        (f"{HEADS[0]}\n\n{ANSWERED}", ANSWERED),
        (
            f"See my answers below.\n\n{HEADS[0]}\n\nWhere is the key?\n[Jo] Yes, in the\nblue box.\n\nAnd the rope?",
            "See my answers below.\n\n> Where is the key?\n[Jo] Yes, in the\nblue box.\n\n> And the rope?",
        ),
        (f"{HEADS[-1]}\n\nIs it open?\nJO: No.", "> Is it open?\nJO: No."),
        (f"I painted my boat blue.\n\n{HEADS[0]}\n\nWhat is new?", "I painted my boat blue."),
        ("> I sell my boat.", "> I sell my boat."),
        ("Yes.\n\n> I sell my boat.\n\n-- \nJo Lee", "Yes."),
        ("My plan:\nFrom: London\nTo: Paris\nDate: 3 May 2024", "My plan:\nFrom: London\nTo: Paris\nDate: 3 May 2024"),
        ("The note of 2024 said this:\nbuy rope", "The note of 2024 said this:\nbuy rope"),
    ],
)
def test_answered_quotations_stay(body: str, expected: str, tmp_path: Path) -> None:
    assert said(mail(tmp_path, "Re: Questions", body))[0] == [("Jo", expected)]


ITINERARY = "My itinerary:\n\nFrom: Oslo\nTo:\nDate: 3 May\nSubject: holiday\n\nSeat 14C"


@pytest.mark.parametrize(
    "body",
    [
        "Dear all,\n\nIn 2019 my grandfather wrote:\n\nNever sell the boat.\n\nThe price is 5000 euros.",
        "Dear all,\n\nIn 2019 my grandfather wrote:\n\n> Never sell the boat.",
        "Hello\n\nThe price list as of 2024, as Bob schrieb in seinem Bericht:\n\nFlat A 900 euros",
        ITINERARY,
        ITINERARY.replace("Oslo", "Oslo Central").replace("3 May", "3 May 2024"),
        "Hi,\n\nOn 3 May 2024 I wrote to Ada <ada@x.org>:\n\nThe boat is for sale.",
        "On 12 May the harbour master <h@x.org> told me this:\n\nThe mast is cracked.",
        "On 12 May 2024 the harbour master <h@x.org> told me this:\n\nThe mast is cracked.",
        "Hello\n\nPlease read what Ada <ada@x.org> wrote us for 3 May 2024:\n\nbring rope",
        "Hi\n\nMeeting 3 May 2024, hosted by Bob <bob@x.org>:\n\nbring rope",
        "Hi\n\nFrom: Oslo S\nTo: Bergen\nDate: 3 May 2024 10:30\nSubject: seat 14C\n\nBring it.",
        "We met on 3 May 2024.\nAda <ada@x.org> wrote:\n\nbring rope",
    ],
)
def test_words_of_the_sender_are_no_quotation(body: str, tmp_path: Path) -> None:
    assert said(mail(tmp_path, "Boat", body))[0] == [("Jo", body)]
    if "\n>" not in body:
        assert said(mail(tmp_path, "Re: Boat", body))[0] == [("Jo", body)]


@pytest.mark.parametrize("head", HEADS[:-1])
def test_mail_put_into_one_that_answers_none_is_of_its_writer(head: str, tmp_path: Path) -> None:
    assert said(mail(tmp_path, "Boat", f"Look:\n\n{head}\n\n{RENT}"))[0] == [("Jo", "Look:"), ("Ada Holt", RENT)]


def test_known_writer_needs_no_address(tmp_path: Path) -> None:
    body = f"Yes.\n\nOn 3 May 2024 at 12:00, Ada Holt wrote:\n\n{RENT}"
    path = mail(tmp_path, "Re: Boat", body, "To: Ada Holt <ada@x.org>\nContent-Type: text/plain; charset=utf-8")
    assert said(path)[0] == [("Jo", "Yes.")]


def test_mail_that_is_only_a_quotation_is_of_its_writer(tmp_path: Path) -> None:
    assert said(mail(tmp_path, "Re: Boat", f"{HEADS[0]}\n\n{RENT}"))[0] == [("Ada Holt", RENT)]


def test_page_keeps_answers_between_quotations(tmp_path: Path) -> None:
    page = "<div>Hi</div><blockquote><p>Still the key?</p></blockquote><p>Yes.</p><blockquote>old <p>words</blockquote>"
    path = mail(tmp_path, "Re: Key", page, "Content-Type: text/html; charset=utf-8")
    assert said(path)[0] == [("Jo", "Hi\n> Still the key?\nYes.")]


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<table><tr><td>Flat 1</td><td>2</td><td>900</td></tr></table>", "Flat 1 | 2 | 900"),
        ("<table><tr><td>Flat 1<td>2<td>900<tr><td>Flat 2<td><td>800</table>", "Flat 1 | 2 | 900\nFlat 2 | | 800"),
        ("<table><tr><td><p>A</p></td><td><div>\n2\n</div></td></tr></table>", "A | 2"),
        ("<table><tr><td>&nbsp;</td><td>Only words</td><td></td></tr></table>", "Only words"),
        ("<table><tr><td><p>Dear Jo,</p><p>yes.</p></td><td>Ad</td></tr></table>", "Dear Jo,\nyes.\nAd"),
        ("<table><tr><td><table><tr><td>A<td>1</table><td>B</table>", "A | 1 | B"),
        ("<table><tr><th>Rent:</th><td>900</td></tr></table>", "Rent: 900"),
        ("<p>It is 30 m<sup>2</sup>, on the 1<sup>st</sup> floor.</p>", "It is 30 m², on the 1st floor."),
        ("<dl><dt>Rent</dt><dd>900</dd></dl>", "Rent\n900"),
        ("<td>Rent</td><td>900</td></tr></table></table>", "Rent\n900"),
    ],
)
def test_cells_of_a_page_stay_apart(page: str, expected: str, tmp_path: Path) -> None:
    path = mail(tmp_path, "Flats", page, "Content-Type: text/html; charset=utf-8")
    assert said(path)[0] == [("Jo", expected)]


PAGE, FOOTER = part("html", "<p>First <b>words</b>"), part("plain", "list footer")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (parts("mixed", PAGE, FOOTER), "First words\n\nlist footer"),
        (parts("mixed", FOOTER, PAGE), "list footer\n\nFirst words"),
        (parts("mixed", parts("alternative", part("plain", "The body"), PAGE), FOOTER), "The body\n\nlist footer"),
        (parts("alternative", part("plain", "All"), parts("mixed", PAGE, PAGE)), "All"),
        (parts("alternative", part("plain", " "), parts("related", PAGE)), "First words"),
        (parts("mixed", part("plain", "First *words*"), PAGE), "First *words*"),
    ],
)
def test_one_of_alternative_parts_and_every_other_part_is_read(body: str, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "one.eml"
    path.write_text(HEAD.format("Boat", "a") + "MIME-Version: 1.0\n" + body, encoding="utf-8")
    assert said(path)[0] == [("Jo", expected)]


def test_parts_nested_too_deeply_are_rejected(tmp_path: Path) -> None:
    body = PAGE
    for _ in range(101):
        body = parts("mixed", body)
    path = tmp_path / "one.eml"
    path.write_text(HEAD.format("Boat", "a") + "MIME-Version: 1.0\n" + body, encoding="utf-8")
    assert said(path)[1][0] == "its parts are nested more than 100 deep"


@pytest.mark.parametrize("sentence", SENTENCES)
def test_answer_that_is_only_an_unmarked_quotation_is_of_its_writer(sentence: str, tmp_path: Path) -> None:
    assert said(mail(tmp_path, "Re: Boat", f"{sentence}\n\n{RENT}"))[0] == [("Ada Holt", RENT)]


def test_attached_mail_is_of_its_writer(tmp_path: Path) -> None:
    inner = f"From: Ada Holt <ada@x.org>\nSubject: rent\nDate: Mon, 20 May 2024 09:00:00 +0000\n\n{RENT}\n"
    body = f"--b\nContent-Type: text/plain\n\nSee below.\n--b\nContent-Type: message/rfc822\n\n{inner}--b--\n"
    path = mail(tmp_path, "Fwd: rent", body, 'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="b"')
    assert said(path)[0] == [("Jo", "See below."), ("Ada Holt", RENT)]


def test_file_of_outlook_is_a_mail(tmp_path: Path) -> None:
    path = tmp_path / "rent.msg"
    inner = {0x0037: "Rent", 0x1000: RENT, 0x0C1A: "Ada Holt", 0x0C1F: "ada@x.org"}
    path.write_bytes(
        msg_of({0x0037: "FW: Rent", 0x1000: "See below.", 0x0C1A: "Jo", 0x0C1F: "jo@x.org"}, {"rent": inner})
    )
    assert detect_format(path) == "mail"
    assert said(path)[0] == [("Jo", "See below."), ("Ada Holt", RENT)]


NOTICES = [
    "X-Gmail-Labels: Spam,Category promotions",
    "X-Gmail-Labels: Trash",
    "X-Gmail-Labels: Papierkorb,Ungelesen",
    "X-Gmail-Labels: Papelera",
    "X-Gmail-Labels: Corbeille",
    "X-Gmail-Labels: Cestino",
    "X-Gmail-Labels: Prullenbak",
    "X-Gmail-Labels: Lixeira",
    "X-Gmail-Labels: Kosz",
    "X-Gmail-Labels: =?UTF-8?Q?Skr=C3=A4ppost?=",
    "X-Gmail-Labels: =?UTF-8?B?6L+35oOR44Oh44O844Or?=",
    "X-Gmail-Labels: =?UTF-8?B?44K044Of566x?=",
    "X-Gmail-Labels: =?UTF-8?B?5Z6D5Zy+6YKu5Lu2?=",
    "X-Spam-Flag: YES",
    "X-Mozilla-Status: 0009",
    "Auto-Submitted: auto-replied",
    "X-Failed-Recipients: ann@example.org",
    'Content-Type: multipart/report; report-type=delivery-status; boundary="x"',
]


def test_spam_trash_and_notices_are_left_out_and_counted(tmp_path: Path) -> None:
    heads = [*NOTICES, "X-Gmail-Labels: Inbox,Trashy novels", "Auto-Submitted: no", "X-Mozilla-Status: 0001"]
    path = tmp_path / "all.mbox"
    path.write_text(
        "".join(
            f"From x Fri May 03 2024\n{HEAD.format(f's{n}', n)}{head}\n\nBody {n}.\n\n" for n, head in enumerate(heads)
        ),
        encoding="utf-8",
    )
    kept, notes = said(path)
    assert [words for _, words in kept] == [f"Body {n}." for n in range(len(NOTICES), len(heads))]
    assert sorted(notes) == [
        "delivery reports and automatic replies, left out: 3",
        "e-mails in Spam, left out: 5",
        "e-mails in the Trash, left out: 10",
    ]
    assert len(said(path, everything=True)[0]) == len(heads)


@pytest.mark.parametrize(
    ("charset", "data", "expected"),
    [
        ("gb2312", "镕基楼".encode("gbk"), "镕基楼"),
        ("iso-8859-1", b"5 \x80", "5 €"),
        (
            "utf-8",
            "会議は金曜日です。鍵を持ってきてください。".encode("cp932"),
            "会議は金曜日です。鍵を持ってきてください。",
        ),
    ],
)
def test_charset_of_a_mail_is_what_its_writer_means(charset: str, data: bytes, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "one.eml"
    head = "From: J\xf6rg M\xfcller <j@x.org>\nDate: Tue, 21 May 2024 11:00:00 +0200\nMessage-ID: <a@x>\n"
    path.write_bytes(head.encode("cp1252") + f"Content-Type: text/plain; charset={charset}\n\n".encode() + data)
    assert said(path)[0] == [("Jörg Müller", expected)]


def test_mail_in_an_unknown_encoding_is_rejected_alone(tmp_path: Path) -> None:
    path = tmp_path / "all.mbox"
    begin = b"From x Fri May 03 2024\nFrom: a@b.org\nMessage-ID: "
    bodies = {b"<a@x>": "密码是 4711".encode("gbk"), b"<b@x>": b"The words are here."}
    path.write_bytes(b"".join(begin + key + b"\n\n" + body + b"\n\n" for key, body in bodies.items()))
    kept, notes = said(path)
    assert [words for _, words in kept] == ["The words are here."]
    assert any("the encoding of its text is not recognised" in note for note in notes)
