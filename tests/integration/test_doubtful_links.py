"""Links that rules find: they are written, and the owner is asked about each."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest

from neurigraph_pipelines.knowledge import reading
from neurigraph_pipelines.knowledge.deciding import actions
from neurigraph_pipelines.knowledge.linking import decide_link, end_link
from neurigraph_pipelines.knowledge.links import MAX_ASKED
from neurigraph_pipelines.model.errors import ConflictError, NotFoundError
from neurigraph_pipelines.views.kinds import LinkVerdict
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.graphs import Graph, new_graph
from tests.support.linked_facts import inferred, link, links_of, plant_fact
from tests.support.memories import plain_context, rows

CAUSE = "#Work/Move Bob moved to Porto because the office was small."


@pytest.fixture
def graph(shared_installation: Installation) -> Graph:
    return new_graph(shared_installation)


def read(graph: Graph, text: str, *statements: str) -> UUID:
    """Store a memory that states some facts, read it, and return its record."""
    (record,) = graph.remember(text)
    for statement in statements:
        plant_fact(graph.here, record, statement)
    with graph.here.database.pipeline() as tx:
        tx.execute("SELECT set_config('neurigraph.author', 'tests', true)")
        tx.execute("UPDATE neurigraph.facts SET pinned = true WHERE record_id = %s", [record])
    reading.read_again(plain_context(graph.here), [record])
    return record


def read_cause(graph: Graph) -> UUID:
    return read(graph, CAUSE, "Bob moved to Porto.", "The office was small.")


def queue(graph: Graph, state: str = "open") -> list[dict[str, Any]]:
    query = "SELECT * FROM neurigraph.actions WHERE user_id = %s AND state = %s"
    return rows(graph.here, query, graph.user.user_id, state)


def vote(graph: Graph, action_id: UUID, *, approves: bool) -> None:
    actions.vote(graph.here.acting_for(graph.claims), action_id, approves=approves)


@pytest.mark.parametrize(("approves", "verdict"), [(True, "confirmed"), (False, "rejected")])
def test_a_vote_decides_about_the_link_once(graph: Graph, approves: bool, verdict: str) -> None:
    record = read_cause(graph)
    reading.read_again(plain_context(graph.here), [record])
    (action,), (found,) = queue(graph), links_of(graph.here, graph.user.user_id)
    assert (action["kind"], action["origin"], action["requested_by"]) == ("link", "doubt", "job:facts")
    assert (action["fact_id"], action["other_fact_id"]) == (found["from_id"], found["to_id"])
    assert action["details"] == {"relation": "caused_by", "confidence": 0.75}
    assert found["verdict"] == "unverified"
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: vote(graph, action["action_id"], approves=approves), range(4)))
    (decided,) = links_of(graph.here, graph.user.user_id)
    assert (decided["link_id"], decided["verdict"]) == (found["link_id"], verdict)
    assert str(graph.user.user_id) in decided["verdict_by"]
    for _ in range(2):
        reading.read_again(plain_context(graph.here), [record])
    assert (queue(graph), links_of(graph.here, graph.user.user_id)) == ([], [decided])


@pytest.mark.parametrize(
    ("decide", "state"),
    [
        (lambda context, one: decide_link(context, one, LinkVerdict.CONFIRMED), "executed"),
        (lambda context, one: decide_link(context, one, LinkVerdict.REJECTED), "rejected"),
        (end_link, "rejected"),
    ],
    ids=["confirmed", "rejected", "ended"],
)
def test_who_decides_about_the_link_is_asked_no_more(
    graph: Graph, decide: Callable[[Any, UUID], None], state: str
) -> None:
    record = read_cause(graph)
    (found,) = links_of(graph.here, graph.user.user_id)
    decide(graph.here.acting_for(graph.claims), found["link_id"])
    assert queue(graph) == []
    (action,) = queue(graph, state)
    reading.read_again(plain_context(graph.here), [record])
    assert queue(graph) == []
    with pytest.raises(ConflictError):
        vote(graph, action["action_id"], approves=state == "rejected")


def test_a_rejection_leaves_what_people_said(graph: Graph) -> None:
    record = read_cause(graph)
    (action,), (found,) = queue(graph), links_of(graph.here, graph.user.user_id)
    others = [
        inferred(found["from_id"], found["to_id"], "supports"),
        inferred(found["to_id"], found["from_id"], "influenced_by"),
    ]
    link(graph.here, graph.user.user_id, *others)
    vote(graph, action["action_id"], approves=False)
    after = {row["relation"]: row["verdict"] for row in links_of(graph.here, graph.user.user_id)}
    assert after == {"caused_by": "rejected", "supports": "unverified", "influenced_by": "unverified"}
    assert record


def test_a_memory_asks_about_few_links_and_strangers_about_none(graph: Graph) -> None:
    things = ("boat", "house", "garden", "piano", "window", "bridge", "candle", "ladder", "mirror", "pencil",
              "rocket", "saddle", "teapot", "violin")  # fmt: skip
    said = [(f"The {one} broke.", f"The {one} fell.") for one in things]
    text = "#Work/Repairs " + " ".join(f"The {one} broke because the {one} fell." for one in things)
    read(graph, text, *(statement for pair in said for statement in pair))
    assert len(links_of(graph.here, graph.user.user_id)) > MAX_ASKED
    assert len(queue(graph)) == MAX_ASKED
    stranger = new_graph(graph.here)
    with pytest.raises(NotFoundError):
        vote(stranger, queue(graph)[0]["action_id"], approves=False)
    assert {row["verdict"] for row in links_of(graph.here, graph.user.user_id)} == {"unverified"}
