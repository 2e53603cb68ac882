"""Chains of one fact do not fork: whatever is approved in whatever order, one version stands, or `verify` says so."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations
from uuid import UUID

import httpx
import pytest

from neurigraph_pipelines.access.authentication import issue_api_key
from neurigraph_pipelines.knowledge.deciding import actions
from neurigraph_pipelines.knowledge.replacing import supersede_fact
from neurigraph_pipelines.knowledge.stating import confirm, retract
from neurigraph_pipelines.lifecycle.quarantine.holding import quarantine, release
from neurigraph_pipelines.lifecycle.quarantine.rules import QuarantineRule
from neurigraph_pipelines.lifecycle.verification import Fault, verify
from neurigraph_pipelines.views.kinds import ActionState
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.api_calls import assert_problem
from tests.support.api_server import serving
from tests.support.told_people import People

CITIES = ("Porto", "Lisbon", "Madrid")


@pytest.fixture
def people(shared_installation: Installation) -> People:
    return People(shared_installation, "flag")


@pytest.fixture
def client(people: People) -> Iterator[httpx.Client]:
    headers = {"Authorization": f"Bearer {issue_api_key(people.here.database, people.user.user_id)}"}
    with (
        serving(people.here) as address,
        httpx.Client(base_url=f"{address}/v1", headers=headers, timeout=60) as client,
    ):
        yield client


def tell(people: People, *cities: str) -> list[UUID]:
    """Tell where Ana lives, each in a memory of its own, and compare it."""
    told = [people.tell(people.record()[1], f"Ana lives in {city}.", 5 * CITIES.index(city)) for city in cities]
    people.reconcile()
    return told


def waiting(people: People) -> list[UUID]:
    return [row["action_id"] for row in people.actions() if row["state"] == "open"]


def forks(people: People) -> set[UUID]:
    found = verify(people.context, user_id=people.user.user_id, read=False).findings
    return {one.subject for one in found if one.fault is Fault.FACT}


def assert_one_chain(people: People, porto: UUID, lisbon: UUID, madrid: UUID) -> None:
    assert people.chains() == [(porto, porto, 1), (lisbon, porto, 2), (madrid, porto, 3)]
    assert people.statuses() == {porto: "superseded", lisbon: "superseded", madrid: "active"}
    assert forks(people) == set()


@pytest.mark.parametrize("order", [*permutations(CITIES)])
def test_values_that_are_told_in_any_order_are_one_proposal(people: People, order: tuple[str, ...]) -> None:
    told = dict(zip(order, [one for city in order for one in tell(people, city)], strict=True))
    (asked,) = waiting(people)
    owner = people.context.acting_for(people.claims)
    decided = actions.vote(owner, asked, approves=True)
    assert (decided.fact_id, decided.other_fact_id) == (told["Porto"], told["Madrid"])
    assert decided.state is ActionState.EXECUTED
    assert waiting(people) == []
    assert_one_chain(people, *(told[city] for city in CITIES))


def test_each_new_value_is_proposed_to_the_one_that_holds(people: People) -> None:
    owner = people.context.acting_for(people.claims)
    porto, lisbon = tell(people, "Porto", "Lisbon")
    (first,) = waiting(people)
    actions.vote(owner, first, approves=True)
    (madrid,) = tell(people, "Madrid")
    (second,) = waiting(people)
    decided = actions.vote(owner, second, approves=True)
    assert (decided.fact_id, decided.other_fact_id) == (lisbon, madrid)
    assert_one_chain(people, porto, lisbon, madrid)


def test_proposals_of_one_chain_are_approved_at_once_over_http(people: People, client: httpx.Client) -> None:
    told = tell(people, *CITIES)
    asked = waiting(people)
    with ThreadPoolExecutor(6) as pool:
        answers = list(
            pool.map(lambda one: client.post(f"/actions/{one}/votes", json={"approves": True}), [*asked, *asked])
        )
    assert {answer.status_code for answer in answers} == {200}
    assert_one_chain(people, *told)


def test_what_changed_meanwhile_is_a_conflict_without_a_condition(people: People, client: httpx.Client) -> None:
    porto, _ = tell(people, "Porto", "Lisbon")
    (asked,) = waiting(people)
    retract(people.context.acting_for(people.claims), porto)
    answer = client.post(f"/actions/{asked}/votes", json={"approves": True})
    assert_problem(answer, 409)
    assert "decide about it as it is now" in answer.json()["detail"]


def test_verify_finds_forks_that_nobody_decided(people: People) -> None:
    porto, lisbon, madrid = tell(people, *CITIES)
    with people.here.database.owner() as tx:
        tx.execute(
            "UPDATE neurigraph.fact_verdicts SET effect = 'supersedes' WHERE earlier_id = %s AND later_id = ANY(%s)",
            [porto, [lisbon, madrid]],
        )
    assert forks(people) == set(), "somebody is still asked"
    with people.here.database.owner() as tx:
        tx.execute(
            "UPDATE neurigraph.actions SET state = 'failed', failure = 'changed', decided_at = now(), "
            "finished_at = now(), fact_id = %s, other_fact_id = %s WHERE state = 'open'",
            [lisbon, madrid],
        )
    assert forks(people) == {lisbon, madrid}
    with people.here.database.owner() as tx:
        tx.execute("DELETE FROM neurigraph.fact_verdicts WHERE (later_id, earlier_id) = (%s, %s)", [madrid, lisbon])
    assert forks(people) == {lisbon, madrid}
    with people.here.database.owner() as tx:
        tx.execute(
            "INSERT INTO neurigraph.fact_verdicts (later_id, earlier_id, user_id, verdict, confidence, reason, effect, "
            "judged_by) VALUES (%s, %s, %s, 'elaborates', 0.8, 'both hold', 'none', 'test')",
            [madrid, lisbon, people.user.user_id],
        )
    assert forks(people) == set(), "a verdict says that both can hold"


def test_the_same_said_twice_is_no_fork(people: People) -> None:
    porto, lisbon, again = tell(people, "Porto", "Lisbon", "Lisbon")
    owner = people.context.acting_for(people.claims)
    for later in (lisbon, again):
        supersede_fact(owner, porto, later)
    (madrid,) = tell(people, "Madrid")
    for earlier in (lisbon, again):
        supersede_fact(owner, earlier, madrid)
    retract(owner, madrid)
    assert people.statuses() == {porto: "superseded", lisbon: "active", again: "active"}
    assert forks(people) == set()


def test_what_is_confirmed_again_is_compared_with_what_came_meanwhile(shared_installation: Installation) -> None:
    people = People(shared_installation, "auto")
    owner = people.context.acting_for(people.claims)
    porto, lisbon = tell(people, "Porto", "Lisbon")
    retract(owner, lisbon)
    (madrid,) = tell(people, "Madrid")
    confirm(owner, lisbon)
    assert_compared(people, porto, lisbon, madrid)


def test_what_is_released_is_compared_with_what_came_meanwhile(shared_installation: Installation) -> None:
    people = People(shared_installation, "auto")
    owner = people.context.acting_for(people.claims)
    (porto,) = tell(people, "Porto")
    source, record = people.record()
    lisbon = people.tell(record, "Ana lives in Lisbon.", 5)
    people.reconcile()
    held = quarantine(owner, QuarantineRule(source_id=source), "a test")
    (madrid,) = tell(people, "Madrid")
    release(owner, held.quarantine_id)
    assert_compared(people, porto, lisbon, madrid)


def assert_compared(people: People, porto: UUID, lisbon: UUID, madrid: UUID) -> None:
    assert forks(people) == set(), "it waits to be compared"
    assert people.reconcile().records == 1
    verdicts = people.rows("SELECT later_id, earlier_id FROM neurigraph.fact_verdicts WHERE user_id = %s")
    assert (madrid, lisbon) in {(row["later_id"], row["earlier_id"]) for row in verdicts}
    assert people.statuses()[porto] == "superseded"
    assert forks(people) == set()
