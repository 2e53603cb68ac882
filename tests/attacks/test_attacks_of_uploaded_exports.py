"""Attacks by exports of conversations that are uploaded: bombs, endless work, a captured reader, a foreign upload."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import psycopg
import pytest

from neurigraph_pipelines.inbox.export_lines import conversations_of, format_of
from neurigraph_pipelines.inbox.uploads import Uploads
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import UnreadableFileError
from neurigraph_pipelines.wiring.installation import Installation
from resources.extractors.confined import Limits
from resources.extractors.export_reader import SubprocessExportReader
from tests.support.memories import new_user, rows
from tests.support.uploads import read_upload, store, upload

pytestmark = [pytest.mark.attack, pytest.mark.slow]

MEGABYTE = 1 << 20
MESSAGE = {"uuid": "m1", "sender": "human", "text": "The keel."}
TALK = {"uuid": "c1", "name": "Boat", "chat_messages": [MESSAGE]}


@pytest.fixture
def bob(shared_installation: Installation) -> Claims:
    return new_user(shared_installation)[1]


def zip_of(content: bytes, name: str = "conversations.json") -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return held.getvalue()


def sent(here: Installation, claims: Claims, name: str, content: bytes) -> dict[str, Any]:
    upload_id = upload(here, claims, name, content)
    store(here)
    return read_upload(here, claims, upload_id)


def test_zip_bomb_is_not_unpacked(shared_installation: Installation, bob: Claims) -> None:
    state = sent(shared_installation, bob, "export.zip", zip_of(b" " * (100 * MEGABYTE)))
    assert state["state"] == "failed"
    assert "looks like a zip bomb" in state["error"]


@pytest.mark.parametrize("content", [b'[{"mapping":{"x":' * 5_000, b'{"messages":' + b"[" * 50_000])
def test_nested_export_fails_alone(shared_installation: Installation, bob: Claims, content: bytes) -> None:
    state = sent(shared_installation, bob, "deep.json", content)
    assert (state["state"], state["imported"]) == ("failed", None)
    assert "send it with format=document" in state["error"]


def test_names_and_titles_stay_text(shared_installation: Installation, bob: Claims) -> None:
    marked = "<img src=x onerror=alert(1)>\u202e\x00"
    chat = {"name": marked, "type": "personal_chat", "id": 7, "messages": [
        {"id": 1, "type": "message", "date": "2024-05-20T12:00:00", "from": marked, "text": "The keel \ud800 of oak."}
    ]}  # fmt: skip
    state = sent(shared_installation, bob, "../../etc/result.json", json.dumps(chat).encode())
    assert (state["state"], state["file_name"], state["imported"]["conversation_count"]) == ("stored", "result.json", 1)
    kept = rows(shared_installation, "SELECT messages.author, title FROM neurigraph.messages JOIN neurigraph.sources "
                "USING (source_id) WHERE sources.user_id = %s", bob.user_id)  # fmt: skip
    assert len(kept) == 1
    assert all(f"{one}".startswith("<img src=x") and "\x00" not in one for one in kept[0].values())


def limited(here: Installation, claims: Claims, content: bytes, limits: Limits, **kept: int) -> dict[str, Any]:
    """Read an export with other limits of its process."""
    reader = SubprocessExportReader(limits, here.settings.ingestion.max_message_bytes)
    uploads = Uploads(here.context, reader)
    upload_id = uploads.receive(claims, "export.json", [content]).upload_id
    uploads.read_due(here.text_extractor)
    return read_upload(here, claims, upload_id)


def test_memory_of_the_reader_is_bounded(shared_installation: Installation, bob: Claims) -> None:
    """What came before the conversation that takes too much stays, and the error says how much that is."""
    big = {**TALK, "uuid": "c2", "chat_messages": [{**MESSAGE, "uuid": f"m{n}"} for n in range(300_000)]}
    content = json.dumps([TALK, big]).encode()
    state = limited(shared_installation, bob, content, Limits(60, 150 * MEGABYTE))
    assert state["state"] == "failed"
    assert "takes more than 157,286,400 bytes of memory" in state["error"]
    assert "(conversations added before that: 1)" in state["error"]


def test_time_of_the_reader_is_bounded(shared_installation: Installation, bob: Claims) -> None:
    many = json.dumps([{**TALK, "uuid": f"c{n}", "padding": ["x"] * 2_000} for n in range(3_000)]).encode()
    state = limited(shared_installation, bob, many, Limits(0.3, 1 << 30, "NEURIGRAPH_IMPORT_SECONDS"))
    assert state["state"] == "failed"
    assert "raise NEURIGRAPH_IMPORT_SECONDS" in state["error"]


def line(**changed: Any) -> dict[str, Any]:
    """A message as the reader writes it."""
    told = {"role": "user", "content": "x", "author": None, "external_id": "1", "occurred_at": None}
    return {"message": {**told, "tool_calls": [], "complete": True, "event": None, **changed}}


@pytest.mark.parametrize(
    "written",
    [
        line(content=7),
        line(role="owner"),
        line(tool_calls=[1]),
        line(occurred_at="soon"),
        line(event={"type": "tool_use", "__class__": "os.system"}),
        {"message": None},
        {"conversation": {"external_id": "c"}},
        {"conversation": [1]},
    ],
)
def test_lines_of_another_shape(written: dict[str, Any]) -> None:
    """A reader that a file has captured writes what it likes: that is an error of this file, and nothing runs."""
    assert len(list(conversations_of([line(), {"rejected": ["a", "b"]}, {"end": True}]))) == 1
    with pytest.raises(UnreadableFileError, match="another shape"):
        list(conversations_of([written, {"end": True}]))


def test_format_of_a_captured_reader() -> None:
    assert format_of(iter([{"format": "claude"}])) == ("claude", "")
    with pytest.raises(UnreadableFileError):
        format_of(iter([{"format": "../../etc"}]))


def test_persona_names_an_upload(shared_installation: Installation, bob: Claims) -> None:
    """A caller who may write sources cannot name an upload in one, not even an own upload."""
    upload_id = upload(shared_installation, bob, "note.txt", b"The keel.")
    insert = (
        "INSERT INTO neurigraph.sources (user_id, kind, external_id, upload_id) VALUES (%s, 'conversation', %s, %s)"
    )
    with shared_installation.database.agent(bob) as tx:
        tx.execute(insert, (bob.user_id, "free", None))
    with pytest.raises(psycopg.errors.InsufficientPrivilege), shared_installation.database.agent(bob) as tx:
        tx.execute(insert, (bob.user_id, "bound", upload_id))
