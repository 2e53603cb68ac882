"""Mails in a zip, the page of Gemini in Google Takeout, and canvases of Obsidian."""

from __future__ import annotations

import json
import zipfile
from datetime import UTC, datetime
from pathlib import Path

from neurigraph_pipelines.inbox.import_format import import_format
from neurigraph_pipelines.inbox.imports.vault import open_vault, read_note
from neurigraph_pipelines.inbox.imports.zipped_notes import ZippedNote, notes_in
from neurigraph_pipelines.model import Role
from tests.support.exports import read

QUESTION = (
    "From: Ann <a@x.org>\nMessage-ID: <1@x>\nSubject: Rent\nDate: Mon, 20 May 2024 10:00:00 +0000\n\nIs it paid?\n"
)
ANSWER = (
    "From: Jo <j@x.org>\nMessage-ID: <2@x>\nIn-Reply-To: <1@x>\nSubject: Re: Rent\n"
    "Date: Tue, 21 May 2024 10:00:00 +0000\n\nYes.\n"
)


def zipped(path: Path, **members: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "."), content)
    return path


def test_mails_of_a_zip_are_read_in_the_order_of_their_times(tmp_path: Path) -> None:
    box = f"From a Mon May 20 12:00:00 2024\n{QUESTION.replace('1@x', '3@x').replace('Rent', 'Keys')}\n"
    members = {"Re__eml": ANSWER, "rent__eml": QUESTION, "old__mbox": box, "bad__eml": "words", "plan__pdf": "x"}
    path = zipped(tmp_path / "mails.zip", **members)
    assert import_format(path) == "mail"
    notes: list[str] = []
    found, rejected = read(path, "mail", on_note=notes.append)
    said = [(one.external_id, message.author, message.content) for one in found for message in one.messages]
    assert sorted(said[:2]) == [("mail:1@x", "Ann", "Is it paid?"), ("mail:3@x", "Ann", "Is it paid?")]
    assert said[2:] == [("mail:1@x", "Jo", "Yes.")]
    assert [one.where for one in rejected] == ["mails.zip/bad.eml"]
    assert "plan.pdf" in notes[-1]


def test_mail_beside_notes_is_a_file_of_the_vault(tmp_path: Path) -> None:
    path = zipped(tmp_path / "vault.zip", a__md="note", b__eml=QUESTION)
    assert [one.path for one in notes_in(path, 1_000) if isinstance(one, ZippedNote)] == ["a.md"]


def cell(product: str, content: str) -> str:
    return (
        '<div class="outer-cell mdl-cell mdl-cell--12-col"><div class="mdl-grid"><div class="header-cell mdl-cell">'
        f'<p class="mdl-typography--title">{product}<br></p></div><div class="content-cell mdl-cell">{content}</div>'
        f'<div class="content-cell mdl-cell mdl-typography--caption"><b>Products:</b><br>{product}</div></div></div>'
    )


def test_page_of_gemini_is_read(tmp_path: Path) -> None:
    page = "".join(
        [
            f"<html><head><title>My Activity</title><style>{'x' * 9_000}</style></head><body>",
            cell(
                "Gemini Apps",
                "Prompted\xa0Name my kayak<br>Aug 1, 2025, 9:12:33\u202fAM UTC<br><p>Otter.</p><p>Enjoy.</p>",
            ),
            cell("Gemini-Apps", "Hallo<br>01.08.2025, 11:12:33 MESZ<br><p>Hi &lt;3</p>"),
            cell("YouTube", "Watched x<br>Aug 1, 2025, 9:12:33 AM UTC"),
        ]
    )
    path = tmp_path / "MyActivity.html"
    path.write_text(page, encoding="utf-8")
    assert import_format(path) == "gemini"
    notes: list[str] = []
    found, rejected = read(path, "gemini", on_note=notes.append)
    time = datetime(2025, 8, 1, 9, 12, 33, tzinfo=UTC)
    assert [[(one.role, one.content, one.occurred_at) for one in talk.messages] for talk in found] == [
        [(Role.USER, "Name my kayak", time), (Role.ASSISTANT, "Otter.\nEnjoy.", time)],
        [(Role.USER, "Hallo", time), (Role.ASSISTANT, "Hi <3", time)],
    ]
    assert (rejected, notes) == ([], ["left out: activity in other products than Gemini: 1"])
    inside = zipped(tmp_path / "takeout.zip", **{"Takeout/My Activity/Gemini Apps/MyActivity__html": page})
    assert import_format(inside) == "gemini"
    assert len(read(inside, "gemini")[0]) == 2


def test_page_and_list_of_one_activity_are_the_same_conversation(tmp_path: Path) -> None:
    answer = "<p>A heron.</p><blockquote>Old</blockquote><table><tr><td>Size</td><td>90 cm</td></tr></table>"
    asked = "Prompted What is this?"
    item = {
        "header": "Gemini Apps",
        "title": asked,
        "time": "2025-08-01T09:12:33.123Z",
        "products": ["Gemini Apps"],
        "attachedFiles": ["bird.png"],
        "safeHtmlItem": [{"html": answer}],
    }
    listed, page = tmp_path / "MyActivity.json", tmp_path / "MyActivity.html"
    listed.write_text(json.dumps([item]), encoding="utf-8")
    files = 'Attached 1 file.<br>-&nbsp; <a href="bird.png">bird.png</a><br>'
    stamp = "Aug 1, 2025, 11:12:33\u202fAM CEST"
    page.write_text(cell("Gemini Apps", f"{asked}<br>{files}{stamp}<br>{answer}"), encoding="utf-8")
    (one,), (other,) = read(listed, "gemini")[0], read(page, "gemini")[0]
    assert one.external_id == other.external_id
    assert [(said.external_id, said.content) for said in one.messages] == [
        (said.external_id, said.content) for said in other.messages
    ]
    assert one.messages[0].content == "What is this?\n[attached: bird.png]"


def test_canvas_is_a_note(tmp_path: Path) -> None:
    nodes = [
        {"id": "1", "type": "text", "text": "Buy rope\n40 m"},
        {"id": "2", "type": "file", "file": "Boat.md"},
        {"id": "3", "type": "link", "url": "https://example.org"},
        {"id": "4", "type": "group", "label": "Spring"},
    ]
    canvas = {"nodes": nodes, "edges": [{"fromNode": "1", "toNode": "2", "label": "for"}, {"fromNode": "1"}]}
    (tmp_path / "Plan.canvas").write_text(json.dumps(canvas), encoding="utf-8")
    vault = open_vault(tmp_path)
    (note,) = vault.notes
    text = "Buy rope\n40 m\n\n[[Boat.md]]\n\nhttps://example.org\n\nSpring\n\nBuy rope → for → [[Boat.md]]"
    assert read_note(vault, note, 10_000)[0] == text
