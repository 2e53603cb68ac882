"""Sensors and the job on a Dagster instance: what each finds, requests and stores."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from neurigraph_pipelines.definitions import defs
from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.graph.provisioning import User, create_user
from neurigraph_pipelines.inbox import triggers
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.inbox.importing import import_file
from neurigraph_pipelines.model import (
    Claims,
    EventKind,
    ImportedConversation,
    IncomingMessage,
    Role,
    SourceKind,
)
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.command_line import describe

SENSORS = ("conversation_end_sensor", "chunk_threshold_sensor", "event_boundary_sensor")


@pytest.fixture
def settings(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Sizes of a thousandth; in the environment too, where Dagster's resource looks for them."""
    sizes = {"WATCH": "480", "TARGET": "500", "LIMIT": "620"}
    describe(settings, monkeypatch, **{f"NEURIGRAPH_CHUNK_{name}_TOKENS": size for name, size in sizes.items()})
    return Settings()


@pytest.fixture
def user(installation: Installation) -> User:
    return create_user(installation.database, "ada")[0]


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.local_temp(overrides={"telemetry": {"enabled": False}}) as made:
        yield made


def tick(instance: dg.DagsterInstance, name: str) -> list[dg.RunRequest]:
    """Run one sensor tick."""
    resources = {"installation": InstallationResource()}
    with dg.build_sensor_context(instance=instance, definitions=defs, resources=resources) as context:
        looked = defs.resolve_sensor_def(name).evaluate_tick(context)
    assert bool(looked.run_requests) != bool(looked.skip_message)
    return list(looked.run_requests or ())


def run(instance: dg.DagsterInstance, request: dg.RunRequest) -> dg.ExecuteInProcessResult:
    return defs.resolve_job_def("ingestion_job").execute_in_process(
        run_config=request.run_config, instance=instance, tags=request.tags
    )


def put(installation: Installation, user: User, conversation: ImportedConversation) -> None:
    with installation.database.agent(Claims.of_user(user.user_id)) as tx:
        Inbox(installation.context).add_conversations(tx, user.user_id, [conversation])


def talk(about: str, messages: int) -> tuple[IncomingMessage, ...]:
    """User and assistant in turns, thirty tokens or so each."""
    return tuple(
        IncomingMessage(
            Role.ASSISTANT if number % 2 else Role.USER,
            f"In part {number} we went on about {about}, with all the small things that come to mind when there is "
            "time enough for a long talk in the evening.",
        )
        for number in range(messages)
    )


