"""The queue of segments: found once, leased once, renewed, released."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest

from neurigraph_pipelines.database.leases import retry_delay
from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.inbox import triggers
from neurigraph_pipelines.ingestion.detection import detect_conversation_ends
from neurigraph_pipelines.model import Claims, ItemFailure, SourceKind
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from resources.postgres.database import PostgresDatabase
from tests.conftest import SECRET
from tests.support.concurrent_processes import run_side_by_side
from tests.support.memories import converse, new_user, rows
from tests.support.waiting import wait_until

CLAIM = """
import sys
from types import SimpleNamespace
from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.inbox import triggers
from neurigraph_pipelines.settings import Settings
from resources.postgres.database import PostgresDatabase
database = PostgresDatabase(sys.argv[1], Secret(sys.argv[2]))
context = Context(SimpleNamespace(database=database, settings=Settings.model_validate({'batch_max_segments': 3})))
sys.stdin.readline()
while batch := triggers.lease_due(context, "process"):
    print(*(segment.trigger_id for segment in triggers.segments_of(database, batch.batch_id)), flush=True)
database.close()
"""


@pytest.fixture
def bob(installation: Installation) -> tuple[User, Claims]:
    return new_user(installation, "bob")


def changed(settings: Settings, **changes: Any) -> Settings:
    """Settings that no person may choose, such as a lease of a second."""
    return settings.changed(**changes)


def state_of(installation: Installation) -> list[tuple[str, int]]:
    found = rows(installation, "SELECT state::text, attempts FROM neurigraph.storage_triggers ORDER BY created_at")
    return [(row["state"], row["attempts"]) for row in found]


def claim(installation: Installation, settings: Settings, who: str = "test") -> set[UUID]:
    batch = triggers.lease_due(installation.context.using(settings=settings), who)
    return set() if batch is None else held_by(installation, batch.batch_id)


def held_by(installation: Installation, batch_id: UUID) -> set[UUID]:
    return {ref.trigger_id for ref in triggers.segments_of(installation.database, batch_id)}


def test_ended_conversation_is_found_once(installation: Installation, bob: tuple[User, Claims]) -> None:
    source_id = converse(installation, bob[1], "one", "two", "three", external_id="talk")
    assert detect_conversation_ends(installation.context) == 1
    assert detect_conversation_ends(installation.context) == 0
    batch = triggers.lease_due(installation.context, "test")
    assert batch is not None
    (ref,) = triggers.segments_of(installation.database, batch.batch_id)
    assert (ref.source_id, ref.source_external_id, ref.source_kind) == (source_id, "talk", SourceKind.CONVERSATION)
    assert (ref.first_message, ref.last_message, ref.attempts, ref.user_slug) == (1, 3, 1, "bob")
    assert ref.token_count == batch.tokens == sum(installation.tokens.count(t) for t in ("one", "two", "three"))
    segment = triggers.load(installation.database, ref)
    assert [message.content for message in segment.messages] == ["one", "two", "three"]
    assert [message.external_id for message in segment.messages] == ["m1", "m2", "m3"]


def test_open_or_empty_conversation_is_not_found(installation: Installation, bob: tuple[User, Claims]) -> None:
    converse(installation, bob[1], "going on", ended=False)
    converse(installation, bob[1])
    assert detect_conversation_ends(installation.context) == 0
    assert claim(installation, installation.settings) == set()


def test_messages_after_end_are_new_segment(installation: Installation, bob: tuple[User, Claims]) -> None:
    converse(installation, bob[1], "one", "two", external_id="talk")
    assert detect_conversation_ends(installation.context) == 1
    converse(installation, bob[1], "three", external_id="talk", first=3)
    assert detect_conversation_ends(installation.context) == 1
    found = rows(
        installation, "SELECT first_message AS a, last_message AS b FROM neurigraph.storage_triggers ORDER BY 1"
    )
    assert found == [{"a": 1, "b": 2}, {"a": 3, "b": 3}]


def test_concurrent_detection_finds_once(installation: Installation, bob: tuple[User, Claims]) -> None:
    for number in range(20):
        converse(installation, bob[1], f"talk {number}")
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: detect_conversation_ends(installation.context), range(4)))
    assert sum(found) == len(state_of(installation)) == 20


def test_locked_source_waits(installation: Installation, bob: tuple[User, Claims]) -> None:
    source_id = converse(installation, bob[1], "one")
    with installation.database.agent(bob[1]) as tx:
        tx.execute("SELECT FROM neurigraph.sources WHERE source_id = %s FOR NO KEY UPDATE", [source_id])
        assert detect_conversation_ends(installation.context) == 0
    assert detect_conversation_ends(installation.context) == 1


def test_batch_is_bounded_by_segments(installation: Installation, bob: tuple[User, Claims]) -> None:
    for number in range(5):
        converse(installation, bob[1], f"talk {number}")
    detect_conversation_ends(installation.context)
    bounded = changed(installation.settings, batch_max_segments=2)
    sizes = [len(claim(installation, bounded)) for _ in range(4)]
    assert sizes == [2, 2, 1, 0]


def test_batch_is_bounded_by_tokens(installation: Installation, bob: tuple[User, Claims]) -> None:
    for words in (10, 10, 500, 10):
        converse(installation, bob[1], "word " * words)
        detect_conversation_ends(installation.context)
    bounded = changed(installation.settings, batch_max_tokens=100)
    sizes = [len(claim(installation, bounded)) for _ in range(4)]
    assert sizes == [2, 1, 1, 0]


def test_lease_of_one_user(installation: Installation, bob: tuple[User, Claims]) -> None:
    other, others = new_user(installation)
    converse(installation, bob[1], "mine")
    converse(installation, others, "theirs")
    detect_conversation_ends(installation.context)
    batch = triggers.lease_due(installation.context, "test", other.user_id)
    assert batch is not None
    assert [ref.user_id for ref in triggers.segments_of(installation.database, batch.batch_id)] == [other.user_id]


def test_users_take_turns(installation: Installation, bob: tuple[User, Claims]) -> None:
    ann, anns = new_user(installation, "ann")
    for number in range(30):
        converse(installation, bob[1], f"talk {number} " + "word " * 40)
    detect_conversation_ends(installation.context)
    for number in range(3):
        converse(installation, anns, f"note {number} " + "word " * 40)
    detect_conversation_ends(installation.context)
    bounded = changed(installation.settings, batch_max_segments=10)

    def users_of(batch_id: UUID) -> list[UUID]:
        return [ref.user_id for ref in triggers.segments_of(installation.database, batch_id)]

    context = installation.context.using(settings=bounded)
    first = triggers.lease_due(context, "test")
    assert first is not None
    assert users_of(first.batch_id).count(ann.user_id) == 3, "all that Ann has, although Bob's are older"
    assert len(users_of(first.batch_id)) == 10
    for number in range(10):
        converse(installation, anns, f"more {number} " + "word " * 40)
    detect_conversation_ends(installation.context)
    second = triggers.lease_due(context, "test")
    assert second is not None
    # Bob has seven segments at work and Ann three: she catches up, and then they take turns.
    assert users_of(second.batch_id).count(ann.user_id) == 7


def test_threads_lease_disjoint_batches(installation: Installation, bob: tuple[User, Claims]) -> None:
    for number in range(40):
        converse(installation, bob[1], f"talk {number}")
    detect_conversation_ends(installation.context)
    database = PostgresDatabase(installation.administrator_url, Secret(SECRET), pool_size=8)
    bounded = changed(installation.settings, batch_max_segments=7)
    context = installation.context.using(database=database, settings=bounded)
    together = threading.Barrier(8)

    def work(_: int) -> list[UUID]:
        together.wait()
        found: list[UUID] = []
        while batch := triggers.lease_due(context, "thread"):
            found += [ref.trigger_id for ref in triggers.segments_of(database, batch.batch_id)]
        return found

    with ThreadPoolExecutor(8) as pool:
        claimed = [trigger_id for found in pool.map(work, range(8)) for trigger_id in found]
    database.close()
    # One that was locked by a neighbour at the moment of asking is left for the next look.
    claimed += claim(installation, installation.settings)
    assert len(claimed) == len(set(claimed)) == 40


def test_processes_lease_disjoint_batches(installation: Installation, bob: tuple[User, Claims]) -> None:
    for number in range(20):
        converse(installation, bob[1], f"talk {number}")
    detect_conversation_ends(installation.context)
    written = run_side_by_side(CLAIM, installation.administrator_url, SECRET)
    claimed = [word for text in written for word in text.split()]
    claimed += [str(trigger_id) for trigger_id in claim(installation, installation.settings)]
    assert len(claimed) == len(set(claimed)) == 20


# Leases


def test_expired_lease_is_taken_over(installation: Installation, bob: tuple[User, Claims]) -> None:
    converse(installation, bob[1], "one")
    detect_conversation_ends(installation.context)
    settings = changed(installation.settings, claim_lease_seconds=0)
    first = triggers.lease_due(installation.context.using(settings=settings), "dead")
    assert first is not None
    second = triggers.lease_due(installation.context, "alive")
    assert second is not None
    assert held_by(installation, first.batch_id) == set()
    assert len(held_by(installation, second.batch_id)) == 1
    assert state_of(installation) == [("claimed", 2)]


def test_last_expired_lease_becomes_failure(installation: Installation, bob: tuple[User, Claims]) -> None:
    converse(installation, bob[1], "one")
    detect_conversation_ends(installation.context)
    dying = changed(installation.settings, claim_lease_seconds=0, max_attempts=2)
    assert [len(claim(installation, dying)) for _ in range(3)] == [1, 1, 0]
    assert state_of(installation) == [("failed", 2)]
    (failure,) = rows(installation, "SELECT step, attempts, error FROM neurigraph.pipeline_failures")
    assert (failure["step"], failure["attempts"]) == ("run", 2)
    assert failure["error"].startswith("its run ended 2 times without storing it: ")


def test_suspects_are_leased_alone(installation: Installation, bob: tuple[User, Claims]) -> None:
    for number in range(3):
        converse(installation, bob[1], f"talk {number}", hours=number)
    detect_conversation_ends(installation.context)
    dying = changed(installation.settings, claim_lease_seconds=0, max_attempts=1)
    assert len(claim(installation, dying)) == 3
    triggers.expire(installation.context.using(settings=dying))
    assert state_of(installation) == [("pending", 0)] * 3, "with a single attempt each"
    for number in range(3, 6):
        converse(installation, bob[1], f"talk {number}", hours=number)
    detect_conversation_ends(installation.context)
    batches = [triggers.lease_due(installation.context, "test") for _ in range(5)]
    assert [batch.segments if batch is not None else 0 for batch in batches] == [1, 1, 1, 3, 0]


def test_suspicion_ends_with_success(installation: Installation, bob: tuple[User, Claims]) -> None:
    def suspect() -> list[bool]:
        found = rows(installation, "SELECT deaths > 0 AS s FROM neurigraph.storage_triggers ORDER BY created_at")
        return [row["s"] for row in found]

    converse(installation, bob[1], "one")
    converse(installation, bob[1], "two")
    detect_conversation_ends(installation.context)
    assert len(claim(installation, changed(installation.settings, claim_lease_seconds=0))) == 2
    cut_off, failing = (triggers.lease_due(installation.context, "test") for _ in range(2))
    assert cut_off is not None
    assert failing is not None
    triggers.release(installation.database, cut_off.batch_id)
    (ref,) = triggers.segments_of(installation.database, failing.batch_id)
    failure = ItemFailure(ref.trigger_id, "summarize", "the provider is busy", transient=True)
    triggers.give_back(installation.context, failing.batch_id, failure, ref.attempts)
    assert sorted(suspect()) == [False, True]
    assert len(claim(installation, installation.settings)) == 1


def test_last_segment_of_dead_batch(installation: Installation, bob: tuple[User, Claims]) -> None:
    """Its neighbours had been stored, so it is the one that was being worked on: the attempt counts."""
    for number in range(2):
        converse(installation, bob[1], f"talk {number}")
    detect_conversation_ends(installation.context)
    settings = changed(installation.settings, claim_lease_seconds=0)
    batch = triggers.lease_due(installation.context.using(settings=settings), "test")
    assert batch is not None
    first, last = triggers.segments_of(installation.database, batch.batch_id)
    done = ItemFailure(first.trigger_id, "summarize", "refused", transient=False)
    triggers.give_back(installation.context, batch.batch_id, done, 1)
    triggers.expire(installation.context)
    (left,) = rows(
        installation, "SELECT state, attempts FROM neurigraph.storage_triggers WHERE trigger_id = %s", last.trigger_id
    )
    assert left == {"state": "pending", "attempts": 1}


def test_lease_lasts_as_long_as_its_step(installation: Installation, bob: tuple[User, Claims]) -> None:
    converse(installation, bob[1], "one")
    detect_conversation_ends(installation.context)
    short = changed(installation.settings, claim_lease_seconds=1)
    batch = triggers.lease_due(installation.context.using(settings=short), "slow")
    assert batch is not None
    with triggers.keep_lease(installation.context.using(settings=short), batch.batch_id):
        time.sleep(1.7)  # longer than the lease: it must have been renewed
        assert claim(installation, short, "impatient") == set()
    assert len(held_by(installation, batch.batch_id)) == 1
    wait_until(lambda: len(claim(installation, short, "patient")) == 1, "the lease expires")


def test_released_batch_loses_no_attempt(installation: Installation, bob: tuple[User, Claims]) -> None:
    converse(installation, bob[1], "one")
    detect_conversation_ends(installation.context)
    batch = triggers.lease_due(installation.context, "test")
    assert batch is not None
    assert triggers.release(installation.database, batch.batch_id) == 1
    assert triggers.release(installation.database, batch.batch_id) == 0
    assert state_of(installation) == [("pending", 0)]
    assert len(claim(installation, installation.settings)) == 1


# What a sensor asks runs for


def test_unrequested_batch_is_listed_again(installation: Installation, bob: tuple[User, Claims]) -> None:
    converse(installation, bob[1], "one")
    detect_conversation_ends(installation.context)
    first = triggers.lease_for_runs(installation.context, "sensor")
    again = triggers.lease_for_runs(installation.context, "sensor")
    assert first == again
    assert len(first) == 1
    assert first[0].run_key == again[0].run_key == f"ingest-{first[0].batch_id}"
    assert triggers.lease_for_runs(installation.context, "another sensor") == []


def test_batches_in_flight_are_limited(installation: Installation, bob: tuple[User, Claims]) -> None:
    for number in range(5):
        converse(installation, bob[1], f"talk {number}")
    detect_conversation_ends(installation.context)
    few = changed(installation.settings, batch_max_segments=1, batches_in_flight=2)
    assert len(triggers.lease_for_runs(installation.context.using(settings=few), "sensor")) == 2
    assert len(triggers.lease_for_runs(installation.context.using(settings=few), "sensor")) == 2
    assert [state for state, _ in state_of(installation)].count("claimed") == 2


def test_dead_batches_free_their_slots(installation: Installation, bob: tuple[User, Claims]) -> None:
    converse(installation, bob[1], "one")
    converse(installation, bob[1], "two")
    detect_conversation_ends(installation.context)
    few = changed(installation.settings, batch_max_segments=1, batches_in_flight=2, claim_lease_seconds=0)
    dead = triggers.lease_for_runs(installation.context.using(settings=few), "sensor")
    fresh = triggers.lease_for_runs(installation.context.using(settings=changed(few, claim_lease_seconds=60)), "sensor")
    assert len(dead) == len(fresh) == 2
    assert {batch.batch_id for batch in dead}.isdisjoint(batch.batch_id for batch in fresh)


# Giving back


def test_failed_segment_is_retried_then_fails(installation: Installation, bob: tuple[User, Claims]) -> None:
    converse(installation, bob[1], "one")
    detect_conversation_ends(installation.context)
    settings = changed(installation.settings, max_attempts=2, retry_base_seconds=100.0)
    context = installation.context.using(settings=settings)
    for state in ("pending", "failed"):
        batch = triggers.lease_due(context, "test")
        assert batch is not None
        (ref,) = triggers.segments_of(installation.database, batch.batch_id)
        failure = ItemFailure(ref.trigger_id, "summarize", "it broke", transient=True)
        assert triggers.give_back(context, batch.batch_id, failure, ref.attempts) == state
        assert triggers.give_back(context, batch.batch_id, failure, ref.attempts) is None
        if state == "pending":
            queue = triggers.queue(installation.database)
            assert (queue.pending, queue.due, queue.claimed, queue.failed) == (1, 0, 0, 0)
            assert queue.next_attempt_at is not None
            assert 49 < (queue.next_attempt_at - datetime.now(UTC)).total_seconds() <= 100
            assert claim(installation, settings) == set()
            with installation.database.pipeline() as tx:
                tx.execute("UPDATE neurigraph.storage_triggers SET next_attempt_at = now()")
    (row,) = rows(installation, "SELECT step, error, attempts FROM neurigraph.pipeline_failures")
    assert row == {"step": "summarize", "error": "it broke", "attempts": 2}
    assert triggers.queue(installation.database, bob[0].user_id).failed == 1
    assert triggers.queue(installation.database, uuid4()).failed == 0


def test_permanent_error_becomes_failure(installation: Installation, bob: tuple[User, Claims]) -> None:
    converse(installation, bob[1], "one")
    detect_conversation_ends(installation.context)
    batch = triggers.lease_due(installation.context, "test")
    assert batch is not None
    (ref,) = triggers.segments_of(installation.database, batch.batch_id)
    failure = ItemFailure(ref.trigger_id, "summarize", "x" * 10_000, transient=False)
    assert triggers.give_back(installation.context, batch.batch_id, failure, 1) == "failed"
    (row,) = rows(installation, "SELECT length(error) AS n FROM neurigraph.pipeline_failures")
    assert row == {"n": 4_000}


def test_retry_delays(settings: Settings) -> None:
    for attempts, ceiling in [(0, 30), (1, 30), (2, 60), (5, 480), (50, 21_600), (5_000, 21_600)]:
        delays = {retry_delay(settings, attempts) for _ in range(200)}
        assert all(ceiling / 2 <= delay <= ceiling for delay in delays)
        assert len(delays) > 100
    assert retry_delay(settings, 1, retry_after=99.0) == 99.0
    assert 0.25 <= retry_delay(changed(settings, retry_base_seconds=0.5), 1) <= 0.5
