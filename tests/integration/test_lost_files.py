"""Files of records that are lost: handing in the same again writes them again, and other bytes change nothing."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from neurigraph_pipelines.inbox.importing import import_file
from neurigraph_pipelines.lifecycle.verification import verify
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.locks import wait_until_locked
from tests.support.memories import ingest, new_user, plain_context, rows
from tests.support.uploads import FERRY, found, opened, staged, store, upload

TALK: list[dict[str, Any]] = [
    {"role": "user", "content": "Where does the ferry leave?", "external_id": "1"},
    {
        "role": "assistant",
        "content": "From the quay. " * 400,
        "external_id": "2",
        "tool_calls": [{"name": "timetable", "arguments": {"to": "Tresco", "by": 9.5}, "result": "nine"}],
    },
    {"role": "user", "content": 'Thanks, "Ünïcødé" 🚲.\n\tGood.', "external_id": "3"},
]


@pytest.fixture
def bob(installation: Installation) -> Claims:
    return new_user(installation)[1]


def lose(installation: Installation) -> int:
    """Remove all objects, and return how many durable ones there were."""
    keys = list(installation.objects.keys(""))
    for key in keys:
        installation.objects.delete(key)
    return sum(key.startswith("durable/") for key in keys)


def talk(folder: Path, last: str = TALK[2]["content"]) -> Path:
    times = {"started_at": "2026-05-03T10:00:00Z", "ended_at": "2026-05-03T10:05:00Z"}
    line = {"external_id": "talk", **times, "messages": [*TALK[:2], {**TALK[2], "content": last}]}
    (folder / "talk.jsonl").write_text(json.dumps(line) + "\n")
    return folder / "talk.jsonl"


def faults(installation: Installation) -> int:
    return len(verify(installation.context).findings)


@pytest.mark.parametrize("level", [6, 9])
def test_import(installation: Installation, bob: Claims, tmp_path: Path, level: int) -> None:
    acting = installation.acting_for(bob)
    import_file(acting, talk(tmp_path), "jsonl")
    settings = installation.settings.changed(gzip_level=level)
    ingest(plain_context(installation).using(settings=settings))
    assert lose(installation) == 1
    import_file(acting, talk(tmp_path, "Other words."), "jsonl")
    assert faults(installation) > 0
    import_file(acting, talk(tmp_path), "jsonl", dry_run=True)
    assert faults(installation) > 0
    import_file(acting, talk(tmp_path), "jsonl")
    assert faults(installation) == 0


def test_waiting_upload(installation: Installation, bob: Claims) -> None:
    upload(installation, bob, "ferry.pdf", FERRY)
    lose(installation)
    upload(installation, bob, "ferry.pdf", FERRY)
    assert len(store(installation)) == 1
    assert (faults(installation), staged(installation)) == (0, [])


@pytest.mark.parametrize(
    ("name", "content"), [("ferry.pdf", FERRY), ("notes.txt", b"The ferry to Tresco leaves at nine.\n")]
)
def test_stored_upload(installation: Installation, bob: Claims, name: str, content: bytes) -> None:
    upload(installation, bob, name, content)
    assert len(store(installation)) == 1
    assert lose(installation) == 2
    upload(installation, bob, name, content)
    installation.uploads.clear()
    assert store(installation) == []
    assert (faults(installation), staged(installation)) == (0, [])
    (hit,) = found(installation, bob, "ferry to Tresco").hits
    assert opened(installation, bob, hit.record_id).content == content


def test_file_that_comes_again_while_its_bytes_are_cleared(installation: Installation, bob: Claims) -> None:
    upload_id = upload(installation, bob, "ferry.pdf", FERRY)
    installation.uploads.read_due(installation.text_extractor)
    assert len(ingest(installation.context)) == 1  # and nothing cleared its bytes yet
    lose(installation)
    with ThreadPoolExecutor(2) as pool, installation.database.owner() as tx:
        tx.execute("SELECT FROM neurigraph.uploads WHERE source_id = %s FOR UPDATE", [upload_id])
        again = pool.submit(upload, installation, bob, "ferry.pdf", FERRY)
        wait_until_locked(installation, 1, "neurigraph_pipeline")
        clearing = pool.submit(installation.uploads.clear)
        wait_until_locked(installation, 2, "neurigraph_pipeline")
        tx.rollback()
        assert again.result() == upload_id
        clearing.result()
    assert store(installation) == []
    assert (faults(installation), staged(installation)) == (0, [])


def test_uploaded_export(installation: Installation, bob: Claims, tmp_path: Path) -> None:
    content = talk(tmp_path).read_bytes()
    upload(installation, bob, "talk.jsonl", content)
    assert len(store(installation)) == 1
    assert len(rows(installation, "SELECT FROM neurigraph.sources WHERE kind = 'conversation'")) == 1
    assert lose(installation) == 1
    upload(installation, bob, "talk.jsonl", content)
    assert store(installation) == []
    assert (faults(installation), staged(installation)) == (0, [])
