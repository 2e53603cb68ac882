"""Readiness: each part that does not work is named, and nothing else is."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import httpx
import psycopg
import pytest
from psycopg import sql
from pydantic import SecretStr

from neurigraph_pipelines.defs.ingestion import sensors
from neurigraph_pipelines.graph.provisioning import create_user
from neurigraph_pipelines.inbox import triggers
from neurigraph_pipelines.ingestion import readiness
from neurigraph_pipelines.ingestion.detection import detect
from neurigraph_pipelines.ingestion.readiness import SENSORS, beat, check
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.wiring.installation import Installation
from tests.conftest import SECRET
from tests.support import memories
from tests.support.api_calls import assert_problem
from tests.support.api_server import serving
from tests.support.breakable_stack import SmallDisk


def found(installation: Installation) -> list[tuple[str, str]]:
    return [(fault.part, fault.reason) for fault in check(installation.context).faults]


def tick(installation: Installation) -> None:
    """Note that every sensor has just run."""
    for name in SENSORS:
        beat(installation.database, name)


@pytest.fixture
def ready(installation: Installation) -> Installation:
    tick(installation)
    assert found(installation) == []
    return installation


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    folder = tmp_path / "disk"
    folder.mkdir()
    made = SmallDisk(folder)
    if not made.mount():
        pytest.skip("only root may mount the small disk")
    yield made
    made.unmount()


def test_sensors_are_those_of_dagster() -> None:
    assert set(SENSORS) == {one.name for one in vars(sensors).values() if isinstance(one, dg.SensorDefinition)}


def test_silent_sensors_are_named(ready: Installation) -> None:
    late = sql.SQL("UPDATE neurigraph.heartbeats SET beat_at = now() - interval '181 s' WHERE name = ANY(%s)")
    with ready.database.pipeline() as tx:
        tx.execute(late, [[SENSORS[1]]])
    assert found(ready) == [("ingestion", f"stopped or failing for 180 s: {SENSORS[1]}")]
    with ready.database.pipeline() as tx:
        tx.execute(late, [list(SENSORS)])
    ((part, reason),) = found(ready)
    assert (part, reason.startswith("no sensor has run for 180 s")) == ("ingestion", True)
    unwatched = ready.context.using(settings=ready.settings.changed(ready_sensor_seconds=0.0))
    assert check(unwatched).faults == ()


def test_old_queue_is_a_fault(ready: Installation) -> None:
    memories.converse(ready, memories.new_user(ready)[1], "one")
    assert detect(ready.context) == 1
    aged(ready, "2 hours")
    result = check(ready.context)
    assert [fault.part for fault in result.faults] == ["ingestion"]
    assert "waited 7200 s" in result.faults[0].reason
    assert result.queue_age_seconds == pytest.approx(7200, abs=30)
    assert triggers.queue(ready.database).age_seconds == pytest.approx(7200, abs=30)
    assert triggers.lease_due(ready.context, "test") is not None
    assert readiness.queue_age(ready.database) == pytest.approx(7200, abs=30), "leased and not stored"
    aged(ready, "-1 hour")
    with ready.database.pipeline() as tx:
        tx.execute("UPDATE neurigraph.storage_triggers SET state = 'pending', batch_id = NULL, claimed_by = NULL, "
                   "claimed_until = NULL")  # fmt: skip
    assert readiness.queue_age(ready.database) == 0.0, "the pause before a retry is no lag"
    assert found(ready) == []


def test_full_disk_is_a_fault(ready: Installation, disk: SmallDisk) -> None:
    settings = ready.settings.changed(objects_url=str(disk.folder / "objects"))
    with Installation(settings) as installation:
        assert found(installation) == []
        disk.fill()
        assert found(installation) == [("writing", "the object store has no space left")]
        disk.empty()
        assert found(installation) == []
    short = ready.context.using(settings=ready.settings.changed(ready_free_bytes=1 << 60))
    assert [fault.part for fault in check(short).faults] == ["writing"]


def test_disk_of_killed_tests_is_unmounted(disk: SmallDisk, tmp_path: Path) -> None:
    """And the disk of a process that runs is not."""
    with subprocess.Popen(["true"]) as ended:
        pass
    folders = {f"{SmallDisk.NAME}{ended.pid}": tmp_path / "left", f"another-{ended.pid}": tmp_path / "another"}
    for name, folder in folders.items():
        folder.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", name, str(folder)], check=True)
    following = SmallDisk(tmp_path)
    try:
        assert following.mount()
        following.unmount()
        assert [folder.is_mount() for folder in (disk.folder, *folders.values())] == [True, False, True]
    finally:
        for folder in folders.values():
            SmallDisk(folder).unmount()


def test_read_only_database_is_a_fault(ready: Installation) -> None:
    with psycopg.connect(ready.administrator_url, autocommit=True) as connection:
        connection.execute(
            sql.SQL("ALTER ROLE neurigraph_pipeline IN DATABASE {} SET default_transaction_read_only = on").format(
                sql.Identifier(connection.info.dbname)
            )
        )
    with Installation(ready.settings) as installation:
        assert found(installation) == [("writing", "the database is read-only")]


def test_wrong_secret_is_a_fault_and_not_told(ready: Installation) -> None:
    other = "another secret, which the database does not know"
    with Installation(ready.settings.changed(secret=SecretStr(other))) as installation:
        ((part, reason),) = found(installation)
    assert part == "reading"
    assert "secret" in reason
    assert SECRET not in reason
    assert other not in reason
    with psycopg.connect(ready.administrator_url) as connection:
        connection.execute("UPDATE neurigraph_private.claims_key SET inner_pad = sha256('other') || sha256('one')")
    ((part, reason),) = found(ready)
    assert part == "reading"
    assert "claims" in reason


def test_database_of_another_version_is_a_fault(ready: Installation) -> None:
    with ready.database.owner() as tx:
        tx.execute("DELETE FROM neurigraph.schema_migrations WHERE number > 22")
    ((part, reason),) = found(ready)
    assert part == "reading"
    assert "neurigraph admin migrate" in reason


def test_unreachable_database_is_a_fault(ready: Installation) -> None:
    nowhere = "postgresql://nobody:nothing@127.0.0.1:1/nowhere"
    with Installation(ready.settings.changed(database_url=SecretStr(nowhere))) as installation:
        assert found(installation) == [("reading", "the database cannot be reached")]


def test_readyz_answers_with_the_reasons(installation: Installation) -> None:
    with serving(installation) as base:
        problem = assert_problem(httpx.get(f"{base}/readyz", timeout=30), 503)
        assert problem["detail"].startswith("ingestion: no sensor has run")
        assert httpx.get(f"{base}/healthz", timeout=30).json() == {"status": "ok"}
        tick(installation)
        deadline = time.monotonic() + 30
        while (answer := httpx.get(f"{base}/readyz", timeout=30)).status_code != 200:
            assert time.monotonic() < deadline, answer.text
            time.sleep(0.1)
        assert answer.json() == {"status": "ready", "queue_age_seconds": 0.0}


@pytest.mark.parametrize(("age", "status"), [("10 s", 201), ("5 minutes", 201), ("1 hour", 503)])
def test_writes_say_that_memory_lags(installation: Installation, age: str, status: int) -> None:
    (late, late_key), (_, other_key) = (create_user(installation.database, slug) for slug in ("late", "other"))
    memories.converse(installation, Claims.of_user(late.user_id), "one")
    detect(installation.context)
    aged(installation, age)
    limits = installation.settings.changed(ready_lag_notice_seconds=100.0, ready_lag_refuse_seconds=1_000.0)
    with Installation(limits) as limited, serving(limited) as base:

        def write(key: str) -> httpx.Response:
            headers = {"Authorization": f"Bearer {key}"}
            return httpx.post(f"{base}/v1/conversations", json={}, headers=headers, timeout=60)

        lagging, prompt = write(late_key), write(other_key)
    assert (lagging.status_code, prompt.status_code) == (status, 201)
    assert not {"neurigraph-lag", "retry-after"} & set(prompt.headers)
    assert ("retry-after" in lagging.headers) == (age != "10 s")
    if age == "5 minutes":
        assert int(lagging.headers["neurigraph-lag"]) == pytest.approx(300, abs=30)
        assert lagging.headers["retry-after"] == "30"


def aged(installation: Installation, age: str) -> None:
    """Let all segments have been due for a time, or become due in the future if it is negative."""
    with installation.database.pipeline() as tx:
        tx.execute("UPDATE neurigraph.storage_triggers SET next_attempt_at = now() - %s::interval", [age])
