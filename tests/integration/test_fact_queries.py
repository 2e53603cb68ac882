"""Graph queries: every kind, with paths in words, over cycles and within bounds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from pydantic import ValidationError

from neurigraph_client import Invalid, Memory, NotFound
from neurigraph_pipelines.access.authentication import issue_api_key
from neurigraph_pipelines.graph.aliases import give_alias
from neurigraph_pipelines.knowledge import stating, walks
from neurigraph_pipelines.knowledge.fact_queries import QueryFacts, QueryKind, TimeRange, query_facts
from neurigraph_pipelines.model import AliasType
from neurigraph_pipelines.model.errors import InvalidInputError, NotFoundError
from neurigraph_pipelines.model.links import LinkEnd
from neurigraph_pipelines.retrieval.ask import ask as answer_of
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.views.fact_queries import QueriedFacts
from neurigraph_pipelines.views.kinds import EndKind, FactStatus
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.agents import call_over_http, failure, found, text_of
from tests.support.api_server import serving
from tests.support.graphs import Graph, new_graph
from tests.support.linked_facts import chain, inferred, judge, link, plant_fact
from tests.support.memories import WordEmbedder

MAY = datetime(2026, 5, 1, tzinfo=UTC)
WHY, CHANGED, ABOUT, CONNECTED = QueryKind.WHY, QueryKind.CHANGED, QueryKind.ABOUT, QueryKind.CONNECTED


@pytest.fixture
def graph(shared_installation: Installation) -> Graph:
    return new_graph(shared_installation)


def ask(graph: Graph, query: str | None = None, **values: Any) -> QueriedFacts:
    context = graph.here.acting_for(graph.claims).using(embedder=WordEmbedder())
    return query_facts(context, QueryFacts(query=query, **values))


def words(answer: QueriedFacts) -> list[str]:
    """Return the statements of the related facts, in order."""
    return [one.fact.statement for one in answer.related]


def test_why_follows_causes_and_says_how(graph: Graph) -> None:
    here, user = graph.here, graph.user.user_id
    office, move = graph.remember("#Work/Office The office was too small.", "#Work/Move We moved to Porto.")
    growth = plant_fact(here, office, "The team grew.", occurred=(MAY, None))
    small = plant_fact(here, office, "The office was too small.", occurred=(MAY, None))
    moved = plant_fact(here, move, "We moved to Porto.", occurred=(MAY + timedelta(days=9), None))
    happy = plant_fact(here, move, "Everybody is happy.", occurred=(MAY + timedelta(days=20), None))
    link(here, user, inferred(moved, small, "caused_by"), inferred(small, growth, "influenced_by", strength=0.9))
    link(here, user, inferred(moved, happy, "led_to"), inferred(growth, moved, "supports"))

    answer = ask(graph, fact_id=moved, kind=WHY, include_graph=True)
    assert [one.statement for one in answer.matches] == ["We moved to Porto."]
    assert words(answer) == ["The office was too small.", "The team grew."], "causes, and no effects"
    cause, reason = answer.related
    assert cause.path_description == (
        "“We moved to Porto” (2026-05-10) was caused by “The office was too small” (2026-05-01)."
    )
    assert reason.path_description.endswith(
        "“The office was too small” (2026-05-01), which was influenced by “The team grew” (2026-05-01)."
    )
    assert [one.id for one in reason.path] == [moved, small, growth]
    assert reason.hops == 2
    assert cause.fact.score == pytest.approx(0.6 * 1 * 0.7)
    assert reason.fact.score == pytest.approx(0.6 * 0.7 * 0.9 * 0.9 * 0.7)
    assert answer.graph is not None
    assert {one.relation for one in answer.graph.links} == {"caused_by", "influenced_by", "supports"}
    assert len(answer.graph.nodes) == 3

    assert words(ask(graph, str(moved), kind=WHY)) == words(answer), "an id is no question"
    # A search begins at what is found; effects are asked for by their name.
    assert words(ask(graph, "Porto", kind=WHY))[:1] == ["The office was too small."]
    effects = ask(graph, fact_id=moved, relations=("led_to",))
    assert [one.path_description for one in effects.related] == [
        "“We moved to Porto” (2026-05-10) led to “Everybody is happy” (2026-05-21)."
    ]
    assert words(ask(graph, fact_id=small, relations=("caused_by",))) == []


def test_an_answer_to_why_names_the_cause_of_another_memory(graph: Graph) -> None:
    here, user = graph.here, graph.user.user_id
    office, move = graph.remember("#Work/Office The ceiling leaked every week.", "#Work/Move We moved to Porto.")
    leak = plant_fact(here, office, "The ceiling leaked every week.")
    moved = plant_fact(here, move, "We moved to Porto.")
    context = here.acting_for(graph.claims)
    why = Question("Why did we move to Porto?")
    assert "ceiling" not in answer_of(context, why).answer
    link(here, user, inferred(moved, leak, "caused_by"))
    reply = answer_of(context, why)
    first, last = reply.answer.splitlines()[0], reply.answer.splitlines()[-1]
    assert "We moved to Porto." in first
    assert last.startswith("Behind that, ")
    assert "The ceiling leaked every week." in last
    assert reply.citations[-1].record_id == office
    assert "ceiling" not in answer_of(context, Question("When did we move to Porto?")).answer


def test_changed_lists_versions_by_time(graph: Graph) -> None:
    here = graph.here
    (record,) = graph.remember("#Home Ana moved.")
    homes = [plant_fact(here, record, f"Ana lives in {city}.") for city in ("Porto", "Lyon", "Porto")]
    corrected = plant_fact(here, record, "Ana lives in Ghent.")
    chain(here, *homes)
    judge(here, corrected, homes[2], "updates", effect="supersedes")
    alone = plant_fact(here, record, "Ana likes tea.")

    answer = ask(graph, fact_id=homes[1], kind=CHANGED)
    assert sorted(words(answer)) == ["Ana lives in Ghent.", "Ana lives in Porto.", "Ana lives in Porto."]
    described = {one.fact.fact_id: one.path_description for one in answer.related}
    assert "was replaced by" in described[homes[2]]
    assert " replaces " in described[homes[0]]
    assert described[corrected].count("was replaced by") == 2
    assert ask(graph, fact_id=alone, kind=CHANGED).related == []
    # What was retracted is no version any more, unless it is asked for.
    stating.retract(here.acting_for(graph.claims), homes[2])
    assert words(ask(graph, fact_id=homes[1], kind=CHANGED)) == ["Ana lives in Porto."]
    retracted = ask(graph, fact_id=homes[1], kind=CHANGED, status=(FactStatus.ARCHIVED,))
    assert [one.fact.fact_id for one in retracted.related] == [homes[2]]
    assert ask(graph, fact_id=homes[2], kind=CHANGED).matches, "one may begin there"


def test_about_the_owner_is_what_the_owner_said_without_a_name(graph: Graph) -> None:
    (record,) = graph.remember("#Boats We sail.")
    sails = plant_fact(graph.here, record, "The user sails.")
    plant_fact(graph.here, record, "The boat is red.")
    for asked in (graph.user.slug, f"What do we know about {graph.user.slug}?", "me"):
        assert [one.fact_id for one in ask(graph, asked, kind=ABOUT).matches] == [sails]


def test_changed_shows_what_waits_for_a_person(graph: Graph) -> None:
    (record,) = graph.remember("#Boats We sail.")
    old = plant_fact(graph.here, record, "The mooring costs 40 euros.", occurred=(MAY, None))
    new = plant_fact(graph.here, record, "The mooring costs 55 euros.", occurred=(MAY + timedelta(days=9), None))
    with graph.here.database.pipeline() as tx:
        tx.execute(
            """INSERT INTO neurigraph.fact_verdicts (later_id, earlier_id, user_id, verdict, confidence, reason, effect,
            judged_by) VALUES (%s, %s, %s, 'updates', 0.8, 'another cost', 'flagged', 'test')""",
            [new, old, graph.user.user_id],
        )
    found = ask(graph, "What does the mooring cost?", kind=QueryKind.CHANGED)
    assert [one.fact_id for one in found.matches] == [new]
    assert [one.fact.fact_id for one in found.related] == [old]
    assert "may replace" in found.related[0].path_description


def test_about_knows_other_names(graph: Graph) -> None:
    here = graph.here
    first, second = graph.remember("#People/Robert He sails.", "#Boats The boat belongs to Bobby.")
    sails = plant_fact(here, first, "Robert sails.", who=["Robert"], occurred=(MAY, None))
    bobby = plant_fact(here, second, "Bobby has a boat.", who=["Bobby"], occurred=(MAY + timedelta(days=1), None))
    owner = plant_fact(here, second, "The boat belongs to bobby.", occurred=(MAY + timedelta(days=2), None))
    plant_fact(here, second, "The boat is red, says Bobbyson.")
    wind = plant_fact(here, first, "The wind is good.")
    link(here, graph.user.user_id, inferred(sails, wind, "caused_by"))

    def matches(name: str) -> list[UUID]:
        return [one.fact_id for one in ask(graph, name, kind=ABOUT).matches]

    assert matches("Bobby") == [owner, bobby], "a name without a node is found by words"
    assert matches("Robert") == [sails]
    robert = graph.node("People/Robert")
    give_alias(here.database, graph.claims, robert, AliasType.NAME, "Bobby")
    assert matches("robert") == matches("What do we know about Bobby?") == [bobby, sails], "those said last come first"
    with here.database.pipeline() as tx:
        tx.execute(
            """INSERT INTO neurigraph.mentions (user_id, record_id, node_id, role, detected_by)
            VALUES (%s, %s, %s, 'mention', 'rule')""",
            [graph.user.user_id, second, robert],
        )
    assert matches("ROBERT") == [owner, bobby, sails], "a memory that mentions him, in its own words"
    assert wind in {one.fact.fact_id for one in ask(graph, "Bobby", kind=ABOUT).related}
    assert matches("Nobody Atall") == []


def test_connected_shows_what_matters_by_distance(graph: Graph) -> None:
    here, user = graph.here, graph.user.user_id
    (record,) = graph.remember("#Work The project began.")
    facts = [
        plant_fact(here, record, f"Fact {place}.", impact="high" if place % 2 == 0 else "low") for place in range(9)
    ]
    # A circle, and a way around it: every fact is reached once, by its shortest way.
    ring = [*zip(facts, [*facts[1:], facts[0]], strict=True), (facts[0], facts[4])]
    link(here, user, *(inferred(one, other, "relates_to") for one, other in ring))
    answer = ask(graph, fact_id=facts[0], kind=CONNECTED)
    reached = [(one.hops, one.fact.fact_id) for one in answer.related]
    assert set(reached) == {(1, facts[4]), (1, facts[8]), (2, facts[2]), (3, facts[6])}
    assert [hops for hops, _ in reached] == [1, 1, 2, 3]
    assert len(ask(graph, fact_id=facts[0], max_hops=6).related) == 8
    assert len(ask(graph, fact_id=facts[0], max_hops=1).related) == 3
    assert len(ask(graph, fact_id=facts[0], max_hops=6, max_nodes=4).related) == 3, "the match is one of them"


def test_links_of_memories_nodes_and_sources(graph: Graph) -> None:
    here, user = graph.here, graph.user.user_id
    plan, result = graph.remember("#Work/Plan A plan.", "#Work/Result A result.")
    wanted = plant_fact(here, plan, "We want a bridge.")
    built = plant_fact(here, result, "The bridge is built.")
    other = plant_fact(here, plan, "Ana chose the colour.")
    node = graph.node("Work/Plan")
    link(here, user, inferred(LinkEnd.record(result), LinkEnd.record(plan), "caused_by", strength=1.0))
    link(
        here,
        user,
        inferred(built, LinkEnd(EndKind.NODE, node), "decided_by", strength=1.0),
        inferred(other, LinkEnd(EndKind.NODE, node), "decided_by", strength=0.9),
    )
    answer = ask(graph, fact_id=built, kind=WHY)
    assert sorted(words(answer)) == ["Ana chose the colour.", "We want a bridge."], "what the memory states"
    assert [one.kind for one in answer.related[0].path] == ["fact", "record", "fact"]
    assert "was caused by a memory in Plan (" in answer.related[0].path_description
    by_node = ask(graph, fact_id=built, relations=("decided_by",))
    (related,) = by_node.related
    assert related.path_description.endswith(
        f"was decided by Plan, which decided “Ana chose the colour” ({related.fact.said_at:%Y-%m-%d})."
    )
    assert wanted not in {one.fact.fact_id for one in by_node.related}


def test_verdicts_are_links(graph: Graph) -> None:
    here = graph.here
    (record,) = graph.remember("#Home Something.")
    claim, doubt, ground, more, copy = (plant_fact(here, record, f"Statement {n}.") for n in range(5))
    judge(here, doubt, claim, "contradicts")
    judge(here, claim, ground, "depends_on")
    judge(here, more, claim, "supports")
    judge(here, copy, claim, "same")
    undone = plant_fact(here, record, "Undone.")
    judge(here, undone, claim, "contradicts", undone=True)
    answer = ask(graph, fact_id=claim)
    assert {one.fact.fact_id: one.links[0].relation for one in answer.related} == {
        doubt: "contradicts",
        ground: "depends_on",
        more: "supports",
    }
    assert {one.links[0].link_id for one in answer.related} == {None}
    assert words(ask(graph, fact_id=claim, min_strength=0.95)) == []
    assert len(ask(graph, fact_id=ground, relations=("depends_on",)).related) == 1


def test_filters_and_moments(graph: Graph) -> None:
    here, user = graph.here, graph.user.user_id
    (record,) = graph.remember("#Home Something.")
    start = plant_fact(here, record, "The start.", who=["Ana"], occurred=(MAY, MAY + timedelta(days=1)))
    near = plant_fact(here, record, "Near.", who=["Ben"], occurred=(MAY + timedelta(days=5), MAY + timedelta(days=6)))
    far = plant_fact(here, record, "Far.", who=["Ana"], occurred=(MAY + timedelta(days=9), MAY + timedelta(days=10)))
    link(here, user, inferred(start, near, "relates_to"), inferred(near, far, "relates_to"))
    ended = plant_fact(here, record, "Ended.")
    link(here, user, inferred(start, ended, "supports", valid_from=MAY, valid_until=MAY + timedelta(days=30)))

    assert words(ask(graph, fact_id=start)) == ["Near.", "Far."]
    assert words(ask(graph, fact_id=start, who=("ana",))) == ["Far."], "a way may lead over others"
    assert words(ask(graph, fact_id=start, time_range=TimeRange(end=MAY + timedelta(days=7)))) == ["Near."]
    assert words(ask(graph, fact_id=start, time_range=TimeRange(start=MAY + timedelta(days=7)))) == ["Far."]
    assert words(ask(graph, fact_id=start, min_strength=0.7)) == []
    assert "Ended." in words(ask(graph, fact_id=start, valid_at=MAY + timedelta(days=20)))
    assert words(ask(graph, fact_id=start, valid_at=MAY + timedelta(days=2))) == ["Ended."]
    with pytest.raises(NotFoundError):
        ask(graph, fact_id=start, at=MAY - timedelta(days=1000))
    assert words(ask(graph, fact_id=start, at=datetime.now(UTC))) == ["Near.", "Far."]


def test_bounds_are_kept_and_said(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    here, user = graph.here, graph.user.user_id
    (record,) = graph.remember("#Home Something.")
    middle = plant_fact(here, record, "The middle.")
    around = [plant_fact(here, record, f"Around {place}.") for place in range(60)]
    link(here, user, *(inferred(middle, one, "relates_to", strength=0.4 + n / 100) for n, one in enumerate(around)))
    answer = ask(graph, fact_id=middle, max_hops=1, max_nodes=200)
    assert {one.fact.fact_id for one in answer.related} == set(around[10:]), "the 50 strongest"
    beyond = [
        inferred(one, plant_fact(here, record, f"Beyond {n}.{m}."), "relates_to")
        for n, one in enumerate(around)
        for m in range(5)
    ]
    link(here, user, *beyond)
    answer = ask(graph, fact_id=middle, max_nodes=200)
    assert len(answer.related) == 199
    assert any("more than 200" in note for note in answer.notes)
    monkeypatch.setattr(walks, "PATIENCE_SECONDS", -1.0)
    late = ask(graph, fact_id=middle)
    assert late.related == []
    assert any("ended early" in note for note in late.notes)


def test_over_http_and_by_the_client(graph: Graph) -> None:
    here = graph.here
    (record,) = graph.remember("#Home Something.")
    effect, cause = plant_fact(here, record, "It is wet."), plant_fact(here, record, "It rains.")
    link(here, graph.user.user_id, inferred(effect, cause, "caused_by"))
    key = issue_api_key(here.database, graph.user.user_id)
    with serving(here) as address, Memory(address, key) as memory:
        asked = memory.retrieval.walk_facts(kind="why", fact_id=effect, include_graph=True)
        assert [one.fact.statement for one in asked.related] == ["It rains."]
        assert " was caused by " in asked.related[0].path_description
        assert asked.graph is not None
        assert [one.relation for one in asked.graph.links] == ["caused_by"]
        assert memory.retrieval.walk_facts(fact_id=effect).graph is None
        assert memory.retrieval.walk_facts(fact_id=effect, time_range={"start": "2001-01-01"}).related != []
        assert memory.retrieval.walk_facts(fact_id=effect, time_range={"end": "2001-01-01"}).related == []
        wrong: dict[str, Any]
        for wrong in ({"max_hops": 7}, {"kind": "how"}, {"min_strength": 2}, {"status": ["gone"]}, {"hops": 1}):
            with pytest.raises(Invalid):
                memory.call("POST", "/v1/facts/query", {"query": "x", **wrong})
        with pytest.raises(NotFound):
            memory.retrieval.walk_facts(fact_id=uuid4())


def test_by_an_agent(graph: Graph) -> None:
    here = graph.here
    (record,) = graph.remember("#Home Something.")
    effect, cause = plant_fact(here, record, "It is wet."), plant_fact(here, record, "It rains.")
    link(here, graph.user.user_id, inferred(effect, cause, "caused_by"))
    key = issue_api_key(here.database, graph.user.user_id)
    stranger = issue_api_key(here.database, new_graph(here).user.user_id)
    with serving(here) as address:
        answer = call_over_http(address, key, "memory_facts", fact_id=str(effect), walk="why")
        assert [one["fact_id"] for one in found(answer)["facts"]] == [str(effect), str(cause)]
        (path,) = found(answer)["paths"]
        assert f"| {path}" in text_of(answer)
        assert " was caused by “It rains”" in path
        assert "give a query" in failure(call_over_http(address, key, "memory_facts", walk="why"))
        hidden = failure(call_over_http(address, stranger, "memory_facts", fact_id=str(effect), walk="why"))
        assert hidden == failure(call_over_http(address, stranger, "memory_facts", fact_id=str(uuid4()), walk="why"))


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"query": "  "},
        {"query": "x" * 5_000},
        {"kind": ABOUT, "fact_id": uuid4()},
        {"query": "x", "max_hops": 7},
        {"query": "x", "max_hops": 0},
        {"query": "x", "max_nodes": 0},
        {"query": "x", "max_nodes": 201},
        {"query": "x", "min_strength": 1.5},
        {"query": "x", "who": ("a",) * 21},
        {"query": "x", "relations": ("talks with",)},
    ],
)
def test_wrong_queries_are_refused(graph: Graph, values: dict[str, Any]) -> None:
    with pytest.raises((InvalidInputError, ValidationError)):
        ask(graph, **values)
    assert ask(graph, "x").matches == []
