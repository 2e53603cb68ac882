"""Backups of installations with objects on S3, and with a Postgres server whose administrator is no superuser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from neurigraph_pipelines.lifecycle.verification import verify
from neurigraph_pipelines.runtime.stack.backup.check import check
from neurigraph_pipelines.runtime.stack.backup.create import Backup, BackupListener, back_up
from neurigraph_pipelines.runtime.stack.backup.folder import BackupFolder
from neurigraph_pipelines.runtime.stack.backup.load import restore
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from resources.postgres.embedded import EmbeddedPostgres, ServerLease
from tests.conftest import ADMIN_KEY, SECRET
from tests.support.dagster_records import note_run, noted_runs
from tests.support.embedded_server import new_home
from tests.support.exported_user import QUESTIONS, Source, exported_user
from tests.support.s3_servers import ACCESS_KEY_ID, SECRET_ACCESS_KEY, new_bucket, rclone_server

pytestmark = pytest.mark.slow

SILENT = BackupListener(lambda _: None, lambda _: None)
CHIEF = "chief"


@pytest.fixture(scope="module")
def source(shared_installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Source:
    note_run(shared_installation, "a run")
    return exported_user(shared_installation, tmp_path_factory.mktemp("exports"))


@pytest.fixture(scope="module")
def provider_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerLease]:
    """A server as a provider runs it: pgvector is there, and the administrator is no superuser."""
    with new_home(tmp_path_factory.mktemp("provider")) as home, EmbeddedPostgres(home).lease() as lease:
        template = lease.url(lease.superuser, lease.superuser_password, "template1")
        with psycopg.connect(template, autocommit=True) as connection:
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
            connection.execute(f"CREATE ROLE {CHIEF} LOGIN CREATEROLE CREATEDB PASSWORD '{CHIEF}'")
        yield lease


def settings_of(home: Path, url: str, **more: Any) -> Settings:
    values: dict[str, Any] = {"secret": SECRET, "role_secret": SECRET, "admin_key": ADMIN_KEY, "home": home}
    return Settings.model_validate(
        {**values, "database_url": url, "language_model": "offline", "embedder": "neurigraph", **more}
    )


def backed_up(here: Installation, path: Path) -> tuple[BackupFolder, Backup]:
    folder = BackupFolder(path, None)
    done = back_up(here, folder, None, SILENT)
    assert done.lost == ()
    assert check(folder, None, SILENT).damaged == []
    return folder, done


def test_role_without_superuser(source: Source, provider_server: ServerLease, tmp_path: Path) -> None:
    """Onto the server, from it, and onto it again: the roles are made first, and are there the second time."""
    folder, done = backed_up(source.here, tmp_path / "first")
    for name in ("memories", "copies"):
        with Installation(settings_of(tmp_path / name, provider_server.url(CHIEF, CHIEF, name))) as there:
            assert restore(there, folder, None, False, SILENT).objects == done.objects
        with Installation(there.settings) as there:
            assert [source.ask(there, question) for question in QUESTIONS] == [
                source.ask(source.here, question) for question in QUESTIONS
            ]
            assert not verify(there.context).findings
            assert noted_runs(there) == ["a run"]
            folder, again = backed_up(there, tmp_path / f"of-{name}")
            assert again.objects == done.objects
    with psycopg.connect(provider_server.url(CHIEF, CHIEF, "memories")) as connection:
        rights = "SELECT rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user"
        assert connection.execute(rights).fetchone() == (False, False)


def test_objects_on_s3(source: Source, provider_server: ServerLease, tmp_path: Path) -> None:
    """From files to a bucket, and from the bucket to another one."""
    folder, done = backed_up(source.here, tmp_path / "first")
    (tmp_path / "buckets").mkdir()
    with rclone_server(tmp_path / "buckets") as address:
        for name in ("one", "two"):
            in_bucket = {
                "objects_url": f"s3://{new_bucket(address)}/memories",
                "s3_endpoint_url": address,
                "s3_region": "us-east-1",
                "s3_access_key_id": ACCESS_KEY_ID,
                "s3_secret_access_key": SECRET_ACCESS_KEY,
            }
            settings = settings_of(tmp_path / name, provider_server.url(CHIEF, CHIEF, f"s3_{name}"), **in_bucket)
            with Installation(settings) as there:
                assert restore(there, folder, None, False, SILENT).new_objects == done.objects
                again = restore(there, folder, None, True, SILENT)
                assert (again.objects, again.new_objects) == (done.objects, 0), "what is there is kept"
            with Installation(settings) as there:
                assert [source.ask(there, question) for question in QUESTIONS] == [
                    source.ask(source.here, question) for question in QUESTIONS
                ]
                assert {key: b"".join(there.objects.get(key)) for key in there.objects.keys("durable/")} == {
                    key: b"".join(source.here.objects.get(key)) for key in source.here.objects.keys("durable/")
                }
                assert not verify(there.context).findings
                folder, _ = backed_up(there, tmp_path / f"of-{name}")
                again_to_it = back_up(there, folder, None, SILENT)
                assert (again_to_it.new_objects, again_to_it.objects) == (0, done.objects)
    assert not list((tmp_path / "one").glob("objects/*")), "the home has no objects"
