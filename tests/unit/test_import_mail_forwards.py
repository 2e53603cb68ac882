"""Forwarded mails: whose words they are, in chains, from several mail programs and in several languages."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from neurigraph_pipelines.inbox.imports import read_conversations
from neurigraph_pipelines.model import ImportedConversation
from tests.support.mails import HEADS, RENT, SENT, WRITTEN, mail, said


@pytest.mark.parametrize("head", HEADS[:-1])
def test_forwarded_words_are_of_their_writer(head: str, tmp_path: Path) -> None:
    (conversation,) = read_conversations(mail(tmp_path, "Fwd: Boat", f"FYI\n\n{head}\n\n{RENT}\n"), "mail")
    assert isinstance(conversation, ImportedConversation)
    own, other = conversation.messages
    assert (own.author, own.content, own.occurred_at) == ("Jo", "FYI", SENT)
    assert (other.author, other.content) == ("Ada Holt", RENT)
    assert other.occurred_at == datetime(2024, 5, 20, 12, tzinfo=UTC)


FORWARDS = [
    "---------- Forwarded message ---------\nFrom: Ada Holt <ada@x.org>\nDate: Mon, May 20, 2024 at 9:00 AM\n"
    f"Subject: rent\nTo: Jo\n\n{RENT}",
    "---------- Forwarded message ---------\nVon: Ada Holt <ada@x.org>\nDate: Mo., 20. Mai 2024 um 09:00 Uhr\n"
    f"Subject: rent\nTo: Jo\n\n{RENT}",
    "Begin forwarded message:\n\n> From: Ada Holt <ada@x.org>\n> Subject: rent\n> Date: 20 May 2024 at 09:00:00 GMT\n"
    f"> To: Jo\n> \n> {RENT}",
    "-------- Weitergeleitete Nachricht --------\nBetreff: \tMiete\nDatum: \tMon, 20 May 2024 09:00:00 +0000\n"
    f"Von: \tAda Holt <ada@x.org>\nAn: \tJo\n\n{RENT}",
    "-------- Message transféré --------\nSujet : Loyer\nDate : Mon, 20 May 2024 09:00:00 +0000\n"
    f"De : Ada Holt <ada@x.org>\nPour : Jo\n\n{RENT}",
]


@pytest.mark.parametrize("forwarded", FORWARDS)
@pytest.mark.parametrize("own", ["See below.", ""])
def test_marked_forward_needs_no_subject(forwarded: str, own: str, tmp_path: Path) -> None:
    (conversation,) = read_conversations(mail(tmp_path, "rent", f"{own}\n\n{forwarded}\n"), "mail")
    assert isinstance(conversation, ImportedConversation)
    *mine, other = conversation.messages
    assert [one.content for one in mine] == ([own] if own else [])
    assert (other.author, other.content, other.occurred_at) == ("Ada Holt", RENT, WRITTEN)


FOREIGN = [
    (
        "-------- Továbbított üzenet --------",
        "Feladó: Ada Holt <ada@x.org>\nElküldve: 2024. május 20., hétfő 9:00\nCímzett: Jo\nTárgy: bér\nMásolat: Bo",
    ),
    (
        "---------- Προωθημένο μήνυμα ----------",
        "Από: Ada Holt <ada@x.org>\nΣτάλθηκε: Δευτέρα, 20 Μαΐου 2024 9:00\nΠρος: Jo\nΘέμα: ενοίκιο\nΚοιν.: Bo",
    ),
    (
        "---------- رسالة مُعاد توجيهها ---------",
        "\u200fمن:\u200e Ada Holt <ada@x.org>\nتاريخ الإرسال: 20 مايو 2024 9:00\nإلى: Jo\nالموضوع: الإيجار",
    ),
    (
        "---------- Переслане повідомлення ---------",
        "Від: Ada Holt <ada@x.org>\nНадіслано: 20 травня 2024 р. 9:00\nКому: Jo\nТема: оренда\nКопія: Bo",
    ),
    (
        "---------- Mesaj redirecționat ---------",
        "De la: Ada Holt <ada@x.org>\nTrimis: luni, 20 mai 2024 9:00\nCătre: Jo\nSubiect: chirie",
    ),
    (
        "-------- Přeposlaná zpráva --------",
        "Předmět: nájem\nDatum: Mon, 20 May 2024 09:00:00 +0000\nOd: Ada Holt <ada@x.org>\nKomu: Jo\nKopie: Bo",
    ),
    (
        "---------- Forwarded message ---------",
        "Od: Ada Holt <ada@x.org>\nOdoslané: pondelok 20. mája 2024 9:00\nKomu: Jo\nPredmet: nájom",
    ),
]


@pytest.mark.parametrize(("line", "head"), FOREIGN)
def test_forwards_in_more_languages(line: str, head: str, tmp_path: Path) -> None:
    (conversation,) = read_conversations(mail(tmp_path, "rent", f"FYI\n\n{line}\n{head}\n\n{RENT}\n"), "mail")
    assert isinstance(conversation, ImportedConversation)
    own, other = conversation.messages
    assert (own.content, other.author, other.content, other.occurred_at) == ("FYI", "Ada Holt", RENT, WRITTEN)
    if not head.startswith("P"):
        assert said(mail(tmp_path, "Re: rent", f"No.\n\n{head}\n\n{RENT}\n"))[0] == [("Jo", "No.")]


BOILER = "The boiler is broken since 12 April."
FORWARDED_HEAD = (
    "---------- Forwarded message ---------\nFrom: Ada Holt <ada@x.org>\nDate: Mon, 20 May 2024 09:00:00 +0000\n"
)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"FYI\n\n{FORWARDED_HEAD}\n{RENT}\n\nOn Fri, 12 Apr 2024 at 9:00, Bo Tenant wrote:\n> {BOILER}", "Bo Tenant"),
        (f"FYI\n\n{FORWARDED_HEAD}\n{RENT}\n\nOn Fri, 12 Apr 2024 at 9:00, Bo <bo@x.org> wrote:\n\n{BOILER}", "Bo"),
        (f"FYI\n\n{FORWARDED_HEAD}\n{RENT}\n\nThe tenant wrote on 3:\n> {BOILER}", "unknown"),
        (f"FYI\n\n{HEADS[0]}\n\n{RENT}\n\n-----Original Message-----\n{HEADS[4]}\n\n{BOILER}", "Ada Holt"),
    ],
)
def test_chain_of_forwarded_mails_keeps_every_mail(body: str, expected: str, tmp_path: Path) -> None:
    kept = said(mail(tmp_path, "Fwd: rent", body))[0]
    assert kept == [("Jo", "FYI"), ("Ada Holt", RENT), (expected, BOILER)]


def test_quotation_without_a_writer_stays_in_forwarded_words(tmp_path: Path) -> None:
    body = f"{FORWARDED_HEAD}\n{RENT}\n\n> {BOILER}"
    assert said(mail(tmp_path, "rent", body))[0] == [("Ada Holt", f"{RENT}\n\n> {BOILER}")]


@pytest.mark.parametrize("own", ["FYI", ""])
@pytest.mark.parametrize("subject", ["rent", "Fwd: rent"])
def test_forward_of_yandex(subject: str, own: str, tmp_path: Path) -> None:
    body = f'{own}\n\n-------- Пересылаемое сообщение --------\n03.05.2024, 09:00, "Ада Хольт" <ada@x.org>:\n\n{RENT}'
    (conversation,) = read_conversations(mail(tmp_path, subject, body), "mail")
    assert isinstance(conversation, ImportedConversation)
    *mine, other = conversation.messages
    assert [one.content for one in mine] == ([own] if own else [])
    assert (other.author, other.content, other.occurred_at) == ("Ада Хольт", RENT, datetime(2024, 5, 3, 9, tzinfo=UTC))
