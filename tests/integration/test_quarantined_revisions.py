"""Quarantine of revisions: memories show what they were before them, and a release shows them again."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from neurigraph_pipelines.access.authentication import authenticate
from neurigraph_pipelines.graph.history import history, record_at
from neurigraph_pipelines.graph.moving import move_records
from neurigraph_pipelines.graph.reshaping import merge_nodes
from neurigraph_pipelines.ingestion.healing import heal_pending
from neurigraph_pipelines.ingestion.revision import Revision, revise, supersede
from neurigraph_pipelines.lifecycle.quarantine.holding import quarantine, release
from neurigraph_pipelines.lifecycle.quarantine.rules import QuarantineRule, preview
from neurigraph_pipelines.lifecycle.verification import verify
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import ForbiddenError
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.hidden_memories import context, derived, seen
from tests.support.shared_graph import SharedGraph, new_shared_graph

LIES = ("zyxgrub", "Mallory", "bribery")
TROUT, ZANZIBAR, CAMPAIGN = "Family/Dave", "Work", "Work/Marketing"


@pytest.fixture
def graph(shared_installation: Installation) -> SharedGraph:
    return new_shared_graph(shared_installation)


@pytest.fixture
def thief(graph: SharedGraph) -> Claims:
    return authenticate(graph.installation.database, graph.key())


def memory(graph: SharedGraph, record_id: UUID) -> dict[str, Any]:
    return record_at(graph.installation.database, graph.owners, record_id).model_dump()


def lies_in(text: str) -> set[str]:
    return {word for word in LIES if word.casefold() in text.casefold()}


def revised(graph: SharedGraph, thief: Claims) -> tuple[UUID, UUID, UUID]:
    """Let the key change three honest memories: words of one, the current one of two, and the node of the third."""
    (trout, _), (zanzibar, _), (campaign, _) = map(graph.record_of, (TROUT, ZANZIBAR, CAMPAIGN))
    here = graph.installation
    words = Revision(
        title="Mallory's trout",
        summary="Mallory says zyxgrub caught the trout.",
        entities=["Mallory"],
        topics=["bribery"],
    )
    revise(context(graph, thief), trout, words)
    supersede(here.database, thief, zanzibar, campaign)
    move_records(here.database, thief, [campaign], graph.node("Family"))
    return trout, zanzibar, campaign


def without_history(graph: SharedGraph) -> dict[str, list[str]]:
    return {name: found for name, found in derived(graph).items() if name != "delta_log"}


def test_revisions_are_undone_and_come_back(graph: SharedGraph, thief: Claims) -> None:
    here, honest = graph.installation, without_history(graph)
    chosen = [graph.record_of(path)[0] for path in (TROUT, ZANZIBAR, CAMPAIGN)]
    first = [memory(graph, record_id) for record_id in chosen]
    records = revised(graph, thief)
    lied, log = without_history(graph), derived(graph)["delta_log"]
    states = [memory(graph, record_id) for record_id in records]
    assert lies_in(seen(graph, graph.owners)) == set(LIES), "the test looks where they are"
    assert honest != lied
    met = preview(here.database, graph.owners, QuarantineRule(key_id=thief.key_id))
    assert (met.record_count, met.revision_count, set(met.revised_record_ids)) == (0, 3, set(records))
    held = quarantine(context(graph), QuarantineRule(key_id=thief.key_id), "a stolen key")
    assert (held.record_count, held.revision_count) == (0, 3)
    assert lies_in(seen(graph, graph.owners)) == set(), "neither in the memories nor in their history"
    said = [{**memory(graph, record_id), "delta_id": None, "changed_at": None} for record_id in records]
    kept = [{**one, "delta_id": None, "changed_at": None} for one in first]
    for one in (*said, *kept):
        for name in ("embedding_model", "embedding_pending"):  # the vector of the first summary is gone, and follows
            one.pop(name)
    for now, then in zip(said, kept, strict=True):
        assert now == then
    hits = {hit.record_id for hit in search(context(graph), Question("Zanzibar")).hits}
    assert records[1] in hits, "what was superseded is current"
    assert heal_pending(context(graph), user_id=graph.owner.user_id).records == 1
    assert verify(context(graph), user_id=graph.owner.user_id).findings == []
    released = release(context(graph), held.quarantine_id)
    assert (
        released.revision_count,
        [memory(graph, record_id) | {"delta_id": 0, "changed_at": 0} for record_id in records],
    ) == (
        0,
        [state | {"delta_id": 0, "changed_at": 0} for state in states],
    )
    assert set(log) <= set(derived(graph)["delta_log"]), "nothing is taken out of the history"
    authors = {one.authored_by for record in records for one in history(here.database, graph.owners, record)}
    assert f"quarantine:{held.quarantine_id}" in authors, "what was undone and done again is logged"
    assert verify(context(graph), user_id=graph.owner.user_id).findings == []


def test_a_release_restores_every_row(graph: SharedGraph, thief: Claims) -> None:
    revised(graph, thief)
    lied = without_history(graph)
    held = quarantine(context(graph), QuarantineRule(key_id=thief.key_id), "a stolen key")
    assert without_history(graph) != lied
    release(context(graph), held.quarantine_id)
    assert without_history(graph) == lied, "vectors, times of supersession, shells and statistics, too"


def test_later_changes_of_the_owner_stay(graph: SharedGraph, thief: Claims) -> None:
    trout, _, _ = revised(graph, thief)
    revise(context(graph), trout, Revision(title="Dave's trout"))
    rule = QuarantineRule(key_id=thief.key_id)
    held = quarantine(context(graph), rule, "a stolen key")
    now = memory(graph, trout)
    assert now["title"] == "Dave's trout"
    assert lies_in(str(now)) == set()
    revise(context(graph), trout, Revision(summary="Dave caught one trout."))
    release(context(graph), held.quarantine_id)
    now = memory(graph, trout)
    assert (now["title"], now["summary"]) == ("Dave's trout", "Dave caught one trout.")
    assert now["topics"] == ["bribery"], "which nobody changed since"


def test_two_quarantines_of_one_memory(graph: SharedGraph, thief: Claims) -> None:
    """Whatever order they come and go in, a memory shows what its visible changes make of it."""
    (trout, _), second = graph.record_of(TROUT), authenticate(graph.installation.database, graph.key())
    before = str(memory(graph, trout)["title"])
    revise(context(graph, thief), trout, Revision(title="First lie"))
    revise(context(graph, second), trout, Revision(title="Second lie"))
    first_rule, second_rule = QuarantineRule(key_id=thief.key_id), QuarantineRule(key_id=second.key_id)
    one = quarantine(context(graph), first_rule, "first")
    assert memory(graph, trout)["title"] == "Second lie"
    other = quarantine(context(graph), second_rule, "second")
    assert memory(graph, trout)["title"] == before
    release(context(graph), one.quarantine_id)
    assert memory(graph, trout)["title"] == "First lie"
    assert "Second" not in seen(graph, graph.owners)
    release(context(graph), other.quarantine_id)
    assert memory(graph, trout)["title"] == "Second lie"


def test_a_key_in_quarantine_changes_nothing(graph: SharedGraph, thief: Claims) -> None:
    here, (trout, _), (zanzibar, _) = graph.installation, graph.record_of(TROUT), graph.record_of(ZANZIBAR)
    held = quarantine(context(graph), QuarantineRule(key_id=thief.key_id), "a stolen key")
    changes = (
        lambda caller: revise(context(graph, caller), trout, Revision(title="Changed")),
        lambda caller: supersede(here.database, caller, zanzibar, trout),
        lambda caller: move_records(here.database, caller, [zanzibar], graph.node("Family")),
    )
    before = derived(graph)
    for change in changes:
        with pytest.raises(ForbiddenError, match="in quarantine"):
            change(thief)
    assert derived(graph) == before
    release(context(graph), held.quarantine_id)
    for change in changes:
        change(thief)
    assert memory(graph, trout)["title"] == "Changed"


def test_changes_of_a_persona(graph: SharedGraph) -> None:
    graph.grant(CAMPAIGN, writes=True)
    campaign, _ = graph.record_of(CAMPAIGN)
    before = memory(graph, campaign)["title"]
    revise(context(graph, graph.personas), campaign, Revision(title="A lie"))
    held = quarantine(context(graph), QuarantineRule(persona_id=graph.persona_id), "a persona that lies")
    assert memory(graph, campaign)["title"] == before
    release(context(graph), held.quarantine_id)
    assert memory(graph, campaign)["title"] == "A lie"


def test_memories_of_a_merged_node_stay_there(graph: SharedGraph, thief: Claims) -> None:
    campaign, _ = graph.record_of(CAMPAIGN)
    merge_nodes(graph.installation.database, thief, graph.node(CAMPAIGN), graph.node("Family"))
    held = quarantine(context(graph), QuarantineRule(key_id=thief.key_id), "a stolen key")
    assert held.revision_count == 1
    assert memory(graph, campaign)["node_path"].endswith("/Family"), "its node is gone"
    release(context(graph), held.quarantine_id)
    assert verify(context(graph), user_id=graph.owner.user_id).findings == []
