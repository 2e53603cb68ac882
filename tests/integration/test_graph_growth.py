"""Graph growth: candidates, learned aliases, node summaries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from neurigraph_pipelines.graph import navigation
from neurigraph_pipelines.graph.aliases import MAX_ALIASES
from neurigraph_pipelines.graph.candidates import MAX_WAITING_EDGES, candidates_of, promote_candidates
from neurigraph_pipelines.graph.edges import Places
from neurigraph_pipelines.graph.provisioning import create_user, resolve_path
from neurigraph_pipelines.graph.shell import MAX_NODE_KEYWORDS, Addition, update_shells
from neurigraph_pipelines.inbox import triggers
from neurigraph_pipelines.inbox.importing import import_file
from neurigraph_pipelines.ingestion import batch
from neurigraph_pipelines.ingestion.detection import detect
from neurigraph_pipelines.model import (
    MAX_LAYER_DEPTH,
    RECORD_DIMENSIONS,
    Claims,
    ConceptKind,
    Keywords,
    NodeCandidate,
    NodeProposal,
    Outline,
    Placement,
    PlannedAlias,
    PlannedEdge,
    PlannedNode,
    Relation,
    Segment,
)
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.views.graph import TreeNode
from neurigraph_pipelines.wiring.installation import Installation
from resources.offline.language_model import OfflineLanguageModel
from tests.support.growing_graph import Turns, outline_of, records, store, tell
from tests.support.memories import rows
from tests.support.witnesses import doubt, new_witness, places_of

pytestmark = pytest.mark.slow


@pytest.fixture
def bob(installation: Installation) -> Claims:
    return Claims.of_user(create_user(installation.database, "bob")[0].user_id)


class Placing(OfflineLanguageModel):
    """Places as given; everything else is done by the offline model."""

    def __init__(self, place: Callable[[Segment], list[Placement]], concurrency: int = 1) -> None:
        super().__init__(None)
        self.concurrency = concurrency
        self._place = place

    def place(self, segment: Segment, outline: Outline) -> list[Placement]:
        return self._place(segment)


def links(installation: Installation, claims: Claims) -> set[str]:
    def below(node: TreeNode, path: str) -> set[str]:
        own = {f"{path} {link}" for link in node.links}
        return own.union(*(below(child, f"{path}/{child.name}".strip("/")) for child in node.children))

    with installation.database.agent(claims) as tx:
        return below(navigation.tree(tx, claims.user_id), "")


# Nodes that the evidence of several segments makes


def about(*relations: Relation, steps: tuple[str, ...] = ("Business",), aliases: tuple[str, ...] = ()) -> Placement:
    return Placement(tuple(NodeProposal(name, ConceptKind.TOPIC, 0.9) for name in steps), 1, 99, relations)


MARTA = Relation("Marta", "coworker", 0.8, of_user=True, kind=ConceptKind.PERSON)
SMALL: Turns = [("user", "Marta at the office wrote the contract."), ("assistant", "Good to know, and noted.")]


def test_recurring_person_gets_node_and_relations(installation: Installation, bob: Claims, tmp_path: Path) -> None:
    context = installation.context.using(language_model=Placing(lambda _: [about(MARTA)]))
    for day in (0, 1):
        tell(installation, bob, tmp_path, {f"day {day}": SMALL}, day)
        store(installation, context)
        graph = outline_of(installation, bob)
        assert [node.path for node in graph.nodes] == [("Business",)]
    (candidate,) = graph.candidates
    assert (candidate.name, candidate.parent, candidate.segments) == ("Marta", ("Business",), 2)
    assert candidate.confidence == pytest.approx(1 - 0.6**2)

    tell(installation, bob, tmp_path, {"day 2": SMALL}, 2)
    store(installation, context)
    graph = outline_of(installation, bob)
    assert [node.path for node in graph.nodes] == [("Business",), ("Business", "Marta")]
    assert graph.candidates == ()
    assert links(installation, bob) == {"Business coworker → Business/Marta"}
    with installation.database.pipeline() as tx:
        payloads = tx.execute("SELECT delta_payload FROM neurigraph.delta_log ORDER BY created_at").fetchall()
    assert "Marta was met in 3 conversations and has a node now" in payloads[-1]["delta_payload"]["notes"][0]


def test_relation_to_candidate_becomes_edge(installation: Installation, bob: Claims, tmp_path: Path) -> None:
    def place(segment: Segment) -> list[Placement]:
        if segment.ref.source_external_id == "first":
            return [about(replace(MARTA, label="climbing partner"), steps=("Hobbies",))]
        steps = (NodeProposal("Business", ConceptKind.TOPIC, 0.9), NodeProposal("Marta", ConceptKind.PERSON, 0.9))
        return [Placement(steps, 1, 99)]

    context = installation.context.using(language_model=Placing(place))
    tell(installation, bob, tmp_path, {"first": SMALL})
    store(installation, context)
    assert links(installation, bob) == set()
    tell(installation, bob, tmp_path, {"second": SMALL}, 1)
    store(installation, context)
    assert links(installation, bob) == {"Hobbies climbing partner → Business/Marta"}
    assert outline_of(installation, bob).candidates == ()


def test_concurrent_commits_count_once(installation: Installation, bob: Claims, tmp_path: Path) -> None:
    mention = replace(MARTA, label="mentions", strength=0.3)
    context = installation.context.using(language_model=Placing(lambda _: [about(mention)]))
    settings = installation.settings.changed(batch_max_segments=1)
    tell(installation, bob, tmp_path, {f"talk {i}": SMALL for i in range(6)})
    context = context.using(settings=settings)
    detect(context)
    claimed = [triggers.lease_due(context, "test") for _ in range(6)]
    with ThreadPoolExecutor(3) as pool:
        results = list(pool.map(lambda one: batch.run_batch(context, one.batch_id), filter(None, claimed)))
    assert [len(result.stored) for result in results] == [1] * 6
    (candidate,) = outline_of(installation, bob).candidates
    assert candidate.segments == 6
    assert candidate.confidence == pytest.approx(1 - 0.85**6)


def test_depth_limit_is_noted(installation: Installation, bob: Claims, tmp_path: Path) -> None:
    steps = tuple(f"Level {i}" for i in range(1, MAX_LAYER_DEPTH + 2))
    context = installation.context.using(language_model=Placing(lambda _: [about(steps=steps)]))
    tell(installation, bob, tmp_path, {"deep": SMALL})
    store(installation, context)
    assert records(installation, bob)[0]["path"] == "/".join(("bob", *steps[:MAX_LAYER_DEPTH]))
    with installation.database.agent(bob) as tx:
        (row,) = tx.execute("SELECT delta_payload FROM neurigraph.delta_log").fetchall()
    assert row["delta_payload"]["notes"] == [
        "Depth limit 5 met: Level 6 is filed at Level 1 / Level 2 / Level 3 / Level 4 / Level 5."
    ]


def candidate_of(name: str, *, edges: int = 0, parent: tuple[str, ...] = ("Business",)) -> NodeCandidate:
    waiting = tuple(PlannedEdge(("Business",), (*parent, name), f"label {i}") for i in range(edges))
    return NodeCandidate(name, ConceptKind.PERSON, parent, 0.3, edges=waiting)


def test_candidates_are_bounded(installation: Installation, bob: Claims) -> None:
    hostile = ["'; DROP TABLE users; --", "名" * 120, "🎣 Ann", "a" * 120]
    deep = tuple("層" * 120 for _ in range(MAX_LAYER_DEPTH))
    witness = new_witness(installation, bob)
    with installation.database.pipeline() as tx:
        doubt(installation, tx, bob.user_id, witness, [candidate_of(name, parent=deep) for name in hostile])
        for round_ in range(5):
            one = candidate_of("Marta", edges=8)
            edges = tuple(replace(edge, relation=f"{edge.relation} {round_}") for edge in one.edges)
            doubt(installation, tx, bob.user_id, witness, [replace(one, edges=edges)])
    with installation.database.pipeline() as tx:
        found = candidates_of(tx, bob.user_id)
        assert {one.name for one in found} == {*hostile, "Marta"}
        assert found[0].segments == 5
        marta = PlannedNode(("MARTA",), ConceptKind.PERSON, 1.0)
        resolve_path(tx, bob.user_id, "bob", marta.path, [marta])
        for _ in range(2):
            promote_candidates(tx, places_of(installation, tx, bob.user_id), [marta])
    assert {one.name for one in outline_of(installation, bob).candidates} == set(hostile)
    assert len(links(installation, bob)) == MAX_WAITING_EDGES
    query = """SELECT FROM neurigraph.mentions AS m INNER JOIN neurigraph.graph_index AS g ON m.node_id = g.node_id
    WHERE g.node_name = 'MARTA'"""
    assert len(rows(installation, query)) == 5


def test_candidates_are_private(installation: Installation, bob: Claims) -> None:
    eve = Claims.of_user(create_user(installation.database, "eve")[0].user_id)
    witness = new_witness(installation, bob)
    with installation.database.pipeline() as tx:
        doubt(installation, tx, bob.user_id, witness, [candidate_of("Marta")])
    counts = []
    for claims in (bob, eve, None):
        with installation.database.agent(claims) as tx:
            counts.append(len(tx.execute("SELECT FROM neurigraph.node_candidates").fetchall()))
    assert counts == [1, 0, 0]


# Other names


def test_stated_alias_is_learned(installation: Installation, bob: Claims, tmp_path: Path) -> None:
    sister = [
        ("user", "My sister Annabel has her wedding anniversary in May, and Annabel wants the whole family there."),
        ("assistant", "A family photo album would be a lovely gift for your sister."),
    ]
    tell(installation, bob, tmp_path, {"first": sister * 2})
    store(installation)
    named = [*sister, ("user", "My sister Annabel is in town. The children call her Annie."), sister[1]]
    tell(installation, bob, tmp_path, {"second": named}, 1)
    store(installation)
    (annabel,) = (node for node in outline_of(installation, bob).nodes if node.kind is ConceptKind.PERSON)
    assert annabel.path == ("Family", "Annabel")
    assert annabel.aliases == ("Annie",)
    answer = search(installation.acting_for(bob), Question("And Annie?"))
    assert (answer.anchors[0].node_path, answer.anchors[0].reason) == ("bob/Family/Annabel", "name")
    tell(installation, bob, tmp_path, {"third": [(who, text.replace("Annabel", "Annie")) for who, text in sister]}, 2)
    store(installation)
    persons = [node.path for node in outline_of(installation, bob).nodes if node.kind is ConceptKind.PERSON]
    assert persons == [("Family", "Annabel")]


def provision(installation: Installation, claims: Claims, *nodes: PlannedNode) -> None:
    with installation.database.pipeline() as tx:
        for node in nodes:
            resolve_path(tx, claims.user_id, "bob", node.path, nodes)


def test_taken_alias_is_not_learned(installation: Installation, bob: Claims) -> None:
    persons = [PlannedNode((name,), ConceptKind.PERSON, 1.0) for name in ("Dave", "David")]
    provision(installation, bob, *persons)
    witness = new_witness(installation, bob)
    first = [PlannedAlias(("Dave",), "Davy")]
    many = [PlannedAlias(("David",), f"Name {i}") for i in range(50)]
    taken = [PlannedAlias(("David",), name) for name in ("dave", "Davy", "DAVID")]
    for learned in (first, [*taken, *many, PlannedAlias(("Nobody",), "Ghost")]):
        with installation.database.pipeline() as tx:
            places = places_of(installation, tx, bob.user_id)
            update_shells(tx, places, [], [(witness, alias) for alias in learned])
    nodes = {node.path[0]: node.aliases for node in outline_of(installation, bob).nodes}
    assert nodes["Dave"] == ("Davy",)
    assert len(nodes["David"]) == MAX_ALIASES
    assert not {"dave", "Davy", "DAVID"} & set(nodes["David"])


# Shells


def grow(installation: Installation, claims: Claims, path: tuple[str, ...], gained: Sequence[Keywords]) -> None:
    vector = np.zeros(RECORD_DIMENSIONS, np.float32)
    vector[0] = 1
    with installation.database.pipeline() as tx:
        node = resolve_path(tx, claims.user_id, "bob", path)
        for keywords in gained:
            update_shells(tx, Places(tx, claims.user_id, "bob"), [Addition(node, keywords, vector)], [])


def test_node_keywords_are_frequent_and_recent(installation: Installation, bob: Claims, tmp_path: Path) -> None:
    context = installation.context.using(language_model=Placing(lambda _: [about()]))
    tell(installation, bob, tmp_path, {"one": SMALL})
    store(installation, context)  # a record that the summary can date
    once = [Keywords(topics=("Launch", f"once {i}")) for i in range(100)]
    grow(installation, bob, ("Business",), [Keywords(topics=("first love",))] * 3 + once)
    (node,) = outline_of(installation, bob).nodes
    assert node.record_count == 104
    assert len(node.keywords) == MAX_NODE_KEYWORDS
    assert node.keywords[0] == "Launch"
    assert "once 99" in node.keywords
    assert "once 5" not in node.keywords
    grow(installation, bob, ("Business",), [Keywords(topics=("launch",), entities=("Harrow",))] * 70)
    (node,) = outline_of(installation, bob).nodes
    assert node.keywords[:2] == ("Launch", "Harrow")
    assert node.centroid is not None
    assert node.centroid[0] > 0.9


def test_node_summary_follows_growth(installation: Installation, bob: Claims, tmp_path: Path) -> None:
    steps = (
        NodeProposal("Business", ConceptKind.TOPIC, 0.9, "Work: the job and its people."),
        NodeProposal("Dave", ConceptKind.PERSON, 0.9, "Dave: a person."),
    )
    context = installation.context.using(language_model=Placing(lambda _: [Placement(steps, 1, 99)]))
    talk = [("user", "My employee Dave built the boiler. Dave wants a new boiler bonus."), ("assistant", "Noted.")]
    tell(installation, bob, tmp_path, {f"talk {i}": talk for i in range(3)})
    store(installation, context)
    business, dave = outline_of(installation, bob).nodes
    assert business.summary == "Work: the job and its people."
    assert dave.summary.startswith("Dave: employee. 3 memories from March 2025, mostly about ")
    assert "boiler" in dave.summary
    assert "employee" in dave.keywords
    tell(installation, bob, tmp_path, {f"more {i}": talk for i in range(5)}, day=40)
    store(installation, context)
    _, dave = outline_of(installation, bob).nodes
    assert "8 memories from March to April 2025" in dave.summary
    assert dave.summary.count("memories") == 1
    grow(installation, bob, ("Business", "Dave"), [Keywords(topics=("x" * 120,), relationships=("a: b: Dave",))] * 200)
    _, dave = outline_of(installation, bob).nodes
    assert len(dave.summary) < 1_200


def test_samples_give_same_graph_in_any_batches(installation: Installation, bob: Claims) -> None:
    samples = Path(__file__).parents[2] / "samples" / "bob.jsonl"
    trees = []
    for slug, segments in (("together", 100), ("apart", 4)):
        claims = Claims.of_user(create_user(installation.database, slug)[0].user_id)
        settings = installation.settings.changed(batch_max_segments=segments)
        import_file(installation.acting_for(claims).using(settings=settings), samples, "jsonl")
        assert not [
            r
            for result in batch.run_due(installation.context.using(settings=settings), "test")
            for r in result.returned
        ]
        graph = outline_of(installation, claims)
        trees.append({(node.path, node.record_count) for node in graph.nodes})
        assert ("Business", "Dave") in {node.path for node in graph.nodes}
        assert sum(node.path[-1] == "Dave" for node in graph.nodes) == 1
    assert trees[0] == trees[1]
