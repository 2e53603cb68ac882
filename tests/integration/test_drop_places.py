"""Drop places: a folder and a bucket whose files are uploaded, and the sensor that requests runs."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from neurigraph_pipelines.defs.ingestion.sensors import upload_sensor
from neurigraph_pipelines.defs.ingestion.upload_job import upload_job
from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.inbox import drop_intake as drops
from neurigraph_pipelines.ingestion.batch import run_due
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import StorageError, TransientError
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from resources.storage.drop_folder import DropFolder
from resources.storage.drop_s3 import DropS3
from tests.support.command_line import describe
from tests.support.documents import pdf_of
from tests.support.s3_servers import moto_server, new_bucket, opened_bucket, s3_client
from tests.support.uploads import FERRY, found, opened, read_upload, staged, store, upload, uploads_of, user

pytestmark = pytest.mark.slow


@pytest.fixture
def bob(installation: Installation) -> Claims:
    return user(installation, "bob")


def test_drop_folder_is_read_unchanged(tmp_path: Path, installation: Installation, bob: Claims) -> None:
    folder = tmp_path / "drop"
    (folder / "bob" / "2024").mkdir(parents=True)
    (folder / "nobody").mkdir()
    (folder / "bob" / "2024" / "ferry.pdf").write_bytes(FERRY)
    (folder / "bob" / "empty.txt").write_bytes(b"")
    (folder / "bob" / ".ferry.pdf.part").write_bytes(b"unfinished")
    (folder / "nobody" / "x.txt").write_bytes(b"of no user")
    (folder / "bob" / "link.txt").symlink_to("/etc/hostname")
    before = sorted(str(path) for path in folder.rglob("*"))
    place = DropFolder(folder, settle_seconds=0)
    assert drops.waiting(installation.database, place, installation.uploads) == 2

    taken = {one.file.name: one for one in drops.ingest_drops(installation.database, place, installation.uploads)}
    assert set(taken) == {"2024/ferry.pdf", "empty.txt"}
    assert taken["empty.txt"].error == "the file is empty"
    assert taken["2024/ferry.pdf"].upload_id is not None
    assert drops.ingest_drops(installation.database, place, installation.uploads) == []
    assert sorted(str(path) for path in folder.rglob("*")) == before
    assert len(store(installation)) == 1
    assert uploads_of(installation, bob)[0]["file_name"] == "ferry.pdf"
    (folder / "bob" / "2024" / "ferry.pdf").write_bytes(pdf_of("The ferry does not run any more."))
    assert len(drops.ingest_drops(installation.database, place, installation.uploads)) == 1
    assert len(store(installation)) == 1


def test_unfinished_file_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "bob").mkdir()
    path = tmp_path / "bob" / "a.txt"
    path.write_bytes(b"half")
    place = DropFolder(tmp_path, settle_seconds=60)
    assert list(place.files()) == []
    os.utime(path, (0, time.time() - 61))
    assert [file.name for file in place.files()] == ["a.txt"]
    with pytest.raises(StorageError, match="cannot be read"):
        list(DropFolder(tmp_path / "absent", 0).files())


def test_bucket_prefix_is_watched(installation: Installation, bob: Claims) -> None:
    with moto_server() as address:
        bucket = new_bucket(address)
        with s3_client(address) as client, opened_bucket(address, f"s3://{bucket}/in/") as watched:
            client.put_object(Bucket=bucket, Key="in/bob/ferry times.pdf", Body=FERRY)
            client.put_object(Bucket=bucket, Key="in/nobody/x.txt", Body=b"of no user")
            client.put_object(Bucket=bucket, Key="elsewhere/bob/y.txt", Body=b"not watched")
            client.put_object(Bucket=bucket, Key="in/bob/", Body=b"")
            place = DropS3(watched)
            (taken,) = drops.ingest_drops(installation.database, place, installation.uploads)
            assert taken.file.name == "ferry times.pdf"
            assert drops.ingest_drops(installation.database, place, installation.uploads) == []
            assert len(store(installation)) == 1
            (hit,) = found(installation, bob, "When does the ferry leave?").hits
            assert opened(installation, bob, hit.record_id).content == FERRY
            (listed,) = [file for file in place.files() if file.user_slug == "bob"]
            client.put_object(Bucket=bucket, Key="in/bob/ferry times.pdf", Body=b"another version")
            with pytest.raises(StorageError, match="was replaced"):
                place.read(listed)
        with (
            opened_bucket(address, "s3://no-such-bucket-here/in") as absent,
            pytest.raises(StorageError, match="NoSuch"),
        ):
            list(DropS3(absent).files())
    with (
        opened_bucket(address, f"s3://{bucket}/in", attempts=1) as gone,
        pytest.raises(TransientError, match="cannot be reached"),
    ):
        list(DropS3(gone).files())


# Dagster asks Pydantic for a name that it has given up.
@pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecatedSince20")
def test_sensor_requests_upload_run(
    tmp_path: Path, settings: Settings, installation: Installation, bob: Claims, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "drop" / "bob"
    folder.mkdir(parents=True)
    drop = {"NEURIGRAPH_DROP_URL": str(folder.parent), "NEURIGRAPH_DROP_SETTLE_SECONDS": "0"}
    describe(settings, monkeypatch, **drop)
    resources = {"installation": InstallationResource()}
    with dg.DagsterInstance.ephemeral() as instance:

        def tick() -> Any:
            with dg.build_sensor_context(instance=instance, resources=resources) as context:
                return upload_sensor(context)

        assert isinstance(tick(), dg.SkipReason)
        (folder / "ferry.pdf").write_bytes(FERRY)
        upload_id = upload(installation, bob, "notes.txt", b"The pub of Bryher opens at five.")
        assert isinstance(tick(), dg.RunRequest)
        run = upload_job.execute_in_process(instance=instance, resources=resources)
        assert run.success
        assert read_upload(installation, bob, upload_id)["message_count"] > 0
        assert len(uploads_of(installation, bob)) == 2
        assert isinstance(tick(), dg.SkipReason)
        assert len(next(run_due(installation.context, "tests")).stored) == 2
        assert isinstance(tick(), dg.RunRequest)  # staged bytes can be cleared away
        assert upload_job.execute_in_process(instance=instance, resources=resources).success
        assert staged(installation) == []
        assert isinstance(tick(), dg.SkipReason)
        instance.create_run_for_job(upload_job, status=dg.DagsterRunStatus.STARTED)
        (folder / "another.txt").write_bytes(b"The shop of Bryher opens at six.")
        skipped = tick()
        assert isinstance(skipped, dg.SkipReason)
        assert "already taking in files" in (skipped.skip_message or "")
