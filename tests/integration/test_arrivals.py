"""What wakes the sensors: the question for work, and the pause that it ends."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import psycopg
import pytest

from neurigraph_pipelines.graph.provisioning import User, create_user
from neurigraph_pipelines.inbox import triggers
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.ingestion.arrivals import Work, work
from neurigraph_pipelines.ingestion.detection import detect, detect_conversation_ends
from neurigraph_pipelines.model import Claims, NewConversation, NewMessage, Role, TriggerType
from neurigraph_pipelines.runtime.daemon import pause as pauses
from neurigraph_pipelines.runtime.daemon.pause import Pause
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.command_line import describe

LONGER_THAN_THE_TEST = 3_600.0
PATIENCE_SECONDS = 60.0
NOTHING, SOMETHING, LEASED = Work(False, False), Work(True, False), Work(False, True)


@pytest.fixture
def user(installation: Installation) -> User:
    return create_user(installation.database, "ada")[0]


def put(installation: Installation, user: User, *, ended: bool, words: int = 10) -> None:
    message = NewMessage(Role.USER, "boathouse " * words)
    reply = NewMessage(Role.ASSISTANT, "noted")
    ended_at = datetime.now(UTC) if ended else None
    with installation.database.agent(Claims.of_user(user.user_id)) as tx:
        conversation = NewConversation(f"{ended} {words}", (message, reply), ended_at=ended_at)
        Inbox(installation.context).add_conversations(tx, user.user_id, [conversation])


def execute(installation: Installation, statement: str) -> int:
    with psycopg.connect(installation.administrator_url, autocommit=True) as connection:
        return connection.execute(statement.encode()).rowcount


def test_nothing_and_open_conversations_are_no_work(installation: Installation, user: User) -> None:
    assert work(installation.context) == NOTHING
    put(installation, user, ended=False)
    assert work(installation.context) == NOTHING


def test_ended_conversation_is_work_until_it_is_leased(installation: Installation, user: User) -> None:
    put(installation, user, ended=True)
    assert work(installation.context) == SOMETHING
    assert detect_conversation_ends(installation.context) == 1
    assert work(installation.context) == SOMETHING, "it is detected, but nobody has leased it"
    assert triggers.lease_for_runs(installation.context, "a sensor", TriggerType.CONVERSATION_END)
    assert work(installation.context) == LEASED
    assert execute(installation, "UPDATE neurigraph.storage_triggers SET claimed_until = now() - interval '1 s'") == 1
    assert work(installation.context) == Work(True, True), "its worker is silent"


def test_retry_is_work_when_it_is_due(installation: Installation, user: User) -> None:
    put(installation, user, ended=True)
    detect(installation.context)
    later = "UPDATE neurigraph.storage_triggers SET next_attempt_at = now() + interval '{} s'"
    assert execute(installation, later.format(100)) == 1
    assert work(installation.context) == NOTHING
    assert execute(installation, later.format(-1)) == 1
    assert work(installation.context) == SOMETHING


def test_held_source_is_no_work(installation: Installation, user: User) -> None:
    put(installation, user, ended=True)
    assert execute(installation, "UPDATE neurigraph.sources SET held = true") == 1
    assert work(installation.context) == NOTHING


def test_long_open_conversation_is_work_until_it_was_looked_at(installation: Installation, user: User) -> None:
    watched = installation.settings.ingestion.chunk_watch_tokens
    put(installation, user, ended=False, words=10)
    assert execute(installation, f"UPDATE neurigraph.sources SET untriggered_tokens = {watched}") == 1
    assert work(installation.context) == SOMETHING
    assert execute(installation, "UPDATE neurigraph.sources SET tail_changed = false") == 1
    assert work(installation.context) == NOTHING


def test_upload_is_work(installation: Installation, user: User) -> None:
    claims = Claims.of_user(user.user_id)
    installation.uploads.receive(claims, "notes.txt", [b"The boathouse is let."])
    assert work(installation.context) == SOMETHING


@contextmanager
def paused(settings: Settings, monkeypatch: pytest.MonkeyPatch, seconds: float) -> Iterator[threading.Thread]:
    """Run a pause of the sensors in a thread, whose own end would come after the test; Dagster's is ``seconds``."""
    describe(settings, monkeypatch, NEURIGRAPH_READY_SENSOR_SECONDS="0")
    monkeypatch.setattr(pauses, "IDLE_SECONDS", LONGER_THAN_THE_TEST)
    stopping, looked = threading.Event(), threading.Event()

    def look(context: object) -> Work:
        found = work(context)  # type: ignore[arg-type]
        looked.set()
        return found

    monkeypatch.setattr(pauses, "work", look)
    with Pause(stopping) as pause:
        thread = threading.Thread(target=pause.wait, args=(seconds,))
        thread.start()
        assert looked.wait(PATIENCE_SECONDS)
        try:
            yield thread
        finally:
            stopping.set()
            thread.join(PATIENCE_SECONDS)
            assert not thread.is_alive(), "a daemon that stops ends the pause"


def test_arrival_ends_pause(
    installation: Installation, user: User, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with paused(settings, monkeypatch, 0.1) as thread:
        thread.join(2.0)
        assert thread.is_alive(), "without work, the pause is longer than Dagster's"
        put(installation, user, ended=True)
        thread.join(PATIENCE_SECONDS)
        assert not thread.is_alive()


def test_work_under_way_keeps_dagsters_pause(
    installation: Installation, user: User, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(installation, user, ended=True)
    detect(installation.context)
    assert triggers.lease_for_runs(installation.context, "a sensor", TriggerType.CONVERSATION_END)
    with paused(settings, monkeypatch, 0.1) as thread:
        thread.join(PATIENCE_SECONDS)
        assert not thread.is_alive()


def test_silent_database_keeps_dagsters_pause(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    describe(settings, monkeypatch, NEURIGRAPH_DATABASE_URL="postgresql://nobody:x@127.0.0.1:9/none")
    monkeypatch.setattr(pauses, "IDLE_SECONDS", LONGER_THAN_THE_TEST)
    with Pause(threading.Event()) as pause:
        assert pause.wait(0.1) is False
