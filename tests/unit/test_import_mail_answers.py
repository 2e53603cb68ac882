"""Answers inside a quotation without marks: the mail that is answered tells which they are; else nobody has said it."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest

from tests.support.mails import HEADS, mail, said

KEY, CARLA = "Do you still have the blue key of the shed?", "Is Carla coming on Sunday, as we said"
ASKED = f"Hi Jo,\n\n{KEY}\n\n{CARLA}\nlast week?\n\nAda"
HEAD = HEADS[1]
UNSURE = "quotations without marks, given to nobody, because answers may stand in them: 1"


def thread(folder: Path, answer: str) -> Path:
    """A mailbox of Ada's mail and of Jo's answer to it."""
    path = folder / "all.mbox"
    kind = "Content-Type: text/plain; charset=utf-8"
    path.write_text(
        f"From x Mon May 20 2024\nFrom: Ada Holt <ada@x.org>\nSubject: Key\nDate: Mon, 20 May 2024 09:00:00 +0000\n"
        f"Message-ID: <q@x.org>\n{kind}\n\n{ASKED}\n\n"
        f"From x Tue May 21 2024\nFrom: Jo <jo@x.org>\nSubject: Re: Key\nDate: Tue, 21 May 2024 09:00:00 +0000\n"
        f"Message-ID: <a@x.org>\nIn-Reply-To: <q@x.org>\n{kind}\n\n{answer}\n",
        encoding="utf-8",
    )
    return path


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("own", ["", "Hi Ada, I write below what I know about it.\n\n"])
def test_answers_are_found_by_the_mail_that_is_answered(own: str, head: str, tmp_path: Path) -> None:
    quoted = ASKED.replace("shed?", "shed?\nIt hangs in the hall.").replace("said\nlast week?", "said last week? No.")
    marked = f"> Hi Jo,\n\n> {KEY}\nIt hangs in the hall.\n\n> {CARLA} last week?\nNo."
    found, notes = said(thread(tmp_path, f"{own}{head}\n\n{quoted}"))
    assert found == [("Ada Holt", ASKED), ("Jo", f"{own}{marked}")]
    assert notes == []


@pytest.mark.parametrize("own", ["", "Thanks, all of that is clear to me now."])
def test_quotation_of_a_known_mail_is_left_out(own: str, tmp_path: Path) -> None:
    found, notes = said(thread(tmp_path, f"{own}\n\n{HEAD}\n\n{ASKED}"))
    assert (found[0], notes) == (("Ada Holt", ASKED), [])
    assert found[1:] == [("Jo", own) if own else ("Ada Holt", ASKED)]


@pytest.mark.parametrize(
    ("own", "quoted"),
    [
        ("", "Do you still have the key?\nYes.\nIs Carla coming?\nNo."),
        ("Hi Ada,", "Do you still have the key?\n\nIt hangs in the hall.\n\nIs Carla coming?\n\nShe is ill."),
        ("Hallo Ada, danke für deine nette Mail.", "Hast du den Schlüssel?\nJa, im Flur.\nKommt Carla?\nNein."),
        ("", "¿Tienes la llave? Sí.\n¿Viene Carla? No."),
        ("", "鍵はありますか？\nはい。"),
        ("My answers are in red.", "Open? No."),
        ("Meine Antworten stehen unten.", "Ja."),
        ("", "Please send me the report.\n\nSent it on Monday."),
    ],
)
def test_quotation_that_may_have_answers_is_given_to_nobody(own: str, quoted: str, tmp_path: Path) -> None:
    found, notes = said(mail(tmp_path, "Re: Key", f"{own}\n\n{HEAD}\n\n{quoted}"))
    assert found == [*([("Jo", own)] if own else []), ("unknown", f"{HEAD}\n\n{quoted}")]
    assert notes == [UNSURE]


def test_quotation_with_a_question_below_an_answer_is_left_out(tmp_path: Path) -> None:
    body = f"Yes, I buy it tomorrow after work.\n\n{HEAD}\n\nDo you buy the boat?\nIt costs 900 euros.\nAda"
    assert said(mail(tmp_path, "Re: Boat", body)) == ([("Jo", "Yes, I buy it tomorrow after work.")], [])


BARE = f"Hi Jo,\n\n{KEY}\nIt hangs in the hall.\n\n{CARLA} last week?\nNo, she is ill.\n\nAda"


def test_answers_without_any_mark_of_a_quotation_are_compared(tmp_path: Path) -> None:
    found, notes = said(thread(tmp_path, BARE))
    marked = f"> Hi Jo,\n\n> {KEY}\nIt hangs in the hall.\n\n> {CARLA} last week?\nNo, she is ill."
    assert found == [("Ada Holt", ASKED), ("Jo", marked)]
    assert notes == []


@pytest.mark.parametrize(
    "body", [BARE, BARE.replace("Hi Jo,", "Hi,"), BARE.replace("Ada", "").replace("Hi Jo", "Dear Jo")]
)
def test_answers_without_any_mark_are_given_to_nobody(body: str, tmp_path: Path) -> None:
    found, notes = said(mail(tmp_path, "Re: Key", body, "To: Ada Holt <ada@x.org>\nContent-Type: text/plain"))
    assert found == [("unknown", body.strip())]
    assert notes == [UNSURE]


@pytest.mark.parametrize("body", ["Hi Ada,\n\nDo you know it?\nYes, you do.\n\nJo", "Is it late?\nNo."])
def test_own_questions_stay_those_of_the_sender(body: str, tmp_path: Path) -> None:
    found, notes = said(mail(tmp_path, "Re: Key", body, "To: Ada Holt <ada@x.org>\nContent-Type: text/plain"))
    assert (found, notes) == ([("Jo", body)], [])


def test_answers_are_compared_with_mails_of_other_files_and_threads(tmp_path: Path) -> None:
    one, kind = thread(tmp_path, f"{HEAD}\n\n{BARE}"), "Content-Type: text/plain; charset=utf-8"
    text = one.read_text().replace(f"<q@x.org>\n{kind}", f"<q@x.org>\nReferences: <p@x.org>\n{kind}", 1)
    one.write_text(text)
    marked = f"> Hi Jo,\n\n> {KEY}\nIt hangs in the hall.\n\n> {CARLA} last week?\nNo, she is ill."
    assert ("Jo", marked) in said(one)[0]
    with zipfile.ZipFile(tmp_path / "mails.zip", "w") as archive:
        for number, content in enumerate(re.split(r"(?m)^From x .*\n", text)[:0:-1]):
            archive.writestr(f"{number}.eml", content)
    assert ("Jo", marked) in said(tmp_path / "mails.zip")[0]
