"""Unreadable uploads: listed beside failed segments, and replayed like them."""

from __future__ import annotations

import json

import httpx
import pytest
from psycopg import sql

from neurigraph_pipelines.defs.ingestion.replay_job import replay_job
from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.graph.provisioning import User, create_user
from neurigraph_pipelines.ingestion.failures import count_open, list_failures, replay
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.views.failures import FailureOfUser, ReplayOutcome
from neurigraph_pipelines.wiring.installation import Installation
from resources.extractors.text_extractor import SubprocessExtractor
from tests.support.api_server import serving
from tests.support.command_line import describe, run_cli
from tests.support.failed_segments import fail, state_of
from tests.support.vectors import end_conversation

NOTES = b"The ferry to Tresco leaves at nine. " * 100
TOO_LONG = "more than 1,000 bytes of text"


@pytest.fixture
def user(installation: Installation) -> User:
    return create_user(installation.database, "bob")[0]


def upload(installation: Installation, user: User, name: str, content: bytes = NOTES) -> None:
    installation.uploads.receive(Claims.of_user(user.user_id), name, [content])


def fail_to_read(installation: Installation, user: User, name: str, content: bytes = NOTES) -> FailureOfUser:
    """Upload a text that has more than may be read out of one file."""
    upload(installation, user, name, content)
    installation.uploads.read_due(SubprocessExtractor(30.0, 1 << 30, 1_000))
    return open_failures(installation)[0]


def open_failures(installation: Installation) -> list[FailureOfUser]:
    with installation.database.pipeline() as tx:
        return list_failures(tx)


def test_unreadable_upload_is_replayed(installation: Installation, user: User) -> None:
    failure = fail_to_read(installation, user, "ferry.txt")
    assert (failure.source_kind, failure.file_name, failure.step) == ("upload", "ferry.txt", "read_uploads")
    assert (failure.trigger_id, failure.first_message, failure.attempts) == (None, None, 1)
    assert TOO_LONG in failure.error
    assert state_of(installation, failure) == ("failed", 1)
    for outcome in (ReplayOutcome.REPLAYED, ReplayOutcome.ALREADY_REPLAYED):
        assert replay(installation.database, [failure.failure_id])[0].outcome is outcome
        assert state_of(installation, failure) == ("received", 0)
    (read,) = installation.uploads.read_due(installation.text_extractor)
    assert read.error is None
    assert state_of(installation, failure) == ("extracted", 1)
    assert count_open(installation.database) == 0


