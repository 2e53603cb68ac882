"""Records that end and deny relations: evidence of edges that exist."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from neurigraph_pipelines.lifecycle.verification import verify
from neurigraph_pipelines.model import Outline, Placement, Segment
from neurigraph_pipelines.wiring.installation import Installation
from resources.offline.names import find_names
from resources.offline.prose import Prose
from tests.support.erasures import RECORD, erase
from tests.support.graphs import Graph, new_graph
from tests.support.memories import PlainModel, converse, ingest, plain_context, rows


class _Model(PlainModel):
    """Places as the tags in a text say, and reads endings by the offline rules."""

    name = "offline"

    def place(self, segment: Segment, outline: Outline) -> list[Placement]:
        endings = find_names(Prose(segment)).endings
        return [replace(one, endings=endings) for one in super().place(segment, outline)]


def remember(graph: Graph, *texts: str) -> Sequence[Any]:
    for text in texts:
        converse(graph.here, graph.claims, text)
        ingest(plain_context(graph.here).using(language_model=_Model()), graph.user)
    return rows(
        graph.here,
        "SELECT record_id FROM neurigraph.record_index WHERE user_id = %s ORDER BY created_at DESC",
        graph.user.user_id,
    )


def evidence(graph: Graph, stance: str) -> list[dict[str, Any]]:
    return rows(
        graph.here,
        """SELECT f.node_name AS whose, g.node_name AS other, v.relation, v.detected_by, v.valid_until, v.messages
        FROM neurigraph.edge_evidence AS v INNER JOIN neurigraph.graph_index AS g ON v.to_node_id = g.node_id
        INNER JOIN neurigraph.graph_index AS f ON v.from_node_id = f.node_id
        WHERE v.user_id = %s AND v.stance = %s::neurigraph.stance ORDER BY f.node_name""",
        graph.user.user_id,
        stance,
    )


def test_endings_are_evidence_of_edges_that_exist(shared_installation: Installation) -> None:
    graph = new_graph(shared_installation)
    remember(
        graph,
        "#Family/Dave Dave likes boats.",
        "#Work/Northwind Northwind makes sails.",
        "#Work The office is cold. @Dave:boss",
        "#Sailing The sea is cold. @Dave:boss",
        "#Family/Dave Dave sews sails. @Northwind:employer",
    )
    assert evidence(graph, "ends") == evidence(graph, "denies") == []
    found = remember(
        graph, "#Notes today. Dave is no longer my boss. Clara is not my sister. Dave left Northwind in 2020."
    )
    ended = [(row["whose"], row["other"], row["relation"], row["detected_by"]) for row in evidence(graph, "ends")]
    assert ended == [
        ("Dave", "Northwind", "employer", "rule"),
        ("Sailing", "Dave", "boss", "rule"),
        ("Work", "Dave", "boss", "rule"),
    ]
    assert {tuple(row["messages"]) for row in evidence(graph, "ends")} == {(1,)}
    assert evidence(graph, "denies") == [], "there is no such relation"
    remember(graph, "#Notes today. Dave is not my boss.")
    assert [row["whose"] for row in evidence(graph, "denies")] == ["Sailing", "Work"]
    assert verify(graph.here.context, user_id=graph.user.user_id, read=False).findings == []
    erase(graph.here, graph.claims, RECORD, found[0]["record_id"])
    assert evidence(graph, "ends") == [], "what a forgotten memory ended stands again"
