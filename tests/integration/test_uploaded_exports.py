"""Uploaded exports of conversations: each becomes conversations, once, whatever kills the reader."""

from __future__ import annotations

import io
import json
import multiprocessing
import os
import signal
import time
import zipfile
from typing import Any
from uuid import UUID

import httpx
import pytest

from neurigraph_pipelines.inbox import upload_leases, uploaded_exports, uploads
from neurigraph_pipelines.inbox.privacy import set_privacy
from neurigraph_pipelines.inbox.source_lists import SourceFilter, list_sources
from neurigraph_pipelines.model import Claims, Privacy, SourceKind
from neurigraph_pipelines.model.sources import SourceDetails
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from tests.integration.test_uploads_http import key_of
from tests.support.api_server import serving
from tests.support.erasures import RECORD, erase, sound
from tests.support.exports import chatgpt_dialogue, claude, claude_message
from tests.support.memories import new_user, rows
from tests.support.uploads import found, read_upload, store, upload

KEEL = "The keel of the sloop needs new bolts."
DAY = "2024-05-20"


@pytest.fixture
def installation(shared_installation: Installation) -> Installation:
    return shared_installation


@pytest.fixture
def bob(installation: Installation) -> Claims:
    return new_user(installation)[1]


def zipped(**members: Any) -> bytes:
    """A zip of JSON or text by name."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content if isinstance(content, str) else json.dumps(content))
    return held.getvalue()


def mailbox(*texts: str) -> bytes:
    return "".join(
        f"From ann@example.org Wed May  1 10:00:00 2024\nFrom: Ann <ann@example.org>\nSubject: Boat {n}\n"
        f"Date: Wed, 1 May 2024 10:00:00 +0000\nMessage-ID: <m{n}@example.org>\n\n{text}\n\n"
        for n, text in enumerate(texts)
    ).encode()


SLACK = {"type": "message", "user": "U1", "text": KEEL, "ts": "1716206400.000100"}
TELEGRAM = {"id": 2, "type": "message", "date": "2024-05-20T12:00:00", "date_unixtime": "1716206400", "from": "Ann"}
EXPORTS = {
    "chatgpt": ("conversations.json", json.dumps([chatgpt_dialogue(1, words=KEEL)]).encode()),
    "claude": ("claude.zip", zipped(**{"conversations.json": [claude("u1", [claude_message("m1", "human", KEEL)])]})),
    "whatsapp": (
        "WhatsApp Chat with Ann.txt",
        f"24/12/2023, 18:05 - Ann: {KEEL}\n24/12/2023, 18:06 - Bo: Yes.".encode(),
    ),
    "slack": ("workspace.zip", zipped(**{f"general/{DAY}.json": [SLACK], "users.json": [{"id": "U1", "name": "ann"}]})),
    "telegram": (
        "result.json",
        json.dumps(
            {"name": "Ann", "type": "personal_chat", "id": 77, "messages": [{**TELEGRAM, "text": KEEL}]}
        ).encode(),
    ),
    "mail": ("inbox.mbox", mailbox(KEEL)),
    "supermemory": (
        "memories.json",
        json.dumps({"memories": [{"id": "d-1", "title": "Boats", "content": KEEL}], "pagination": {}}).encode(),
    ),
    "mem0": ("mem0.json", json.dumps({"results": [{"id": "m-1", "memory": KEEL}]}).encode()),
}


def conversations_of(here: Installation, claims: Claims, upload_id: UUID | None = None) -> list[dict[str, Any]]:
    wanted = SourceFilter(upload_id=upload_id)
    found = list_sources(here.listing(claims, limit=200), SourceKind.CONVERSATION, wanted).items
    return [one.model_dump() for one in found]


@pytest.mark.parametrize("format_name", EXPORTS)
def test_export_becomes_conversations(installation: Installation, bob: Claims, format_name: str) -> None:
    name, content = EXPORTS[format_name]
    upload_id = upload(installation, bob, name, content)
    assert read_upload(installation, bob, upload_id)["state"] == "waiting"
    (read,) = installation.uploads.read_due(installation.text_extractor)
    assert (read.error, read_upload(installation, bob, upload_id)["state"]) == (None, "waiting"), "not stored yet"
    store(installation)
    state = read_upload(installation, bob, upload_id)
    assert (state["state"], state["file_id"], state["imported"]["format"]) == ("stored", None, format_name)
    assert (state["imported"]["conversations_added"], state["imported"]["rejected"]) == (1, [])
    (conversation,) = conversations_of(installation, bob, upload_id)
    hit = found(installation, bob, "Which boat needs new bolts in its keel?").hits[0]
    assert (hit.source_kind, hit.source_id) == ("conversation", conversation["conversation_id"])
    assert rows(installation, "SELECT staging_key FROM neurigraph.uploads WHERE source_id = %s", upload_id) == [
        {"staging_key": None}
    ], "no copy of what may be forgotten one day"
    again = installation.uploads.receive(bob, "again", [content])
    assert (again.new, again.upload_id) == (False, upload_id)
    assert store(installation) == []


def test_export_over_http_with_status(installation: Installation) -> None:
    content = json.dumps([chatgpt_dialogue(n, words=f"{KEEL} {n}") for n in range(3)]).encode()
    with serving(installation) as address, httpx.Client(base_url=address, timeout=60.0) as client:
        headers = key_of(client, "bob-of-exports")
        form = {"container_tags": "boats", "metadata": json.dumps({"backup": 7})}
        sent = client.post("/v1/files", headers=headers, files={"file": ("c.json", content)}, data=form)
        assert sent.status_code == 202
        upload_id = sent.json()["upload_id"]
        document = f"/v3/documents/{upload_id}"
        assert client.get(document, headers=headers).json()["status"] == "pending"
        installation.uploads.read_due(installation.text_extractor)
        assert client.get(document, headers=headers).json()["status"] == "chunking"
        store(installation)
        shown = client.get(f"/v1/uploads/{upload_id}", headers=headers).json()
        assert (shown["state"], shown["imported"]["conversation_count"], shown["record_ids"]) == ("stored", 3, [])
        assert client.get(document, headers=headers).json()["status"] == "completed"
        of_upload = client.get("/v1/conversations", headers=headers, params={"upload_id": upload_id}).json()
        assert len(of_upload["conversations"]) == 3
        assert {one["metadata"]["backup"] for one in of_upload["conversations"]} == {7}
        asked = {"q": "bolts of the keel", "containerTags": ["boats"]}
        assert client.post("/v3/search", headers=headers, json=asked).json()["count"] == 3
        kept = client.post(
            "/v1/files", headers=headers, files={"file": ("m.json", EXPORTS["mem0"][1])}, data={"format": "document"}
        )
        store(installation)
        state = client.get(f"/v1/uploads/{kept.json()['upload_id']}", headers=headers).json()
        assert (state["state"], state["imported"], len(state["record_ids"])) == ("stored", None, 1)


def test_grown_export_adds_what_is_new(installation: Installation, bob: Claims) -> None:
    talk = claude("u1", [claude_message("m1", "human", KEEL)])
    first = upload(installation, bob, "a.json", json.dumps([talk]).encode())
    store(installation)
    grown = claude("u1", [claude_message("m1", "human", KEEL), claude_message("m2", "human", "The mast is new.")])
    other = claude("u2", [claude_message("m3", "human", "The sail is torn.")])
    second = upload(installation, bob, "b.json", json.dumps([grown, other]).encode())
    store(installation)
    imported = read_upload(installation, bob, second)["imported"]
    counts = ("conversation_count", "conversations_added", "messages_added", "messages_known")
    assert [imported[name] for name in counts] == [2, 1, 2, 1]
    assert len(conversations_of(installation, bob)) == 2
    assert conversations_of(installation, bob, first) == [], "it lists with the newest export"
    assert read_upload(installation, bob, first)["state"] == "stored"


def test_stated_order_of_dates_corrects_what_was_assumed(installation: Installation, bob: Claims) -> None:
    chat = b"01/02/24, 09:00 - Mona: Happy new year\n01/03/24, 09:00 - Theo: The kiln arrived.\n"
    first = upload(installation, bob, "_chat.txt", chat)
    store(installation)
    (note,) = read_upload(installation, bob, first)["imported"]["notes"]
    assert "which is assumed" in note
    stated = SourceDetails(metadata={"dates": "mdy"})
    second = upload(installation, bob, "_chat.txt", chat, details=stated)
    assert upload(installation, bob, "_chat.txt", chat, details=stated) == second
    store(installation)
    imported = read_upload(installation, bob, second)["imported"]
    assert (imported["messages_added"], imported["messages_known"]) == (0, 2)
    assert imported["notes"] == ["conversations whose dates were corrected: 2"]


def test_text_that_resembles_a_dialogue_is_a_document_and_says_so(installation: Installation, bob: Claims) -> None:
    dialogue = upload(installation, bob, "play.txt", b"Ann: The keel?\nBo: Bolts.\nAnn: New ones.\nBo: Yes.\n")
    recipe = upload(installation, bob, "recipe.md", b"# Bread\n\nFlour: 500 g\nWater: 350 g\nSalt: 10 g\n")
    compose = upload(installation, bob, "compose.yaml", b"services:\n  web:\n    image: boat\n    ports: [80]\n")
    latin = upload(installation, bob, "latin.txt", "Grüße aus Köln, wo der Käse schön schmeckt.".encode("cp1252"))
    store(installation)
    for one in (dialogue, recipe, compose, latin):
        state = read_upload(installation, bob, one)
        assert (state["state"], state["imported"], len(state["record_ids"])) == ("stored", None, 1)
        assert state["notes"] == ["stored as a document", *(["encoding taken as Windows-1252"] if one == latin else [])]
    assert conversations_of(installation, bob) == []


def test_same_bytes_say_that_they_keep_their_privacy(installation: Installation) -> None:
    with serving(installation) as address, httpx.Client(base_url=address, timeout=60.0) as client:
        headers = key_of(client, "bob-of-privacy")

        def send(**form: str) -> httpx.Response:
            return client.post("/v1/files", headers=headers, files={"file": ("a.txt", KEEL.encode())}, data=form)

        first = send()
        assert (first.status_code, first.json()["notes"]) == (202, [])
        upload_id = first.json()["upload_id"]
        again = send(privacy="private")
        assert (again.status_code, again.json()["upload_id"]) == (200, upload_id)
        (note,) = again.json()["notes"]
        assert note.startswith("the same file is there already and stays shared: PATCH /v1/uploads/")
        assert send(privacy="shared").json()["notes"] == []
        assert client.get(f"/v1/uploads/{upload_id}", headers=headers).json()["privacy"] == "shared"
        assert client.patch(f"/v1/uploads/{upload_id}", headers=headers, json={"privacy": "private"}).status_code == 204
        assert send(privacy="private").json()["notes"] == []
        store(installation)


def test_rejected_parts_are_named(installation: Installation, bob: Claims) -> None:
    spoilt = [claude("u1", [claude_message("m1", "human", KEEL)]), {"uuid": "u2", "chat_messages": "none"}]
    upload_id = upload(installation, bob, "a.json", json.dumps(spoilt).encode()[:-1])
    store(installation)
    state = read_upload(installation, bob, upload_id)
    assert state["state"] == "stored"
    assert state["imported"]["rejected_count"] == len(state["imported"]["rejected"]) == 2
    assert all(item["where"] and item["reason"] for item in state["imported"]["rejected"])


def test_encrypted_export_fails_with_the_remedy(installation: Installation, bob: Claims) -> None:
    content = bytearray(zipped(**{"conversations.json": [claude("u1", [claude_message("m1", "human", KEEL)])]}))
    content[6] |= 1  # the flag of the member and that of the directory
    content[content.index(b"PK\x01\x02") + 8] |= 1
    upload_id = upload(installation, bob, "export.zip", bytes(content))
    store(installation)
    state = read_upload(installation, bob, upload_id)
    assert state["state"] == "failed"
    assert "export.zip is encrypted: unpack it" in state["error"]
    assert "/tmp" not in state["error"]


def test_stated_privacy_holds_for_conversations(installation: Installation, bob: Claims) -> None:
    content = EXPORTS["mem0"][1]
    secret = upload(installation, bob, "m.json", content, privacy=Privacy.PRIVATE, details=SourceDetails(origin="mem0"))
    store(installation)
    (conversation,) = conversations_of(installation, bob, secret)
    assert (conversation["privacy"], conversation["origin"]) == ("private", "mem0")
    for privacy in (Privacy.SHARED, Privacy.PRIVATE):
        set_privacy(installation.database, bob, secret, privacy, SourceKind.UPLOAD)
        (conversation,) = conversations_of(installation, bob, secret)
        assert conversation["privacy"] == privacy


def test_chats_of_two_people_start_private(installation: Installation, bob: Claims) -> None:
    upload(installation, bob, *EXPORTS["whatsapp"])
    store(installation)
    assert [one["privacy"] for one in conversations_of(installation, bob)] == ["private"]


def test_forgotten_export_can_be_sent_again(installation: Installation, bob: Claims) -> None:
    name, content = EXPORTS["mail"]
    upload_id = upload(installation, bob, name, content)
    store(installation)
    forget_all(installation, bob)
    assert rows(installation, "SELECT source_id FROM neurigraph.sources WHERE user_id = %s", bob.user_id) == []
    again = installation.uploads.receive(bob, name, [content])
    assert (again.new, again.upload_id != upload_id) == (True, True)
    assert len(store(installation)) == 1


def forget_all(here: Installation, claims: Claims) -> None:
    found = rows(here, "SELECT record_id FROM neurigraph.record_index WHERE user_id = %s", claims.user_id)
    for row in found:
        erase(here, claims, RECORD, row["record_id"])
    assert sound(here)


def _die_after(settings: Settings, groups: int, moment: str) -> None:
    """Read uploads, and die before or after a group of conversations is noted."""
    note, seen = uploaded_exports._note_group, []

    def dying(*args: Any) -> None:
        seen.append(args)
        if moment == "before" and len(seen) > groups:
            os.kill(os.getpid(), signal.SIGKILL)
        note(*args)
        if moment == "after" and len(seen) > groups:
            os.kill(os.getpid(), signal.SIGKILL)

    vars(uploaded_exports)["_note_group"] = dying
    here = Installation(settings)  # connections of its own: the parent's would stay open
    here.uploads.read_due(here.text_extractor)


@pytest.mark.parametrize(("groups", "moment"), [(0, "after"), (1, "before"), (1, "after"), (3, "before"), (3, "after")])
def test_killed_import_goes_on_and_doubles_nothing(
    installation: Installation, bob: Claims, groups: int, moment: str
) -> None:
    content = mailbox(*(f"{KEEL} Number {n}." for n in range(400)))
    upload_id = upload(installation, bob, "inbox.mbox", content)
    spawned = multiprocessing.get_context("fork").Process(
        target=_die_after, args=(installation.settings, groups, moment)
    )
    spawned.start()
    spawned.join(120)
    assert spawned.exitcode == -signal.SIGKILL
    assert read_upload(installation, bob, upload_id)["state"] == "waiting"
    left = "SELECT next_attempt_at <= now() + interval '1 minute' AS soon FROM neurigraph.uploads WHERE user_id = %s"
    assert rows(installation, left, bob.user_id) == [{"soon": True}]
    due = "UPDATE neurigraph.uploads SET next_attempt_at = now() WHERE user_id = %s RETURNING attempts"
    assert [row["attempts"] for row in rows(installation, due, bob.user_id)] == [1]
    (read,) = installation.uploads.read_due(installation.text_extractor)
    assert read.error is None
    imported = read_upload(installation, bob, upload_id)["imported"]
    assert (imported["conversation_count"], imported["rejected_count"]) == (400, 0)
    held = (
        "SELECT count(*) AS n, count(DISTINCT external_id) AS names, count(upload_id) AS noted FROM neurigraph.sources "
    )
    assert rows(installation, f"{held} WHERE user_id = %s AND kind = 'conversation'", bob.user_id) == [
        {"n": 400, "names": 400, "noted": 400}
    ]
    kept = "SELECT count(*) AS n FROM neurigraph.messages WHERE user_id = %s"
    assert rows(installation, kept, bob.user_id) == [{"n": 400}]


def test_slow_reader_keeps_its_lease(installation: Installation, bob: Claims, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading takes four leases, and another process looks for files meanwhile."""
    monkeypatch.setattr(upload_leases, "LEASE_SECONDS", 0.6)
    monkeypatch.setattr(uploads, "LEASE_SECONDS", 0.6)
    note, others = uploaded_exports._note_group, []

    def slow(*args: Any) -> None:
        for _ in range(8):
            time.sleep(0.3)
            others.extend(installation.uploads.read_due(installation.text_extractor, bob.user_id))
        note(*args)

    monkeypatch.setattr(uploaded_exports, "_note_group", slow)
    upload(installation, bob, *EXPORTS["mail"])
    (read,) = installation.uploads.read_due(installation.text_extractor, bob.user_id)
    assert (read.error, others) == (None, [])


def test_reader_that_lost_its_lease_stops(
    installation: Installation, bob: Claims, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process took the upload over while this one was suspended."""
    note = uploaded_exports._note_group

    def overtaken(context: Any, leased: Any, group: Any) -> None:
        rows(
            installation,
            "UPDATE neurigraph.uploads SET attempts = attempts + 1 WHERE user_id = %s RETURNING 1",
            bob.user_id,
        )
        note(context, leased, group)

    monkeypatch.setattr(uploaded_exports, "_note_group", overtaken)
    upload_id = upload(installation, bob, *EXPORTS["mail"])
    read = installation.uploads.read_due(installation.text_extractor)[0]
    assert "another process reads this file" in (read.error or "")
    assert read_upload(installation, bob, upload_id)["imported"] is None
