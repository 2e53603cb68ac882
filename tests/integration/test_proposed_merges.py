"""People who may have two nodes: whom the nightly run proposes to merge, whom it does not, and what a decision does."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest

from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.graph.governance.doubles import Double, Person, likely_doubles, propose_merges
from neurigraph_pipelines.graph.reshaping import move_node
from neurigraph_pipelines.knowledge.deciding import actions
from neurigraph_pipelines.model import ConceptKind, NodeType
from neurigraph_pipelines.model.errors import NotFoundError
from neurigraph_pipelines.views.kinds import ActionState
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.graphs import Graph, new_graph
from tests.support.memories import rows

SAILING, OFFICE = uuid4(), uuid4()


def person(*names: str, related: UUID | None = None, records: int = 1) -> Person:
    return Person(uuid4(), names, frozenset([related] if related else []), records)


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        (person("Zoe Muller"), person("Zoë Müller", records=2), "same_spelling"),
        (person("Anne-Marie"), person("Dr. Beck", "Anne Marie", records=2), "same_spelling"),
        (person("Dave", related=SAILING, records=9), person("Dave Miller", related=SAILING), "same_first_name"),
        (person("Dave", related=SAILING), person("Dave Miller", related=OFFICE), None),
        (person("Dave Smith", related=SAILING), person("Dave Miller", related=SAILING), None),
        (person("Unit 7"), person("Unit 8", records=2), None),
        (person("李雷"), person("韓梅", records=2), None),
    ],
)
def test_who_may_be_one_person(one: Person, other: Person, reason: str | None) -> None:
    expected = [] if reason is None else [Double(one.node_id, other.node_id, reason)]
    assert likely_doubles([one, other]) == likely_doubles([other, one]) == expected


def test_a_first_name_of_two_people_is_nobodys() -> None:
    dave, miller = person("Dave", related=SAILING), person("Dave Miller", related=SAILING)
    assert likely_doubles([dave, miller, person("Dave Smith")]) == []


def test_many_of_one_name_stay_few_pairs() -> None:
    assert len(likely_doubles([person("Kim") for _ in range(2_000)])) < 100


def add(graph: Graph, name: str, topic: UUID) -> UUID:
    """Add a person who is related to a topic."""
    here, user_id = graph.here, graph.user.user_id
    made = sharing.add_node(
        here.database, graph.claims, graph.node("People"), name, kind=ConceptKind.PERSON, summary=f"{name} sails."
    )
    with here.database.owner() as tx:
        tx.execute(
            """INSERT INTO neurigraph.node_edges (user_id, from_node_id, to_node_id, relation)
            VALUES (%s, %s, %s, 'owns')""",
            [user_id, made, topic],
        )
    return made


def waiting(graph: Graph) -> list[dict[str, Any]]:
    query = "SELECT * FROM neurigraph.actions WHERE user_id = %s AND state = 'open' AND kind = 'merge_nodes'"
    return rows(graph.here, query, graph.user.user_id)


def test_owner_decides_about_a_merge_once(shared_installation: Installation) -> None:
    graph = new_graph(shared_installation)
    owner, user_id = graph.here.acting_for(graph.claims), graph.user.user_id
    graph.remember("#People They meet on Mondays.", "#Sailing The boat is blue.")
    boat = graph.node("Sailing")
    dave, miller, ana = (add(graph, name, boat) for name in ("Dave", "Dave Miller", "Ana Abreu"))
    other = new_graph(shared_installation)
    other.remember("#People They meet on Mondays.", "#Sailing The boat is blue.")
    add(other, "Ana-Abreu", other.node("Sailing"))  # somebody else's
    assert propose_merges(graph.here.database) >= 1
    assert propose_merges(graph.here.database, user_id) == 0
    (action,) = waiting(graph)
    assert (action["node_id"], action["other_node_id"], action["reason"]) == (dave, miller, "same_first_name")
    assert waiting(other) == []
    assert graph.node("People/Dave") == dave, "nothing is merged by itself"
    with pytest.raises(NotFoundError):
        actions.vote(other.here.acting_for(other.claims), action["action_id"], approves=True)
    assert actions.vote(owner, action["action_id"], approves=False).state is ActionState.REJECTED
    assert propose_merges(graph.here.database, user_id) == 0, "what was rejected is not asked again"
    again = add(graph, "Ana  Abreu.", boat)
    assert propose_merges(graph.here.database, user_id) == 1
    (action,) = waiting(graph)
    assert {action["node_id"], action["other_node_id"]} == {ana, again}
    assert actions.vote(owner, action["action_id"], approves=True).state is ActionState.EXECUTED
    left = rows(graph.here, "SELECT node_id FROM neurigraph.graph_index WHERE node_id = ANY(%s)", [ana, again])
    assert [row["node_id"] for row in left] == [action["other_node_id"]]
    assert propose_merges(graph.here.database, user_id) == 0


def test_people_of_a_persona_are_its_own(shared_installation: Installation) -> None:
    graph = new_graph(shared_installation)
    graph.remember("#People They meet on Mondays.", "#Sailing The boat is blue.")
    boat, database = graph.node("Sailing"), graph.here.database
    add(graph, "Zoe Muller", boat)
    persona = sharing.add_node(database, graph.claims, graph.node("People"), "Agent", node_type=NodeType.PERSONA)
    below = sharing.add_node(database, graph.claims, persona, "Zoë Müller", kind=ConceptKind.PERSON)
    assert propose_merges(database, graph.user.user_id) == 0
    move_node(database, graph.claims, below, graph.node("People"))
    assert propose_merges(database, graph.user.user_id) == 1
