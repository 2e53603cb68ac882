"""Links of a fact that are computed when somebody asks: nothing is stored, and nobody sees more than both ends."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.inbox.privacy import set_privacy
from neurigraph_pipelines.knowledge.computed_links import MAX_COMPUTED, MAX_SIMILAR, computed_links
from neurigraph_pipelines.model import Claims, GrantType, Privacy, SubjectType
from neurigraph_pipelines.model.errors import NotFoundError
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.graphs import Graph, new_graph
from tests.support.linked_facts import links_of, plant_fact
from tests.support.memories import rows

DAY = datetime(2026, 5, 1, tzinfo=UTC)


def on(day: int) -> tuple[datetime, datetime]:
    return DAY + timedelta(days=day), DAY + timedelta(days=day + 1)


def name(graph: Graph, record_id: UUID, node_id: UUID) -> None:
    """Let the first message of a memory mention a node."""
    with graph.here.database.owner() as tx:
        tx.execute(
            "INSERT INTO neurigraph.mentions (user_id, record_id, node_id, role, messages, detected_by) "
            "VALUES (%s, %s, %s, 'mention', '{1}', 'rule')",
            [graph.user.user_id, record_id, node_id],
        )


def found(graph: Graph, fact_id: UUID, claims: Claims | None = None) -> dict[str, list[Any]]:
    """Which ends each relation has, by their texts."""
    page = computed_links(graph.here.acting_for(claims or graph.claims), fact_id)
    ends: dict[str, list[Any]] = {}
    for one in page.links:
        assert (one.link_id, one.verdict, one.attest) == (None, "unverified", "unsigned")
        other = one.to_text if one.direction == "out" else f"by {one.from_text}"
        ends.setdefault(one.relation, []).append(other)
    return ends


@pytest.fixture
def told(shared_installation: Installation) -> tuple[Graph, dict[str, UUID], list[UUID]]:
    """Facts of four memories in two nodes, three of which mention one node."""
    graph = new_graph(shared_installation)
    records = graph.remember("#Work/Chairs One.", "#Work/Chairs Two.", "#Home/Garden Three.", "#Home/Garden Four.")
    places = rows(graph.here, "SELECT node_id, record_id FROM neurigraph.record_index WHERE user_id = %s",
                  graph.user.user_id)  # fmt: skip
    (node,) = {row["node_id"] for row in places if row["record_id"] == records[0]}
    for record_id in records[:3]:
        name(graph, record_id, node)
    said = {
        "asked": (0, "Ana sold four oak chairs.", on(10)), "same day": (1, "It rained all day.", on(10)),
        "before": (1, "Ana built oak chairs.", on(3)), "long before": (2, "Ana bought oak.", on(1)),
        "again": (2, "Ana built oak chairs.", on(3)), "the same": (1, "Ana sold four oak chairs!", on(10)),
        "after": (2, "The market closed.", on(12)), "elsewhere": (3, "Ana sold four oak chairs again.", on(10)),
    }  # fmt: skip
    facts = {
        key: plant_fact(graph.here, records[number], text, occurred=when) for key, (number, text, when) in said.items()
    }
    return graph, facts, list(records)


def test_what_a_fact_has_to_do_with(told: tuple[Graph, dict[str, UUID], list[UUID]]) -> None:
    graph, facts, _ = told
    ends = found(graph, facts["asked"])
    assert ends["owned_by"][0].endswith("Work/Chairs")
    assert len(ends["mentioned_in"]) == 1
    assert set(ends["relates_to"]) == {
        "It rained all day.", "Ana built oak chairs.", "Ana bought oak.", "The market closed.",
    }  # fmt: skip
    assert ends["cooccurred_with"] == ["It rained all day."], "what mentions nothing of it is elsewhere"
    assert ends["preceded_by"] == ["Ana built oak chairs.", "by The market closed."]
    assert ends["similar_to"] == ["Ana built oak chairs."]
    assert links_of(graph.here, graph.user.user_id) == [], "nothing is stored"
    page = computed_links(graph.here.acting_for(graph.claims), facts["asked"], "preceded_by")
    assert [one.forward for one in page.links] == ["came after"] * 2
    with pytest.raises(NotFoundError):
        computed_links(graph.here.acting_for(graph.claims), uuid4())


def test_few_are_computed(told: tuple[Graph, dict[str, UUID], list[UUID]]) -> None:
    graph, facts, records = told
    for colour in (
        "red",
        "blue",
        "green",
        "white",
        "black",
        "brown",
        "grey",
        "pink",
        "yellow",
        "orange",
        "violet",
        "gold",
    ):
        plant_fact(graph.here, records[1], f"Ana sold four {colour} oak chairs.", occurred=on(10))
    ends = found(graph, facts["asked"])
    assert {relation: len(ends[relation]) for relation in ("relates_to", "cooccurred_with", "similar_to")} == {
        "relates_to": MAX_COMPUTED, "cooccurred_with": MAX_COMPUTED, "similar_to": MAX_SIMILAR,
    }  # fmt: skip


def test_others_see_no_more_than_both_ends(told: tuple[Graph, dict[str, UUID], list[UUID]]) -> None:
    graph, facts, records = told
    here = graph.here
    (row,) = rows(here, "SELECT node_id FROM neurigraph.record_index WHERE record_id = %s", records[0])
    reader = Claims("reader", "third_party", graph.user.user_id)
    subject = sharing.Subject(SubjectType.THIRD_PARTY, "reader")
    with pytest.raises(NotFoundError):
        found(graph, facts["asked"], reader)
    sharing.grant(here.database, graph.claims, subject, row["node_id"], GrantType.READ)
    ends = found(graph, facts["asked"], reader)
    assert set(ends["relates_to"]) == {"It rained all day.", "Ana built oak chairs."}
    assert ends["preceded_by"] == ["Ana built oak chairs."]
    (source,) = rows(here, "SELECT source_id AS id FROM neurigraph.record_index "
                     "WHERE record_id = %s", records[1])  # fmt: skip
    set_privacy(here.database, graph.claims, source["id"], Privacy.PRIVATE)
    ends = found(graph, facts["asked"], reader)
    assert {"relates_to", "cooccurred_with", "preceded_by", "similar_to"}.isdisjoint(ends)
    assert "relates_to" in found(graph, facts["asked"])
