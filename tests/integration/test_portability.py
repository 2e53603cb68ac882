"""Export of a user and restore into another database: same rows, bytes and answers."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import zipfile
from contextlib import closing
from functools import partial
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from neurigraph_pipelines.access.authentication import issue_api_key
from neurigraph_pipelines.exchange.portability.archive import MANIFEST, new_archive, open_archive
from neurigraph_pipelines.exchange.portability.export import written
from neurigraph_pipelines.exchange.portability.restore import restore_user
from neurigraph_pipelines.exchange.portability.tables import LEFT_OUT, SHARED, shared_tables, tables_of
from neurigraph_pipelines.faces.api.exports import EXPORTS_AT_ONCE
from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.knowledge.reading import read_waiting
from neurigraph_pipelines.lifecycle import orphans
from neurigraph_pipelines.lifecycle.erasure.forget import forget
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.lifecycle.orphans import audit_objects
from neurigraph_pipelines.lifecycle.verification import verify
from neurigraph_pipelines.model.errors import ConflictError, InvalidInputError, NotFoundError
from neurigraph_pipelines.retrieval.open import file_of_record, open_file
from neurigraph_pipelines.wiring.installation import Installation
from resources.age_encryption import AgeKey
from tests.conftest import ROOT, SECRET
from tests.support.api_server import serving
from tests.support.command_line import run_cli
from tests.support.erasures import RECORD, erase, parts_of_a_document
from tests.support.exported_user import QUESTIONS, Source, all_rows, export, exported_user, restore
from tests.support.files import store_file
from tests.support.memories import converse, ingest, new_user, plain_context, rows, schemas_of
from tests.support.uploads import store
from tests.support.waiting import wait_until


@pytest.fixture(scope="module")
def source(shared_installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Source:
    return exported_user(shared_installation, tmp_path_factory.mktemp("exports"))


def contents(here: Installation) -> list[bytes]:
    """The content of every object. Their keys change in a restore."""
    return sorted(b"".join(here.objects.get(key)) for key in here.objects.keys(""))


def test_every_table_is_exported_or_excluded(source: Source) -> None:
    with source.here.database.owner() as tx:
        all_tables = {table.name: table for table in tables_of(tx, SHARED)}
        exported = {table.name for table in shared_tables(tx)}
    assert exported | LEFT_OUT.keys() == all_tables.keys()
    assert all(LEFT_OUT.values())
    # For a new exported table, add a row to these tests. The graph of an organization has tests of its own.
    assert exported - {"organizations"} <= source.report.rows.keys()


@pytest.mark.parametrize("form", ["folder", "zipped"])
def test_restore_gives_same_answers(source: Source, installation: Installation, form: str) -> None:
    before = all_rows(source.here, source.user.user_id)
    answers = [source.ask(source.here, question) for question in QUESTIONS]
    assert any(answer.hits for answer in answers)
    restored = restore(installation, getattr(source, form), "exporter")
    assert (restored.records, restored.lost) == (source.report.rows["metadata_records"], ())
    assert all_rows(installation, source.user.user_id) == before
    assert [source.ask(installation, question) for question in QUESTIONS] == answers
    with installation.database.owner() as tx:
        statement = "SELECT row_to_json(t)::text AS line FROM neurigraph.node_statistics AS t WHERE user_id = %s"
        with source.here.database.owner() as other:
            was = sorted(row["line"] for row in other.execute(statement, [source.user.user_id]))
        assert sorted(row["line"] for row in tx.execute(statement, [source.user.user_id])) == was != []
    assert contents(installation) == contents(source.here)
    assert not verify(installation.context).findings
    # What comes in afterwards goes on from there.
    converse(installation, source.claims, "And now it is finished.", external_id="open", first=2)
    (batch,) = ingest(plain_context(installation), source.user)
    places = sorted(record.node_path.partition("/")[2] for record in batch.stored)
    assert places == ["Family/Dave", "Notes"], "the note that waited is stored where it was pinned"
    # So do the facts of a record that was not read yet.
    read_waiting(plain_context(installation), user_id=source.user.user_id)
    query = "SELECT version FROM neurigraph.facts WHERE user_id = %s AND statement = 'Dave sails again.'"
    assert rows(installation, query, source.user.user_id) == [{"version": 4}]


def test_folder_export_is_readable(source: Source) -> None:
    manifest = json.loads((source.folder / MANIFEST).read_text())
    assert manifest["user"] == {"user_id": str(source.user.user_id), "slug": "exporter"}
    (users,) = (source.folder / "tables/users.jsonl").read_text().splitlines()
    assert json.loads(users)["slug"] == "exporter"
    texts = [gzip.decompress(p.read_bytes()) for p in (source.folder / "objects/durable").rglob("*.gz")]
    assert any(b"red bicycle" in text for text in texts)
    assert source.folder.stat().st_mode & 0o077 == 0
    assert source.zipped.stat().st_mode & 0o077 == 0
    assert "api_key" not in {p.stem for p in source.folder.rglob("*")}


def test_existing_user_is_not_restored(source: Source, installation: Installation) -> None:
    with pytest.raises(ConflictError, match="in this database already"):
        restore(source.here, source.folder, "exporter")
    new_user(installation, "exporter")
    with pytest.raises(ConflictError, match="in this database already"):
        restore(installation, source.folder, "exporter")
    with pytest.raises(InvalidInputError, match="of the user 'exporter'"):
        restore(installation, source.folder, "somebody")
    assert list(installation.objects.keys()) == []


def test_taken_schema_name_is_not_reused(source: Source, installation: Installation) -> None:
    """Another user's nodes may be called as the exported ones would be."""
    taken = schemas_of(source.here, source.user)["Family"]
    new_user(installation, taken.replace("_", "-"))
    with installation.database.owner() as tx:
        tx.execute("UPDATE neurigraph.graph_index SET schema_name = %s", [taken])
    restore(installation, source.zipped, "exporter")
    assert schemas_of(installation, source.user)["Family"] != taken
    assert source.ask(installation, QUESTIONS[0]).hits == source.ask(source.here, QUESTIONS[0]).hits


