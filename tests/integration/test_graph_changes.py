"""Moving records; moving, merging and splitting nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from neurigraph_pipelines.graph.history import history, record_at
from neurigraph_pipelines.graph.moving import Split, move_records, split_node
from neurigraph_pipelines.graph.navigation import shell
from neurigraph_pipelines.graph.reshaping import merge_nodes, move_node, rename_node
from neurigraph_pipelines.ingestion.healing import heal_pending
from neurigraph_pipelines.lifecycle import control, transitions
from neurigraph_pipelines.lifecycle.transitions import FileLocation, locate
from neurigraph_pipelines.model import CompressionCause
from neurigraph_pipelines.model.errors import (
    ConflictError,
    InvalidInputError,
    NotFoundError,
    RehydratingError,
    TransientError,
)
from neurigraph_pipelines.retrieval.open import file_of_record, open_file
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.files import store_file
from tests.support.graphs import Graph, new_graph
from tests.support.memories import START, WordEmbedder, converse, ingest, plain_context, stored


@pytest.fixture
def graph(here: Installation) -> Graph:
    return new_graph(here)


def content_of(graph: Graph, record_id: UUID) -> bytes:
    here = graph.here
    file_id = file_of_record(here.database, graph.claims, record_id)
    return open_file(here.acting_for(graph.claims), file_id).content


def located(graph: Graph, file_id: UUID) -> FileLocation:
    with graph.here.database.agent(graph.claims) as tx:
        return locate(tx, file_id)


def refused(error: type[Exception], *changes: Callable[[], object], why: str | None = None) -> None:
    for change in changes:
        with pytest.raises(error, match=why):
            change()


# Records


def test_moved_record_is_found_and_opened(graph: Graph) -> None:
    first, second = graph.remember("#Family/Dave The walnut tree fell.", "#Family/Dave The boat leaks.")
    graph.remember("#Work Numbers of May.")
    before = content_of(graph, first)
    done = move_records(graph.here.database, graph.claims, [first], graph.node("Work"))
    assert (done.record_count, done.node_path) == (1, f"{graph.user.slug}/Work")
    graph.check()
    assert graph.find("walnut")[first] == "Work"
    assert graph.find("boat")[second] == "Family/Dave"
    assert content_of(graph, first) == before
    assert [graph.shell(path)["record_count"] for path in ("Work", "Family/Dave")] == [2, 1]


def test_history_of_moved_record(graph: Graph) -> None:
    (record,) = graph.remember("#Family/Dave The walnut tree fell.")
    graph.remember("#Work Numbers of May.")
    here = graph.here
    was = record_at(here.database, graph.claims, record)
    move_records(here.database, graph.claims, [record], graph.node("Work"))
    newest, *_ = history(here.database, graph.claims, record)
    assert (newest.operation, newest.authored_by) == ("move", f"user:{graph.user.user_id}")
    assert newest.before == {"node_id": str(graph.node("Family/Dave")), "node_path": f"{graph.user.slug}/Family/Dave"}
    assert record_at(here.database, graph.claims, record).node_path == f"{graph.user.slug}/Work"
    assert record_at(here.database, graph.claims, record, was.changed_at).node_path == f"{graph.user.slug}/Family/Dave"


def test_move_is_idempotent(graph: Graph) -> None:
    records = graph.remember("#Family/Dave The walnut tree fell.", "#Work Numbers of May.")
    here, work = graph.here, graph.node("Work")
    assert move_records(here.database, graph.claims, records, work, dry_run=True).record_count == 1
    assert set(graph.records.values()) == {"Family/Dave", "Work"}
    assert [move_records(here.database, graph.claims, records, work).record_count for _ in range(2)] == [1, 0]
    assert set(graph.records.values()) == {"Work"}
    graph.check()


def test_move_is_atomic(graph: Graph) -> None:
    (record,) = graph.remember("#Family/Dave The walnut tree fell.")
    graph.remember("#Work Numbers of May.")
    here = graph.here
    other = new_graph(here)
    (foreign,) = other.remember("#Notes Not yours.")
    for wanted, target in (
        ([record, foreign], graph.node("Work")),
        ([record, uuid4()], graph.node("Work")),
        ([record], other.node("Notes")),
        ([record], uuid4()),
    ):
        with pytest.raises(NotFoundError):
            move_records(here.database, graph.claims, wanted, target)
    for wanted in ([], [uuid4() for _ in range(10_001)]):
        with pytest.raises(InvalidInputError):
            move_records(here.database, graph.claims, wanted, graph.node("Work"))
    assert graph.records[record] == "Family/Dave"


def test_moved_file_keeps_state_and_log(graph: Graph) -> None:
    file = store_file(graph.here, "#Notes Hello.", "A message of some words. " * 200, user=(graph.user, graph.claims))
    graph.remember("#Work Numbers of May.")
    control.compress(graph.here.acting_for(graph.claims), file.file_id)
    events = file.events
    record_id = file.row["record_id"]
    move_records(graph.here.database, graph.claims, [record_id], graph.node("Work"))
    now = replace(file, place=located(graph, file.file_id))
    assert (now.state, now.events) == ("dormant", events)
    assert graph.shell("Work")["compression_state"] == "active"
    assert graph.shell("Notes")["compression_state"] == "active"
    graph.check()
    now.open()
    assert (now.state, graph.shell("Work")["next_recompress_at"]) == ("active", now.row["recompress_after"])
    graph.check()


def test_rehydrating_file_is_not_moved(graph: Graph) -> None:
    here = graph.here
    file = store_file(here, user=(graph.user, graph.claims))
    graph.remember("#Work Numbers of May.")
    control.compress(here.acting_for(graph.claims), file.file_id)
    with here.database.pipeline() as tx:
        transitions.begin_rehydration(tx, here.settings, file.place, uuid4(), CompressionCause.RETRIEVAL)
    refused(
        RehydratingError,
        lambda: move_records(here.database, graph.claims, [file.row["record_id"]], graph.node("Work")),
        lambda: merge_nodes(here.database, graph.claims, graph.node("Notes"), graph.node("Work")),
    )
    with here.database.pipeline() as tx:
        transitions.give_up(tx, file.place, file.row["lease_holder"], "enough", CompressionCause.RETRIEVAL)
    merge_nodes(here.database, graph.claims, graph.node("Notes"), graph.node("Work"))
    graph.check()


def test_moved_pending_record_is_embedded(graph: Graph) -> None:
    here = graph.here
    converse(here, graph.claims, "#Notes The walnut tree fell.")
    down = plain_context(here).using(embedder=WordEmbedder(fault=TransientError("down")))
    (pending,) = stored(ingest(down, graph.user))
    graph.remember("#Work Numbers of May.")
    move_records(here.database, graph.claims, [pending.record_id], graph.node("Work"))
    graph.check()
    assert heal_pending(plain_context(here), user_id=graph.user.user_id).records == 1
    graph.check()
    assert graph.shell("Work")["embedded_count"] == 2


def test_root_takes_and_gives_records(graph: Graph) -> None:
    (record,) = graph.remember("#Family/Dave The walnut tree fell.")
    for path in ("", "Family"):
        move_records(graph.here.database, graph.claims, [record], graph.node(path))
        assert graph.find("walnut")[record] == path
        graph.check()


# Places


def test_move_takes_subtree(graph: Graph) -> None:
    (record,) = graph.remember("#Family/Siblings/Ana/Garden/Trees The walnut tree fell.")
    graph.remember("#Work Numbers of May.", "#Family Dinner.")
    here, claims, siblings = graph.here, graph.claims, graph.node("Family/Siblings")
    done = move_node(here.database, claims, siblings, graph.node(""))
    assert (done.nodes_moved, done.node_path) == (4, f"{graph.user.slug}/Siblings")
    assert graph.find("walnut")[record] == "Siblings/Ana/Garden/Trees"
    graph.check()
    move_node(here.database, claims, siblings, graph.node("Work"))
    assert graph.records[record] == "Work/Siblings/Ana/Garden/Trees"
    assert move_node(here.database, claims, siblings, graph.node("Work")).nodes_moved == 0
    assert move_node(here.database, claims, siblings, graph.node("Family"), dry_run=True).nodes_moved == 4
    assert graph.paths[siblings] == "Work/Siblings"
    graph.check()


def test_impossible_changes_are_refused(graph: Graph) -> None:
    graph.remember("#A/B/C/D/E The walnut tree fell.", "#Work/Deep Numbers of May.")
    here, claims = graph.here, graph.claims
    a, e, deep, root = (graph.node(path) for path in ("A", "A/B/C/D/E", "Work/Deep", ""))
    before = graph.paths
    forbidden: list[tuple[Callable[[], object], str]] = [
        (lambda: move_node(here.database, claims, a, deep), "layer 7"),
        (lambda: merge_nodes(here.database, claims, a, deep), "layer 6"),
        (lambda: move_node(here.database, claims, a, e), "below itself"),
        (lambda: move_node(here.database, claims, a, a), "below itself"),
        (lambda: merge_nodes(here.database, claims, a, e), "node below it"),
        (lambda: merge_nodes(here.database, claims, a, a), "into itself"),
        (lambda: move_node(here.database, claims, root, a), "root"),
        (lambda: merge_nodes(here.database, claims, root, a), "root"),
        (lambda: rename_node(here.database, claims, root, "me"), "root"),
        (lambda: split_node(here.database, claims, root, Split(name="me", keyword="testing", beside=True)), "root"),
        (lambda: split_node(here.database, claims, e, Split(name="F", keyword="testing")), "deepest"),
    ]
    for change, why in forbidden:
        refused(ConflictError, change, why=why)
    assert graph.paths == before
    other = new_graph(here)
    other.remember("#Notes Not yours.")
    theirs = other.node("Notes")
    refused(
        NotFoundError,
        lambda: move_node(here.database, claims, a, theirs),
        lambda: move_node(here.database, claims, theirs, a),
        lambda: merge_nodes(here.database, claims, a, theirs),
        lambda: merge_nodes(here.database, claims, theirs, a),
        lambda: rename_node(here.database, claims, theirs, "Mine"),
        lambda: split_node(here.database, claims, theirs, Split(name="Mine", keyword="testing")),
        lambda: split_node(here.database, claims, uuid4(), Split(name="Mine", keyword="testing")),
    )


# Merges


def test_merge_moves_everything(graph: Graph) -> None:
    one, two = graph.remember("#Family/Dave The walnut tree fell. @Ana:sister", "#Work/David The boat leaks.")
    (note,) = graph.remember("#Family/Ana She sings. @Dave:brother @David:coworker")
    here, claims = graph.here, graph.claims
    gone, successor = graph.node("Family/Dave"), graph.node("Work/David")
    before = [content_of(graph, record) for record in (one, two)]
    edges = graph.edges
    done = merge_nodes(here.database, claims, gone, successor)
    assert (done.node_id, done.record_count, done.nodes_removed) == (successor, 1, 1)
    graph.check()
    assert gone not in graph.paths
    assert [graph.records[record] for record in (one, two)] == ["Work/David"] * 2
    assert [content_of(graph, record) for record in (one, two)] == before
    assert graph.find("walnut")[one] == "Work/David"
    assert graph.find("Dave")[two] == "Work/David"
    assert graph.shell("Work/David")["aliases"] == ["Dave"]
    led = {("Work/David" if end == "Family/Dave" else end) for edge in edges for end in edge[:2]}
    assert {end for edge in graph.edges for end in edge[:2]} <= led
    assert ("Family/Ana", "Work/David", "brother") in graph.edges
    assert ("Family/Ana", "Work/David", "coworker") in graph.edges
    assert graph.records[note] == "Family/Ana"
    with pytest.raises(NotFoundError), here.database.agent(claims) as tx:
        shell(tx, gone)


def test_merge_unites_children_of_one_name(graph: Graph) -> None:
    one, two, three = graph.remember(
        "#Kin/Tom/Garden The walnut tree fell.", "#Kin/Jo/Boat The boat leaks.", "#Family/tom/Garden Roses."
    )
    here = graph.here
    done = merge_nodes(here.database, graph.claims, graph.node("Kin"), graph.node("Family"))
    assert (done.nodes_removed, done.nodes_moved, done.record_count) == (3, 2, 1)
    assert [graph.records[record] for record in (one, two, three)] == [
        "Family/tom/Garden",
        "Family/Jo/Boat",
        "Family/tom/Garden",
    ]
    graph.check()


def test_merge_into_ancestor_with_name_clash(graph: Graph) -> None:
    one, two = graph.remember("#Family/Tom/Tom The walnut tree fell.", "#Family/Tom/Family/Boat The boat leaks.")
    merge_nodes(graph.here.database, graph.claims, graph.node("Family/Tom"), graph.node("Family"))
    assert [graph.records[record] for record in (one, two)] == ["Family/Tom", "Family/Family/Boat"]
    graph.check()
    merge_nodes(graph.here.database, graph.claims, graph.node("Family"), graph.node(""))
    assert [graph.records[record] for record in (one, two)] == ["Tom", "Family/Boat"]
    graph.check()


def test_merged_name_is_free_again(graph: Graph) -> None:
    graph.remember("#Family/Dave The walnut tree fell.", "#Work Numbers of May.")
    merge_nodes(graph.here.database, graph.claims, graph.node("Family/Dave"), graph.node("Work"))
    (record,) = graph.remember("#Family/Dave The boat leaks.")
    assert graph.records[record] == "Family/Dave"
    graph.check()


# Splits


def test_split_creates_node(graph: Graph) -> None:
    walnut, boat, cello = graph.remember(
        "#Family Walnut fell on Tuesday.", "#Family The Boat leaks.", "#Family The Cello sings."
    )
    here, claims, family = graph.here, graph.claims, graph.node("Family")
    done = split_node(here.database, claims, family, Split(name="Trees", keyword="walnut", dry_run=True))
    assert (done.record_count, done.node_id, done.node_path) == (1, None, f"{graph.user.slug}/Family/Trees")
    assert "Family/Trees" not in graph.paths.values()
    split_node(here.database, claims, family, Split(name="Trees", keyword="walnut"))
    split_node(here.database, claims, family, Split(name="Boats", record_ids=[boat], beside=True))
    later = START + timedelta(days=365)
    with pytest.raises(InvalidInputError, match="nothing was split off"):
        split_node(here.database, claims, family, Split(name="Later", occurred_after=later))
    with pytest.raises(InvalidInputError, match="say which"):
        split_node(here.database, claims, family, Split(name="All"))
    with pytest.raises(NotFoundError):
        split_node(here.database, claims, family, Split(name="Boats", record_ids=[boat]))
    assert [graph.records[record] for record in (walnut, boat, cello)] == ["Family/Trees", "Boats", "Family"]
    split_node(here.database, claims, family, Split(name="Music", occurred_before=later))
    assert graph.records[cello] == "Family/Music"
    assert graph.find("walnut")[walnut] == "Family/Trees"
    graph.check()


def test_changed_graph_equals_built_graph(graph: Graph) -> None:
    """Words that came from elsewhere go with what they came with."""
    walnut, _ = graph.remember("#Family The Walnut tree fell.", "#Family The Cello sings.")
    graph.remember("#Work Numbers of May.")
    move_records(graph.here.database, graph.claims, [walnut], graph.node("Work"))
    family, work = graph.shell("Family"), graph.shell("Work")
    assert "Walnut" not in family["node_keywords"]
    assert "Walnut" in work["node_keywords"]
    assert "1 memory" in family["node_summary"]
    assert "2 memories" in work["node_summary"]
