"""The archive under attack: strangers, direct SQL, other doors, crashes and races."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import hypothesis
import psycopg
import pytest
from hypothesis import strategies as st
from psycopg import sql

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.reshaping import merge_nodes
from neurigraph_pipelines.lifecycle import archive, retention
from neurigraph_pipelines.lifecycle.erasure.purging import purge
from neurigraph_pipelines.lifecycle.quarantine.holding import quarantine, release
from neurigraph_pipelines.lifecycle.quarantine.rules import QuarantineRule
from neurigraph_pipelines.lifecycle.verification import verify
from neurigraph_pipelines.model import Claims, Tier
from neurigraph_pipelines.model.errors import ForbiddenError, InvalidInputError, NotFoundError
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.wiring.installation import Installation
from tests.conftest import ROOT, SECRET
from tests.support.hidden_memories import context, derived, hidden_records, seen, through_all_doors, traces
from tests.support.locks import wait_until_locked
from tests.support.memories import converse, ingest, plain_context, rows, stored
from tests.support.shared_graph import SharedGraph, new_shared_graph
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

WORDS = "#Poisonfarm The zyxgrub of Mallory. @Dave:bribery"
_RETRIEVALS = statements("retrievals")


@pytest.fixture(scope="module")
def graph(shared_installation: Installation) -> SharedGraph:
    return new_shared_graph(shared_installation)


def remember(graph: SharedGraph, *texts: str) -> list[UUID]:
    """Store each text as a conversation of its own, and return the records."""
    for text in texts:
        converse(graph.installation, graph.owners, text)
    return [one.record_id for one in stored(ingest(plain_context(graph.installation), graph.owner))]


def change(graph: SharedGraph, record_id: UUID, assignments: str, *values: object) -> dict[str, Any]:
    """Change the row of a record as the pipeline can, and return it."""
    query = f"UPDATE neurigraph.record_retention SET {assignments} WHERE record_id = %s RETURNING *"
    (found,) = rows(graph.installation, query, *values, record_id)
    return found


def expire(graph: SharedGraph, record_id: UUID) -> None:
    retention.set_tier(context(graph), record_id, Tier.SHORT)
    change(graph, record_id, "granted_until = now() - interval '1 hour', expires_at = now() - interval '1 minute'")


def faults(graph: SharedGraph) -> list[Any]:
    return verify(context(graph), user_id=graph.owner.user_id, read=False).findings


def test_others_learn_nothing_and_change_nothing(graph: SharedGraph) -> None:
    here = graph.installation
    record_id, _ = graph.record_of("Work/Legal/Contracts")
    archive.archive(context(graph), [record_id], "salaries")
    for caller in (graph.personas, graph.third_party("Accountant")):
        for call in (
            lambda c: archive.archive(context(graph, c), [record_id], "mine"),
            lambda c: archive.restore(context(graph, c), [record_id]),
            lambda c: archive.page_of_archive(here.listing(c)),
            lambda c: purge(context(graph, c), timedelta(), through="tests"),
        ):
            with pytest.raises(ForbiddenError):
                call(caller)
        assert retention.retention_of(here.database, caller, [record_id]) == {}
        with pytest.raises(NotFoundError):
            retention.set_tier(context(graph, caller), record_id, Tier.MID)
        with pytest.raises(NotFoundError):
            retention.promote(context(graph, caller), record_id)
        assert "salaries" not in seen(graph, caller)
        assert str(record_id) not in seen(graph, caller)
    other = new_shared_graph(here)
    with pytest.raises(NotFoundError):
        archive.restore(context(other), [record_id])
    with pytest.raises(NotFoundError):
        archive.archive(context(other), [graph.record_of("Work")[0]], "not mine")
    assert archive.page_of_archive(here.listing(other.owners)).items == []
    assert purge(context(other), timedelta(), through="tests").record_count == 0
    archive.restore(context(graph), [record_id])
    assert str(record_id) in seen(graph, graph.personas)


def test_direct_sql(graph: SharedGraph) -> None:
    here = graph.installation
    record_id, _ = graph.record_of("Family/Dave")
    retention.set_tier(context(graph), record_id, Tier.SHORT)
    before = change(graph, record_id, "reason = reason")
    for statement in (
        "SELECT * FROM neurigraph.record_retention",
        "INSERT INTO neurigraph.record_retention (record_id, user_id, tier, reason) "
        "SELECT record_id, user_id, 'long', 'mine' FROM neurigraph.record_index LIMIT 1",
        "UPDATE neurigraph.record_retention SET tier = 'long'",
        "DELETE FROM neurigraph.record_retention",
        "TRUNCATE neurigraph.record_retention",
        "COPY neurigraph.record_retention TO STDOUT",
        "SELECT neurigraph_private.set_quarantined('{}', false)",
        "SELECT neurigraph_private.count_accesses('{\"role\": \"user\"}', '{}')",
        "SELECT neurigraph_private.seen_retention('{\"role\": \"user\"}', '{}')",
    ):
        for caller in (graph.owners, graph.personas):
            with here.database.agent(caller) as tx, pytest.raises(psycopg.errors.InsufficientPrivilege):
                tx.execute(sql.SQL(statement))
    asked = {"operation": "search", "record_ids": [record_id], "question": None, "is_logged": False}
    strangers = (graph.personas, graph.third_party("nobody"), new_shared_graph(here).owners)
    for caller in strangers:
        here.database.ask(caller, _RETRIEVALS["note"], asked)
        assert change(graph, record_id, "reason = reason") == before, "who does not see it extends nothing"
    here.database.ask(graph.owners, _RETRIEVALS["note"], asked)
    assert change(graph, record_id, "reason = reason")["access_count"] == 1
    for broken in (
        "expires_at = granted_until - interval '1 second'",
        "tier = 'long'",
        "expires_at = NULL",
        "archived_at = now()",
        "archived = tstzmultirange(tstzrange(now(), NULL))",
        "access_days = access_count + 1",
    ):
        with pytest.raises(psycopg.errors.CheckViolation):
            change(graph, record_id, broken)
    retention.set_tier(context(graph), record_id, Tier.LONG)


def test_archive_and_quarantine_do_not_undo_each_other(graph: SharedGraph) -> None:
    source = converse(graph.installation, graph.owners, "#Orchard An apple tree.")
    (record,) = stored(ingest(plain_context(graph.installation), graph.owner))
    archive.archive(context(graph), [record.record_id], "first")
    held = quarantine(context(graph), QuarantineRule(source_id=source), "second")
    assert archive.page_of_archive(graph.installation.listing(graph.owners)).items == []
    archive.restore(context(graph), [record.record_id])
    assert (len(hidden_records(graph)), faults(graph)) == (1, []), "the quarantine holds it"
    release(context(graph), held.quarantine_id)
    assert (hidden_records(graph), faults(graph)) == ([], [])
    archive.archive(context(graph), [record.record_id], "again")
    held = quarantine(context(graph), QuarantineRule(source_id=source), "and again")
    release(context(graph), held.quarantine_id)
    assert (len(hidden_records(graph)), faults(graph)) == (1, []), "the archive holds it"
    merge_nodes(graph.installation.database, graph.owners, graph.node("Family/Dave"), graph.node("Work"))
    archive.restore(context(graph), [record.record_id])
    assert (hidden_records(graph), faults(graph)) == ([], [])
    held = quarantine(context(graph), QuarantineRule(source_id=source), "only this")
    with pytest.raises(NotFoundError):
        archive.archive(context(graph), [record.record_id], "it is absent")
    expire_hidden = archive.sweep(graph.installation.context, user_id=graph.owner.user_id)
    assert expire_hidden.archived == 0
    release(context(graph), held.quarantine_id)
    for wrong in ([], [uuid4()] * 2 + [uuid4() for _ in range(100)]):
        with pytest.raises(InvalidInputError):
            archive.archive(context(graph), wrong, "why")
    with pytest.raises(InvalidInputError):
        archive.archive(context(graph), [record.record_id], "  ")


def test_killed_midway_nothing_is_half(graph: SharedGraph) -> None:
    here = graph.installation
    record_ids = remember(graph, WORDS, WORDS + " Again.")
    for record_id in record_ids:
        expire(graph, record_id)
    before = derived(graph)
    command = [sys.executable, "-m", "tests.support.quarantining", here.administrator_url, SECRET]
    with psycopg.connect(here.administrator_url) as lock:
        lock.execute("LOCK TABLE neurigraph.layer_packs IN SHARE MODE")
        subject = str(graph.owner.user_id)
        process = subprocess.Popen([*command, subject, "sweep", subject], cwd=ROOT)
        wait_until_locked(here, role="neurigraph_pipeline")
        process.kill()
        process.wait()
        assert process.returncode == -signal.SIGKILL
    waiting = "SELECT FROM pg_stat_activity WHERE usename = 'neurigraph_pipeline' AND wait_event_type = 'Lock'"
    wait_until(lambda: not rows(here, waiting), "the server notices that its client is gone")
    assert derived(graph) == before
    assert archive.sweep(here.context, user_id=graph.owner.user_id).archived == 2
    hidden = hidden_records(graph)
    assert traces(through_all_doors(graph, graph.owners, hidden), hidden) == set()
    assert faults(graph) == []
    done = purge(context(graph), timedelta(), through="tests")
    assert (len(done.erasure_ids), done.failed, done.left) == (2, [], 0)
    assert (hidden_records(graph), faults(graph)) == ([], [])


def test_restore_and_purge_race_with_search(graph: SharedGraph) -> None:
    here = graph.installation
    record_ids = remember(graph, *(f"#Garden Plum tree number {number}." for number in range(6)))
    archive.archive(context(graph), record_ids, "a race")
    assert purge(context(graph), timedelta(days=1), through="tests").record_count == 0, "it is not old enough"
    assert purge(context(graph), timedelta(), through="tests", dry_run=True).record_count == len(record_ids)
    restored: list[UUID] = []
    errors: list[BaseException] = []
    ended = threading.Event()

    def watched(work: Callable[[], object]) -> threading.Thread:
        def run() -> None:
            try:
                work()
            except BaseException as error:
                errors.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        return thread

    def restore_each() -> None:
        for record_id in record_ids:
            try:
                restored.extend(archive.restore(context(graph), [record_id]))
            except NotFoundError:
                continue

    def search_on() -> None:
        while not ended.is_set():
            hits = search(context(graph), Question("plum tree")).hits
            assert all("tier" in hit.model_fields_set for hit in hits)

    searcher = watched(search_on)
    racers = [watched(restore_each), watched(lambda: purge(context(graph), timedelta(), through="tests"))]
    for racer in racers:
        racer.join()
    ended.set()
    searcher.join()
    assert errors == []
    left = {row["record_id"] for row in rows(here, "SELECT record_id FROM neurigraph.record_index")}
    assert left.intersection(record_ids) == set(restored), "what was restored stays, and all else is forgotten"
    assert (hidden_records(graph), faults(graph)) == ([], [])


_ASKERS = ("owner", "Accountant", "Lawyer")
_STEPS = st.one_of(
    st.tuples(st.just("access"), st.sampled_from(_ASKERS)),
    st.tuples(st.just("pass"), st.floats(0.01, 30)),
    st.tuples(st.just("clock"), st.floats(0.01, 30)),
)


@hypothesis.settings(
    max_examples=25,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture],
)
@hypothesis.given(tier=st.sampled_from([Tier.SHORT, Tier.MID]), steps=st.lists(_STEPS, max_size=12))
def test_an_access_never_shortens_a_life(graph: SharedGraph, tier: Tier, steps: list[tuple[str, Any]]) -> None:
    """Any reader at any time, any number of times, also after the clock was set back."""
    here = graph.installation
    record_id, _ = graph.record_of("Work/Marketing")
    for name in _ASKERS[1:]:
        graph.grant("Work/Marketing", name)
    callers: dict[str, Claims] = {"owner": graph.owners, **{name: graph.third_party(name) for name in _ASKERS[1:]}}
    retention.set_tier(context(graph), record_id, tier)
    asked = {"operation": "search", "record_ids": [record_id], "question": None, "is_logged": False}
    for step, value in steps:
        before = change(graph, record_id, "reason = reason")
        if step == "access":
            here.database.ask(callers[value], _RETRIEVALS["note"], asked)
            after = change(graph, record_id, "reason = reason")
            assert after["expires_at"] >= max(before["expires_at"], before["granted_until"])
            assert after["access_count"] - before["access_count"] in (0, 1)
            if after["access_count"] > before["access_count"]:
                assert after["expires_at"] >= datetime.now(UTC) + after["lifetime"] - timedelta(minutes=1)
            again = here.database.ask(callers[value], _RETRIEVALS["note"], asked)
            assert again, "it is noted"
            assert change(graph, record_id, "reason = reason") == after, "once an asker and hour"
        else:
            hours = value if step == "pass" else -value
            change(
                graph,
                record_id,
                "last_access_at = last_access_at - make_interval(secs => %s), "
                "granted_until = granted_until - make_interval(secs => %s), "
                "expires_at = expires_at - make_interval(secs => %s)",
                *[hours * 3600.0] * 3,
            )
