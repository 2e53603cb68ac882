"""Uploaded files: received, read, stored, found and opened, hostile ones included."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from neurigraph_pipelines.ingestion.batch import run_due
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import InvalidInputError, NotFoundError, TransientError
from neurigraph_pipelines.model.sources import SourceDetails
from neurigraph_pipelines.retrieval.open import open_file, open_message
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.command_line import PROGRAM, environment, run_cli
from tests.support.documents import docx_of, pdf_of, png_of
from tests.support.erasures import USER, erase
from tests.support.uploads import FERRY, found, opened, read_upload, staged, store, upload, user
from tests.support.waiting import wait_for_process, wait_until

MEGABYTE = 1 << 20


@pytest.fixture
def bob(installation: Installation) -> Claims:
    return user(installation, "bob")


def test_pdf_is_stored_found_and_opened(installation: Installation, bob: Claims) -> None:
    upload_id = upload(installation, bob, "ferry times.pdf", FERRY)
    assert read_upload(installation, bob, upload_id)["state"] == "waiting"
    assert len(store(installation)) == 1
    status = read_upload(installation, bob, upload_id)
    assert (status["state"], status["media_type"], status["error"]) == ("stored", "application/pdf", None)
    assert staged(installation) == []

    answer = found(installation, bob, "Is the captain sober at dusk?")
    (hit,) = answer.hits
    assert hit.source_kind == "upload"
    assert answer.messages[0].external_id == "page-2"
    file = opened(installation, bob, hit.record_id)
    assert (file.file_name, file.media_type, file.content) == ("ferry times.pdf", "application/pdf", FERRY)
    assert file.file_id == status["file_id"]

    text = opened(installation, bob, hit.record_id, as_text=True)
    lines = [json.loads(line) for line in text.content.splitlines()]
    assert [line["external_id"] for line in lines] == ["file", "page-1", "page-2"]
    page = open_message(installation.acting_for(bob), file.file_id, 3)
    assert page.content.strip() == "The ferry returns at dusk, if the captain is sober."


@pytest.mark.parametrize(
    "text", ["Ada has her birthday on 4 May.\n", "Name: Ana Ruiz\nCity: Vigo\n", "会议改到周五。\n"]
)
def test_summary_of_a_file_holds_its_text(installation: Installation, bob: Claims, text: str) -> None:
    upload(installation, bob, "list.txt", text.encode())
    store(installation)
    (hit,) = found(installation, bob, text).hits
    assert "The file list.txt is a plain text" in hit.summary
    assert " ".join(text.split()) in hit.summary


def test_originals_by_kind(installation: Installation, bob: Claims) -> None:
    """Text is gzip at rest with a working copy, what is compressed already is its own; both read back unchanged."""
    contents = {
        "notes.md": b"# Harbour\n\nThe harbour of Tresco was rebuilt in 1911.\n" * 200,
        "tide.csv": b"place;tide\nTresco;5.1\n",
        "page.html": b"<html><p>The pub of Bryher opens at five.</p></html>",
        "ferry.pdf": FERRY,
        "boat.png": png_of(64, 32),
        "scan.py": b"def scan() -> None:\n    print('sonar')\n",
        "log.bin": bytes(range(256)) * 40,
        "shanty.mp3": b"ID3\x04" + bytes(range(256)),
        "launch.mp4": b"\0\0\0\x18ftypmp42" + bytes(range(256)),
    }
    ids = {name: upload(installation, bob, name, content) for name, content in contents.items()}
    assert len(store(installation)) == len(contents)
    kinds = {}
    for name, upload_id in ids.items():
        status = read_upload(installation, bob, upload_id)
        assert status["state"] == "stored", status
        file = open_file(installation.acting_for(bob), status["file_id"])
        assert file.content == contents[name]
        assert (file.media_type, file.size_bytes) == (status["media_type"], len(contents[name]))
        kinds[name] = manifest(installation, status["file_id"])
    assert {name: (row["file_type"], row["compression_format"]) for name, row in kinds.items()} == {
        "notes.md": ("export", "gzip"),
        "tide.csv": ("export", "gzip"),
        "page.html": ("export", "gzip"),
        "ferry.pdf": ("pdf", "native"),
        "boat.png": ("image", "native"),
        "scan.py": ("code", "gzip"),
        "log.bin": ("export", "gzip"),
        "shanty.mp3": ("audio", "native"),
        "launch.mp4": ("video", "native"),
    }
    assert kinds["notes.md"]["stored_bytes"] < 500 < kinds["notes.md"]["size_bytes"]
    assert sum("original" in key for key in installation.objects.keys("active/")) == 5
    assert sum("original" in key for key in installation.objects.keys("durable/")) == len(contents)


def manifest(installation: Installation, file_id: UUID) -> dict[str, Any]:
    with installation.database.pipeline() as tx:
        place = tx.execute(
            "SELECT g.schema_name FROM neurigraph.file_index AS i JOIN neurigraph.graph_index AS g USING (node_id) "
            "WHERE i.file_id = %s",
            (file_id,),
        ).fetchone()
        assert place is not None
        query = f'SELECT * FROM "{place["schema_name"]}".file_manifest WHERE file_id = %s'
        row = tx.execute(query.encode(), (file_id,)).fetchone()
    assert row is not None
    return row


def test_image_is_stored_with_metadata(installation: Installation, bob: Claims) -> None:
    upload(installation, bob, "Tresco harbour.txt", png_of(640, 480))
    store(installation)
    (hit,) = found(installation, bob, "Tresco harbour").hits
    assert "PNG image" in hit.summary
    assert "640 × 480 pixels" in hit.summary
    assert "no reader can extract text from it" in hit.summary
    assert opened(installation, bob, hit.record_id).media_type == "image/png"


def test_same_bytes_are_one_upload(installation: Installation, bob: Claims) -> None:
    first = installation.uploads.receive(bob, "a.pdf", [FERRY])
    again = installation.uploads.receive(bob, "b.pdf", [FERRY[:10], FERRY[10:]], external_id="other")
    assert (first.new, again.new) == (True, False)
    assert first.upload_id == again.upload_id
    assert len(staged(installation)) == 1
    ann = user(installation, "ann")
    assert installation.uploads.receive(ann, "a.pdf", [FERRY]).new
    assert len(store(installation)) == 2
    assert installation.uploads.receive(bob, "a.pdf", [FERRY]).new is False
    assert store(installation) == []
    with pytest.raises(NotFoundError):
        read_upload(installation, ann, first.upload_id)


def test_concurrent_uploads_are_one(installation: Installation, bob: Claims) -> None:
    got: list[UUID] = []
    refused: list[TransientError] = []

    def send(number: int) -> None:
        try:
            got.append(upload(installation, bob, f"{number}.pdf", FERRY, external_id=str(number)))
        except TransientError as error:
            refused.append(error)

    threads = [threading.Thread(target=send, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(got)) == 1
    assert len(got) + len(refused) == 8
    assert len(staged(installation)) == 1
    assert len(store(installation)) == 1


def test_rejected_upload_leaves_nothing(installation: Installation, bob: Claims) -> None:
    upload(installation, bob, "a.txt", b"one", external_id="x")
    with pytest.raises(InvalidInputError, match="the url"):
        upload(installation, bob, "b.txt", b"two", external_id="x", details=SourceDetails(url="file:///a"))
    with pytest.raises(InvalidInputError, match="the file is empty"):
        upload(installation, bob, "c.txt", b"")
    with pytest.raises(InvalidInputError, match="257 characters and the limit is 256"):
        upload(installation, bob, "d.txt", b"four", title="t" * 257)
    small = installation.settings.changed(max_upload_bytes=10)
    installation.settings = small
    del installation.uploads
    with pytest.raises(InvalidInputError, match="more than 10 bytes: raise NEURIGRAPH_MAX_UPLOAD_BYTES"):
        upload(installation, bob, "e.txt", b"01234567890")
    assert len(staged(installation)) == 1


FILE_NAMES = {
    "../../etc/passwd": "passwd",
    "C:\\Users\\bob\\my notes.txt": "my notes.txt",
    "a\x00b\x1b[31m.txt": "a\ufffdb[31m.txt",
    "\udc80.txt": "\ufffd.txt",
    "": "upload",
    "..": "upload",
    "潮汐🌊.txt": "潮汐🌊.txt",
    "n" * 300 + ".txt": "n" * 235 + ".txt",
    "'; DROP TABLE neurigraph.uploads; --.txt": "'; DROP TABLE neurigraph.uploads; --.txt",
}


def test_file_names(installation: Installation, bob: Claims) -> None:
    sent = {
        given: upload(installation, bob, given, f"The tide turns at {n}.".encode())
        for n, given in enumerate(FILE_NAMES)
    }
    assert {given: read_upload(installation, bob, of)["file_name"] for given, of in sent.items()} == FILE_NAMES
    assert len(store(installation)) == len(FILE_NAMES)
    for given, upload_id in sent.items():
        status = read_upload(installation, bob, upload_id)
        assert open_file(installation.acting_for(bob), status["file_id"]).file_name == FILE_NAMES[given]


def test_hostile_file_fails_alone(installation: Installation, bob: Claims) -> None:
    bad = upload(installation, bob, "bomb.docx", docx_of({"word/document.xml": b" " * MEGABYTE}, repeat=600))
    good = upload(installation, bob, "ferry.pdf", FERRY)
    broken = upload(installation, bob, "broken.pdf", b"%PDF-1.7 and no more")
    assert len(store(installation)) == 1
    states = {upload_id: read_upload(installation, bob, upload_id) for upload_id in (bad, good, broken)}
    assert [row["state"] for row in states.values()] == ["failed", "stored", "failed"]
    assert "would unpack to" in states[bad]["error"]
    assert "damaged or of another type" in states[broken]["error"]
    assert store(installation) == []
    # Sent again, it is tried again; its bytes are still there.
    assert upload(installation, bob, "broken.pdf", b"%PDF-1.7 and no more") == broken
    assert read_upload(installation, bob, broken)["state"] == "waiting"


def attempts(installation: Installation, upload_id: UUID) -> int:
    with installation.database.pipeline() as tx:
        row = tx.execute("SELECT attempts FROM neurigraph.uploads WHERE source_id = %s", (upload_id,)).fetchone()
    assert row is not None
    made: int = row["attempts"]
    return made


@pytest.mark.slow
def test_killed_reader_is_replaced(settings: Settings, installation: Installation, bob: Claims) -> None:
    """Its lease expires; after the last attempt the upload has failed and waits for a person."""
    endless = pdf_of("", stream=b"BT /F1 12 Tf (a) Tj ET\n" * 3_000_000)
    upload_id = upload(installation, bob, "endless.pdf", endless)
    limits = {
        "NEURIGRAPH_CLAIM_LEASE_SECONDS": "5",
        "NEURIGRAPH_EXTRACTION_SECONDS": "4",
        "NEURIGRAPH_OCR_SECONDS": "0",
    }
    process = subprocess.Popen([PROGRAM, "ingest"], env=environment(settings, **limits))
    wait_for_process(lambda: attempts(installation, upload_id), process)
    process.kill()
    process.wait()
    assert installation.uploads.read_due(installation.text_extractor) == []  # nobody else gets it yet
    assert read_upload(installation, bob, upload_id)["state"] == "waiting"
    installation.settings = settings.changed(max_attempts=1)
    del installation.uploads

    def given_up() -> bool:
        assert installation.uploads.read_due(installation.text_extractor) == []
        return bool(read_upload(installation, bob, upload_id)["state"] != "waiting")

    wait_until(given_up, "the lease of the dead process has expired", interval=0.1)
    status = read_upload(installation, bob, upload_id)
    assert (status["state"], status["error"]) == ("failed", "the process that read it died")


def test_upload_by_cli(tmp_path: Path, settings: Settings, installation: Installation) -> None:
    (tmp_path / "ferry times.pdf").write_bytes(FERRY)
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7 and no more")

    def run(*arguments: str) -> Any:
        done = run_cli(settings, *arguments, "--json", folder=tmp_path)
        return json.loads(done.stdout if done.returncode == 0 else done.stderr.splitlines()[-1])

    taken = run("import", "ferry times.pdf", "--user", "bob")
    assert (taken["format"], taken["state"], taken["media_type"]) == ("document", "waiting", "application/pdf")
    refused = run("import", "broken.pdf", "--user", "bob")
    assert refused["error"] == "UnreadableFileError"
    assert refused["message"].startswith("broken.pdf: the file cannot be read: it is damaged")
    assert run("ingest")["stored"] == 1
    listed = run("source", "list", "upload", "--user", "bob")["uploads"]
    assert [(row["file_name"], row["state"]) for row in listed] == [
        ("broken.pdf", "failed"),
        ("ferry times.pdf", "stored"),
    ]
    (hit,) = run("search", "When does the ferry leave?", "--user", "bob")["hits"]
    shown = run("open", hit["record_id"], "--user", "bob")
    assert (shown["name"], shown["size_bytes"]) == ("ferry times.pdf", len(FERRY))
    assert len(run("open", hit["record_id"], "--user", "bob", "--text")["messages"]) == 3
    assert run("open", hit["record_id"], "--user", "bob", "--output", "copy.pdf")["bytes"] == len(FERRY)
    assert (tmp_path / "copy.pdf").read_bytes() == FERRY


def test_lost_bytes_fail_one_upload(installation: Installation, bob: Claims) -> None:
    upload_id = upload(installation, bob, "ferry.pdf", FERRY)
    installation.objects.delete(staged(installation)[0])
    (read,) = installation.uploads.read_due(installation.text_extractor)
    assert read.error is not None
    assert "There is no object" in read.error
    status = read_upload(installation, bob, upload_id)
    assert (status["state"], status["error"]) == ("waiting", read.error)  # tried again later


def test_upload_that_is_erased_while_it_is_read_is_no_failure(installation: Installation, bob: Claims) -> None:
    upload(installation, bob, "ferry.pdf", FERRY)

    class Erasing:
        """The extractor, of whose file the owner is forgotten as it begins."""

        def extract(self, *arguments: Any) -> Any:
            erase(installation, bob, USER, bob.user_id)
            return installation.text_extractor.extract(*arguments)

    assert installation.uploads.read_due(Erasing()) == []  # type: ignore[arg-type]


def test_changed_bytes_are_not_stored(installation: Installation, bob: Claims) -> None:
    upload(installation, bob, "ferry.pdf", FERRY)
    installation.uploads.read_due(installation.text_extractor)
    installation.objects.put(staged(installation)[0], [FERRY.replace(b"Helvetica", b"Helvetico")])
    (result,) = run_due(installation.context, "tests")
    assert result.stored == ()
    ((failure, state),) = result.returned
    assert "has changed since it was uploaded" in failure.error
    assert state == "pending"
    assert list(installation.objects.keys("durable/")) == []


def test_long_document_has_segments(settings: Settings, installation: Installation, bob: Claims) -> None:
    installation.settings = settings.changed(
        chunk_watch_tokens=2_000, chunk_target_tokens=2_000, chunk_limit_tokens=3_500
    )
    text = "".join(f"Entry {n}: the tide at Tresco stood at {n} feet.\n" for n in range(1_000)).encode()
    upload_id = upload(installation, bob, "tides.txt", text)
    assert len(store(installation)) > 4
    with installation.database.pipeline() as tx:
        segments = tx.execute(
            "SELECT first_message, last_message, token_count, trigger_type FROM neurigraph.storage_triggers "
            "WHERE source_id = %s ORDER BY first_message",
            (upload_id,),
        ).fetchall()
    assert segments[0]["first_message"] == 1
    assert [s["first_message"] - 1 for s in segments[1:]] == [s["last_message"] for s in segments[:-1]]
    assert all(segment["token_count"] <= 3_500 for segment in segments)
    assert {segment["trigger_type"] for segment in segments} == {"event_boundary"}
    status = read_upload(installation, bob, upload_id)
    assert status["state"] == "stored"
    assert open_file(installation.acting_for(bob), status["file_id"]).content == text


def test_large_upload_memory(installation: Installation, bob: Claims) -> None:
    """600 MB through receiving, reading, storing and opening; the process grows by less than a tenth of it."""
    size = 600 * MEGABYTE
    block = b"\x00\x00\x00\x18ftypmp42" + os.urandom(MEGABYTE - 12)

    def content() -> Iterator[bytes]:
        for _ in range(size // MEGABYTE):
            yield block

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    upload_id = installation.uploads.receive(bob, "film.mp4", content()).upload_id
    received = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert (received - before) * 1_024 < size // 10
    store(installation)  # loads the models, which take some memory themselves
    stored = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert (stored - before) * 1_024 < size // 2
    status = read_upload(installation, bob, upload_id)
    file = open_file(installation.acting_for(bob), status["file_id"])
    digest = hashlib.sha256()
    for chunk in file.chunks():
        digest.update(chunk)
    assert digest.hexdigest() == status["sha256"]
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - stored) * 1_024 < size // 10


def test_abandoned_uploads_are_swept(installation: Installation, bob: Claims) -> None:
    old, young = f"staging/2020-01-01/{uuid4()}", f"staging/2199-01-01/{uuid4()}"
    installation.objects.put(old, [b"left"])
    installation.objects.put(young, [b"on its way"])
    upload(installation, bob, "ferry.pdf", FERRY)
    with installation.database.pipeline() as tx:  # as if it had waited for years
        (waiting,) = tx.execute("SELECT staging_key FROM neurigraph.uploads").fetchall()
        aged = f"staging/2020-01-01/{uuid4()}"
        tx.execute("UPDATE neurigraph.uploads SET staging_key = %s", (aged,))
    installation.objects.put(aged, installation.objects.get(waiting["staging_key"]))
    assert installation.uploads.clear() == 1
    assert sorted(staged(installation)) == sorted([aged, waiting["staging_key"], young])