def test_lost_object_is_reported(shared_installation: Installation, installation: Installation, tmp_path: Path) -> None:
    gone = store_file(shared_installation)
    kept = store_file(shared_installation, "#Notes Another one.", user=(gone.user, gone.claims))
    shared_installation.objects.delete(gone.key)
    report = export(shared_installation, gone.user, tmp_path / "export.zip")
    assert report.lost == [gone.key]
    restored = restore(installation, tmp_path / "export.zip", gone.user.slug)
    assert restored.lost == (gone.key,)
    assert (restored.records, restored.objects) == (2, 1)
    (key,) = installation.objects.keys("durable/")
    assert b"".join(installation.objects.get(key)) == b"".join(shared_installation.objects.get(kept.key))


def test_damaged_object_is_exported_and_reported(
    shared_installation: Installation, installation: Installation, tmp_path: Path
) -> None:
    damaged = store_file(shared_installation)
    shared_installation.objects.put(damaged.key, [b"other bytes than were stored"])
    report = export(shared_installation, damaged.user, tmp_path / "export.zip")
    assert (report.lost, report.objects) == ([damaged.key], 1)
    restored = restore(installation, tmp_path / "export.zip", damaged.user.slug)
    assert restored.lost == (damaged.key,)
    assert "damaged" in verify(installation.context).findings[0].detail


def test_export_is_of_one_moment(shared_installation: Installation, installation: Installation, tmp_path: Path) -> None:
    """What is stored while an export runs is in none of its tables."""
    first = store_file(shared_installation)
    later = partial(store_file, shared_installation, "#Later A later note.", user=(first.user, first.claims))
    report = export(shared_installation, first.user, tmp_path / "export", later)
    assert (report.rows["metadata_records"], report.rows["record_index"], report.objects) == (1, 1, 1)
    assert "Later" not in (tmp_path / "export/tables/graph_index.jsonl").read_text()
    assert restore(installation, tmp_path / "export", first.user.slug).records == 1
    assert not verify(installation.context).findings


