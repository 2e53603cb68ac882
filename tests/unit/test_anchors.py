"""Selection of nodes to search, from shells and gathered signs."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurigraph_pipelines.retrieval.index.shells import Shells
from neurigraph_pipelines.retrieval.query.gathering import Gathered, GraphView, QueryEmbedding
from neurigraph_pipelines.retrieval.query.node_scores import Bounds, score_nodes
from neurigraph_pipelines.retrieval.query.parse import parse
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.select import Anchor, nodes_if_all, select_nodes
from neurigraph_pipelines.retrieval.query.words import WordCounts, shares_in_shells

OPEN = Bounds(within=None, nodes=50, passages=5_000, records=10)


@dataclass(frozen=True)
class Node:
    """One shell; ``above`` is the place of the node above it, its own for a root."""

    name: str
    records: int = 1
    passages: int = 10
    above: int = 0
    centroid: tuple[float, float] = (0.0, 0.0)


def node_id(place: int) -> UUID:
    return UUID(int=place + 1)


def shells_of(nodes: Sequence[Node], edges: Sequence[tuple[int, int]] = (), *, are_told: bool = True) -> Shells:
    """As ``neurigraph.search_gate`` sends them, in the order of their ids; the first is the root."""
    return Shells(
        {
            "data_version": "1",
            "model": "words",
            "speakers": None,
            "languages": None,
            "node_ids": b"".join(node_id(place).bytes for place in range(len(nodes))) or None,
            "parents": b"".join(node_id(node.above).bytes for node in nodes) or None,
            "node_names": [node.name for node in nodes] or None,
            "aliases": [None, *("" for _ in nodes[1:])] if nodes else None,
            "counts": b"".join(struct.pack(">ii", n.records, n.passages) for n in nodes) or None,
            "versions": ["7" for _ in nodes] or None,
            "centroids": b"".join(b"\0\2\0\0" + struct.pack(">ee", *n.centroid) for n in nodes) if are_told else None,
            "edges": b"".join(node_id(place).bytes for edge in edges for place in edge) or None,
            "shell_stems": None,
            "disagrees": False,
        }
    )


@dataclass(frozen=True)
class Said:
    """A question, and what is found of it.

    Attributes:
        begins: Its lexemes, of which names may begin with one.
        content: Of each of its lexemes, how many passages of which nodes hold it.
        words: How much of it stands in the shells of which nodes.
        rarities: Of each lexeme; of one only where none are given.
    """

    query: str = ""
    begins: Sequence[str] = ()
    content: Sequence[Mapping[int, int]] = ()
    words: Mapping[int, float] = field(default_factory=dict)
    rarities: Sequence[float] = (1.0,)
    route: Sequence[float] | None = None

    @property
    def counts(self) -> WordCounts:
        """Where the lexemes occur; the numbers of the nodes are their places."""
        found = [(lexeme, *one) for lexeme, nodes in enumerate(self.content) for one in nodes.items()]
        return WordCounts(np.array(self.rarities), *np.array(found, np.intp).reshape(-1, 3).T)

    @property
    def word_bytes(self) -> bytes | None:
        """The column ``words`` of ``neurigraph.search_gate``."""
        words = b"".join(node_id(place).bytes + struct.pack(">f", score) for place, score in self.words.items())
        return words or None


def anchors(shells: Shells, said: Said, bounds: Bounds = OPEN) -> list[Anchor]:
    route = np.array(said.route, np.float32) if said.route is not None else None
    scores = score_nodes(shells, said.query, said.begins, route, bounds)
    view = GraphView(shells, (), QueryEmbedding(said.query), False, bounds, scores)
    in_shells = shares_in_shells(shells, said.word_bytes, [])
    gathered = Gathered(parse(Question(said.query or "?"), "english"), view, in_shells)
    found = select_nodes(gathered, said.counts)
    everything = nodes_if_all(gathered)
    assert everything is None or everything == sorted(one.number for one in found), "it is known beforehand"
    return found


def places(shells: Shells, said: Said, bounds: Bounds = OPEN) -> list[int]:
    return [UUID(anchor.node_id).int - 1 for anchor in anchors(shells, said, bounds)]


TREE = (
    Node("bob", records=0),
    Node("Family", centroid=(1, 0)),
    Node("Dave", above=1, centroid=(0.6, 0.8)),
    Node("Work", records=3, centroid=(0, 1)),
)


def test_edges_follow_full_names_only() -> None:
    nodes = shells_of(TREE, [(1, 2), (3, 1)])
    assert {a.path: a.reason for a in anchors(nodes, Said("family"))} == {
        "bob/Family": "name",
        "bob/Family/Dave": "edge",
        "bob/Work": "edge",
    }
    assert sorted(a.score for a in anchors(nodes, Said(begins=["famil"]))) == [0, 0, 0.6]


def test_rare_words_weigh_most() -> None:
    shells = shells_of(TREE)
    # The third word stands almost everywhere, and speaks for no node.
    said = Said(content=[{1: 1}, {2: 1, 3: 3}], rarities=(3.0, 1.0, 0.1))
    found = {anchor.path.rpartition("/")[2]: anchor.score for anchor in anchors(shells, said)}
    assert found == pytest.approx({"Family": 3 / 4 / 2 / 2, "Work": 1 / 4 * 3 / 4 / 2, "Dave": 1 / 4 / 2 / 2})
    twice = Said(content=[{1: 2}, {1: 5}], rarities=(3.0, 1.0))
    assert anchors(shells, twice)[0].score == pytest.approx((3 / 4 * 2 / 3 + 1 / 4 * 5 / 6) / 2)


def test_hidden_centroids_are_ignored() -> None:
    blind = shells_of(TREE, are_told=False)
    assert [anchor.score for anchor in anchors(blind, Said(route=[0, 1]))] == [0, 0, 0]


def test_many_nodes_need_evidence() -> None:
    shells = shells_of([Node("root", records=0), *(Node(f"n{i}", records=i) for i in range(1, 40))])
    some = Bounds(within=None, nodes=5, passages=5_000, records=4)
    assert places(shells, Said(content=[{7: 2, 9: 1}]), some) == [7, 9]
    # A bound on nodes is none on hits: what is pointed out holds too few records.
    assert places(shells, Said(content=[{2: 1}]), some) == [2, 39, 38, 37, 36]
    # An exact name leads, and no centroid.
    nodes = [Node("root", records=0), *(Node(f"n{i}", 9, centroid=(i / 40, 1)) for i in range(1, 40))]
    near = shells_of([*nodes, Node("Harbour", 9)])
    assert places(near, Said("the harbour", route=(0, 1)), some) == [40]
    assert len(places(near, Said("the harbor", route=(0, 1)), some)) == 5


def test_very_many_nodes_use_estimates() -> None:
    random = np.random.default_rng(0)
    angles = random.uniform(0, np.pi / 2, 300)
    nodes = [Node(f"n{i}", centroid=(float(np.cos(a)), float(np.sin(a)))) for i, a in enumerate(angles)]
    shells = shells_of([Node("root", records=0), *nodes, Node("empty")])
    few = Bounds(within=None, nodes=5, passages=5_000, records=1)
    nearest = anchors(shells, Said(route=[np.cos(0.7), np.sin(0.7)]), few)
    assert all(anchor.score > 0.45 for anchor in nearest)
    assert len(nearest) == 5


def equal_nodes(count: int, passages: int = 100) -> list[Node]:
    return [Node("root", records=0, passages=0), *(Node(f"n{i}", records=10, passages=passages) for i in range(count))]


def test_less_is_searched_of_larger_graphs() -> None:
    bounds = Bounds(within=None, nodes=50, passages=1_500, records=10)
    searched = [len(places(shells_of(equal_nodes(count)), Said(), bounds)) for count in (15, 16, 20, 30, 49)]
    assert searched == [15, 15, 11, 3, 3], "all, and then less and less, to a fifth"


@pytest.mark.parametrize(("honest", "least"), [(40, 40), (49, 37)])
def test_flooded_node_leaves_room_for_others(honest: int, least: int) -> None:
    """A flood that the question names first takes a fair share of what is searched, however large it is."""
    nodes = equal_nodes(honest)
    flood = Node("flood", records=400, passages=20_000)
    said = Said("What is in the flood?", content=[{honest + 1: 900}], words={honest + 1: 1.0})
    found = places(shells_of([*nodes, flood]), said)
    assert found[0] == honest + 1
    assert len(found) - 1 >= least


def test_empty_nodes_do_not_count_as_many() -> None:
    nodes = [*(Node(f"empty {number}", records=0) for number in range(6)), Node("Work"), Node("Family")]
    bounds = Bounds(within=None, nodes=2, passages=100, records=1)
    assert sorted(places(shells_of(nodes), Said("work"), bounds)) == [6, 7]


@given(
    nodes=st.lists(
        st.builds(
            Node,
            name=st.text(max_size=4),
            records=st.integers(0, 5),
            passages=st.integers(0, 50),
            centroid=st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.0, -0.5, 1.0])),
        ),
        max_size=40,
    ),
    content=st.dictionaries(st.integers(0, 60), st.integers(1, 1_000), max_size=20),
    most=st.integers(1, 30),
    wanted=st.integers(1, 50),
)
def test_bounds_keep_all_hits(nodes: list[Node], content: dict[int, int], most: int, wanted: int) -> None:
    bounds = Bounds(within=None, nodes=most, passages=100, records=wanted)
    held_by = {node: passages for node, passages in content.items() if node < len(nodes)}
    found = anchors(shells_of(nodes), Said(content=[held_by], route=[1, 1]), bounds)
    searched = [nodes[UUID(anchor.node_id).int - 1] for anchor in found]
    assert len({anchor.node_id for anchor in found}) == len(found)
    assert all(node.records for node in searched)
    assert [anchor.score for anchor in found] == sorted((anchor.score for anchor in found), reverse=True)
    held = sum(node.records for node in searched)
    assert held >= min(wanted, sum(node.records for node in nodes)), "as many as are wanted, if there are"
    if len(searched) > most:
        assert held - searched[-1].records < wanted, "more nodes only where hits were missing"
