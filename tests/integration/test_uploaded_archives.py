"""Uploaded archives: what is read of them, what is left out, and how archives fail that hold nothing to read."""

from __future__ import annotations

import io
import json
import zipfile

import pytest

from neurigraph_pipelines.model import Claims, Privacy
from neurigraph_pipelines.model.sources import SourceDetails
from neurigraph_pipelines.wiring.installation import Installation
from tests.integration.test_uploaded_exports import KEEL, forget_all, mailbox, zipped
from tests.support.memories import new_user, rows
from tests.support.uploads import read_upload, store, upload

NOTHING = {
    "answer.json": json.dumps({"results": [{"boat": KEEL}]}).encode(),
    "package.json": json.dumps({"name": "boat"}).encode(),
    "photos.zip": zipped(**{"a.txt": KEEL}),
    "notes.zip": zipped(**{"../out.md": KEEL, "../../away.md": KEEL}),
    "empty.zip": zipped(),
}


@pytest.fixture
def installation(shared_installation: Installation) -> Installation:
    return shared_installation


@pytest.fixture
def bob(installation: Installation) -> Claims:
    return new_user(installation)[1]


def test_archive_with_nothing_that_is_read_fails_with_what_is_read(installation: Installation, bob: Claims) -> None:
    sent = {name: upload(installation, bob, name, content) for name, content in NOTHING.items()}
    kept = upload(installation, bob, "kept.zip", zipped(**{"b.txt": KEEL}), is_document=True)
    store(installation)
    for name, upload_id in sent.items():
        state = read_upload(installation, bob, upload_id)
        assert state["state"] == "failed", name
        assert "Conversations are read of ChatGPT, Claude" in state["error"], name
        assert "send it with format=document" in state["error"], name
        assert "/tmp" not in state["error"], name
    state = read_upload(installation, bob, kept)
    assert state["state"] == "stored"
    assert state["notes"][0] == "stored as a document"


def test_spam_alone_is_left_out_and_not_a_document(installation: Installation, bob: Claims) -> None:
    content = mailbox(KEEL).replace(b"Subject:", b"X-Gmail-Labels: Spam\nSubject:")
    upload_id = upload(installation, bob, "spam.mbox", content)
    store(installation)
    state = read_upload(installation, bob, upload_id)
    assert (state["state"], state["imported"]["conversation_count"], state["record_ids"]) == ("stored", 0, [])
    assert state["notes"] == ["e-mails in Spam, left out: 1"]
    asked = upload(
        installation, bob, "all.mbox", content + b"\n", details=SourceDetails(metadata={"everything": "true"})
    )
    store(installation)
    assert read_upload(installation, bob, asked)["imported"]["conversation_count"] == 1


PAGE_ID = "1a2b3c4d5e6f7a8b9c0d1a2b3c4d5e6f"


def test_zip_of_notes_is_a_vault(installation: Installation, bob: Claims) -> None:
    page = f"# Home\n\n[Boiler](Home%20{PAGE_ID}/Boiler%20{PAGE_ID[::-1]}.md)\n\nThe spare key is at Liv's.\n"
    inner = zipped(
        **{
            f"Home {PAGE_ID}.md": page,
            f"Home {PAGE_ID}/Boiler {PAGE_ID[::-1]}.md": "# Boiler\n\nCreated: May 20, 2024 10:00 AM\n\nServiced.\n",
            f"Home {PAGE_ID}/Tasks {PAGE_ID}.csv": "a,b\n",
        }
    )
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("Export-1-Part-1.zip", inner)
    notion = upload(installation, bob, "Notion_Export.zip", held.getvalue(), privacy=Privacy.PRIVATE)
    vault = zipped(**{"Isles/Daily/2023-05-20.md": "Bought the boat.", "Isles/.obsidian/app.json": {}})
    obsidian = upload(installation, bob, "isles.zip", vault)
    store(installation)
    shown = {one: read_upload(installation, bob, one) for one in (notion, obsidian)}
    assert {(one["state"], one["imported"]["format"]) for one in shown.values()} == {("stored", "vault")}
    assert [one["imported"]["conversation_count"] for one in shown.values()] == [2, 1]
    assert "files that are no notes, not read: 1" in shown[notion]["notes"]
    found = rows(
        installation,
        "SELECT external_id, privacy, started_at::date::text AS day FROM neurigraph.sources "
        "WHERE user_id = %s AND kind = 'note' ORDER BY external_id",
        bob.user_id,
    )
    assert [(one["external_id"], one["privacy"]) for one in found] == [
        ("vault:Isles/Daily/2023-05-20.md", "shared"),
        ("vault:Notion/Home.md", "private"),
        ("vault:Notion/Home/Boiler.md", "private"),
    ]
    assert (found[0]["day"], found[2]["day"]) == ("2023-05-20", "2024-05-20")


def test_forgotten_notes_of_a_zip_can_be_sent_again(installation: Installation, bob: Claims) -> None:
    content = zipped(**{"Isles/Boat.md": "Bought the boat."})
    upload_id = upload(installation, bob, "isles.zip", content)
    store(installation)
    forget_all(installation, bob)
    again = installation.uploads.receive(bob, "isles.zip", [content])
    assert (again.new, again.upload_id != upload_id) == (True, True)
    assert len(store(installation)) == 1


def test_mailbox_in_a_zip_is_read_where_no_file_can_be_written(installation: Installation, bob: Claims) -> None:
    content = zipped(**{"Takeout/Mail/All.mbox": mailbox(KEEL, "The mast is new.").decode()})
    upload_id = upload(installation, bob, "takeout.zip", content)
    store(installation)
    state = read_upload(installation, bob, upload_id)
    assert (state["state"], state["error"]) == ("stored", None)
    assert (state["imported"]["format"], state["imported"]["messages_added"]) == ("mail", 2)