def test_memory_forgotten_during_export_is_not_lost(
    shared_installation: Installation, installation: Installation, tmp_path: Path
) -> None:
    kept = store_file(shared_installation, "#Notes One that stays.")
    gone = store_file(shared_installation, "#Notes One that goes.", user=(kept.user, kept.claims))
    key, record_id = gone.key, gone.row["record_id"]
    acting = shared_installation.acting_for(kept.claims)
    forgetting = partial(forget, acting, ErasureSubject(SubjectKind.RECORD, record_id), through="tests")
    report = export(shared_installation, kept.user, tmp_path / "export.zip", forgetting)
    assert (report.forgotten, report.lost) == ([key], [])
    restored = restore(installation, tmp_path / "export.zip", kept.user.slug)
    assert restored.lost == ()
    records = rows(installation, "SELECT record_id FROM neurigraph.record_index")
    assert records == [{"record_id": kept.row["record_id"]}]
    assert not verify(installation.context).findings


def test_upload_stored_during_export_is_not_lost(
    installation: Installation, shared_installation: Installation, tmp_path: Path
) -> None:
    """Its staged bytes are removed once a record has them, which the snapshot does not show."""
    user, claims = new_user(installation)
    content = b"The lighthouse keeper's recipe for bread. " * 20
    installation.uploads.receive(claims, "recipe.txt", [content])
    report = export(installation, user, tmp_path / "export", partial(store, installation))
    assert list(installation.objects.keys("staging/")) == []
    assert (report.lost, report.forgotten, report.objects) == ([], [], 1)
    restore(shared_installation, tmp_path / "export", user.slug)
    staged = [b"".join(shared_installation.objects.get(key)) for key in shared_installation.objects.keys("staging/")]
    assert content in staged


