"""The placement rules for one segment, against models with fixed answers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurigraph_pipelines.graph.entities import with_filings
from neurigraph_pipelines.ingestion.assign import file_segment
from neurigraph_pipelines.model import (
    MAX_LAYER_DEPTH,
    Alias,
    ConceptKind,
    Filing,
    NodeCandidate,
    NodeProposal,
    Outline,
    OutlineNode,
    Placement,
    PlannedAlias,
    PlannedEdge,
    Relation,
)
from tests.support.proposals import MARTA, outline, person, placed, segment_of, topic


def one(placement: Placement, nodes: Outline | None = None, threshold: float = 0.75) -> Filing:
    filings = file_segment(segment_of([None] * 4), [placement], nodes or Outline(), threshold)
    assert len(filings) == 1
    return filings[0]


def test_confident_steps_become_nodes() -> None:
    filing = one(placed(topic("Business"), person("Dave")))
    assert filing.path == ("Business", "Dave")
    assert [(node.path, node.kind) for node in filing.new_nodes] == [
        (("Business",), ConceptKind.TOPIC),
        (("Business", "Dave"), ConceptKind.PERSON),
    ]


@pytest.mark.parametrize("name", ["business", " BUSINESS ", "Ｂusiness", "Busi\x00ness"])
def test_existing_node_is_reused(name: str) -> None:
    filing = one(placed(topic(name, 0.0)), outline("Business"))
    assert filing.path == ("Business",)
    assert filing.new_nodes == ()


def test_alias_matches_both_ways() -> None:
    known = Outline((OutlineNode(("Work",), ConceptKind.TOPIC, aliases=("Job",)),))
    assert one(placed(topic("Job", 0.0)), known).path == ("Work",)
    assert one(placed(topic("Business", 0.0, aliases=("work",))), known).path == ("Work",)


def test_doubtful_step_files_above() -> None:
    filing = one(placed(topic("Business"), person("Dave", 0.74)))
    assert filing.path == ("Business",)
    assert "Dave" in filing.notes[0]


def test_confidence_threshold_is_inclusive() -> None:
    assert one(placed(topic("Business", 0.75))).path == ("Business",)
    assert one(placed(topic("Business", float("nan")))).path == ()


def test_doubtful_first_step_files_at_nearest_topic() -> None:
    nodes = Outline(
        (
            OutlineNode(("Home",), ConceptKind.TOPIC, keywords=("garden", "kitchen")),
            OutlineNode(("Business",), ConceptKind.TOPIC, keywords=("budget", "launch")),
        )
    )
    doubtful = topic("Finance", 0.4, keywords=("budget", "launch", "tax"))
    assert one(placed(doubtful), nodes).path == ("Business",)
    assert one(placed(topic("Astronomy", 0.4)), nodes).path == ()
    assert one(placed()).path == ()


KNOWN_DAVE = outline("Business", "Business/Dave", "Hobbies", kinds={"Business/Dave": ConceptKind.PERSON})


def test_person_in_second_topic_is_linked() -> None:
    filing = one(placed(topic("Hobbies"), person("dave")), KNOWN_DAVE)
    assert filing.path == ("Hobbies",)
    assert filing.new_nodes == ()
    assert filing.edges == (PlannedEdge(("Hobbies",), ("Business", "Dave"), "mentions"),)


def test_own_relations_belong_to_topic() -> None:
    stated = (Relation("Dave", "coworker"), Relation("Lena", "boss", of_user=True), Relation("Nobody", "friend"))
    nodes = outline("Family", "Family/Lena", kinds={"Family/Lena": ConceptKind.PERSON})
    filing = one(placed(topic("Business"), person("Dave"), relations=stated), nodes)
    assert {(edge.from_path, edge.to_path, edge.relation) for edge in filing.edges} == {
        (("Business",), ("Business", "Dave"), "coworker"),
        (("Business",), ("Family", "Lena"), "boss"),
    }


def test_unplaced_messages_join_largest() -> None:
    filings = file_segment(
        segment_of([None] * 10),
        [placed(topic("A"), first=2, last=3), placed(topic("B"), first=5, last=9)],
        Outline(),
        0.75,
    )
    assert [(f.path, f.first_message, f.last_message) for f in filings] == [
        (("B",), 1, 1),
        (("A",), 2, 3),
        (("B",), 4, 10),
    ]
    assert all(node.path == filing.path for filing in filings for node in filing.new_nodes)


steps = st.lists(
    st.builds(
        NodeProposal,
        name=st.one_of(st.sampled_from(["Business", "Dave", "Fishing", "business", "Ana"]), st.text(max_size=130)),
        kind=st.sampled_from(ConceptKind),
        confidence=st.floats(0, 1),
    ),
    max_size=7,
).map(tuple)
placements = st.lists(
    st.builds(
        Placement,
        steps=steps,
        first_message=st.integers(-3, 25),
        last_message=st.integers(-3, 25),
        relations=st.lists(
            st.builds(Relation, other=st.sampled_from(["Dave", "Ana", "", "x"]), label=st.text(max_size=5)), max_size=3
        ).map(tuple),
    ),
    max_size=6,
)


def test_person_below_themselves_has_no_edge() -> None:
    filing = one(placed(topic("Business"), person("Dave"), person("Dave")), KNOWN_DAVE)
    assert (filing.path, filing.edges, filing.new_nodes) == (("Business", "Dave"), (), ())


@given(placements, st.integers(1, 20), st.integers(1, 5))
def test_placements_tile_segment(proposed: list[Placement], length: int, first: int) -> None:
    segment = segment_of([None] * length, first=first)
    filings = file_segment(segment, proposed, KNOWN_DAVE, 0.5)
    covered = [seq for filing in filings for seq in range(filing.first_message, filing.last_message + 1)]
    assert covered == [message.seq for message in segment.messages]
    known = {node.path for node in KNOWN_DAVE.nodes} | {()}
    for filing in filings:
        assert len(filing.path) <= MAX_LAYER_DEPTH
        assert [node.path for node in filing.new_nodes] == sorted({n.path for n in filing.new_nodes}, key=len)
        assert all(filing.path[: len(node.path)] == node.path for node in filing.new_nodes)
        assert filing.path in known | {node.path for node in filing.new_nodes}
        assert all(edge.from_path != edge.to_path for edge in filing.edges)


def remembered(
    name: str, *confidences: float, parent: str = "Business", kind: ConceptKind = ConceptKind.PERSON
) -> Outline:
    candidates = [NodeCandidate(name, kind, (parent,), confidence) for confidence in confidences]
    nodes = outline("Business", "Hobbies")
    for candidate in candidates:
        nodes = with_filings(nodes, [Filing((), 1, 1, candidates=(candidate,))])
    return nodes


@pytest.mark.parametrize(("doubt", "segments"), [(0.74, 2), (0.5, 2), (0.4, 3), (0.15, 9), (0.01, 138)])
def test_repeated_doubts_become_a_node(doubt: float, segments: int) -> None:
    nodes = outline("Business")
    for number in range(1, segments + 1):
        filing = one(placed(topic("Business"), topic("Products", doubt)), nodes)
        assert bool(filing.new_nodes) == (number == segments)
        nodes = with_filings(nodes, [filing])
    assert nodes.candidates == ()
    assert nodes.nodes[-1].path == ("Business", "Products")


@pytest.mark.parametrize("nothing", [0.0, -3.0, float("nan")])
def test_zero_confidence_is_no_evidence(nothing: float) -> None:
    filing = one(placed(topic("Business"), topic("Products", nothing)))
    assert filing.candidates == ()
    assert filing.path == ("Business",)


def test_doubts_are_per_place_except_people() -> None:
    elsewhere = remembered("Budget", 0.5, 0.4, parent="Hobbies", kind=ConceptKind.TOPIC)
    assert one(placed(topic("Business"), topic("Budget", 0.5)), elsewhere).path == ("Business",)
    met = remembered("Marta", 0.5, 0.4, parent="Hobbies")
    assert one(placed(topic("Business"), person("Marta", 0.5)), met).path == ("Business", "Marta")


@pytest.mark.parametrize(
    "relation",
    [
        replace(MARTA, kind=None),
        replace(MARTA, other="bob"),
        replace(MARTA, other=""),
        replace(MARTA, other="<script>"),
        replace(MARTA, other="x" * 300),
        replace(MARTA, strength=0.0),
    ],
)
def test_only_some_names_are_candidates(relation: Relation) -> None:
    filing = one(placed(topic("Business"), relations=(relation,)))
    assert filing.candidates == ()
    assert filing.beside == ()


def test_existing_people_stay_separate() -> None:
    kinds = {"A/Dave": ConceptKind.PERSON, "A/David": ConceptKind.PERSON}
    known = outline("A", "A/Dave", "A/David", kinds=kinds)
    filing = one(replace(placed(topic("A")), aliases=(Alias("Dave", "David"),)), known)
    assert filing.aliases == ()
    assert any("David is not learned as a name of Dave" in note for note in filing.notes)


def with_role(name: str, role: str) -> Outline:
    return Outline(
        (
            OutlineNode(("Business",), ConceptKind.TOPIC),
            OutlineNode(("Business", name), ConceptKind.PERSON, keywords=(role,)),
        )
    )


@pytest.mark.parametrize(("known", "met"), [("David", "David Miller"), ("David Miller", "David")])
def test_role_and_first_name_match_person(known: str, met: str) -> None:
    relation = Relation(met, "coworker", 0.8, of_user=True, kind=ConceptKind.PERSON)
    filing = one(placed(topic("Business"), person(met), relations=(relation,)), with_role(known, "coworker"))
    assert filing.path == ("Business", known)
    assert filing.new_nodes == ()
    assert PlannedAlias(("Business", known), met) in filing.aliases


@pytest.mark.parametrize(
    ("known", "met", "label"),
    [
        ("David", "David Miller", "dentist"),
        ("David", "David Miller", "mentions"),
        ("David Smith", "David Miller", "coworker"),
        ("David", "Davina", "coworker"),
    ],
)
def test_first_name_alone_is_no_match(known: str, met: str, label: str) -> None:
    relation = Relation(met, label, 0.8, of_user=True, kind=ConceptKind.PERSON)
    filing = one(placed(topic("Business"), person(met), relations=(relation,)), with_role(known, "coworker"))
    assert filing.path == ("Business", met)
    assert filing.aliases == ()


def known_as(name: str, definition: str = "", *aliases: str) -> Outline:
    """The family with one person in it, and two topics."""
    node = OutlineNode(
        ("Family", name),
        ConceptKind.PERSON,
        summary=f"{name}: {definition}. 3 memories." if definition else "",
        keywords=(definition,),
        aliases=aliases,
    )
    return Outline((*outline("Family", "Health", "Business").nodes, node))


@pytest.mark.parametrize(
    ("known", "met", "label"),
    [
        (known_as("Tomas Novak", "coworker", "Tomas"), person("Tomas Svoboda", aliases=("Tomas",)), "coworker"),
        (known_as("Tomas", "coworker", "Tomas Novak"), person("Tomas Svoboda"), "coworker"),
        (known_as("Tomas", "coworker", "Tomas Novak"), person("Tomas Svoboda", aliases=("Tomas",)), "mentions"),
        (known_as("Tomas", "brother"), person("Tomas"), "dentist"),
        (known_as("Tomas", "bruder"), person("Tomas"), "uncle"),
        (known_as("Tomas", "dentiste"), person("Tomas"), "coworker"),
        (known_as("Tomas", "brother"), person("Tomas Novak", aliases=("Tomas",)), "colleague"),
        (known_as("Tomas Novak", "boss", "Tomas"), person("Tomas"), "brother"),
        (known_as("Tomas", "brother"), person("Tomas Novak", aliases=("Tomas",)), "mentions"),
    ],
)
def test_two_of_one_first_name_stay_two(known: Outline, met: NodeProposal, label: str) -> None:
    stated = Relation(met.name, label, 0.8, of_user=True, kind=ConceptKind.PERSON)
    filing = one(placed(topic("Business"), met, relations=(stated,)), known)
    assert filing.path == ("Business", met.name)
    assert filing.aliases == ()
    assert {end for edge in filing.edges for end in (edge.from_path, edge.to_path)} <= {("Business",), filing.path}
    beside = one(placed(topic("Business"), relations=(stated,)), known)
    assert not any(edge.to_path[0] == "Family" for edge in beside.edges)


@pytest.mark.parametrize(
    ("known", "met", "label"),
    [
        (known_as("Tomas", "brother"), person("Tomas"), "hermano"),
        (known_as("Tomas", "brother"), person("Tomas"), "best friend"),
        (known_as("Tomas", "brother"), person("Tomas Novak", aliases=("Tomas",)), "hermano"),
        (known_as("Tomas", "coworker"), person("Tomas Novak", aliases=("Tomas",)), "mentions"),
        (known_as("Tomas", "friend"), person("Tomas"), "dentist"),
        (known_as("Tomas", "brother"), person("Tomas"), "mentions"),
        (known_as("Tomas Novak", "brother"), person("Tomas Novak"), "dentist"),
        (known_as("Tomas Novak", "brother", "Tomas"), person("Tomas A. Novak", aliases=("Tomas Novak",)), "boss"),
        (known_as("Ana Silva", "sister"), person("Ana Costa", aliases=("Ana Silva",)), "sister"),
    ],
)
def test_one_of_one_name_stays_one(known: Outline, met: NodeProposal, label: str) -> None:
    stated = Relation(met.name, label, 0.8, of_user=True, kind=ConceptKind.PERSON)
    filing = one(placed(topic("Business"), met, relations=(stated,)), known)
    assert (filing.path, filing.new_nodes) == (("Business",), ())
    assert {edge.to_path for edge in filing.edges} == {known.nodes[-1].path}


def test_uncle_is_not_filed_at_the_brother_beside_him() -> None:
    uncle = Relation("Tomas", "uncle", 0.8, of_user=True, kind=ConceptKind.PERSON)
    filing = one(placed(topic("Family"), person("Tomas"), relations=(uncle,)), known_as("Tomas", "brother"))
    assert (filing.path, filing.edges, filing.new_nodes) == (("Family",), (), ())
