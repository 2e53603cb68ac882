"""Replay of failures: once per failure, by its owner only, stored exactly once."""

from __future__ import annotations

import threading
from uuid import uuid4

import dagster as dg
import psycopg
import pytest

from neurigraph_pipelines.defs.ingestion.replay_job import replay_job
from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.graph.provisioning import User, create_user
from neurigraph_pipelines.ingestion.failures import count_open, list_failures, replay, replay_own
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import NotFoundError
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.views.failures import ReplayOutcome
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.command_line import describe
from tests.support.failed_segments import fail, give_up, state_of
from tests.support.vectors import NamedEmbedder, one, store, with_embedder

# Dagster's own: it reads pydantic's models by an attribute that pydantic has given up.
pytestmark = pytest.mark.filterwarnings("ignore:The `__fields__` attribute:DeprecationWarning")


@pytest.fixture
def user(installation: Installation) -> User:
    return create_user(installation.database, "bob")[0]


def test_replayed_segment_is_stored_once(installation: Installation, user: User) -> None:
    (failure,) = fail(installation, user, "c1")
    (done,) = replay(installation.database, [failure.failure_id])
    assert (done.failure_id, done.outcome) == (failure.failure_id, ReplayOutcome.REPLAYED)
    assert state_of(installation, failure) == ("pending", 0)
    context = with_embedder(installation, NamedEmbedder("words"))
    assert len(store(installation, context)) == 1
    (again,) = replay(installation.database, [failure.failure_id])
    assert again.outcome is ReplayOutcome.ALREADY_REPLAYED
    assert state_of(installation, failure)[0] == "stored"
    assert store(installation, context) == []
    assert one(installation, "SELECT count(*) FROM neurigraph.record_index") == 1
    assert one(installation, "SELECT stored_through FROM neurigraph.sources") == 2


def test_stored_segment_is_not_replayed(installation: Installation, user: User) -> None:
    (failure,) = fail(installation, user, "c1")
    replay(installation.database, [failure.failure_id])
    store(installation, with_embedder(installation, NamedEmbedder("words")))
    with installation.database.pipeline() as tx:  # as if somebody had stored it by hand, without replaying
        tx.execute("UPDATE neurigraph.pipeline_failures SET replayed_at = NULL")
    (done,) = replay(installation.database, None)
    assert done.outcome is ReplayOutcome.STORED_MEANWHILE
    assert state_of(installation, failure)[0] == "stored"
    assert count_open(installation.database) == 0


def test_old_replay_keeps_later_failure(installation: Installation, user: User) -> None:
    (first,) = fail(installation, user, "c1")
    replay(installation.database, [first.failure_id])
    give_up(installation)
    (done,) = replay(installation.database, [first.failure_id])
    assert done.outcome is ReplayOutcome.ALREADY_REPLAYED
    assert state_of(installation, first) == ("failed", 1)
    with installation.database.pipeline() as tx:
        (second,) = list_failures(tx)
    assert replay(installation.database, [second.failure_id])[0].outcome is ReplayOutcome.REPLAYED


def test_unknown_failure(installation: Installation, user: User) -> None:
    (failure,) = fail(installation, user, "c1")
    with pytest.raises(NotFoundError, match="nothing was replayed"):
        replay(installation.database, [failure.failure_id, uuid4()])
    other, _ = create_user(installation.database, "eve")
    with pytest.raises(NotFoundError):
        replay(installation.database, [failure.failure_id], other.user_id)
    assert state_of(installation, failure) == ("failed", 1)


def test_concurrent_replays_are_exclusive(installation: Installation, user: User) -> None:
    failures = fail(installation, user, *(f"c{number}" for number in range(20)))
    outcomes: list[ReplayOutcome] = []

    def run(backwards: bool) -> None:
        named = [failure.failure_id for failure in failures]
        outcomes.extend(each.outcome for each in replay(installation.database, named[::-1] if backwards else named))

    threads = [threading.Thread(target=run, args=[number % 2 == 0]) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(outcomes) == 6 * 20
    assert outcomes.count(ReplayOutcome.REPLAYED) == 20


def test_replay_needs_its_function(installation: Installation, user: User) -> None:
    (failure,) = fail(installation, user, "c1")
    other, _ = create_user(installation.database, "eve")
    with pytest.raises(NotFoundError):
        replay_own(installation.database, Claims.of_user(other.user_id), failure.failure_id)
    with installation.database.agent(None) as tx:
        assert tx.execute("SELECT * FROM neurigraph.replay_own_failures(NULL)").fetchall() == []
    strange = Claims(sub="p", role="persona", user_id=user.user_id)
    with installation.database.agent(strange) as tx:
        assert tx.execute("SELECT * FROM neurigraph.replay_own_failures(NULL)").fetchall() == []
    for statement in (
        "UPDATE neurigraph.storage_triggers SET state = 'pending'",
        "UPDATE neurigraph.pipeline_failures SET replayed_at = now()",
        "SELECT * FROM neurigraph.replay_failures(NULL, NULL)",
    ):
        with (
            pytest.raises(psycopg.errors.InsufficientPrivilege),
            installation.database.agent(Claims.of_user(user.user_id)) as tx,
        ):
            tx.execute(statement.encode())
    assert state_of(installation, failure) == ("failed", 1)
    done = replay_own(installation.database, Claims.of_user(user.user_id), failure.failure_id)
    assert done.outcome is ReplayOutcome.REPLAYED


@pytest.fixture
def _environment(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    describe(settings, monkeypatch)


@pytest.mark.usefixtures("_environment")
def test_launchpad_replays_open_or_named(installation: Installation, user: User) -> None:
    first, second, third = fail(installation, user, "c1", "c2", "c3")
    resources = {"installation": InstallationResource()}

    def launch(**config: object) -> dg.ExecuteInProcessResult:
        return replay_job.execute_in_process(
            run_config={"ops": {"replay_failures": {"config": config}}} if config else None,
            resources=resources,
            raise_on_error=False,
        )

    named = launch(failure_ids=[str(first.failure_id)], all=False)
    assert named.output_for_node("replay_failures") == 1
    assert state_of(installation, second) == ("failed", 1)
    assert not launch(failure_ids=[str(second.failure_id)], all=True).success, "both at once is a mistake"
    assert not launch(failure_ids=["x"], all=False).success
    assert not launch(failure_ids=[], all=False).success
    assert not launch(user="nobody").success
    assert launch().output_for_node("replay_failures") == 2, "what the launchpad proposes"
    assert state_of(installation, third) == ("pending", 0)
    assert count_open(installation.database) == 0