def test_handed_over_original_is_restored(
    installation: Installation, shared_installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its key names a record that is gone; after the restore it passes on as before, and no audit removes it."""
    user, claims = new_user(installation)
    (first, _), (second, _), (third, _), *_ = parts_of_a_document(installation, claims)
    original = open_file(installation.acting_for(claims), file_of_record(installation.database, claims, first)).content
    erase(installation, claims, RECORD, first)
    export(installation, user, tmp_path / "export")
    there = shared_installation.acting_for(claims)
    restore(shared_installation, tmp_path / "export", user.slug)
    erase(shared_installation, claims, RECORD, second)
    at_once = shared_installation.settings.changed(orphan_grace_hours=0)
    monkeypatch.setattr(orphans, "_KEYS_AT_ONCE", 1)  # or the transcript in the same batch leads to its file
    audit_objects(there.using(settings=at_once))
    assert open_file(there, file_of_record(there.database, claims, third)).content == original
    assert not verify(there, user_id=user.user_id).findings


def test_objects_of_a_restore_are_no_orphans(source: Source, installation: Installation) -> None:
    at_once = installation.context.using(settings=installation.settings.changed(orphan_grace_hours=0))
    removed = []

    def sweep(_: int) -> None:
        if any(installation.objects.keys("durable/")):
            removed.append(audit_objects(at_once).removed)

    with open_archive(source.folder) as opened:
        restore_user(installation.context, opened, "exporter", sweep)
    assert removed
    assert sum(removed) == 0
    assert verify(installation.context).findings == []
    left = next(iter(installation.objects.keys("durable/"))).rpartition("/")[0]
    installation.objects.put(f"{left}/{uuid4()}-{uuid4().hex[:8]}.jsonl.gz", [b"an orphan"])
    assert audit_objects(at_once).removed == 1


def test_killed_restore_is_repeatable(source: Source, installation: Installation) -> None:
    places = [installation.administrator_url, SECRET, str(installation.home / "objects"), str(source.zipped)]
    command = [sys.executable, "-m", "tests.support.pausing_restore", *places, "exporter", "2"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "paused\n"
    process.kill()
    process.communicate()
    assert rows(installation, "SELECT FROM neurigraph.users") == []
    restore(installation, source.zipped, "exporter")
    assert source.ask(installation, QUESTIONS[2]) == source.ask(source.here, QUESTIONS[2])


def test_erased_user_is_restored_after_cleanup(source: Source, installation: Installation) -> None:
    restore(installation, source.zipped, "exporter")
    subject = ErasureSubject(SubjectKind.USER, source.user.user_id)
    here = installation
    receipt = forget(here.acting_for(source.claims), subject, through="tests")
    journal = "UPDATE neurigraph.erased_objects SET object_key = %s WHERE erasure_id = %s AND number = 1"
    with installation.database.owner() as tx:  # as a forgetting leaves it that was cut off
        done = tx.execute(journal, [source.file.key, receipt.erasure_id])
        assert done.rowcount == 1
    with pytest.raises(ConflictError, match="still being erased"):
        restore(installation, source.zipped, "exporter")
    with installation.database.owner() as tx:
        tx.execute(journal, [None, receipt.erasure_id])
    restore(installation, source.zipped, "exporter")
    assert source.ask(installation, QUESTIONS[0]).hits == source.ask(source.here, QUESTIONS[0]).hits


def interrupt(source: Source, target: Path) -> None:
    """Begin an export, and stop it as Ctrl-C does."""
    here = source.here
    with (
        new_archive(target) as archive,
        written(here.context, source.user.user_id) as stream,
        closing(archive.write(stream)) as steps,
    ):
        next(steps)
        raise KeyboardInterrupt


def test_failed_export_leaves_no_file(source: Source, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        export(source.here, User(uuid4(), "nobody", uuid4()), tmp_path / "export.zip")
    with pytest.raises(NotFoundError):
        export(source.here, User(uuid4(), "nobody", uuid4()), tmp_path / "export")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(KeyboardInterrupt):
        interrupt(source, tmp_path / "export.zip")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "there").mkdir()
    with pytest.raises(ConflictError, match="is there already"):
        export(source.here, source.user, tmp_path / "there")
    with pytest.raises(InvalidInputError, match="cannot be written"):
        export(source.here, source.user, tmp_path / "absent" / "export.zip")


def test_owner_downloads_export(source: Source, installation: Installation, tmp_path: Path) -> None:
    key = issue_api_key(source.here.database, source.user.user_id)
    target = tmp_path / "download.zip"
    with serving(source.here) as base, httpx.Client(headers={"Authorization": f"Bearer {key}"}, timeout=60) as client:
        for _ in range(EXPORTS_AT_ONCE + 1):
            with client.stream("GET", f"{base}/v1/export") as broken_off:
                assert broken_off.status_code in (200, 503)
        answers: list[httpx.Response] = []

        def served() -> bool:
            answers.append(client.get(f"{base}/v1/export"))
            return answers[-1].status_code != 503

        # The slots of the interrupted downloads are free once the server has noticed.
        wait_until(served, "a slot is free", interval=0.2)
        answer = answers[-1]
        assert answer.headers["content-type"] == "application/zip"
        target.write_bytes(answer.content)
        assert httpx.get(f"{base}/v1/export").status_code == 401
    restored = restore(installation, target, "exporter")
    assert restored.records == source.report.rows["metadata_records"]
    assert source.ask(installation, QUESTIONS[0]).hits == source.ask(source.here, QUESTIONS[0]).hits


def test_encrypted_export_needs_the_secret_key(source: Source, installation: Installation, tmp_path: Path) -> None:
    key, public, target = tmp_path / "key", tmp_path / "public", tmp_path / "mine.zip.age"
    public.write_text(AgeKey.make(key))
    done = run_cli(source.here.settings, "user", "export", "exporter", str(target), "--key", str(public), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["records"] == source.report.rows["metadata_records"]
    assert not zipfile.is_zipfile(target)
    assert target.stat().st_mode & 0o777 == 0o600

    def back(*options: str) -> subprocess.CompletedProcess[str]:
        return run_cli(installation.settings, "import", *options, "--user", "exporter", "--json")

    for refused, message in (
        (back(str(target)), "encrypted with age"),
        (back(str(target), "--key", str(public)), "secret key"),
        (back(str(source.zipped), "--key", str(key)), "leave out --key"),
    ):
        assert refused.returncode != 0
        assert message in refused.stderr
    cut = tmp_path / "cut.age"
    cut.write_bytes(target.read_bytes()[:-100])
    assert "damaged" in back(str(cut), "--key", str(key)).stderr
    restored = back(str(target), "--key", str(key))
    assert restored.returncode == 0, restored.stderr
    assert json.loads(restored.stdout)["records"] == source.report.rows["metadata_records"]
    assert source.ask(installation, QUESTIONS[0]).hits == source.ask(source.here, QUESTIONS[0]).hits
