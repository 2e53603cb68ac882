"""Mails for tests: heads that mail programs write, and the words that an import reads."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from neurigraph_pipelines.inbox.imports import read_conversations
from neurigraph_pipelines.model import ImportedConversation, RejectedItem

HEAD = "From: Jo <jo@example.org>\nSubject: {}\nDate: Tue, 21 May 2024 11:00:00 +0200\nMessage-ID: <{}@example.org>\n"
RENT = "I raise your rent to 900 euros."
SENT = datetime(2024, 5, 21, 9, tzinfo=UTC)
WRITTEN = datetime(2024, 5, 20, 9, tzinfo=UTC)


def said(path: Path, **how: Any) -> tuple[list[tuple[str | None, str]], list[str]]:
    notes: list[str] = []
    found = [*read_conversations(path, "mail", on_note=notes.append, **how)]
    messages = [one for item in found if isinstance(item, ImportedConversation) for one in item.messages]
    rejected = [item.reason for item in found if isinstance(item, RejectedItem)]
    return [(one.author, one.content) for one in messages], notes + rejected


def mail(path: Path, subject: str, body: str, more: str = "Content-Type: text/plain; charset=utf-8") -> Path:
    file = path / "one.eml"
    file.write_text(f"{HEAD.format(subject, 'a')}{more}\n\n{body}", encoding="utf-8")
    return file


HEADS = [
    "________________________________\nFrom: Ada Holt <ada@x.org>\nSent: Monday, May 20, 2024 12:00 PM\nTo: Jo\n"
    "Subject: Boat",
    "-----Original Message-----\nFrom: Ada Holt\nSent: Monday, May 20, 2024 12:00 PM\nTo: Jo\nSubject: Boat",
    "*From:* Ada Holt <ada@x.org>\n*Sent:* Monday, May 20, 2024 12:00 PM\n*To:* Jo\n*Subject:* Boat",
    "-----Ursprüngliche Nachricht-----\nVon: Ada Holt [mailto:ada@x.org]\nGesendet: Montag, 20. Mai 2024 12:00\n"
    "An: Jo\nBetreff: Boot",
    "De : Ada Holt <ada@x.org>\nEnvoyé : lundi 20 mai 2024 12:00\nÀ : Jo\nObjet : Bateau",
    "De: Ada Holt <ada@x.org>\nEnviado el: lunes, 20 de mayo de 2024 12:00\nPara: Jo\nAsunto: Barco",
    "Da: Ada Holt <ada@x.org>\nInviato: lunedì 20 maggio 2024 12:00\nA: Jo\nOggetto: Barca",
    "Van: Ada Holt <ada@x.org>\nVerzonden: maandag 20 mei 2024 12:00\nAan: Jo\nOnderwerp: Boot",
    "De: Ada Holt <ada@x.org>\nEnviada em: segunda-feira, 20 de maio de 2024 12:00\nPara: Jo\nAssunto: Barco",
    "发件人: Ada Holt <ada@x.org>\n发送时间: 2024年5月20日 12:00\n收件人: Jo\n主题: 船",
    "差出人: Ada Holt <ada@x.org>\n送信日時: 2024年5月20日 12:00\n宛先: Jo\n件名: 船",
    "보낸 사람: Ada Holt <ada@x.org>\n보낸 날짜: 2024년 5월 20일 12:00\n받는 사람: Jo\n제목: 배",
    "On Monday, May 20, 2024, 12:00 PM, Ada Holt <ada@x.org> wrote:",
]
SENTENCES = [
    "On Mon, May 20, 2024 at 12:00 PM Ada Holt <ada@x.org> wrote:",
    "On Mon, May 20, 2024 at 12:00 PM Ada Holt <ada@x.org>\nwrote:",
    "Am Mo., 20. Mai 2024 um 12:00 Uhr schrieb Ada Holt <ada@x.org>:",
    "Le lun. 20 mai 2024 à 12:00, Ada Holt <ada@x.org> a écrit :",
    "El lun, 20 may 2024 a las 12:00, Ada Holt (<ada@x.org>) escribió:",
    "Il giorno lun 20 mag 2024 alle ore 12:00 Ada Holt <ada@x.org> ha scritto:",
    "Op ma 20 mei 2024 om 12:00 schreef Ada Holt <ada@x.org>:",
    "Em seg., 20 de mai. de 2024 às 12:00, Ada Holt <ada@x.org> escreveu:",
    "Ada Holt <ada@x.org> 于2024年5月20日周一 12:00写道：",
    "2024年5月20日(月) 12:00 Ada Holt <ada@x.org>:",
    "2024년 5월 20일 (월) 오후 12:00, Ada Holt <ada@x.org>님이 작성:",
]


def part(kind: str, words: str) -> str:
    return f"Content-Type: text/{kind}\n\n{words}\n"


def parts(kind: str, *inner: str) -> str:
    bound = f"b{len(inner)}{kind}{sum(map(len, inner))}"
    written = "".join(f"--{bound}\n{one}" for one in inner)
    return f'Content-Type: multipart/{kind}; boundary="{bound}"\n\n{written}--{bound}--\n'
