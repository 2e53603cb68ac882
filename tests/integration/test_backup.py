"""Backup of an installation and restore into another: same rows, bytes and answers, whatever is killed or forgotten."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo
from psycopg.rows import dict_row

from neurigraph_pipelines.lifecycle.erasure.forget import forget
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.lifecycle.orphans import audit_objects
from neurigraph_pipelines.lifecycle.verification import verify
from neurigraph_pipelines.model.errors import (
    ConfigurationError,
    ConflictError,
    DamagedObjectError,
    InvalidInputError,
    StorageError,
)
from neurigraph_pipelines.runtime.stack.backup.check import check
from neurigraph_pipelines.runtime.stack.backup.create import Backup, BackupListener, back_up
from neurigraph_pipelines.runtime.stack.backup.folder import BackupFolder
from neurigraph_pipelines.runtime.stack.backup.load import RestoredBackup, restore
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from resources.age_encryption import AgeKey
from resources.postgres.database import url_for_role
from resources.postgres.installation import client_program
from tests.conftest import ADMIN_KEY, ROOT, SECRET
from tests.support.command_line import environment, run_cli
from tests.support.dagster_records import note_run, noted_runs
from tests.support.exported_user import QUESTIONS, Source, exported_user
from tests.support.files import StoredFile, store_file
from tests.support.memories import ingest, plain_context, rows

pytestmark = pytest.mark.slow

OBJECTS = 10
"""Seven durable files, and two uploads that wait."""

RUN = "a run of Dagster"
SILENT = BackupListener(lambda _: None, lambda _: None)
DUMPS = (("dagster", 0), ("dagster", 1), ("database", 0), ("database", 1))
BACKUP_MOMENTS = (("objects", 0), ("objects", 1), *DUMPS, ("manifest", 0), ("completing", 0))
RESTORE_MOMENTS = (("objects", 1), *DUMPS, ("upgrade", 0), ("exchange", 0))


@pytest.fixture(scope="module")
def source(shared_installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Source:
    note_run(shared_installation, RUN)
    return exported_user(shared_installation, tmp_path_factory.mktemp("exports"))


@pytest.fixture(scope="module")
def folder(source: Source, tmp_path_factory: pytest.TempPathFactory) -> BackupFolder:
    """A folder with one backup of the source."""
    made = BackupFolder(tmp_path_factory.mktemp("backups") / "folder", None)
    back_up(source.here, made, None, SILENT)
    return made


@pytest.fixture
def target(tmp_path: Path, administrator: psycopg.Connection, shared_installation: Installation) -> Iterator[Settings]:
    """Settings of an installation with neither database nor objects."""
    name = f"r_{tmp_path.name}".replace("-", "_").lower()[:40]
    values: dict[str, Any] = {"secret": SECRET, "role_secret": SECRET, "admin_key": ADMIN_KEY}
    url = make_conninfo(shared_installation.administrator_url, dbname=name)
    yield Settings.model_validate(
        {
            **values,
            "home": tmp_path / "restored",
            "database_url": url,
            "language_model": "offline",
            "embedder": "neurigraph",
        }
    )
    for suffix in ("", "_being_restored", "_before_restore"):
        for one in (name + suffix, f"{name}_dagster{suffix}"):
            administrator.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(one)))


def restored(target: Settings, folder: BackupFolder, *, replace: bool = False) -> RestoredBackup:
    with Installation(target) as installation:
        return restore(installation, folder, None, replace, SILENT)


def exists(administrator: psycopg.Connection, target: Settings) -> bool:  # any of the two databases
    assert target.database.url is not None
    name = str(psycopg.conninfo.conninfo_to_dict(target.database.url.get_secret_value())["dbname"])
    found = "SELECT FROM pg_database WHERE datname IN (%s, %s)"
    return administrator.execute(found, [name, f"{name}_dagster"]).fetchone() is not None


def contents(here: Installation) -> dict[str, bytes]:
    keys = here.objects.keys("")
    return {key: b"".join(here.objects.get(key)) for key in keys}


def rows_of_owner(here: Installation, query: str) -> list[dict[str, Any]]:
    with psycopg.connect(here.administrator_url, row_factory=dict_row) as connection:
        return connection.execute(sql.SQL(query)).fetchall()


def same_answers(source: Source, there: Installation) -> bool:
    return all(source.ask(there, question) == source.ask(source.here, question) for question in QUESTIONS)


def kill_in(settings: Settings, what: str, folder: BackupFolder, stage: str, after_bytes: int) -> None:
    command = [sys.executable, "-m", "tests.support.pausing_backup", what, str(folder.path), stage, str(after_bytes)]
    process = subprocess.Popen(command, cwd=ROOT, env=environment(settings), stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "paused\n"
    process.kill()
    process.communicate()


@pytest.mark.parametrize("encrypted", [False, True])
def test_restore_gives_same_answers(source: Source, target: Settings, tmp_path: Path, encrypted: bool) -> None:
    AgeKey.make(tmp_path / "key")
    folder = BackupFolder(tmp_path / "backups", AgeKey.read(tmp_path / "key") if encrypted else None)
    done = back_up(source.here, folder, None, SILENT)
    assert (done.lost, done.objects) == ((), OBJECTS)
    assert check(folder, None, SILENT).damaged == []
    assert restored(target, folder).objects == done.objects
    with Installation(target) as there:
        assert same_answers(source, there)
        assert noted_runs(there) == [RUN]
        assert contents(there) == contents(source.here)
        assert not verify(there.context).findings
        assert not audit_objects(there.context).orphans
        ingest(plain_context(there), source.user)  # the note that waited
        # The database goes on from there: versions of the old server's transactions are gone.
        assert store_file(there, "#Family/Dave Dave sold the boat.", user=(source.user, source.claims)).open().content
    again = back_up(source.here, folder, None, SILENT)
    assert (again.new_objects, again.objects) == (0, done.objects)


def test_backup_holds_no_secret(source: Source, folder: BackupFolder) -> None:
    """Neither the key that signs claims, which the database knows, nor the secret that it follows from."""
    (pads,) = rows_of_owner(source.here, "SELECT inner_pad, outer_pad FROM neurigraph_private.claims_key")
    dumped = b"".join(folder.read(folder.find(None), "database.dump"))
    text = subprocess.run(
        [str(client_program("pg_restore")), "--file=-"], input=dumped, capture_output=True, check=True
    )
    assert b"exporter" in text.stdout
    for secret in (SECRET.encode(), pads["inner_pad"].hex().encode(), pads["outer_pad"].hex().encode()):
        assert secret not in text.stdout


def test_encrypted_folder_tells_nothing(source: Source, tmp_path: Path) -> None:
    public = AgeKey.make(tmp_path / "key")
    (tmp_path / "public").write_text(public)
    folder = BackupFolder(tmp_path / "backups", AgeKey.read(tmp_path / "public"))
    back_up(source.here, folder, None, SILENT)
    files = [file for file in folder.path.rglob("*") if file.is_file()]
    read = b"".join(file.read_bytes() for file in files) + "".join(map(str, files)).encode()
    for told in (b"sails", b"exporter", b"durable/", b"Family", public.encode(), source.file.row["stored_sha256"]):
        assert told not in read
    assert all(file.suffix == ".age" or file.name in ("lock", "names.txt", "neurigraph-backup.json") for file in files)
    with pytest.raises(ConfigurationError, match="secret key"):
        check(folder, None, SILENT)
    assert check(BackupFolder(folder.path, AgeKey.read(tmp_path / "key")), None, SILENT).damaged == []
    AgeKey.make(tmp_path / "other")
    for key in (None, AgeKey.read(tmp_path / "other")):
        with pytest.raises(ConfigurationError, match=r"has another key|is encrypted"):
            back_up(source.here, BackupFolder(folder.path, key), None, SILENT)


def test_killed_backup_leaves_complete_ones(source: Source, tmp_path: Path) -> None:
    folder = BackupFolder(tmp_path / "backups", None)
    for stage, after_bytes in BACKUP_MOMENTS:
        kill_in(source.here.settings, "backup", folder, stage, after_bytes)
        assert folder.backups() == []
    done = back_up(source.here, folder, None, SILENT)
    kill_in(source.here.settings, "backup", folder, "database", 1)
    assert folder.backups() == [done.backup_id]
    again = back_up(source.here, folder, None, SILENT)
    assert folder.backups() == [done.backup_id, again.backup_id]
    assert check(folder, None, SILENT).damaged == []
    assert list((folder.path / "incoming").iterdir()) == []
    assert not [entry for entry in (folder.path / "backups").iterdir() if entry.suffix == ".partial"]


def test_killed_restore_starts_over(
    source: Source, folder: BackupFolder, target: Settings, administrator: psycopg.Connection
) -> None:
    for stage, after_bytes in RESTORE_MOMENTS:
        kill_in(target, "restore", folder, stage, after_bytes)
        assert not exists(administrator, target)
    restored(target, folder)
    with Installation(target) as there:
        assert same_answers(source, there)
        assert not verify(there.context).findings


def test_memory_forgotten_during_backup(installation: Installation, target: Settings, tmp_path: Path) -> None:
    """It is whole in the backup or not there: its object vanishes after the list was made, and before it is copied."""
    kept = store_file(installation, "#Notes One that stays.")
    acting = installation.acting_for(kept.claims)
    texts = ["#Notes One that goes.", "#Notes Another that goes."]
    going: list[StoredFile] = []

    def come_and_go(_: int) -> None:
        """Add two memories while the first is copied, and forget both while one of the two is copied."""
        if texts:
            while texts:
                going.append(store_file(installation, texts.pop(), user=(kept.user, kept.claims)))
        else:
            while going:
                subject = ErasureSubject(SubjectKind.RECORD, going.pop().row["record_id"])
                forget(acting, subject, through="tests")

    folder = BackupFolder(tmp_path / "backups", None)
    done = back_up(installation, folder, None, BackupListener(lambda _: None, come_and_go))
    assert (texts, going, done.lost) == ([], [], ())
    restored(target, folder)
    with Installation(target) as there:
        assert len(rows(there, "SELECT FROM neurigraph.record_index")) == done.objects == 1
        assert not verify(there.context).findings


def test_backups_beside_writers(installation: Installation, target: Settings, tmp_path: Path) -> None:
    """Memories come and go while backups are made: each is of one moment."""
    first = store_file(installation)
    ended = threading.Event()
    failures: list[BaseException] = []

    def write() -> None:
        try:
            while not ended.is_set():
                file = store_file(installation, "#Notes Short-lived.", user=(first.user, first.claims))
                subject = ErasureSubject(SubjectKind.RECORD, file.row["record_id"])
                store_file(installation, "#Diary One that stays.", user=(first.user, first.claims))
                forget(installation.acting_for(first.claims), subject, through="tests")
        except BaseException as error:
            failures.append(error)

    writer = threading.Thread(target=write)
    writer.start()
    folder = BackupFolder(tmp_path / "backups", None)
    try:
        made = [back_up(installation, folder, 2, SILENT) for _ in range(3)]
    finally:
        ended.set()
        writer.join()
    assert failures == []
    assert [backup.lost for backup in made] == [(), (), ()]
    assert folder.backups() == [backup.backup_id for backup in made[1:]]
    assert check(folder, None, SILENT).damaged == []
    restored(target, folder)
    with Installation(target) as there:
        assert not verify(there.context).findings
        assert not audit_objects(there.context).orphans


def test_lost_object_is_reported(installation: Installation, target: Settings, tmp_path: Path) -> None:
    gone = store_file(installation)
    damaged = store_file(installation, "#Notes Another.", user=(gone.user, gone.claims))
    installation.objects.delete(gone.key)
    installation.objects.put(damaged.key, [b"other bytes"])
    folder = BackupFolder(tmp_path / "backups", None)
    done = back_up(installation, folder, None, SILENT)
    assert (done.objects, set(done.lost)) == (0, {gone.key, damaged.key})
    assert set(restored(target, folder).lost) == {gone.key, damaged.key}


def damage(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize(
    "what", ["database.dump", "dagster.dump", "objects.jsonl", "manifest.json", "object", "missing"]
)
def test_damage_is_found(source: Source, target: Settings, tmp_path: Path, administrator: Any, what: str) -> None:
    folder = BackupFolder(tmp_path / "backups", None)
    done = back_up(source.here, folder, None, SILENT)
    object_file = next(file for file in (folder.path / "objects").rglob("*") if file.is_file())
    if what == "missing":
        object_file.unlink()
    else:
        damage(object_file if what == "object" else folder.path / "backups" / done.backup_id / what)
    (found,) = check(folder, None, SILENT).damaged
    assert done.backup_id in found or object_file.name in found
    with pytest.raises(DamagedObjectError):
        restored(target, folder)
    assert not exists(administrator, target)


@pytest.mark.parametrize("what", ["damaged", "missing"])
def test_damage_that_stops_removals_is_found(source: Source, target: Settings, tmp_path: Path, what: str) -> None:
    """The names of objects are no part of what is restored, but without them no old object is removed."""
    folder = BackupFolder(tmp_path / "backups", None)
    done = back_up(source.here, folder, None, SILENT)
    names = folder.path / "backups" / done.backup_id / "names.txt"
    damage(names) if what == "damaged" else names.unlink()
    checked = check(folder, None, SILENT)
    (found,) = checked.damaged
    assert done.backup_id in found
    assert checked.objects == OBJECTS
    with pytest.raises(StorageError):
        folder.sweep()
    assert restored(target, folder).objects == OBJECTS


def test_restore_replaces_only_when_told(
    source: Source, folder: BackupFolder, installation: Installation, tmp_path: Path
) -> None:
    mine = store_file(installation).key
    with pytest.raises(ConflictError, match="in use by"):
        restore(installation, folder, None, True, SILENT)
    installation.close()
    before = contents(installation)
    with pytest.raises(ConflictError, match="holds memories"):
        restore(installation, folder, None, False, SILENT)
    assert contents(installation) == before
    done = restore(installation, folder, None, True, SILENT)
    assert done.objects == OBJECTS
    assert same_answers(source, installation)
    # What was here before has no rows any more: the audit removes it.
    assert mine in audit_objects(installation.context, dry_run=True).orphans
    installation.close()
    with pytest.raises(InvalidInputError, match="no backup 'yesterday'"):
        restore(installation, folder, "yesterday", True, SILENT)


def test_restored_runs_are_those_of_the_backup(
    source: Source, folder: BackupFolder, target: Settings, tmp_path: Path, installation: Installation
) -> None:
    """Also where Dagster ran since, and where it never ran before the backup; other roles stay outside."""
    restored(target, folder)
    with Installation(target) as there:
        note_run(there, "a later run")
        assert noted_runs(there) == [RUN, "a later run"]
        agent = url_for_role(there.dagster_address, "neurigraph_agent", there.secret)
        with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
            psycopg.connect(agent)
        with psycopg.connect(there.dagster_address), pytest.raises(ConflictError, match="in use by"):
            restore(there, folder, None, True, SILENT)
    restored(target, folder, replace=True)
    with Installation(target) as there:
        assert noted_runs(there) == [RUN]
    without = BackupFolder(tmp_path / "without", None)
    back_up(installation, without, None, SILENT)
    assert check(without, None, SILENT).damaged == []
    restored(target, without, replace=True)
    with Installation(target) as there:
        there.ensure_dagster_database()
        with pytest.raises(psycopg.errors.UndefinedTable):
            noted_runs(there)


def test_folder_of_something_else(source: Source, target: Settings, tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "mine.txt").write_text("Dear …")
    other = BackupFolder(tmp_path / "letters", None)
    with pytest.raises(ConflictError, match="holds something else"):
        back_up(source.here, other, None, SILENT)
    assert [file.name for file in (tmp_path / "letters").iterdir()] == ["mine.txt"]
    with pytest.raises(InvalidInputError, match="not a folder of backups"):
        restored(target, other)
    empty = BackupFolder(tmp_path / "empty", None)
    with empty.writing(), pytest.raises(ConflictError, match="another backup"):
        back_up(source.here, BackupFolder(empty.path, None), None, SILENT)
    with pytest.raises(InvalidInputError, match="no complete backup"):
        restored(target, empty)


def test_backup_by_cli(source: Source, target: Settings, tmp_path: Path) -> None:
    folder, key = tmp_path / "backups", tmp_path / "key"
    made = run_cli(source.here.settings, "admin", "backup", "new-key", str(key), "--json")
    assert json.loads(made.stdout)["public_key"].startswith("age1")
    assert key.stat().st_mode & 0o077 == 0
    done = run_cli(source.here.settings, "admin", "backup", "add", str(folder), "--key", str(key), "--json")
    assert done.returncode == 0, done.stderr
    backup = Backup(**json.loads(done.stdout, object_hook=lambda row: {n: v for n, v in row.items() if n != "folder"}))
    assert backup.objects == backup.new_objects == OBJECTS
    refused = run_cli(target, "admin", "backup", "restore", str(folder))
    assert (refused.returncode, "give its key with --key" in refused.stderr) == (4, True)
    back = run_cli(target, "admin", "backup", "restore", str(folder), "--key", str(key), "--json")
    assert back.returncode == 0, back.stderr
    assert json.loads(back.stdout)["backup_id"] == backup.backup_id
    next((folder / "objects").rglob("*.age")).unlink()
    checked = run_cli(target, "admin", "backup", "verify", str(folder), "--key", str(key), "--json")
    assert (checked.returncode, len(json.loads(checked.stdout)["damaged"])) == (1, 1)
