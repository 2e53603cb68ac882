"""Links between memories: what the database accepts, and what becomes of them when their ends change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import psycopg
import pytest

from neurigraph_pipelines.graph.reshaping import merge_nodes
from neurigraph_pipelines.lifecycle.erasure.receipts import SubjectKind
from neurigraph_pipelines.lifecycle.verification import verify
from neurigraph_pipelines.model.links import LinkEnd
from neurigraph_pipelines.views.kinds import EndKind
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.erasures import erase
from tests.support.graphs import Graph, new_graph
from tests.support.linked_facts import inferred, link, links_of, plant_fact

MAY = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.fixture
def graph(shared_installation: Installation) -> Graph:
    return new_graph(shared_installation)


def test_links_of_a_graph(graph: Graph) -> None:
    here, user = graph.here, graph.user.user_id
    office, move = graph.remember("#Work/Office The office was too small.", "#Work/Move We moved to Porto.")
    small = plant_fact(here, office, "The office was too small.", occurred=(MAY, MAY + timedelta(days=1)))
    moved = plant_fact(here, move, "We moved.", occurred=(MAY + timedelta(days=9), MAY + timedelta(days=10)))
    later = plant_fact(here, move, "The lease ended.", occurred=(MAY + timedelta(days=20), None))

    (cause,) = link(here, user, inferred(small, moved, "led_to", messages=(3, 1)))
    (row,) = links_of(here, user)
    assert (row["relation"], row["from_id"], row["to_id"]) == ("caused_by", moved, small), "an effect names its cause"
    assert (row["from_record_id"], row["to_record_id"]) == (move, office)
    assert link(here, user, inferred(moved, small, "caused_by")) == [cause], "said already"
    # Neither cycles nor causes from the future; the others of a batch are written all the same.
    written = link(
        here,
        user,
        inferred(small, moved, "caused_by"),
        inferred(moved, later, "caused_by"),
        inferred(small, later, "contradicts"),
        inferred(later, small, "contradicts"),
        inferred(later, uuid4(), "supports"),
        inferred(later, small, "no name"),
        inferred(later, LinkEnd(EndKind.NODE, graph.node("Work/Office")), "mentioned_in"),
    )
    found = {row["link_id"]: row for row in links_of(here, user)}
    assert [found[one]["relation"] for one in written] == ["contradicts", "contradicts", "mentioned_in"]
    assert written[0] == written[1], "a symmetric relation has no direction"
    assert set(found) == {cause, *written}

    # What somebody rejected is not inferred again, from either end.
    reject = "UPDATE neurigraph.links SET verdict = 'rejected', verdict_by = 'user:x', verdict_at = now()"
    with here.database.pipeline() as tx:
        tx.execute(f"{reject} WHERE link_id = %s", [written[0]])
    assert link(here, user, inferred(later, small, "contradicts", observed_by="model:x")) == []
    # Times that turn out otherwise reject a cause, which can be stated again when it does not stand in the way.
    with here.database.pipeline() as tx:
        tx.execute("UPDATE neurigraph.facts SET occurred = '[2026-07-01,)' WHERE fact_id = %s", [small])
    (rejected,) = [row for row in links_of(here, user) if row["link_id"] == cause]
    assert (rejected["verdict"], rejected["verdict_by"]) == ("rejected", "pipeline:times")
    assert verify(here.context, user_id=user, read=False).findings == []

    # A link to a merged node leads to its successor; links go with their ends.
    merge_nodes(here.database, graph.claims, graph.node("Work/Office"), graph.node("Work/Move"))
    (mention,) = [row for row in links_of(here, user) if row["relation"] == "mentioned_in"]
    assert mention["to_node_id"] == graph.node("Work/Move")
    erased = erase(here, graph.claims, SubjectKind.RECORD, office)
    assert erased.erased["links"] == 2, "the cause and the contradiction"
    assert [row["link_id"] for row in links_of(here, user)] == [mention["link_id"]]
    graph.check()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"relation": "supersedes"}, "the chain says it"),
        ({"relation": "led_to"}, "it is stored from its other end"),
        ({"relation": "talks with"}, "no name of a relation"),
        ({"to_record_id": True}, "two targets"),
        ({"to_fact_id": None}, "no target"),
        ({"to_fact_id": "same"}, "a link to itself"),
        ({"strength": 1.5}, "too strong"),
        ({"verdict": "confirmed"}, "nobody confirmed it"),
        ({"signature": b"x" * 64}, "a signature without a key"),
        ({"user_id": "other"}, "another user's"),
    ],
)
def test_rejected_rows(planted: tuple[Graph, UUID, UUID, UUID], change: dict[str, object], why: str) -> None:
    graph, record, first, second = planted
    row: dict[str, object] = {
        "user_id": graph.user.user_id,
        "from_fact_id": first,
        "to_fact_id": second,
        "relation": "supports",
        "strength": 0.5,
        "confidence": 0.5,
        "observed_by": "rule:test",
        "detected_by": "rule",
    } | change
    if row.get("to_record_id"):
        row["to_node_id"] = graph.user.root_node_id
        del row["to_record_id"]
    if row["to_fact_id"] == "same":
        row["to_fact_id"] = first
    if row["user_id"] == "other":
        row["user_id"] = new_graph(graph.here).user.user_id
    statement = "INSERT INTO neurigraph.links ({}) VALUES ({})".format(
        ", ".join(row), ", ".join(f"%({name})s" for name in row)
    )
    with (
        pytest.raises((psycopg.errors.IntegrityError, psycopg.errors.RaiseException)),
        graph.here.database.pipeline() as tx,
    ):
        tx.execute(statement, row)
    assert record


@pytest.fixture(scope="module")
def planted(shared_installation: Installation) -> tuple[Graph, UUID, UUID, UUID]:
    graph = new_graph(shared_installation)
    (record,) = graph.remember("#Work/Office The office was too small.")
    first, second = (plant_fact(graph.here, record, text) for text in ("It is small.", "It is full."))
    assert link(graph.here, graph.user.user_id, inferred(first, second, "supports")), "the same row is accepted"
    return graph, record, first, second
