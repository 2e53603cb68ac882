"""Failures are shown to their owner, and reports of failed runs hold no user text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import httpx
import pytest

from neurigraph_pipelines.defs.ingestion.failure_sensor import check_failure_report_sensor, run_failure_report_sensor
from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.graph.provisioning import User, create_user
from neurigraph_pipelines.inbox import triggers
from neurigraph_pipelines.ingestion.detection import detect
from neurigraph_pipelines.ingestion.failures import count_open, list_failures
from neurigraph_pipelines.model import ItemFailure
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.api_calls import SAME_ID
from tests.support.api_server import serving
from tests.support.command_line import describe, run_cli
from tests.support.failed_segments import ERROR, fail, state_of
from tests.support.vectors import end_conversation
from tests.support.webhook_receiver import WebhookReceiver

# Dagster's own: it reads pydantic's models by an attribute that pydantic has given up.
pytestmark = pytest.mark.filterwarnings("ignore:The `__fields__` attribute:DeprecationWarning")

WORDS = "Bob's words about the boathouse"


@pytest.fixture
def user(installation: Installation) -> User:
    return create_user(installation.database, "bob")[0]


def test_failure_names_its_step(installation: Installation, user: User) -> None:
    (failure,) = fail(installation, user, "c1")
    assert (failure.user_slug, failure.source_kind, failure.source_external_id) == ("bob", "conversation", "c1")
    assert (failure.first_message, failure.last_message) == (1, 2)
    assert (failure.step, failure.error, failure.attempts, failure.state) == ("summarize", ERROR, 1, "failed")
    assert failure.replayed_at is None
    assert count_open(installation.database) == 1


def test_last_attempt_becomes_failure(installation: Installation, user: User) -> None:
    database, settings = installation.database, installation.settings
    end_conversation(installation, user, "c1", "We chose the copper gutters.")
    detect(installation.context)
    waits = []
    for attempt in range(1, settings.ingestion.max_attempts + 1):
        with database.pipeline() as tx:
            tx.execute("UPDATE neurigraph.storage_triggers SET next_attempt_at = now()")
        batch = triggers.lease_due(installation.context, "tests")
        assert batch is not None
        (ref,) = triggers.segments_of(database, batch.batch_id)
        assert ref.attempts == attempt
        fault = ItemFailure(ref.trigger_id, "embed", "the provider is down", transient=True)
        state = triggers.give_back(installation.context, batch.batch_id, fault, ref.attempts)
        assert state == ("failed" if attempt == settings.ingestion.max_attempts else "pending")
        with database.pipeline() as tx:
            row = tx.execute(
                "SELECT extract(EPOCH FROM next_attempt_at - now())::float AS wait FROM neurigraph.storage_triggers"
            ).fetchone()
        assert row is not None
        waits.append(row["wait"])
    base = settings.ingestion.retry_base_seconds
    for number, wait in enumerate(waits):
        assert base * 2**number / 2 - 5 <= wait <= base * 2**number, "doubles, with jitter above a half"
    with database.pipeline() as tx:
        (failure,) = list_failures(tx)
    assert (failure.attempts, failure.error) == (settings.ingestion.max_attempts, "the provider is down")


def test_cli_lists_and_replays(installation: Installation, settings: Settings, user: User) -> None:
    first, second = fail(installation, user, "c1", "c2\x1b[31m")
    other, _ = create_user(installation.database, "eve")
    fail(installation, other, "c3")

    shown = run_cli(settings, "source", "failure", "list")
    assert shown.returncode == 0, shown.stderr
    assert "bob: conversation c1  messages 1 to 2" in shown.stdout
    assert "\x1b" not in shown.stdout
    assert f"summarize, attempt 1: {ERROR}" in shown.stdout
    data = json.loads(run_cli(settings, "source", "failure", "list", "--user", "bob", "--json").stdout)["failures"]
    assert {each["failure_id"] for each in data} == {str(first.failure_id), str(second.failure_id)}

    for outcome in ("replayed", "already_replayed"):
        done = run_cli(settings, "source", "failure", "replay", str(first.failure_id), "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["replays"] == [{"failure_id": str(first.failure_id), "outcome": outcome}]
    assert state_of(installation, first) == ("pending", 0)
    everything = json.loads(
        run_cli(settings, "source", "failure", "replay", "--all", "--user", "bob", "--json").stdout
    )["replays"]
    assert [each["failure_id"] for each in everything] == [str(second.failure_id)]
    assert count_open(installation.database) == 1, "eve's"
    replayed = json.loads(run_cli(settings, "source", "failure", "list", "-u", "bob", "--replayed", "--json").stdout)[
        "failures"
    ]
    assert {each["state"] for each in replayed} == {"pending"}


def test_api_lists_own_failures(installation: Installation) -> None:
    bob, bobs_key = create_user(installation.database, "bob")
    eve, eves_key = create_user(installation.database, "eve")
    mine = fail(installation, bob, "c1", "c2", "c3")
    (hers,) = fail(installation, eve, "c4")
    with serving(installation) as base, httpx.Client(base_url=base, timeout=60) as client:
        auth = {"Authorization": f"Bearer {bobs_key}", **SAME_ID}
        page = client.get("/v1/failures", params={"limit": 2}, headers=auth).json()
        rest = client.get("/v1/failures", params={"limit": 2, "cursor": page["next_cursor"]}, headers=auth).json()
        assert rest["next_cursor"] is None
        listed = [each["failure_id"] for each in page["failures"] + rest["failures"]]
        assert listed == [str(each.failure_id) for each in mine]
        assert "user_slug" not in page["failures"][0]
        for outcome in ("replayed", "already_replayed"):
            done = client.post(f"/v1/failures/{mine[0].failure_id}/replay", headers=auth)
            assert (done.status_code, done.json()["outcome"]) == (200, outcome)
        assert len(client.get("/v1/failures", headers=auth).json()["failures"]) == 2
        assert len(client.get("/v1/failures", params={"replayed": True}, headers=auth).json()["failures"]) == 3
        foreign = client.post(f"/v1/failures/{hers.failure_id}/replay", headers=auth)
        absent = client.post("/v1/failures/6f1f3f2e-0000-4000-8000-000000000000/replay", headers=auth)
        assert (foreign.status_code, foreign.content) == (absent.status_code, absent.content)
        assert foreign.status_code == 404
        assert state_of(installation, hers) == ("failed", 1)
        assert client.get("/v1/failures").status_code == 401
        assert client.get("/v1/failures", params={"limit": 0}, headers=auth).status_code == 422
        her_page = client.get("/v1/failures", headers={"Authorization": f"Bearer {eves_key}"}).json()
        assert [each["failure_id"] for each in her_page["failures"]] == [str(hers.failure_id)]


@dg.op
def store_words() -> None:
    raise ValueError(WORDS)


@dg.job(executor_def=dg.in_process_executor, tags={"dagster/retry_number": "1"})
def failing_job() -> None:
    store_words()


@pytest.fixture
def receiver() -> Iterator[WebhookReceiver]:
    with WebhookReceiver("500", "ok", "400") as running:
        yield running


@pytest.fixture
def _environment(settings: Settings, receiver: WebhookReceiver, monkeypatch: pytest.MonkeyPatch) -> None:
    describe(settings, monkeypatch, NEURIGRAPH_FAILURE_WEBHOOK_URL=receiver.url)


@pytest.mark.usefixtures("_environment")
def test_failed_run_report_holds_no_user_text(
    installation: Installation, user: User, receiver: WebhookReceiver
) -> None:
    fail(installation, user, "c1")
    with dg.DagsterInstance.ephemeral() as instance:
        result = failing_job.execute_in_process(instance=instance, raise_on_error=False)
        assert not result.success
        for _ in range(2):  # the receiver fails once, takes one report, and refuses the next: no tick fails for it
            with dg.build_run_status_sensor_context(
                sensor_name="run_failure_report_sensor",
                dagster_instance=instance,
                dagster_run=result.dagster_run,
                dagster_event=result.get_run_failure_event(),
                resources={"installation": InstallationResource()},
            ) as context:
                run_failure_report_sensor(context.for_run_failure())
    reports = receiver.bodies
    assert len(reports) == 3
    assert reports[1] == {
        "event": "run_failed",
        "run_id": result.dagster_run.run_id,
        "job": "failing_job",
        "steps": ["store_words"],
        "errors": ["ValueError"],
        "retry": "1",
        "batch_id": None,
        "open_failures": 1,
    }
    assert WORDS not in json.dumps(reports)


@dg.asset_check(asset="sources")
def promise_that_holds() -> dg.AssetCheckResult:
    return dg.AssetCheckResult(passed=True)


@dg.asset_check(asset="sources")
def promise_that_broke() -> dg.AssetCheckResult:
    return dg.AssetCheckResult(passed=False, description=WORDS, metadata={"said": WORDS})


@dg.asset_check(asset="sources")
def promise_that_bends() -> dg.AssetCheckResult:
    return dg.AssetCheckResult(passed=False, severity=dg.AssetCheckSeverity.WARN)


@pytest.mark.parametrize("folder", [None, "dagster"], ids=["one log", "a log for each run"])
def test_failed_checks_are_reported_once(
    installation: Installation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folder: str | None
) -> None:
    checked = dg.Definitions(asset_checks=[promise_that_holds, promise_that_broke, promise_that_bends])
    job = checked.get_implicit_global_asset_job_def()
    if folder is not None:
        (tmp_path / folder).mkdir()
        made = dg.DagsterInstance.local_temp(str(tmp_path / folder))
    else:
        made = dg.DagsterInstance.ephemeral()
    with WebhookReceiver() as receiver, made as instance:
        describe(installation.settings, monkeypatch, NEURIGRAPH_FAILURE_WEBHOOK_URL=receiver.url)
        assert instance.event_log_storage.is_run_sharded is bool(folder)

        def tick(cursor: str | None) -> str | None:
            resources = {"installation": InstallationResource()}
            with dg.build_sensor_context(instance=instance, cursor=cursor, resources=resources) as context:
                check_failure_report_sensor(context)
                return context.cursor

        assert job.execute_in_process(instance=instance).success
        first = tick(None)
        assert receiver.bodies == []  # nobody had asked before
        failed = job.execute_in_process(instance=instance).run_id
        second = tick(first)
        assert tick(second) == second != first
        reports = receiver.bodies
    broken = {"asset": "sources", "check": "promise_that_broke", "run_id": failed}
    assert reports == [{"event": "checks_failed", "checks": [broken]}]
