"""Which nodes are searched, from shells and evidence as the database sends them."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurigraph_pipelines.retrieval.anchors import INDEXED_COST, Bounds, choose
from neurigraph_pipelines.retrieval.shells import Shells

OPEN = Bounds(within=None, nodes=50, passages=5_000, records=10)


@dataclass(frozen=True)
class Node:
    """One shell; ``above`` is the place of the node above it, its own for a root."""

    name: str
    records: int = 1
    passages: int = 10
    above: int = 0
    is_indexed: bool = False
    centroid: tuple[float, float] = (0.0, 0.0)


def node_id(place: int) -> UUID:
    return UUID(int=place + 1)


def shells_of(nodes: Sequence[Node], *, are_told: bool = True) -> Shells:
    """As ``neurigraph.evidence`` sends them, in the order of their ids."""
    return Shells(
        {
            "data_version": "1",
            "speakers": None,
            "node_ids": b"".join(node_id(place).bytes for place in range(len(nodes))) or None,
            "parents": b"".join(node_id(node.above).bytes for node in nodes) or None,
            "node_names": [node.name for node in nodes] or None,
            "counts": b"".join(struct.pack(">iii", n.records, n.passages, n.is_indexed) for n in nodes) or None,
            "versions": [None if node.is_indexed else "7" for node in nodes] or None,
            "centroids": b"".join(b"\0\2\0\0" + struct.pack(">ee", *n.centroid) for n in nodes) if are_told else None,
        }
    )


def evidence(
    *,
    named: Mapping[int, float] | None = None,
    linked: Sequence[int] = (),
    content: Mapping[int, float] | None = None,
    shells: Mapping[int, float] | None = None,
    corpus: int = 0,
) -> dict[str, Any]:
    def packed(scores: Mapping[int, float] | None) -> bytes | None:
        return b"".join(node_id(p).bytes + struct.pack(">f", score) for p, score in (scores or {}).items()) or None

    return {
        "named": packed(named),
        "linked": packed(dict.fromkeys(linked, 0.6)),
        "content": packed(content),
        "shells": packed(shells),
        "corpus_passages": corpus,
    }


def places(
    shells: Shells, said: dict[str, Any], route: Sequence[float] | None = None, bounds: Bounds = OPEN
) -> list[int]:
    vector = np.array(route, np.float32) if route is not None else None
    return [UUID(anchor.node_id).int - 1 for anchor in choose(shells, said, vector, bounds)]


TREE = (
    Node("bob", records=0),
    Node("Family", centroid=(1, 0)),
    Node("Dave", above=1, centroid=(0.6, 0.8)),
    Node("Work", records=3, centroid=(0, 1)),
)


def test_a_few_nodes_are_all_searched_and_what_speaks_for_one_puts_it_first() -> None:
    shells = shells_of(TREE)
    assert sorted(places(shells, evidence())) == [1, 2, 3], "a node without records has nothing to search"
    assert places(shells, evidence(named={2: 1.0}))[0] == 2
    assert places(shells, evidence(content={1: 0.9}))[0] == 1
    assert places(shells, evidence(), route=(0, 2))[0] == 3
    assert places(shells, evidence())[0] == 3, "of equals the one that holds most"


def test_an_anchor_says_why_and_where() -> None:
    said = evidence(named={2: 0.8}, linked=[3], content={1: 0.5}, shells={1: 1.0})
    family, dave, work = choose(shells_of(TREE), said, np.array([1, 0], np.float32), OPEN)
    assert (dave.path, dave.version) == ("bob/Family/Dave", "7")
    assert [dave.boost, work.boost, family.boost] == pytest.approx([0.8, 0, 0])
    assert (dave.reason, work.reason, family.reason) == ("name", "edge", "words")
    assert [dave.score, work.score, family.score] == pytest.approx([0.8, 0.6, 1.0])
    (first, *_) = choose(shells_of(TREE), evidence(named={2: 0.6}), None, OPEN)
    assert (first.reason, first.boost) == ("name", 0), "the beginning of a name boosts nothing"
    (first, *_) = choose(shells_of(TREE), evidence(), np.array([0, 1], np.float32), OPEN)
    assert first.reason == "centroid"
    assert first.score == pytest.approx(0.5)


def test_centroids_that_may_not_be_told_lead_nowhere() -> None:
    blind = shells_of(TREE, are_told=False)
    assert [anchor.score for anchor in choose(blind, evidence(), np.array([0, 1], np.float32), OPEN)] == [0, 0, 0]


def test_only_what_lies_below_a_node() -> None:
    shells = shells_of(TREE)
    below = Bounds(within=shells.number(node_id(1)), nodes=50, passages=5_000, records=10)
    assert sorted(places(shells, evidence(named={3: 1.0}), bounds=below)) == [1, 2]
    assert shells.number(node_id(17)) is None


def test_many_nodes_are_searched_only_where_something_speaks_for_them() -> None:
    shells = shells_of([Node("root", records=0), *(Node(f"n{i}", records=i) for i in range(1, 40))])
    some = Bounds(within=None, nodes=5, passages=5_000, records=4)
    assert places(shells, evidence(content={7: 0.5, 9: 0.4}), bounds=some) == [7, 9]
    # A bound on nodes is none on hits: what is pointed out holds too few records.
    assert places(shells, evidence(content={2: 0.5}), bounds=some) == [2, 39, 38, 37, 36]
    # An exact name leads, and no centroid.
    near = shells_of([Node("root", records=0), *(Node(f"n{i}", 9, centroid=(i / 40, 1)) for i in range(1, 40))])
    assert places(near, evidence(named={3: 1.0}), route=(0, 1), bounds=some) == [3]
    assert len(places(near, evidence(named={3: 0.8}), route=(0, 1), bounds=some)) == 5


def test_of_very_many_nodes_the_nearest_are_found_by_an_estimate() -> None:
    random = np.random.default_rng(0)
    angles = random.uniform(0, np.pi / 2, 300)
    nodes = [Node(f"n{i}", centroid=(float(np.cos(a)), float(np.sin(a)))) for i, a in enumerate(angles)]
    shells = shells_of([Node("root", records=0), *nodes, Node("empty")])
    few = Bounds(within=None, nodes=5, passages=5_000, records=1)
    nearest = choose(shells, evidence(), np.array([np.cos(0.7), np.sin(0.7)], np.float32), few)
    assert all(anchor.score > 0.45 for anchor in nearest)
    assert len(nearest) == 5


def test_what_does_not_fit_is_searched_half_as_much() -> None:
    shells = shells_of([Node("root", records=0), *(Node(f"n{i}", records=10, passages=100) for i in range(30))])
    bounds = Bounds(within=None, nodes=50, passages=1_000, records=10)
    assert len(places(shells, evidence(corpus=1_000), bounds=bounds)) == 10
    assert len(places(shells, evidence(corpus=1_001), bounds=bounds)) == 5
    indexed = shells_of([Node("root", 0), *(Node(f"n{i}", 10, 50_000, is_indexed=True) for i in range(30))])
    bounds = Bounds(within=None, nodes=50, passages=4 * INDEXED_COST, records=10)
    assert len(places(indexed, evidence(), bounds=bounds)) == 4
    assert {anchor.version for anchor in choose(indexed, evidence(), None, bounds)} == {None}


def test_no_node_is_no_anchor() -> None:
    assert choose(shells_of(()), evidence(named={4: 1.0}), np.array([0, 1], np.float32), OPEN) == []


@given(
    nodes=st.lists(
        st.builds(
            Node,
            name=st.text(max_size=4),
            records=st.integers(0, 5),
            passages=st.integers(0, 50),
            is_indexed=st.booleans(),
            centroid=st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.0, -0.5, 1.0])),
        ),
        max_size=40,
    ),
    content=st.dictionaries(st.integers(0, 60), st.floats(0, 1, width=32), max_size=20),
    most=st.integers(1, 30),
    wanted=st.integers(1, 50),
)
def test_bounds_hold_and_never_cost_a_hit(nodes: list[Node], content: dict[int, float], most: int, wanted: int) -> None:
    bounds = Bounds(within=None, nodes=most, passages=100, records=wanted)
    found = choose(shells_of(nodes), evidence(content=content, corpus=50), np.array([1, 1], np.float32), bounds)
    searched = [nodes[UUID(anchor.node_id).int - 1] for anchor in found]
    assert len({anchor.node_id for anchor in found}) == len(found)
    assert all(node.records for node in searched)
    assert [anchor.score for anchor in found] == sorted((anchor.score for anchor in found), reverse=True)
    held = sum(node.records for node in searched)
    assert held >= min(wanted, sum(node.records for node in nodes)), "as many as are wanted, if there are"
    if len(searched) > most:
        assert held - searched[-1].records < wanted, "more nodes only where hits were missing"