@pytest.mark.filterwarnings("ignore:The `__fields__` attribute:DeprecationWarning")  # Dagster's own
def test_launchpad_replays_upload(
    installation: Installation, settings: Settings, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    failure = fail_to_read(installation, user, "ferry.txt")
    describe(settings, monkeypatch)
    assert replay_job.execute_in_process(resources={"installation": InstallationResource()}).success
    assert state_of(installation, failure) == ("received", 0)


def test_resending_replays_failure(installation: Installation, user: User) -> None:
    failure = fail_to_read(installation, user, "ferry.txt")
    upload(installation, user, "the same.txt")
    assert state_of(installation, failure) == ("received", 0)
    assert open_failures(installation) == []
    assert replay(installation.database, [failure.failure_id])[0].outcome is ReplayOutcome.ALREADY_REPLAYED
    again = fail_to_read(installation, user, "and again.txt")
    assert again.failure_id != failure.failure_id, "a failure of its own"


def test_last_attempt_becomes_failure(installation: Installation, user: User) -> None:
    """Bytes that cannot be fetched just now may be there later."""
    installation.settings = installation.settings.changed(max_attempts=2, retry_base_seconds=1e-9)
    upload(installation, user, "ferry.txt")
    (key,) = installation.objects.keys("staging/")
    installation.objects.delete(key)
    first, last = installation.uploads.read_due(installation.text_extractor)
    assert first.error == last.error
    (failure,) = open_failures(installation)
    assert (failure.attempts, failure.error) == (2, last.error)
    replay(installation.database, None)
    installation.objects.put(key, [NOTES])
    assert [read.error for read in installation.uploads.read_due(installation.text_extractor)] == [None]


def test_cli_replays_both_kinds(installation: Installation, settings: Settings, user: User) -> None:
    (segment,) = fail(installation, user, "c1")
    unread = fail_to_read(installation, user, "ferry\x1b[31m.txt")
    shown = run_cli(settings, "source", "failure", "list")
    assert "bob: upload ferry[31m.txt  " in shown.stdout
    assert TOO_LONG in shown.stdout
    assert "bob: conversation c1  messages 1 to 2  " in shown.stdout
    listed = json.loads(run_cli(settings, "source", "failure", "list", "--user", "bob", "--json").stdout)["failures"]
    assert [each["failure_id"] for each in listed] == [str(unread.failure_id), str(segment.failure_id)]
    done = json.loads(run_cli(settings, "source", "failure", "replay", "--all", "--json").stdout)["replays"]
    assert [each["outcome"] for each in done] == ["replayed"] * 2
    assert json.loads(run_cli(settings, "ingest", "--json").stdout)["stored"] == 2


def test_ingest_says_what_failed_with_its_exit_code(installation: Installation, settings: Settings, user: User) -> None:
    other, _ = create_user(installation.database, "eve")
    for one in (user, other):
        end_conversation(installation, one, "c1", "We chose the copper gutters.", "For the boathouse.")
    with installation.database.owner() as tx:
        check = "ALTER TABLE neurigraph.record_index ADD CONSTRAINT broken CHECK (user_id <> {})"
        tx.execute(sql.SQL(check).format(sql.Literal(other.user_id)))
    ended = run_cli(settings, "ingest", "--json")
    done = json.loads(ended.stdout)
    assert (ended.returncode, done["stored"], len(done["returned"]), done["unread"]) == (1, 1, 1, [])
    assert "neurigraph source failure list" in done["remedy"]
    upload(installation, user, "broken.pdf", b"%PDF-1.7 broken")
    ended = run_cli(settings, "ingest")
    assert ended.returncode == 1
    assert "Not read: 1 file. `neurigraph source failure list` shows why" in ended.stdout


def test_api_replays_own_failures(installation: Installation) -> None:
    bob, bobs_key = create_user(installation.database, "bob")
    eve, eves_key = create_user(installation.database, "eve")
    fail_to_read(installation, bob, "ferry.txt")
    hers = fail_to_read(installation, eve, "secret.txt", NOTES + b"!")
    upload(installation, bob, "two.txt", b"two")
    with serving(installation) as base, httpx.Client(base_url=base, timeout=60) as client:
        auth = {"Authorization": f"Bearer {bobs_key}"}
        (shown,) = client.get("/v1/failures", headers=auth).json()["failures"]
        assert (shown["file_name"], shown["trigger_type"], shown["state"]) == ("ferry.txt", None, "failed")
        assert client.post(f"/v1/failures/{hers.failure_id}/replay", headers=auth).status_code == 404
        assert state_of(installation, hers) == ("failed", 1)

        page = client.get("/v1/uploads", params={"limit": 1}, headers=auth).json()
        rest = client.get("/v1/uploads", params={"cursor": page["next_cursor"]}, headers=auth).json()
        both = page["uploads"] + rest["uploads"]
        assert [(each["file_name"], each["state"]) for each in both] == [
            ("two.txt", "waiting"),
            ("ferry.txt", "failed"),
        ]
        assert TOO_LONG in both[1]["error"]
        assert rest["next_cursor"] is None
        assert client.get("/v1/uploads").status_code == 401
        assert client.get("/v1/uploads", params={"limit": 1_001}, headers=auth).status_code == 422

        assert client.post(f"/v1/failures/{shown['failure_id']}/replay", headers=auth).json()["outcome"] == "replayed"
        states = {each["state"] for each in client.get("/v1/uploads", headers=auth).json()["uploads"]}
        assert states == {"waiting"}
        listed = client.get("/v1/uploads", headers={"Authorization": f"Bearer {eves_key}"}).json()["uploads"]
        assert [each["file_name"] for each in listed] == ["secret.txt"]