def test_sensors_request_each_run_once(installation: Installation, user: User, instance: dg.DagsterInstance) -> None:
    assert [tick(instance, name) for name in SENSORS] == [[], [], []]
    put(installation, user, ImportedConversation("open", talk("the boathouse", 30)))
    put(installation, user, ImportedConversation("meeting", talk("the survey", 4), event_kind=EventKind.MEETING))
    inbox = Inbox(installation.context)
    with installation.database.agent(Claims.of_user(user.user_id)) as tx:
        for kind, external_id, event_kind in (
            (SourceKind.EVENT, "meeting", EventKind.MEETING),
            (SourceKind.CONVERSATION, "ended", None),
        ):
            source, _ = inbox.open_source(tx, user.user_id, kind, external_id=external_id, event_kind=event_kind)
            inbox.append(tx, kind, source, talk("the garden", 2))
            inbox.end(tx, kind, source)
    with installation.database.owner() as tx:
        passed = "created_at = created_at - '2 min'::interval, ended_at = ended_at - '1 min'::interval"
        tx.execute(f"UPDATE neurigraph.sources SET {passed} WHERE ended_at IS NOT NULL")
    requests = {name: tick(instance, name) for name in SENSORS}
    assert [len(asked) for asked in requests.values()] == [1, 1, 1]
    keys = {request.run_key for asked in requests.values() for request in asked}
    assert len(keys) == 3
    waited = sorted(int(request.tags["waited_seconds"]) // 60 for asked in requests.values() for request in asked)
    assert waited == [0, 1, 1]
    again = {request.run_key for name in SENSORS for request in tick(instance, name)}
    assert again == keys, "until a run is over it is asked for under the same key, which Dagster starts once"
    for (request,) in requests.values():
        result = run(instance, request)
        assert result.success
        assert result.output_for_node("memories.commit").stored
    assert [tick(instance, name) for name in SENSORS] == [[], [], []]
    queue = triggers.queue(installation.database)
    assert (queue.stored, queue.pending, queue.claimed, queue.failed) == (3, 0, 0, 0)


def test_queued_run_keeps_lease(installation: Installation, user: User, instance: dg.DagsterInstance) -> None:
    put(installation, user, ImportedConversation("ended", talk("the garden", 2), ended_at=datetime.now(UTC)))
    (request,) = tick(instance, "conversation_end_sensor")
    assert request.run_key is not None
    tags = {"dagster/run_key": request.run_key}
    job = defs.resolve_job_def("ingestion_job")
    waiting = instance.create_run_for_job(job, run_config=request.run_config, tags=tags)

    def run_out() -> None:
        with installation.database.pipeline() as tx:
            tx.execute("UPDATE neurigraph.storage_triggers SET claimed_until = now() - interval '1 second'")

    run_out()
    (again,) = tick(instance, "conversation_end_sensor")
    assert again.run_key == request.run_key
    instance.report_run_canceled(waiting)
    run_out()
    (other,) = tick(instance, "conversation_end_sensor")
    assert other.run_key != request.run_key, "nobody waits any more"


def test_real_meeting_is_stored_and_found(
    installation: Installation, user: User, instance: dg.DagsterInstance, data_folder: Path
) -> None:
    claims = Claims.of_user(user.user_id)
    report = import_file(
        installation.acting_for(claims),
        data_folder / "qmsum" / "ES2002a.json",
        "qmsum",
    )
    assert (report.conversations_added, report.rejected) == (1, [])
    assert tick(instance, "conversation_end_sensor") == []
    (request,) = tick(instance, "event_boundary_sensor")
    assert run(instance, request).success
    answer = search(
        installation.acting_for(claims),
        Question("How much should the remote control cost to make, and what is its selling price?"),
    )
    assert {(hit.source_external_id or "").partition("-")[0] for hit in answer.hits} == {"qmsum"}
    assert {hit.source_kind for hit in answer.hits} == {"event"}
    spoken = json.loads((data_folder / "qmsum" / "ES2002a.json").read_text(encoding="utf-8"))["meeting_transcripts"]
    found = [spoken[int(message.external_id or 0)]["content"] for message in answer.messages[:5]]
    assert any("twenty five Euro" in content for content in found), found


def ended(
    instance: dg.DagsterInstance,
    request: dg.RunRequest,
    status: dg.DagsterRunStatus,
    seconds: float,
    *,
    started: bool = True,
) -> None:
    """Record a run of a request that ended so many seconds ago."""
    assert request.run_key is not None
    job = defs.resolve_job_def("ingestion_job")
    made = instance.create_run_for_job(job, run_config=request.run_config, tags={"dagster/run_key": request.run_key})
    happened = {
        dg.DagsterRunStatus.CANCELED: dg.DagsterEventType.RUN_CANCELED,
        dg.DagsterRunStatus.FAILURE: dg.DagsterEventType.RUN_FAILURE,
    }[status]
    entry_of: Any = dg.EventLogEntry
    events = [(dg.DagsterEventType.RUN_START, time.time() - 60)] if started else []
    for kind, at in (*events, (happened, time.time() - seconds)):
        event = dg.DagsterEvent(kind.value, made.job_name)
        entry = entry_of(None, "info", "", made.run_id, at, job_name=made.job_name, dagster_event=event)
        instance.handle_new_event(entry)
    run = instance.get_run_by_id(made.run_id)
    assert run is not None
    assert run.status is status


@pytest.mark.parametrize("together", [1, 2])
@pytest.mark.parametrize("status", [dg.DagsterRunStatus.CANCELED, dg.DagsterRunStatus.FAILURE])
def test_segments_of_ended_run_are_free(
    installation: Installation, user: User, instance: dg.DagsterInstance, status: dg.DagsterRunStatus, together: int
) -> None:
    """As after Terminate, or after the death of a run with its code server: nobody waits for the lease."""
    for number in range(together):
        put(
            installation,
            user,
            ImportedConversation(f"ended {number}", talk("the garden", 2), ended_at=datetime.now(UTC)),
        )
    (request,) = tick(instance, "conversation_end_sensor")
    ended(instance, request, status, 0.0)
    if status is dg.DagsterRunStatus.FAILURE:
        (same,) = tick(instance, "conversation_end_sensor")
        assert same.run_key == request.run_key, "a person may execute it again from its failed step"
    ended(instance, request, status, 25.5)
    again = tick(instance, "conversation_end_sensor")
    killed = status is dg.DagsterRunStatus.FAILURE
    assert len(again) == (together if killed else 1), "what may have killed a run runs alone"
    assert request.run_key not in {one.run_key for one in again}
    for one in again:
        assert run(instance, one).success
    with installation.database.pipeline() as tx:
        found = tx.execute("SELECT state::text, attempts FROM neurigraph.storage_triggers").fetchall()
    assert found == [{"state": "stored", "attempts": 2 if killed and together == 1 else 1}] * together


def test_run_that_never_started_costs_no_attempt(
    installation: Installation, user: User, instance: dg.DagsterInstance
) -> None:
    """As when no process could be started, or no worker took the run."""
    put(installation, user, ImportedConversation("ended", talk("the garden", 2), ended_at=datetime.now(UTC)))
    (request,) = tick(instance, "conversation_end_sensor")
    ended(instance, request, dg.DagsterRunStatus.FAILURE, 25.5, started=False)
    (again,) = tick(instance, "conversation_end_sensor")
    assert again.run_key != request.run_key
    assert run(instance, again).success
    with installation.database.pipeline() as tx:
        found = tx.execute("SELECT state::text, attempts FROM neurigraph.storage_triggers").fetchall()
    assert found == [{"state": "stored", "attempts": 1}]


def test_run_whose_process_died_unseen_is_repeated(
    installation: Installation, user: User, instance: dg.DagsterInstance
) -> None:
    """As after a power cut: Dagster calls the run started, and its lease is renewed by nobody."""
    put(installation, user, ImportedConversation("ended", talk("the garden", 2), ended_at=datetime.now(UTC)))
    (request,) = tick(instance, "conversation_end_sensor")
    assert request.run_key is not None
    dead = instance.create_run_for_job(
        defs.resolve_job_def("ingestion_job"),
        run_config=request.run_config,
        tags={"dagster/run_key": request.run_key},
        status=dg.DagsterRunStatus.STARTED,
    )
    (same,) = tick(instance, "event_boundary_sensor") or tick(instance, "conversation_end_sensor")
    assert same.run_key == request.run_key
    assert status_of(instance, dead) is dg.DagsterRunStatus.STARTED, "its lease has not expired"
    with installation.database.pipeline() as tx:
        tx.execute("UPDATE neurigraph.storage_triggers SET claimed_until = now() - interval '1 second'")
    assert tick(instance, "event_boundary_sensor") == [], "any of the sensors finds it"
    assert status_of(instance, dead) is dg.DagsterRunStatus.FAILURE
    (same,) = tick(instance, "conversation_end_sensor")
    assert same.run_key == request.run_key, "the run that Dagster repeats still has its segments"


def status_of(instance: dg.DagsterInstance, run: dg.DagsterRun) -> dg.DagsterRunStatus:
    found = instance.get_run_by_id(run.run_id)
    assert found is not None
    return found.status
