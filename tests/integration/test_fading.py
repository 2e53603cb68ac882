"""Decay: facts fade by their impact, what faded unneeded is archived, and a search may weigh it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from neurigraph_pipelines.knowledge import fading
from neurigraph_pipelines.knowledge.fact_values import FactState, FactWords
from neurigraph_pipelines.knowledge.linking import state_link
from neurigraph_pipelines.knowledge.reading import read_waiting
from neurigraph_pipelines.knowledge.stating import change_fact, confirm
from neurigraph_pipelines.lifecycle.verification import verify
from neurigraph_pipelines.model.links import LinkEnd, StatedLink
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.views.kinds import EndKind
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.hidden_memories import context
from tests.support.memories import converse, ingest, new_user, plain_context, rows
from tests.support.shared_graph import SharedGraph, new_shared_graph

TEXTS = ("faded", "pinned", "continued", "medium", "recent", "confirmed", "opened", "needed")


@pytest.fixture
def graph(shared_installation: Installation) -> SharedGraph:
    return new_shared_graph(shared_installation)


def facts(graph: SharedGraph) -> dict[str, dict[str, Any]]:
    """Return the facts of the texts, by what they state of the plum."""
    found = rows(
        graph.installation,
        "SELECT * FROM neurigraph.facts WHERE user_id = %s AND statement LIKE '%% plum %%' ORDER BY version",
        graph.owner.user_id,
    )
    return {row["statement"].split()[-1].rstrip("."): row for row in found}


def age(graph: SharedGraph, days: int) -> None:
    """Let days pass for all facts, and for the memories that nobody opened."""
    here = graph.installation
    nodes = rows(here, "SELECT schema_name FROM neurigraph.graph_index WHERE user_id = %s", graph.owner.user_id)
    with here.database.owner() as tx:
        tx.execute("ALTER TABLE neurigraph.facts DISABLE TRIGGER logged")
        values = {"days": days, "user_id": graph.owner.user_id}
        tx.execute(
            "UPDATE neurigraph.facts SET impact = 'low', recorded_at = recorded_at - make_interval(days => %(days)s) "
            "WHERE user_id = %(user_id)s",
            values,
        )
        tx.execute("ALTER TABLE neurigraph.facts ENABLE TRIGGER logged")
        for node in nodes:
            tx.execute(
                f'UPDATE "{node["schema_name"]}".metadata_records '
                "SET last_accessed_at = last_accessed_at - make_interval(days => %(days)s)",
                values,
            )


def test_what_is_low_and_unneeded_fades(graph: SharedGraph) -> None:
    here, act = graph.installation, context(graph)
    for text in TEXTS:
        converse(here, graph.owners, f"#Garden The plum is {text}.")
    ingest(plain_context(here), graph.owner)
    read_waiting(plain_context(here), user_id=graph.owner.user_id)
    found = facts(graph)
    change_fact(act, found["pinned"]["fact_id"], FactWords(), FactState(pinned=True))
    changed = change_fact(act, found["continued"]["fact_id"], FactWords("The plum is continued."), FactState())
    assert changed is not None
    ingest(plain_context(here), graph.owner)
    read_waiting(plain_context(here), user_id=graph.owner.user_id)
    start, end = (LinkEnd(EndKind.FACT, found[name]["fact_id"]) for name in ("medium", "needed"))
    state_link(act, StatedLink(start, end, "depends_on"))
    age(graph, 395)
    confirm(act, found["confirmed"]["fact_id"])
    _set(graph, "impact = 'medium'", found["medium"]["fact_id"])
    _set(graph, "recorded_at = now() - interval '380 days'", found["recent"]["fact_id"])
    _open(graph, found["opened"]["record_id"])

    def sweep(**options: Any) -> set[UUID]:
        return {*fading.sweep(here.context, user_id=graph.owner.user_id, **options).fact_ids}

    faded = {found["faded"]["fact_id"]}
    assert sweep(dry_run=True) >= faded
    dry = sweep(dry_run=True)
    kept = {name: found[name]["fact_id"] for name in TEXTS if name != "faded"}
    assert dry.isdisjoint(kept.values()), {name for name, one in kept.items() if one in dry}
    assert facts(graph)["faded"]["status"] == "active"
    assert sweep() == dry
    assert sweep() == set()
    assert facts(graph)["faded"]["status"] == "archived"
    (delta,) = rows(here, "SELECT * FROM neurigraph.fact_deltas WHERE fact_id = %s", found["faded"]["fact_id"])
    assert (delta["operation"], delta["authored_by"]) == ("retract", fading.AUTHOR)
    assert fading.wrongly_faded(here.context) == []
    shown = search(act, Question("plum", include_facts=True)).facts or []
    assert found["faded"]["fact_id"] not in {one.fact_id for one in shown}
    assert [hit for hit in search(act, Question("plum faded")).hits if "faded" in hit.title], "its memory stays"
    confirm(act, found["faded"]["fact_id"])
    assert facts(graph)["faded"]["status"] == "active"
    assert verify(act, user_id=graph.owner.user_id, read=False).findings == []


def test_a_search_may_weigh_age(graph: SharedGraph) -> None:
    here = graph.installation
    user, claims = new_user(here)
    converse(here, claims, "#Garden The old plum is sweet.")
    converse(here, claims, "#Garden The new plum is sweet.")
    ingest(plain_context(here), user)
    read_waiting(plain_context(here), user_id=user.user_id)
    older = "UPDATE neurigraph.facts SET recorded_at = now() - interval '730 days' WHERE statement LIKE %s RETURNING 1"
    with here.database.owner() as tx:
        tx.execute("ALTER TABLE neurigraph.facts DISABLE TRIGGER logged")
        tx.execute(older.replace(" RETURNING 1", " AND user_id = %s"), ["%The old plum%", user.user_id])
        tx.execute("ALTER TABLE neurigraph.facts ENABLE TRIGGER logged")
    question = Question("Is the old plum sweet?", include_facts=True)
    act = plain_context(here).acting_for(claims)
    plain = search(act, question).facts or []
    # Another limit, since a process keeps answers.
    weighing, again = act.using(settings=here.settings.changed(decay_weight=0.2)), replace(question, limit=9)
    weighed = search(weighing, again).facts or []
    scores = {one.statement.split()[2]: one.score for one in plain}
    faded = {one.statement.split()[2]: one.score for one in weighed}
    assert faded["new"] == pytest.approx(0.8 * scores["new"] + 0.2, abs=0.001)
    assert faded["old"] == pytest.approx(0.8 * scores["old"] + 0.05, abs=0.001), "a quarter after two years"


def _set(graph: SharedGraph, assignments: str, fact_id: UUID) -> None:
    with graph.installation.database.owner() as tx:
        tx.execute("ALTER TABLE neurigraph.facts DISABLE TRIGGER logged")
        tx.execute(f"UPDATE neurigraph.facts SET {assignments} WHERE fact_id = %s", [fact_id])
        tx.execute("ALTER TABLE neurigraph.facts ENABLE TRIGGER logged")


def _open(graph: SharedGraph, record_id: UUID) -> None:
    """Note that a memory was opened a moment ago."""
    (node,) = rows(
        graph.installation,
        """SELECT g.schema_name FROM neurigraph.record_index AS i
        INNER JOIN neurigraph.graph_index AS g ON i.node_id = g.node_id WHERE i.record_id = %s""",
        record_id,
    )
    with graph.installation.database.owner() as tx:
        tx.execute(
            f'UPDATE "{node["schema_name"]}".metadata_records SET last_accessed_at = now() WHERE record_id = %s',
            [record_id],
        )
