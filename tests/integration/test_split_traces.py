"""What a split leaves: windows, facts and questions of moved messages, exports that run meanwhile, and killed runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from neurigraph_pipelines.ingestion.stored_segments import read_segment
from neurigraph_pipelines.knowledge.fact_values import FactState, FactWords
from neurigraph_pipelines.knowledge.grounding import Said
from neurigraph_pipelines.knowledge.reading import TO_READ, read_waiting
from neurigraph_pipelines.knowledge.stating import change_fact
from neurigraph_pipelines.knowledge.windows import KeptWindows
from neurigraph_pipelines.knowledge.writing import write_read
from neurigraph_pipelines.lifecycle.orphans import audit_objects
from neurigraph_pipelines.lifecycle.verification import verify
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import TransientError
from neurigraph_pipelines.model.facts import ReadFact
from neurigraph_pipelines.views.kinds import FactKind, StatedAs
from neurigraph_pipelines.wiring.installation import Installation
from tests.integration.test_refile_splits import again, memory, messages_of, parts_of
from tests.support.command_line import environment
from tests.support.erasures import RECORD, USER, erase, traces
from tests.support.exported_user import export, replace_text, restore
from tests.support.graphs import Graph, new_graph
from tests.support.memories import make_persona, rows
from tests.support.undivided import undivided

pytestmark = pytest.mark.slow


def fact_at(statement: str, first_message: int, last_message: int) -> ReadFact:
    return ReadFact(statement, first_message, last_message, None, FactKind.STATE, StatedAs.STATEMENT)


@pytest.fixture
def graph(installation: Installation) -> Graph:
    return new_graph(installation)


@pytest.mark.parametrize("is_late", [False, True])
def test_windows_of_before_go_with_the_split(graph: Graph, is_late: bool) -> None:
    """A run has read a window, or reads it at this moment; then its messages go to another record."""
    here, user_id = graph.here, graph.user.user_id
    record_id = undivided(graph)
    segment = read_segment(here.context, user_id, record_id)
    (leased,) = TO_READ.lease(here.context, 1, user_id)
    said = Said(segment.messages, segment.ref.owner_name)
    windows = KeptWindows(here.context, leased, said)
    fact = fact_at("The doctor put me on ramipril 5 mg this morning.", 1, 1)
    if not is_late:
        assert windows.keep(b"1" * 32, [fact], 100, 100) == [fact]
    parts = parts_of(again(graph))
    if is_late:
        windows.keep(b"1" * 32, [fact], 100, 100)
    assert rows(here, "SELECT FROM neurigraph.read_windows WHERE user_id = %s", user_id) == []
    erase(here, graph.claims, RECORD, parts["Health"])
    assert traces(here, "ramipril") == []


def test_statement_of_two_parts_is_a_fact_of_each(graph: Graph) -> None:
    here, user_id = graph.here, graph.user.user_id
    record_id = undivided(graph)
    with here.database.pipeline() as tx:
        write_read(tx, record_id, user_id, "first", [fact_at("Tom has a boat.", 1, 1)])
    parts = parts_of(again(graph))
    with here.database.pipeline() as tx:
        write_read(tx, record_id, user_id, "second", [fact_at("Tom has a boat.", 9, 9), fact_at("Tom fishes.", 7, 7)])
    query = "SELECT record_id, last_message FROM neurigraph.facts WHERE statement = 'Tom has a boat.'"
    held = {(row["record_id"], row["last_message"]) for row in rows(here, query)}
    assert held == {(parts["Health"], 1), (record_id, 9)}
    graph.check()


def test_mirrored_memory_stays_whole(graph: Graph) -> None:
    record_id = undivided(graph)
    with graph.here.database.owner() as tx:
        tx.execute(
            """WITH peer AS (
                INSERT INTO neurigraph.peers (user_id, peer_name, url, publisher_key, mount_node_id)
                SELECT g.user_id, 'lab', 'https://lab.example.com', sha256('a'), g.parent_node_id
                FROM neurigraph.graph_index AS g WHERE g.node_id = %(node)s RETURNING *
            ), node AS (
                INSERT INTO neurigraph.mirrored_nodes (node_id, user_id, peer_id, publisher_node_id)
                SELECT %(node)s, p.user_id, p.peer_id, gen_random_uuid() FROM peer AS p RETURNING *
            )
            INSERT INTO neurigraph.mirrored_records (record_id, user_id, peer_id, node_id, publisher_record_id, version)
            SELECT %(record)s, n.user_id, n.peer_id, n.node_id, gen_random_uuid(), gen_random_uuid() FROM node AS n""",
            {"node": graph.node("Hobbies"), "record": record_id},
        )
    before = graph.records, sorted(graph.here.objects.keys(""))
    done = again(graph)
    assert (graph.records, sorted(graph.here.objects.keys(""))) == before
    assert done.split == []


def test_memory_at_a_persona_stays_whole(graph: Graph) -> None:
    """Filing sees no persona, so messages that belong there would seem to have no subject, and go with others."""
    record_id = undivided(graph)
    make_persona(graph.here, graph.node("Hobbies"))
    done = again(graph)
    assert (done.whole, done.split) == ([(record_id, "a persona reads it at its node: move it first")], [])
    assert graph.records == {record_id: "Hobbies"}


def test_fact_of_two_parts_is_read_again(graph: Graph) -> None:
    """Its words would tell the readers of one part of the other, and outlive the other."""
    here, user_id = graph.here, graph.user.user_id
    record_id = undivided(graph)
    read_waiting(here.context)
    shared = fact_at("The lease began when I took ramipril.", 3, 4)
    with here.database.pipeline() as tx:
        write_read(tx, record_id, user_id, "first", [shared, fact_at("Tom has a boat.", 9, 9)])
    parts = parts_of(again(graph))
    facts = "SELECT record_id, statement FROM neurigraph.facts WHERE user_id = %s"
    assert rows(here, facts, user_id) == [{"record_id": record_id, "statement": "Tom has a boat."}]
    waiting = {one["record_id"] for one in rows(here, "SELECT record_id FROM neurigraph.pending_facts")}
    assert waiting == set(parts.values())
    erase(here, graph.claims, RECORD, parts["Health"])
    assert traces(here, "ramipril") == []
    graph.check()


def test_decision_about_a_fact_of_two_parts_keeps_the_memory_whole(graph: Graph) -> None:
    here = graph.here
    record_id = undivided(graph)
    read_waiting(here.context)
    with here.database.pipeline() as tx:
        write_read(tx, record_id, graph.user.user_id, "first", [fact_at("The lease began with ramipril.", 3, 4)])
    (fact,) = rows(here, "SELECT fact_id FROM neurigraph.facts WHERE user_id = %s", graph.user.user_id)
    change_fact(here.acting_for(graph.claims), fact["fact_id"], FactWords(), FactState(metadata={"by": "hand"}))
    before = graph.records, sorted(here.objects.keys("")), rows(here, "SELECT * FROM neurigraph.facts")
    ((failed, reason),) = again(graph).failed
    assert (failed, "decided about a fact" in reason) == (record_id, True)
    assert (graph.records, sorted(here.objects.keys("")), rows(here, "SELECT * FROM neurigraph.facts")) == before


def test_forgotten_part_takes_questions_along_that_found_its_words(graph: Graph) -> None:
    here = graph.here
    record_id = undivided(graph)
    with here.database.owner() as tx:
        tx.execute(
            "INSERT INTO neurigraph.retrievals (user_id, operation, role, subject_id, record_ids, question)"
            " VALUES (%(user)s, 'search', 'user', %(user)s, %(records)s, 'How much ramipril?')",
            {"user": graph.user.user_id, "records": [record_id]},
        )
    parts = parts_of(again(graph))
    (row,) = rows(here, "SELECT record_ids FROM neurigraph.retrievals")
    assert set(row["record_ids"]) == set(parts.values()), "the log says who has read the messages"
    erase(here, graph.claims, RECORD, parts["Health"])
    assert traces(here, "ramipril") == []


def test_copy_of_a_split_memory_forgets_a_part_as_well(graph: Graph, tmp_path: Path) -> None:
    """The copy has other ids, because the first user is here, too."""
    here = graph.here
    undivided(graph)
    parts_of(again(graph))
    export(here, graph.user, tmp_path / "one")
    replace_text(tmp_path / "one", {str(graph.user.user_id): str(uuid4()), graph.user.slug: "copied"})
    restore(here, tmp_path / "one", "copied")
    (user,) = rows(here, "SELECT user_id FROM neurigraph.users WHERE slug = 'copied'")
    erase(here, graph.claims, USER, graph.user.user_id)
    query = "SELECT record_id FROM neurigraph.record_index INNER JOIN neurigraph.graph_index USING (node_id)"
    (health,) = rows(here, f"{query} WHERE node_name = 'Health'")
    assert traces(here, "ramipril") != []
    claims = Claims(str(user["user_id"]), "user", user["user_id"])
    erase(here, claims, RECORD, health["record_id"])
    assert traces(here, "ramipril") == []
    assert verify(here.context).findings == []


def test_export_during_a_split_is_refused_before_it_lacks_a_text(graph: Graph, tmp_path: Path) -> None:
    undivided(graph)
    with pytest.raises(TransientError, match="export again"):
        export(graph.here, graph.user, tmp_path / "one.zip", lambda: again(graph))
    assert list(tmp_path.glob("one*")) == []
    assert export(graph.here, graph.user, tmp_path / "one.zip").lost == []


def run_and_die(graph: Graph, where: str) -> None:
    command = [sys.executable, "-m", "tests.support.undivided", str(graph.user.user_id), where]
    around = environment(graph.here.settings)
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=around)
    assert ended.returncode == -9, ended.stderr


def test_killed_before_the_commit_nothing_is_visible(graph: Graph) -> None:
    record_id = undivided(graph)
    before: list[Any] = [graph.records, memory(graph, record_id).at(), sorted(graph.here.objects.keys(""))]
    run_and_die(graph, "before")
    assert [graph.records, memory(graph, record_id).at()] == before[:2]
    strays = set(graph.here.objects.keys("")) - set(before[2])
    assert strays
    assert verify(graph.here.context, user_id=graph.user.user_id).findings == []
    graph.here.settings = graph.here.settings.changed(orphan_grace_hours=0)
    assert audit_objects(graph.here.context).removed == len(strays)
    parts_of(again(graph))
    graph.check()


def test_killed_after_the_commit_the_text_of_before_goes_too(graph: Graph) -> None:
    record_id = undivided(graph)
    run_and_die(graph, "after")
    assert sorted(graph.records.values()) == ["Business", "Health", "Hobbies/Tom"]
    assert verify(graph.here.context, user_id=graph.user.user_id).findings == []
    tablets = next(one for one, path in graph.records.items() if path == "Health")
    assert again(graph).split == []
    erase(graph.here, graph.claims, RECORD, tablets)
    assert traces(graph.here, "ramipril") == []
    assert "spinners" in messages_of(graph, record_id)
    graph.check()
