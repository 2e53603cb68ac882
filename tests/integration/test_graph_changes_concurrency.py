"""Graph changes beside other work, killed, and in random sequences."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neurigraph_pipelines.graph.moving import Split, move_records, split_node
from neurigraph_pipelines.graph.navigation import tree
from neurigraph_pipelines.graph.reshaping import merge_nodes, move_node, rename_node
from neurigraph_pipelines.lifecycle import control, orphans
from neurigraph_pipelines.lifecycle.dormancy import sweep_active, sweep_expired
from neurigraph_pipelines.lifecycle.rehydration import revert_stuck
from neurigraph_pipelines.lifecycle.storage_report import storage_report
from neurigraph_pipelines.lifecycle.verification import verify
from neurigraph_pipelines.model.errors import ConflictError, InvalidInputError, RehydratingError
from neurigraph_pipelines.model.ports import Database, Transaction
from neurigraph_pipelines.retrieval.open import file_of_record, open_file
from neurigraph_pipelines.wiring.installation import Installation
from resources.postgres.delegating import DelegatingDatabase
from tests.conftest import ROOT, SECRET
from tests.support.graphs import Graph, new_graph
from tests.support.locks import wait_until_locked
from tests.support.pausing_change import CHANGES, MOMENTS

pytestmark = pytest.mark.slow

# After any run of changes

MEMORIES = (
    "#Family/Tom The walnut tree fell.",
    "#Family/Tom/Boat The boat leaks.",
    "#Work/Tom The cello sings.",
    "#Work The oil price rose.",
    "#Family A kite flew.",
)
WORDS = ("walnut", "boat", "cello", "oil", "kite")
NAMES = ("Tom", "Boat", "Kin", "Work", "Trees")
CHOICE = st.integers(0, 1_000)
STEP = st.tuples(st.sampled_from(["move", "rename", "place", "merge", "split"]), CHOICE, CHOICE, CHOICE)


def step(graph: Graph, change: str, one: int, other: int, more: int) -> None:
    """Make one change chosen by the numbers, if the graph allows it."""
    database, claims, nodes = graph.here.database, graph.claims, sorted(graph.paths)
    node_id, other_id = nodes[one % len(nodes)], nodes[other % len(nodes)]
    records = sorted(graph.records)
    name = NAMES[more % len(NAMES)]
    with suppress(ConflictError, InvalidInputError):
        if change == "move":
            move_records(database, claims, records[more % len(records) :], other_id)
        elif change == "rename":
            rename_node(database, claims, node_id, name)
        elif change == "place":
            move_node(database, claims, node_id, other_id)
        elif change == "merge":
            merge_nodes(database, claims, node_id, other_id)
        else:
            split_node(database, claims, node_id, Split(name=name, keyword="testing", beside=bool(more % 2)))


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(steps=st.lists(STEP, min_size=4, max_size=10))
def test_any_sequence_keeps_graph_consistent(here: Installation, steps: list[tuple[str, int, int, int]]) -> None:
    graph = new_graph(here)
    records = graph.remember(*MEMORIES)
    for change in steps:
        step(graph, *change)
    graph.check()
    places = graph.records
    assert set(places) == set(records)
    for record, word in zip(records, WORDS, strict=True):
        assert graph.find(word)[record] == places[record]


# While everybody is at work


@contextmanager
def at_work(*jobs: Callable[[], object]) -> Iterator[None]:
    """Repeat each action in its own thread until the block ends; the first error fails it."""
    done = threading.Event()
    errors: list[BaseException] = []

    def work(job: Callable[[], object]) -> None:
        while not done.is_set():
            try:
                with suppress(RehydratingError):
                    job()
            except BaseException as error:
                errors.append(error)
                return

    threads = [threading.Thread(target=work, args=[job], daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        done.set()
        for thread in threads:
            thread.join(60)
    if errors:
        raise errors[0]
    assert not any(thread.is_alive() for thread in threads)


def test_concurrent_changes_do_not_deadlock(installation: Installation) -> None:
    here = installation
    graph = new_graph(here)
    records = graph.remember(*MEMORIES)
    chance = random.Random(6)
    remembered: list[UUID] = []

    def open_one() -> None:
        file_id = file_of_record(here.database, graph.claims, random.choice(records))
        open_file(here.acting_for(graph.claims), file_id, wait=30)
        control.touch(here.acting_for(graph.claims), file_id)

    def upkeep() -> None:
        sweep_active(here.context, user_id=graph.user.user_id)
        sweep_expired(here.context)
        revert_stuck(here.database)
        list(storage_report(here.database))
        verify(here.context)

    def look() -> None:
        graph.find("walnut")
        with here.database.agent(graph.claims) as tx:
            tree(tx, graph.user.user_id)

    def remember() -> None:
        remembered.extend(graph.remember(f"#{random.choice(NAMES)}/{random.choice(NAMES)} A kite flew again."))

    with at_work(open_one, upkeep, look, remember):
        for _ in range(40):
            with suppress(RehydratingError):
                step(
                    graph,
                    chance.choice(["move", "rename", "place", "merge", "merge", "split"]),
                    *chance.sample(range(1_000), 3),
                )
    assert set(graph.records) == {*records, *remembered}
    graph.check()


class HeldDatabase(DelegatingDatabase):
    """Keeps transactions of the owner open, with all their work done, until it may go on."""

    def __init__(self, inner: Database) -> None:
        super().__init__(inner)
        self.reached, self.go_on = threading.Event(), threading.Event()

    @contextmanager
    def owner(self) -> Iterator[Transaction]:
        with self.inner.owner() as tx:
            yield tx
            self.reached.set()
            assert self.go_on.wait(60)


def test_moving_object_is_no_orphan(here: Installation) -> None:
    graph = new_graph(here)
    record, *_ = graph.remember(*MEMORIES)
    (key,) = here.objects.keys(f"durable/{graph.user.slug}/family/tom/{record}")
    database = HeldDatabase(here.database)
    with ThreadPoolExecutor(2) as pool:
        moved = pool.submit(move_records, database, graph.claims, [record], graph.node("Work"))
        assert database.reached.wait(60)
        removed = pool.submit(orphans._remove, here.database, here.objects, key, record)
        wait_until_locked(here, role="neurigraph_pipeline")
        database.go_on.set()
        assert moved.result(60).record_count == 1
        assert removed.result(60) is False
    graph.check()


# Killed


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("change", CHANGES)
def test_killed_change_is_atomic(here: Installation, change: str, moment: str) -> None:
    graph = new_graph(here)
    record, *_ = graph.remember(*MEMORIES)
    before = (graph.paths, graph.records)
    ids = map(str, (record, graph.node("Family/Tom"), graph.node("Work")))
    if change == "move-node":
        rename_node(here.database, graph.claims, graph.node("Work/Tom"), "Tim")
        before = (graph.paths, graph.records)
    places = [here.administrator_url, SECRET, str(graph.user.user_id), change, moment, *ids]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.pausing_change", *places], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "paused\n"
    process.kill()
    process.communicate()
    # The next change waits until the server has noticed.
    rename_node(here.database, graph.claims, graph.node("Work"), "Office")
    rename_node(here.database, graph.claims, graph.node("Office"), "Work")
    graph.check()
    assert ((graph.paths, graph.records) == before) == (moment == "transaction open")
