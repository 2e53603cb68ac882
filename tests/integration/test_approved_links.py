"""Links that wait for a decision: approving one confirms or states it, once."""

from __future__ import annotations

from uuid import UUID

import pytest

from neurigraph_pipelines.graph.governance.proposals import Doubt, propose
from neurigraph_pipelines.knowledge.deciding import actions
from neurigraph_pipelines.model.errors import ConflictError, InvalidInputError
from neurigraph_pipelines.views.kinds import ActionKind, ActionState
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.graphs import Graph, new_graph
from tests.support.linked_facts import inferred, link, links_of, plant_fact


@pytest.fixture
def graph(shared_installation: Installation) -> Graph:
    return new_graph(shared_installation)


def ask(graph: Graph, first: UUID, second: UUID, relation: str) -> UUID:
    """Put a doubt about a link between two facts in the queue."""
    details: dict[str, str | float | bool | None] = {"relation": relation, "confidence": 0.7}
    user = graph.user.user_id
    doubt = Doubt(ActionKind.LINK, user, "link", "tests", fact_id=first, other_fact_id=second, details=details)
    with graph.here.database.pipeline() as tx:
        return propose(tx, doubt).action_id


def decide(graph: Graph, action_id: UUID, *, approves: bool = True) -> ActionState:
    return actions.vote(graph.here.acting_for(graph.claims), action_id, approves=approves).state


def test_an_approved_link_is_confirmed_or_stated(graph: Graph) -> None:
    (record,) = graph.remember("#Work/Office It was too small.")
    small, full = (plant_fact(graph.here, record, text) for text in ("It is small.", "It is full."))
    (known,) = link(graph.here, graph.user.user_id, inferred(small, full, "supports"))
    action = ask(graph, small, full, "supports")
    assert decide(graph, action) is ActionState.EXECUTED
    (confirmed,) = links_of(graph.here, graph.user.user_id)
    assert (confirmed["link_id"], confirmed["verdict"]) == (known, "confirmed")
    assert str(action) in confirmed["verdict_by"]
    decide(graph, action)
    assert links_of(graph.here, graph.user.user_id) == [confirmed], "carried out once"

    assert decide(graph, ask(graph, full, small, "caused_by")) is ActionState.EXECUTED
    stated = [row for row in links_of(graph.here, graph.user.user_id) if row["relation"] == "caused_by"]
    assert [(row["from_id"], row["to_id"]) for row in stated] == [(full, small)]
    assert decide(graph, ask(graph, small, full, "elaborates"), approves=False) is ActionState.REJECTED
    assert len(links_of(graph.here, graph.user.user_id)) == 2


def test_an_impossible_link_fails(graph: Graph) -> None:
    (record,) = graph.remember("#Work/Office It was too small.")
    small, full = (plant_fact(graph.here, record, text) for text in ("It is small.", "It is full."))
    link(graph.here, graph.user.user_id, inferred(small, full, "caused_by"))
    for relation, error in (("caused_by", ConflictError), ("_talks", InvalidInputError)):
        with pytest.raises(error):
            decide(graph, ask(graph, full, small, relation))
    found = actions.page_of_actions(graph.here.listing(graph.claims), state=ActionState.FAILED)
    assert [one.failure for one in found.items] == ["impossible"] * 2
    assert len(links_of(graph.here, graph.user.user_id)) == 1
