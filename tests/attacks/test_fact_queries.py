"""Graph queries and gates: what is hidden is absent, as an end, on the way, in counts and in bounds."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest

from neurigraph_pipelines.graph.moving import move_records
from neurigraph_pipelines.inbox.privacy import set_privacy
from neurigraph_pipelines.knowledge import stating, walks
from neurigraph_pipelines.knowledge.fact_queries import QueryFacts, QueryKind, query_facts
from neurigraph_pipelines.knowledge.fact_values import FactState, FactWords
from neurigraph_pipelines.knowledge.walks import Route, walk
from neurigraph_pipelines.lifecycle.erasure.receipts import SubjectKind
from neurigraph_pipelines.lifecycle.quarantine.holding import quarantine, release
from neurigraph_pipelines.lifecycle.quarantine.rules import QuarantineRule
from neurigraph_pipelines.model import Claims, Privacy
from neurigraph_pipelines.model.errors import NotFoundError
from neurigraph_pipelines.model.links import LinkEnd
from neurigraph_pipelines.views.fact_queries import QueriedFacts
from neurigraph_pipelines.views.kinds import EndKind
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.erasures import erase
from tests.support.linked_facts import chain, inferred, judge, link, plant_fact
from tests.support.memories import converse, ingest, plain_context, stored
from tests.support.shared_graph import SharedGraph, new_shared_graph

pytestmark = pytest.mark.attack


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let walks take any time: one that ends early on a busy machine finds nothing, whatever is open to it."""
    monkeypatch.setattr(walks, "PATIENCE_SECONDS", 600.0)


@pytest.fixture
def graph(shared_installation: Installation) -> SharedGraph:
    return new_shared_graph(shared_installation)


def ask(graph: SharedGraph, claims: Claims, **values: Any) -> QueriedFacts:
    return query_facts(graph.installation.acting_for(claims), QueryFacts(**{"include_graph": True} | values))


def reached(graph: SharedGraph, claims: Claims, fact_id: UUID, **values: Any) -> dict[UUID, int]:
    """Return the related facts with their hops, and check that the graph has no others."""
    answer = ask(graph, claims, fact_id=fact_id, **values)
    found = {one.fact.fact_id: one.hops for one in answer.related}
    assert answer.graph is not None
    facts = {one.id for one in answer.graph.nodes if one.kind == "fact"}
    assert facts - {fact_id} >= set(found)
    ends = {end for one in answer.graph.links for end in (one.from_id, one.to_id)}
    assert ends <= {one.id for one in answer.graph.nodes}
    return found


def walked(graph: SharedGraph, claims: Claims, fact_id: UUID) -> list[UUID]:
    """Return what the database's walk itself passes, before answers are made of it."""
    steps = walk(graph.installation.acting_for(claims), [(fact_id, 1.0)], Route(2)).steps
    return [step.memory_id for step in steps if step.kind == "fact"]


def test_ways_through_hidden_nodes_are_closed(graph: SharedGraph) -> None:
    here, user = graph.installation, graph.owner.user_id
    legal, secret = graph.record_of("Work/Legal")[0], graph.record_of("Work/Marketing")[0]
    start, goal = plant_fact(here, legal, "The start."), plant_fact(here, legal, "The goal.")
    hidden, other = plant_fact(here, secret, "Zanzibar.", who=["Ottilie"]), plant_fact(here, secret, "Trout.")
    link(here, user, inferred(start, hidden, "supports"), inferred(hidden, goal, "supports"))
    link(here, user, inferred(start, LinkEnd(EndKind.NODE, graph.node("Work/Marketing")), "decided_by"))
    link(here, user, inferred(goal, LinkEnd(EndKind.NODE, graph.node("Work/Marketing")), "decided_by"))
    link(here, user, inferred(goal, LinkEnd.record(secret), "part_of"))
    judge(here, other, start, "contradicts")
    chain(here, goal, other)
    graph.grant("Work/Legal", "gmail")
    gmail = graph.third_party("gmail")

    owners = reached(graph, graph.owners, start)
    assert owners == {hidden: 1, other: 1, goal: 2}
    for caller in (graph.personas, gmail):
        assert reached(graph, caller, start, max_hops=6) == {}
        assert ask(graph, caller, query="Ottilie", kind=QueryKind.ABOUT).matches == []
        assert ask(graph, caller, fact_id=goal, kind=QueryKind.CHANGED).related == []
        with pytest.raises(NotFoundError):
            ask(graph, caller, fact_id=hidden)
    assert ask(graph, graph.owners, query="Ottilie", kind=QueryKind.ABOUT).matches
    assert ask(graph, graph.owners, fact_id=goal, kind=QueryKind.CHANGED).related
    # A link that both ends of are seen is walked, and a grant opens the way.
    link(here, user, inferred(start, goal, "influenced_by"))
    assert reached(graph, graph.personas, start) == reached(graph, gmail, start) == {goal: 1}
    grant = graph.grant("Work/Marketing")
    assert reached(graph, graph.personas, start) == {hidden: 1, other: 1, goal: 1}
    graph.revoke(grant)
    assert reached(graph, graph.personas, start) == {goal: 1}


