"""Record history for personas and third parties."""

from __future__ import annotations

import pytest

from neurigraph_pipelines.graph.history import diff
from neurigraph_pipelines.graph.moving import move_records
from neurigraph_pipelines.ingestion.revision import Revision
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import ForbiddenError, NotFoundError
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.changing_record import MICROSECOND, Memory
from tests.support.shared_graph import SharedGraph, new_shared_graph


class Shelf:
    """A shared graph, and its memories as somebody sees them."""

    def __init__(self, here: Installation, context: Context) -> None:
        self.graph: SharedGraph = new_shared_graph(here)
        self.context = context

    def memory(self, path: str, claims: Claims) -> Memory:
        """The first one of a node."""
        return Memory(self.graph.installation, self.context.embedder, claims, self.graph.record_of(path)[0])

    def seen_by(self, memory: Memory, claims: Claims) -> Memory:
        return Memory(memory.here, memory.embedder, claims, memory.record_id)


@pytest.fixture
def shelf(here: Installation, context: Context) -> Shelf:
    return Shelf(here, context)


def test_persona_revises_granted_record(shelf: Shelf) -> None:
    memory = shelf.memory("Work/Legal/Contracts", shelf.graph.personas)
    first = memory.at()
    with pytest.raises(ForbiddenError, match="ask its owner"):
        memory.revise(Revision(title="Acme"))
    with pytest.raises(ForbiddenError):
        memory.supersede(None)
    assert memory.at() == first
    grant = shelf.graph.grant("Work/Legal/Contracts", writes=True)
    delta = memory.revise(Revision(title="Acme"))
    assert delta.authored_by == f"persona:{shelf.graph.persona_id}"
    assert memory.at(delta.changed_at - MICROSECOND) == first
    shelf.graph.revoke(grant)
    with pytest.raises(ForbiddenError):
        memory.revise(Revision(title="Bcme"))


def test_persona_sees_no_hidden_history(shelf: Shelf) -> None:
    hidden = shelf.memory("Work/Marketing", shelf.graph.personas)
    now = shelf.memory("Work/Marketing", shelf.graph.owners).deltas[0].changed_at
    for attempt in (
        hidden.at,
        lambda: hidden.at(now),
        lambda: hidden.deltas,
        lambda: diff(hidden.here.database, hidden.claims, hidden.record_id, now),
        lambda: hidden.revise(Revision(title="mine")),
        lambda: hidden.supersede(None),
    ):
        with pytest.raises(NotFoundError, match=r"^not found$"):
            attempt()
    mine = shelf.memory("Work/Legal/Contracts", shelf.graph.personas)
    shelf.graph.grant("Work/Legal/Contracts", writes=True)
    with pytest.raises(NotFoundError, match=r"^not found$"):
        mine.supersede(hidden.record_id)


def test_hidden_origin_and_successor_are_omitted(shelf: Shelf) -> None:
    graph = shelf.graph
    owners = shelf.memory("Work/Marketing", graph.owners)
    dave = shelf.memory("Family/Dave", graph.owners)
    move_records(owners.here.database, graph.owners, [owners.record_id], graph.node("Work/Legal"))
    superseding = owners.supersede(dave.record_id)
    personas = shelf.seen_by(owners, graph.personas)

    (supersession, move, creation), full = personas.deltas, owners.deltas
    assert [delta.delta_id for delta in full] == [supersession.delta_id, move.delta_id, creation.delta_id]
    assert supersession.after == {"superseded_by": None} != full[0].after
    assert move.before == {"node_id": None, "node_path": None} != full[1].before
    assert move.after["node_id"] == str(graph.node("Work/Legal"))
    assert "Work" not in str(move.after["node_path"])
    assert creation.after["node_id"] is None
    states = (personas.at(), personas.at(move.changed_at - MICROSECOND), personas.at(superseding.changed_at))
    assert [then["superseded_by"] for then in states] == [None, None, None]
    assert [then["node_id"] is None for then in states] == [False, True, False]
    for text in ("Marketing", "Family", "Dave", str(graph.node("Work/Marketing")), str(dave.record_id)):
        assert text not in str([(delta.before, delta.after) for delta in (supersession, move)])
    assert owners.at(move.changed_at - MICROSECOND)["node_path"].endswith("Work/Marketing")
    question = Question("campaign")
    answer = search(personas.here.acting_for(graph.personas).using(embedder=personas.embedder), question)
    assert personas.record_id not in {hit.record_id for hit in answer.hits}
