"""Links that a language model reads: sure ones are written, likely ones wait for the owner, all others are dropped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any
from uuid import UUID

import pytest

from neurigraph_pipelines.knowledge import reading
from neurigraph_pipelines.knowledge.deciding import actions
from neurigraph_pipelines.knowledge.linking import decide_link
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.views.kinds import ActionState, LinkVerdict
from neurigraph_pipelines.wiring.installation import Installation
from resources.providers.retries import ProviderClient
from tests.integration.test_facts_openai import answered
from tests.support.graphs import Graph, new_graph
from tests.support.linked_facts import links_of
from tests.support.memories import converse, ingest, plain_context, rows, stored
from tests.support.model_clients import TALK, make_client, make_model
from tests.support.model_provider import Fault, ModelProvider

TALK_OF_THE_OFFICE = (
    "#Work/Office The landlord raised the rent.",
    "So we gave up the rooms on the river.",
    "Perhaps so Ana left us.",
    "Hardly so Dave bought a boat.",
)


@pytest.fixture
def client(provider: ModelProvider) -> Iterator[ProviderClient]:
    with closing(make_client(provider)) as opened:
        yield opened


@pytest.fixture
def graph(shared_installation: Installation) -> Graph:
    return new_graph(shared_installation)


@pytest.fixture
def context(graph: Graph, client: ProviderClient) -> Context:
    return plain_context(graph.here).using(language_model=make_model(client))


def told(graph: Graph) -> UUID:
    """Store the talk, and return its record."""
    converse(graph.here, graph.claims, *TALK_OF_THE_OFFICE)
    (record,) = stored(ingest(plain_context(graph.here), graph.user))
    return record.record_id


def said(graph: Graph, fact_id: UUID) -> str:
    (row,) = rows(graph.here, "SELECT statement FROM neurigraph.facts WHERE fact_id = %s", fact_id)
    return str(row["statement"]).partition(": ")[2]


def waiting(graph: Graph) -> list[dict[str, Any]]:
    query = "SELECT * FROM neurigraph.actions WHERE user_id = %s AND state = 'open'"
    return rows(graph.here, query, graph.user.user_id)


def test_sure_links_are_written_and_likely_ones_wait(graph: Graph, context: Context) -> None:
    record = told(graph)
    for _ in range(2):  # reading again doubles nothing
        assert reading.read_again(context, [record]).failed == []
        (link,) = links_of(graph.here, graph.user.user_id)
        assert (said(graph, link["from_id"]), link["relation"]) == (TALK_OF_THE_OFFICE[1], "caused_by")
        assert said(graph, link["to_id"]) == TALK_OF_THE_OFFICE[0]
        assert (link["observed_by"], link["detected_by"]) == (f"model:{context.language_model.name}", "model")
        assert (round(link["confidence"], 2), link["messages"], link["verdict"]) == (0.9, [2], "unverified")
        (action,) = waiting(graph)
        assert (action["kind"], action["origin"], action["requested_by"]) == ("link", "doubt", "job:facts")
        assert action["details"] == {"relation": "caused_by", "confidence": 0.7}
    approved = actions.vote(graph.here.acting_for(graph.claims), action["action_id"], approves=True)
    assert approved.state is ActionState.EXECUTED
    stated = [row for row in links_of(graph.here, graph.user.user_id) if row["link_id"] != link["link_id"]]
    assert [(said(graph, row["from_id"]), said(graph, row["to_id"])) for row in stated] == [TALK_OF_THE_OFFICE[2:0:-1]]
    reading.read_again(context, [record])
    assert waiting(graph) == []
    assert len(links_of(graph.here, graph.user.user_id)) == 2


def test_what_a_person_rejected_is_not_read_again(graph: Graph, context: Context) -> None:
    record = told(graph)
    reading.read_again(context, [record])
    (link,) = links_of(graph.here, graph.user.user_id)
    decide_link(graph.here.acting_for(graph.claims), link["link_id"], LinkVerdict.REJECTED)
    (action,) = waiting(graph)
    actions.vote(graph.here.acting_for(graph.claims), action["action_id"], approves=False)
    reading.read_again(context, [record])
    assert [row["verdict"] for row in links_of(graph.here, graph.user.user_id)] == ["rejected"]
    assert waiting(graph) == []


def test_links_go_when_the_next_reading_has_none(graph: Graph, context: Context) -> None:
    record = told(graph)
    reading.read_again(context, [record])
    assert len(links_of(graph.here, graph.user.user_id)) == 1
    reading.read_again(plain_context(graph.here), [record])
    assert links_of(graph.here, graph.user.user_id) == []


def test_links_to_nothing_are_left_out(provider: ModelProvider, client: ProviderClient) -> None:
    facts = [answered(), answered(statement="Dave met Caroline."), answered(statement="", first_message=1)]
    given = [(1, 2, 0.9), (1, 2, 0.3), (1, 1, 0.9), (1, 3, 0.9), (2, 0, 0.9), (2, -1, 0.9), (9, 1, 0.9), (2, 1, 7.0)]
    links = [
        {"reason": "so\x00", "fact": fact, "relation": "caused_by", "other": other, "confidence": confidence}
        for fact, other, confidence in given
    ]
    provider.fail_next(Fault("wrong_shape", answer={"facts": facts, "links": links}))
    first, second = make_model(client).extract_facts(TALK)
    assert [(one.statement, one.confidence) for one in first.links] == [("Dave met Caroline.", 0.9)]
    assert [(one.statement, one.confidence) for one in second.links] == [("Caroline met Dave.", 1.0)]
    assert "\x00" not in str(first.links)