def test_private_quarantined_and_forgotten_facts_are_absent(graph: SharedGraph) -> None:
    here, user = graph.installation, graph.owner.user_id
    start = plant_fact(here, graph.record_of("Work/Legal")[0], "The start.")
    source = converse(here, graph.owners, "#Work A second floor.")
    (record,) = [one.record_id for one in stored(ingest(plain_context(here), graph.owner))]
    move_records(here.database, graph.owners, [record], graph.persona_id)
    middle, end = (
        plant_fact(here, record, "The middle."),
        plant_fact(here, graph.record_of("Work/Legal")[0], "The end."),
    )
    link(here, user, inferred(start, middle, "supports"), inferred(middle, end, "supports"))
    both = {middle: 1, end: 2}
    assert reached(graph, graph.owners, start) == reached(graph, graph.personas, start) == both
    set_privacy(here.database, graph.owners, source, Privacy.PRIVATE)
    assert reached(graph, graph.personas, start) == {}
    assert reached(graph, graph.owners, start) == both
    set_privacy(here.database, graph.owners, source, Privacy.SHARED)
    held = quarantine(here.acting_for(graph.owners), QuarantineRule(source_id=source), "a test")
    assert reached(graph, graph.owners, start) == reached(graph, graph.personas, start) == {}
    assert walked(graph, graph.owners, start) == walked(graph, graph.personas, start) == [start]
    release(here.acting_for(graph.owners), held.quarantine_id)
    assert reached(graph, graph.owners, start) == both
    assert walked(graph, graph.owners, start) == walked(graph, graph.personas, start) == [start, middle, end]
    past = datetime.now(UTC) - timedelta(seconds=1)
    states: list[tuple[FactState, dict[UUID, int]]] = [
        (FactState(forget_after=past), {}),
        (FactState(cleared=frozenset({"forget_after"})), both),
    ]
    for state, left in states:
        stating.change_fact(here.acting_for(graph.owners), middle, FactWords(), state)
        assert reached(graph, graph.owners, start) == reached(graph, graph.personas, start) == left
    erase(here, graph.owners, SubjectKind.FACT, middle)
    assert reached(graph, graph.owners, start) == {}


def test_hidden_links_take_no_place(graph: SharedGraph) -> None:
    here, user = graph.installation, graph.owner.user_id
    legal, secret = graph.record_of("Work/Legal")[0], graph.record_of("Work/Marketing")[0]
    start, seen = plant_fact(here, legal, "The start."), plant_fact(here, legal, "Seen.")
    strong = [inferred(start, plant_fact(here, secret, f"Hidden {n}."), "relates_to", strength=0.9) for n in range(60)]
    link(here, user, *strong, inferred(start, seen, "relates_to", strength=0.4))
    assert reached(graph, graph.personas, start, max_hops=1) == {seen: 1}
    assert ask(graph, graph.personas, fact_id=start).notes == []
    assert seen not in reached(graph, graph.owners, start, max_hops=1, max_nodes=200), "50 are stronger"


def test_other_users_and_direct_calls(graph: SharedGraph) -> None:
    here = graph.installation
    stranger = new_shared_graph(here)
    fact = plant_fact(here, graph.record_of("Work/Legal")[0], "The start.")
    with pytest.raises(NotFoundError):
        ask(graph, stranger.owners, fact_id=fact)
    assert walk(here.acting_for(stranger.owners), [(fact, 1.0)], Route(2)).steps == []
    assert len(walk(here.acting_for(graph.owners), [(fact, 1.0)], Route(2)).steps) == 1
    asked = json.dumps({"seeds": [{"fact_id": str(fact), "score": 1}], "depth": 2, "min_strength": 0, "who": []})
    with here.database.agent(None) as tx:
        for payload, signature in (("", ""), (json.dumps({"sub": "x", "role": "user", "user_id": str(fact)}), "00")):
            found = tx.execute("SELECT FROM neurigraph.walk_facts(%s, %s, %s)", [payload, signature, asked]).fetchall()
            assert found == [], "without claims"
    with here.database.agent(graph.owners) as tx:
        for helper in ("may_enter_end(NULL, NULL, true, '{}', '{}')", "may_enter_record(NULL, true, true, '{}', '{}')"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege), tx.transaction():
                tx.execute(f"SELECT neurigraph_private.{helper}")
    with pytest.raises(psycopg.errors.DataError), here.database.agent(graph.owners) as tx:
        tx.execute(
            "SELECT neurigraph.walk_facts("
            "current_setting('request.jwt.claims'), current_setting('neurigraph.claims_signature'), %s)",
            [asked.replace(str(fact), "x' OR true --")],
        )
