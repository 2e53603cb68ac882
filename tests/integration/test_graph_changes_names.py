"""Renamed nodes, and filing by former names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from neurigraph_pipelines.graph.moving import Split, split_node
from neurigraph_pipelines.graph.naming import display_name
from neurigraph_pipelines.graph.provisioning import resolve_path
from neurigraph_pipelines.graph.reshaping import merge_nodes, move_node, rename_node
from neurigraph_pipelines.model import ConceptKind, NodeCandidate, PlannedEdge, PlannedNode
from neurigraph_pipelines.model.errors import ConflictError, InvalidInputError
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.graphs import Graph, new_graph
from tests.support.memories import rows
from tests.support.witnesses import as_witness, doubt


@pytest.fixture
def graph(here: Installation) -> Graph:
    return new_graph(here)


def refused(error: type[Exception], *changes: Callable[[], object], why: str | None = None) -> None:
    for change in changes:
        with pytest.raises(error, match=why):
            change()


def test_renamed_node_has_two_names(graph: Graph) -> None:
    (record,) = graph.remember("#Family/Dave The walnut tree fell.")
    graph.remember("#Work Numbers of May.")
    here, node_id, schema = graph.here, graph.node("Family/Dave"), graph.shell("Family/Dave")["schema_name"]
    assert rename_node(here.database, graph.claims, node_id, " David  Miller ").node_path.endswith(
        "Family/David Miller"
    )
    assert graph.node("family/DAVID miller") == node_id
    assert graph.shell("Family/David Miller")["aliases"] == ["Dave"]
    assert graph.shell("Family/David Miller")["schema_name"] == schema
    for question in ("David Miller", "Dave"):
        assert graph.find(question)[record] == "Family/David Miller"
    rename_node(here.database, graph.claims, node_id, "Dave")
    assert graph.shell("Family/Dave")["aliases"] == ["David Miller"]
    graph.check()


@pytest.mark.parametrize("name", ["", " \t", "\x00", "\u200b", "x" * 121])
def test_invalid_name_is_refused(graph: Graph, name: str) -> None:
    graph.remember("#Family/Dave The walnut tree fell.")
    node_id = graph.node("Family/Dave")
    refused(
        InvalidInputError,
        lambda: rename_node(graph.here.database, graph.claims, node_id, name),
        lambda: split_node(graph.here.database, graph.claims, node_id, Split(name=name, keyword="testing")),
    )


@pytest.mark.parametrize(
    "name",
    ["x" * 120, "'; DROP SCHEMA neurigraph CASCADE; --", '"', "a/b", "%s {schema}", "👨‍👩‍👧 家族", "\ud800", "A\\B"],
)
def test_any_name_is_accepted(graph: Graph, name: str) -> None:
    (record,) = graph.remember("#Family/Dave The walnut tree fell.")
    here, node_id = graph.here, graph.node("Family/Dave")
    rename_node(here.database, graph.claims, node_id, name)
    path = graph.paths[node_id]
    assert path == f"Family/{display_name(name)}"
    assert graph.node(path) == node_id
    assert graph.find("walnut")[record] == path
    graph.check()


def test_sibling_names_are_unique(graph: Graph) -> None:
    graph.remember("#Family/Tom The walnut tree fell.", "#Family/Ana She sings.", "#Work/Tom Numbers of May.")
    here, claims = graph.here, graph.claims
    with pytest.raises(ConflictError, match="'ANA'"):
        rename_node(here.database, claims, graph.node("Family/Tom"), "ANA")
    with pytest.raises(ConflictError, match="'Tom'"):
        move_node(here.database, claims, graph.node("Work/Tom"), graph.node("Family"))
    with pytest.raises(ConflictError, match="'tom'"):
        split_node(here.database, claims, graph.node("Family/Ana"), Split(name="tom", keyword="testing", beside=True))
    rename_node(here.database, claims, graph.node("Family/Tom"), "TOM")
    assert graph.shell("Family/Tom")["aliases"] == []
    graph.check()


# Filing by names


def test_candidate_follows_its_parent(graph: Graph) -> None:
    said, _ = graph.remember("#Family/Dave The walnut tree fell.", "#Work Numbers of May.")
    here, user_id = graph.here, graph.user.user_id
    for path in (("Family", "Dave"), ("Work",)):
        edge = PlannedEdge(("Family", "Dave"), ("Work",), "likes")
        candidate = NodeCandidate("Boats", ConceptKind.TOPIC, path, 0.3, edges=(edge,))
        with here.database.pipeline() as tx:
            doubt(here, tx, user_id, as_witness(said), [candidate])
    rename_node(here.database, graph.claims, graph.node("Family"), "Kin")

    def waiting() -> list[dict[str, Any]]:
        return rows(
            here,
            "SELECT parent_path, segments, ARRAY(SELECT v.from_node_id FROM neurigraph.edge_evidence AS v "
            "WHERE v.candidate_id = c.candidate_id) AS waiting FROM neurigraph.node_candidates AS c "
            "WHERE user_id = %s AND node_name = 'Boats' ORDER BY parent_path",
            user_id,
        )

    assert [row["parent_path"] for row in waiting()] == [["Kin", "Dave"], ["Work"]]
    merge_nodes(here.database, graph.claims, graph.node("Kin/Dave"), graph.node("Work"))
    (row,) = waiting()
    assert (row["parent_path"], row["segments"]) == (["Work"], 2)
    assert row["waiting"] == [graph.node("Work")] * 2


def test_filing_by_former_name(graph: Graph) -> None:
    graph.remember("#Family/Tom The walnut tree fell.", "#Work Numbers of May.")
    here, user = graph.here, graph.user
    rename_node(here.database, graph.claims, graph.node("Family"), "Kin")
    merge_nodes(here.database, graph.claims, graph.node("Work"), graph.node("Kin"))
    with here.database.pipeline() as tx:
        for path in (("Family", "Tom"), ("Work", "Tom")):
            made = resolve_path(tx, user.user_id, user.slug, path)
            assert made.names == ("Kin", "Tom")
        planned = [PlannedNode(("Family", "Jo"), ConceptKind.TOPIC, 0.9)]
        assert resolve_path(tx, user.user_id, user.slug, ("Family", "Jo"), planned).names == ("Kin", "Jo")
    graph.check()
