"""What somebody is, told to callers who do not see all that it rests on."""

from __future__ import annotations

import re

import pytest

from neurigraph_pipelines.graph.navigation import shell, tree
from neurigraph_pipelines.graph.node_lists import NodeFilter, list_nodes
from neurigraph_pipelines.inbox.privacy import set_privacy
from neurigraph_pipelines.model import Claims, Privacy
from neurigraph_pipelines.retrieval.ask import ask
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.linked_facts import plant_fact
from tests.support.memories import rows
from tests.support.saying_model import SayingModel
from tests.support.shared_graph import SharedGraph, new_shared_graph

pytestmark = pytest.mark.attack

QUESTIONS = ("Who is Dave?", "Tell me everything about Dave", "What do you know about Marketing?")


@pytest.fixture
def graph(shared_installation: Installation) -> SharedGraph:
    """Marketing calls Dave a customer, and says what Ottilie pays; the contracts call him a signatory."""
    made = new_shared_graph(shared_installation)
    said = "Ottilie lets Dave have it for 900."
    fact_id = plant_fact(shared_installation, made.record_of("Work/Marketing")[0], said, who=["Dave"])
    with shared_installation.database.owner() as tx:
        tx.execute(
            """UPDATE neurigraph.facts SET subject = 'Dave', predicate = 'works as', object = 'buyer for Ottilie'
            WHERE fact_id = %s""",
            [fact_id],
        )
    return made


def told(graph: SharedGraph, claims: Claims) -> str:
    """Return all that the answers about Dave and all views of nodes tell a caller."""
    here = graph.installation
    context = here.acting_for(claims).using(language_model=SayingModel())
    answers = [ask(context, Question(query)) for query in QUESTIONS]
    found = [line for reply in answers for line in (reply.answer, *(one.text for one in reply.citations), *reply.notes)]
    with here.database.agent(claims) as tx:
        nodes = tx.execute("SELECT node_id FROM neurigraph.graph_index").fetchall()
        found += [shell(tx, row["node_id"]).summary or "" for row in nodes]
        found.append(tree(tx, claims.user_id).model_dump_json())
    found.append(str(list_nodes(here.listing(claims, limit=100), NodeFilter()).items))
    # Ids and parts of seconds may have any digits.
    return re.sub(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{5,6}", "", "\n".join(found))


def test_readers_of_a_node_learn_only_what_they_see(graph: SharedGraph) -> None:
    owners = told(graph, graph.owners)
    assert "customer" in owners
    assert "signatory" in owners
    assert "buyer for Ottilie" in owners
    assert "900" in owners
    graph.grant("Family/Dave", "gmail")
    gmail = told(graph, graph.third_party("gmail"))
    assert "Dave" in gmail
    for word in ("customer", "signatory", "Ottilie", "900", "Marketing"):
        assert word not in gmail
    grant = graph.grant("Work/Marketing", "gmail")
    both = told(graph, graph.third_party("gmail"))
    assert "customer" in both
    assert "900" in both
    assert "signatory" not in both
    graph.revoke(grant)
    assert told(graph, graph.third_party("gmail")) == gmail


def test_private_memories_tell_only_their_owner(graph: SharedGraph) -> None:
    graph.grant("Family/Dave")
    graph.grant("Work/Marketing")
    assert "900" in told(graph, graph.personas)
    (source,) = rows(
        graph.installation,
        "SELECT source_id FROM neurigraph.record_index WHERE record_id = %s",
        graph.record_of("Work/Marketing")[0],
    )
    set_privacy(graph.installation.database, graph.owners, source["source_id"], Privacy.PRIVATE)
    assert "900" not in told(graph, graph.personas)
    assert "customer" not in told(graph, graph.personas)
    assert "900" in told(graph, graph.owners)
