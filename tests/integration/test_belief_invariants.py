"""Reconcilers, forgetters, movers and people who take things back, all at once: what must hold of facts afterwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from neurigraph_pipelines.graph.moving import move_records
from neurigraph_pipelines.knowledge.stating import confirm, retract
from neurigraph_pipelines.knowledge.undoing import undo
from neurigraph_pipelines.lifecycle.erasure.forget import forget
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.lifecycle.verification import verify
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import NotFoundError, TransientError
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.memories import converse, ingest, stored
from tests.support.told_people import People

pytestmark = pytest.mark.slow

RECORDS = 4
SENTENCES = ("{} lives in {}.", "{} now lives in {}.", "{} has moved to {}.", "{} was born in {}.")
Sentences = st.builds(
    lambda form, who, city: form.format(who, city),
    st.sampled_from(SENTENCES),
    st.sampled_from(["Ana", "Bela"]),
    st.sampled_from(["Porto", "Lisbon", "Madrid"]),
)


@dataclass(frozen=True, slots=True)
class Said:
    """A fact of one of the records, told before the race or in its course."""

    record: int
    statement: str
    day: int
    is_early: bool


@dataclass(frozen=True, slots=True)
class Decided:
    """What somebody does to one of the facts in the meantime."""

    what: str
    fact: int


said = st.lists(
    st.builds(Said, st.integers(0, RECORDS - 1), Sentences, st.integers(0, 30), st.booleans()),
    min_size=4,
    max_size=14,
    unique_by=lambda one: (one.record, one.statement, one.day),
)
decided = st.lists(st.builds(Decided, st.sampled_from(["undo", "retract", "confirm"]), st.integers(0, 13)), max_size=4)


class Race(People):
    """Records in two nodes, and threads that change what is known of them."""

    def begin(self) -> None:
        self.records: list[UUID] = []
        for number in range(RECORDS):
            converse(self.here, self.claims, f"#Topic{number % 2} The mill turns {number}.", "An assistant's words.")
        self.records += [one.record_id for one in stored(ingest(self.context, self.user))]
        nodes = "SELECT DISTINCT node_id FROM neurigraph.record_index WHERE user_id = %s"
        self.nodes = [row["node_id"] for row in self.rows(nodes)]
        self.owner = self.context.acting_for(self.claims)

    def tell_all(self, chosen: Sequence[Said]) -> list[UUID]:
        return [self.tell(self.records[one.record], one.statement, one.day) for one in chosen]

    def reconcile_all(self) -> None:
        while (done := self.reconcile()).records:
            assert done.failed == []

    def move(self) -> None:
        for number, record_id in enumerate(self.records):
            attempt(partial(move_records, self.here.database, self.claims, [record_id], self.nodes[number % 2]))

    def forget_first(self) -> None:
        attempt(lambda: forget(self.owner, ErasureSubject(SubjectKind.RECORD, self.records[0]), through="tests"))

    def decide(self, ids: Sequence[UUID], chosen: Sequence[Decided]) -> None:
        works: dict[str, Callable[[Context, UUID], object]] = {"undo": undo, "retract": retract, "confirm": confirm}
        for one in chosen:
            attempt(partial(works[one.what], self.owner, ids[one.fact % len(ids)]))


def attempt(work: Callable[[], object]) -> None:
    """Do something that others may have made impossible meanwhile."""
    with suppress(NotFoundError, TransientError):
        work()


# Threads do not repeat themselves: a shorter example proves nothing.
@settings(
    max_examples=15,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(said, decided)
def test_whatever_happens_at_once(
    shared_installation: Installation, told: Sequence[Said], later: Sequence[Decided]
) -> None:
    race = Race(shared_installation)
    race.begin()
    early = [one for one in told if one.is_early and one.record] or [Said(1, "Ana lives in Porto.", 40, True)]
    ids = race.tell_all(early)
    late = [one for one in told if not one.is_early and one.record]
    race.tell_all([one for one in told if not one.record])
    works = [race.reconcile_all, race.reconcile_all, race.forget_first, race.move]
    with ThreadPoolExecutor(len(works) + 2) as pool:
        running = [pool.submit(work) for work in works]
        running.append(pool.submit(race.decide, ids, later))
        more = pool.submit(race.tell_all, late)
        for one in running:
            one.result()
        ids += more.result()
    race.reconcile_all()
    assert_consistent(race, ids)


def assert_consistent(race: Race, ids: Sequence[UUID]) -> None:
    facts = {row["fact_id"]: row for row in race.rows("SELECT * FROM neurigraph.facts WHERE user_id = %s")}
    ours = {one for one, row in facts.items() if row["extractor"] == "test"}
    assert ours == set(ids), "nothing is lost, and nothing of the forgotten memory is left"
    verdicts = race.rows("SELECT * FROM neurigraph.fact_verdicts WHERE user_id = %s")
    pairs = [frozenset((row["later_id"], row["earlier_id"])) for row in verdicts]
    assert len(set(pairs)) == len(pairs)
    assert all(pair <= facts.keys() for pair in pairs)
    assert race.rows("SELECT FROM neurigraph.pending_verdicts WHERE user_id = %s") == []
    assert_chains(facts, verdicts)
    replaced = {row["fact_id"]: row["superseded_by"] for row in race.rows(
        "SELECT f.fact_id, r.superseded_by FROM neurigraph.facts AS f "
        "CROSS JOIN LATERAL neurigraph.replacing(f.fact_id) AS r WHERE f.user_id = %s"
    )}  # fmt: skip
    for one in facts:
        seen: list[UUID] = []
        current: UUID | None = one
        while current is not None:
            assert current not in seen, "what supersedes is no circle"
            seen.append(current)
            current = replaced[current]
        assert len(seen) == 1 or facts[seen[-1]]["status"] != "archived"
    assert verify(race.context, user_id=race.user.user_id).findings == []


def assert_chains(facts: dict[UUID, dict[str, Any]], verdicts: Sequence[dict[str, Any]]) -> None:
    """Versions are counted without gaps in the world's order, and each entered beside one of its chain."""
    chains: dict[UUID, list[UUID]] = {}
    for one in sorted(facts, key=lambda one: facts[one]["version"]):
        chains.setdefault(facts[one]["root_id"], []).append(one)
    for root, chain in chains.items():
        assert chain[0] == root
        assert [facts[one]["version"] for one in chain] == list(range(1, len(chain) + 1))
        for before, after in pairwise(chain):
            assert facts[before]["occurred"].lower <= facts[after]["occurred"].lower
    places = {one: (root, number) for root, chain in chains.items() for number, one in enumerate(chain)}
    for row in verdicts:
        if row["entered"] is not None:
            later, earlier = places[row["later_id"]], places[row["earlier_id"]]
            assert later[0] == earlier[0]
            assert later[1] > earlier[1]
            assert row["undone_at"] is None
