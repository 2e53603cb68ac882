"""Erasure of records, nodes and users: nothing of them remains, and the rest is intact."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import psycopg
import pytest
from psycopg import sql

from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.graph.history import authored
from neurigraph_pipelines.graph.provisioning import User, create_user
from neurigraph_pipelines.inbox import triggers
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.ingestion import batch
from neurigraph_pipelines.ingestion.detection import detect
from neurigraph_pipelines.lifecycle.erasure.receipts import SubjectKind, objects_of, receipts
from neurigraph_pipelines.lifecycle.quarantine import holding
from neurigraph_pipelines.lifecycle.quarantine.rules import QuarantineRule
from neurigraph_pipelines.model import (
    Claims,
    ConceptKind,
    ImportedConversation,
    NodeCandidate,
    NodeType,
    PlannedEdge,
    SubjectType,
)
from neurigraph_pipelines.model.errors import NotFoundError
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.callers import plant_fact
from tests.support.erasures import FACT, NODE, RECORD, USER, erase, mark, node_at, planned, remember_all, sound, traces
from tests.support.memories import converse, messages, new_user, node_rows, plain_context, rows, schemas_of
from tests.support.witnesses import as_witness, doubt, new_witness


def shells(here: Installation, user: User) -> list[dict[str, object]]:
    return rows(
        here,
        "SELECT node_name, record_count, embedded_count, node_keywords, node_summary, aliases, compression_state "
        "FROM neurigraph.graph_index WHERE user_id = %s AND layer_depth > 0 ORDER BY node_name",
        user.user_id,
    )


def define_and_revise(
    here: Installation, user: User, claims: Claims, twins: Claims, gone: str, record_id: UUID
) -> None:
    """Let the record define a node, nobody define one of the twin's, and somebody revise the record."""
    with here.database.pipeline() as tx:
        define = (
            "UPDATE neurigraph.graph_index SET node_summary = %s, node_keywords = '{}', defined_by = %s "
            "WHERE node_id = %s"
        )
        tx.execute(define, [f"Where {gone} lives.", record_id, node_at(here, claims, "Family")])
        tx.execute(define, ["", None, node_at(here, twins, "Family")])
        authored(tx, "tests")
        schema = sql.Identifier(schemas_of(here, user)["Family/Dave"])
        revise = sql.SQL("UPDATE {}.metadata_records SET title = 'Revised' WHERE record_id = %s").format(schema)
        tx.execute(revise, [record_id])


def test_record_is_erased_without_its_neighbour(installation: Installation) -> None:
    here = installation
    (user, claims), (twin, twins) = new_user(here, "alice"), new_user(here, "twin")
    gone, stays = mark(), mark()
    for owner in (claims, twins):
        converse(here, owner, f"#Family/Dave {stays} says hello.", "How nice, Paris!", external_id=stays)
    remember_all(here)  # first, so that the nodes are made for it
    converse(here, claims, f"#Family/Dave {gone} says hello.", f"{gone.title()} again, London!", external_id=gone)
    records = remember_all(here)
    (to_erase,) = [record for title, record in records.items() if gone in title]
    other = rows(here, "SELECT record_id FROM neurigraph.record_index WHERE user_id = %s", user.user_id)
    (neighbour,) = (row["record_id"] for row in other if row["record_id"] != to_erase)
    doubt_both(here, user, gone, to_erase, neighbour)
    define_and_revise(here, user, claims, twins, gone, to_erase)
    assert {"neurigraph.delta_log", "neurigraph.node_candidates", "neurigraph.segments"} <= set(traces(here, gone))

    expected = planned(here, claims, RECORD, to_erase)
    receipt = erase(here, claims, RECORD, to_erase)

    assert traces(here, gone) == []
    assert traces(here, stays) != []
    assert receipt.finished_at is not None
    assert (expected.record_count, expected.file_count, expected.delta_count, expected.source_count) == (1, 1, 2, 1)
    assert [receipt.erased[name] for name in ("records", "files", "deltas", "sources")] == [1, 1, 2, 1]
    assert receipt.erased["object_bytes"] == expected.object_bytes
    assert (receipt.erased["messages"], receipt.erased["candidates"]) == (2, 1)
    with here.database.agent(claims) as tx:
        objects = objects_of(tx, receipt.erasure_id)
    assert len(objects) == receipt.erased["objects"] == 2
    assert all(each.removed and each.sha256 is not None for each in objects)

    # What remains is as if the other had never been.
    assert sound(here)
    assert shells(here, user) == shells(here, twin)
    one, other_one = rows(here, "SELECT centroid FROM neurigraph.graph_index WHERE centroid IS NOT NULL")
    assert abs(one["centroid"].to_numpy() - other_one["centroid"].to_numpy()).max() < 1e-6
    statistics = """SELECT g.node_name, s.passages, s.speakers, s.languages FROM neurigraph.node_statistics AS s
    INNER JOIN neurigraph.graph_index AS g ON s.node_id = g.node_id WHERE s.user_id = %s ORDER BY g.node_name"""
    assert rows(here, statistics, user.user_id) == rows(here, statistics, twin.user_id) != []
    assert rows(here, "SELECT node_name FROM neurigraph.node_candidates") == [{"node_name": "Aunt Paris"}]
    answer = search(here.acting_for(claims).using(embedder=plain_context(here).embedder), Question(f"{gone} {stays}"))
    assert {hit.key for hit in answer.hits} == {row["record_id"] for row in other} - {to_erase}


def doubt_both(here: Installation, user: User, gone: str, to_erase: UUID, neighbour: UUID) -> None:
    """Give evidence for two nodes: for both by the record that is erased, for one by another."""
    planned_node = NodeCandidate(f"Aunt {gone}", ConceptKind.PERSON, ("Family",), 0.4, edges=())
    kept = NodeCandidate("Aunt Paris", ConceptKind.PERSON, ("Family",), 0.4, edges=())
    with here.database.pipeline() as tx:
        doubt(here, tx, user.user_id, as_witness(to_erase), [planned_node, kept])
        doubt(here, tx, user.user_id, as_witness(neighbour), [kept])


def test_doubts_below_an_erased_node_go_with_it(installation: Installation) -> None:
    """Also if a memory elsewhere speaks of them."""
    user, claims = new_user(installation)
    witness = new_witness(installation, claims, "#Work Something was said.")
    converse(installation, claims, "#Family hello", "goodbye")
    remember_all(installation)
    doubts = [
        NodeCandidate(name, ConceptKind.PERSON, (path,), 0.4) for name, path in (("Eve", "Family"), ("Ada", "Work"))
    ]
    with installation.database.pipeline() as tx:
        doubt(installation, tx, user.user_id, witness, doubts)
    erase(installation, claims, NODE, node_at(installation, claims, "Family"))
    left = rows(installation, "SELECT node_name FROM neurigraph.node_candidates WHERE user_id = %s", user.user_id)
    assert [row["node_name"] for row in left] == ["Ada"]


def test_repeated_request_gives_same_receipt(installation: Installation) -> None:
    _, claims = new_user(installation)
    converse(installation, claims, "#Family hello", "goodbye")
    (record_id,) = remember_all(installation).values()
    first = erase(installation, claims, RECORD, record_id)
    assert erase(installation, claims, RECORD, record_id) == first
    with installation.database.agent(claims) as tx:
        assert receipts(tx) == [first]
    with pytest.raises(NotFoundError):
        planned(installation, claims, RECORD, record_id)


def test_fact_is_erased_without_its_record(installation: Installation) -> None:
    _, claims = new_user(installation)
    converse(installation, claims, "#Family hello", "goodbye")
    (record_id,) = remember_all(installation).values()
    fact_id = plant_fact(installation, record_id)
    expected = planned(installation, claims, FACT, fact_id)
    assert (expected.subject_kind, expected.subject_id, expected.nodes) == (SubjectKind.FACT, fact_id, [])
    assert (
        expected.record_count,
        expected.delta_count,
        expected.file_count,
        expected.source_count,
        expected.shared_sources,
    ) == (0,) * 5
    receipt = erase(installation, claims, FACT, fact_id)
    assert (receipt.erased["facts"], receipt.erased.get("records", 0)) == (1, 0)
    assert planned(installation, claims, RECORD, record_id).record_count == 1


def test_record_in_quarantine_is_erased(installation: Installation) -> None:
    _, claims = new_user(installation)
    converse(installation, claims, "#Family hello", "goodbye")
    (record_id,) = remember_all(installation).values()
    before = planned(installation, claims, RECORD, record_id)
    everything = QuarantineRule(received_until=datetime.now(UTC) + timedelta(days=1))
    held = holding.quarantine(installation.acting_for(claims), everything, "Poison.")
    assert held.record_count == 1
    assert planned(installation, claims, RECORD, record_id) == before
    assert erase(installation, claims, RECORD, record_id).erased["records"] == 1
    with pytest.raises(NotFoundError):
        planned(installation, claims, RECORD, record_id)


def test_node_is_erased_with_subtree(installation: Installation) -> None:
    here = installation
    user, claims = new_user(here, "alice")
    gone, relative, stays = mark(), mark(), mark()
    converse(here, claims, f"#Family/{gone} {gone} says hello.", f"I saw {relative}.", external_id="whole")
    converse(here, claims, f"#Family/{gone}/Letters {gone} wrote.", "#Work The mill turns.", external_id="shared")
    converse(here, claims, f"#Work {stays} says hello.", "@Ana:sister", external_id="other")
    remember_all(here)
    top = node_at(here, claims, f"Family/{gone}")
    letters = schemas_of(here, user)[f"Family/{gone}/Letters"]
    work = schemas_of(here, user)["Work"]
    (superseding,) = node_rows(here, letters, "SELECT record_id FROM {schema}.metadata_records")
    with here.database.pipeline() as tx:
        planned_node = NodeCandidate("Somebody", ConceptKind.TOPIC, ("Family", gone), 0.4)
        edge = PlannedEdge(("Family", gone), ("Else",), "knows", 0.5)
        linked = NodeCandidate("Else", ConceptKind.TOPIC, (), 0.4, edges=(edge,))
        doubt(here, tx, user.user_id, as_witness(superseding["record_id"]), [planned_node, linked])
        authored(tx, "tests")
        supersede = "UPDATE {}.metadata_records SET superseded_by = %s WHERE summary LIKE '%%' || %s || '%%'"
        tx.execute(sql.SQL(supersede).format(sql.Identifier(work)), [superseding["record_id"], stays])

    expected = planned(here, claims, NODE, top)
    receipt = erase(here, claims, NODE, top)

    assert expected.nodes == [f"alice/Family/{gone}", f"alice/Family/{gone}/Letters"]
    assert (expected.record_count, expected.source_count, expected.shared_sources) == (2, 1, 1)
    assert {name: receipt.erased[name] for name in ("nodes", "records", "sources", "candidates")} == {
        "nodes": 2,
        "records": 2,
        "sources": 1,
        "candidates": 2,
    }
    (shared,) = rows(here, "SELECT source_id FROM neurigraph.sources WHERE external_id = 'shared'")
    assert receipt.kept == {"sources": [shared["source_id"]], "originals": []}
    assert traces(here, gone) == traces(here, relative) == []
    assert traces(here, stays) != []
    assert set(schemas_of(here, user)) == {"", "Family", "Work"}
    assert rows(here, "SELECT FROM pg_namespace WHERE nspname = %s", letters) == []
    left = node_rows(here, work, "SELECT superseded_by, upper_inf(superseded) AS open FROM {schema}.metadata_records")
    assert [row["superseded_by"] for row in left] == [None, None]
    assert not any(row["open"] for row in left)
    assert sound(here)
    (mill,) = rows(here, "SELECT seq FROM neurigraph.messages WHERE source_id = %s", shared["source_id"])
    assert mill["seq"] == 2


@pytest.fixture
def crowded(installation: Installation) -> tuple[User, Claims, list[str]]:
    """A user with data in every place, each with its own word."""
    here = installation
    words = [mark() for _ in range(11)]
    slug, message, title, author, failed, error, waiting, file, upload, candidate, node = words
    user, _ = create_user(here.database, slug)
    claims = Claims.of_user(user.user_id)
    inbox = Inbox(here.context)
    spoken = tuple(replace(each, author=author.title()) for each in messages(f"#{node} {message}.", "@Ana:sister"))
    with here.database.agent(claims) as tx:
        ended = ImportedConversation(title, spoken, title=title, ended_at=spoken[0].occurred_at)
        inbox.add_conversations(tx, user.user_id, [ended])
    converse(here, claims, f"#Family/Dave {message} again.", "Goodbye.", external_id=f"{title} again")
    here.uploads.receive(claims, f"{file}.txt", [f"{upload} is in the file.".encode()])
    here.uploads.read_due(here.text_extractor)
    remember_all(here)
    converse(here, claims, f"REFUSED {failed}.", external_id="refused")
    remember_all(here)
    converse(here, claims, f"{waiting} has not finished.", ended=False)
    here.uploads.receive(claims, f"{file} later.txt", [f"{upload} is in another file.".encode()])
    with here.database.pipeline() as tx:
        witness = as_witness(rows(here, "SELECT record_id FROM neurigraph.record_index")[0]["record_id"])
        doubt(here, tx, user.user_id, witness, [NodeCandidate(candidate, ConceptKind.TOPIC, (), 0.4)])
        tx.execute("UPDATE neurigraph.pipeline_failures SET error = error || %s", [error])
        tx.execute("INSERT INTO neurigraph.dropped_files VALUES (%s, %s, '1', NULL, %s)", [user.user_id, file, error])
    return user, claims, words


def test_erased_user_leaves_a_receipt(installation: Installation, crowded: tuple[User, Claims, list[str]]) -> None:
    here, (user, claims, words) = installation, crowded
    bob, bobs = new_user(here, "bob")
    stays = mark()
    converse(here, bobs, f"#Family/Dave {stays} says hello.")
    remember_all(here)
    assert [word for word in words if not traces(here, word)] == []
    before = shells(here, bob)

    expected = planned(here, claims, USER, user.user_id)
    receipt = erase(here, claims, USER, user.user_id)

    assert {word: traces(here, word) for word in words} == {word: [] for word in words}
    assert (receipt.erased["nodes"], receipt.erased["records"]) == (len(expected.nodes), expected.record_count)
    assert receipt.erased["users"] == receipt.erased["failures"] == receipt.erased["dropped_files"] == 1
    assert receipt.erased["uploads"] == 2
    assert receipt.erased["sources"] == expected.source_count == 6
    assert receipt.kept == {"sources": [], "originals": []}
    assert tables_with(here, user.user_id) == ["erased_objects", "erasures"]
    assert shells(here, bob) == before
    assert traces(here, stays) != []
    assert sound(here)
    assert erase(here, claims, USER, user.user_id) == receipt
    create_user(here.database, user.slug)


def tables_with(here: Installation, user_id: UUID) -> list[str]:
    """Shared tables that hold a row of a user."""
    tables = rows(
        here,
        "SELECT table_name AS name FROM information_schema.columns "
        "WHERE table_schema = 'neurigraph' AND column_name = 'user_id' ORDER BY 1",
    )
    assert len(tables) > 20
    query = sql.SQL("SELECT FROM {} WHERE user_id = %s LIMIT 1")
    with psycopg.connect(here.administrator_url) as connection:
        return [
            table["name"]
            for table in tables
            if connection.execute(query.format(sql.Identifier("neurigraph", table["name"])), [user_id]).fetchone()
            is not None
        ]


def test_running_batch_restores_nothing(installation: Installation) -> None:
    here, context = installation, plain_context(installation)
    user, claims = new_user(here)
    gone = mark()
    converse(here, claims, f"#Family/{gone} {gone} says hello.")
    detect(here.context)
    held = triggers.lease_due(here.context, "tests")
    assert held is not None
    assigned = batch.assign_nodes(context, held.batch_id)
    summarized = batch.summarize(context, assigned)
    described = batch.extract_keywords(context, assigned, summarized)
    embedded = batch.embed(context, assigned, summarized)

    erase(here, claims, USER, user.user_id)
    result = batch.commit(context, assigned, summarized, described, embedded)

    assert (result.stored, result.returned) == ((), ())
    assert traces(here, gone) == []


def test_running_conversation_continues(installation: Installation) -> None:
    here = installation
    here.settings = here.settings.changed(chunk_watch_tokens=10, chunk_target_tokens=12, chunk_limit_tokens=400)
    _, claims = new_user(here)
    gone = mark()
    title = f"About {gone}"
    long = " ".join(["word"] * 20)
    converse(here, claims, f"#Family {gone} {long}", f"{gone} {long}", external_id=title, ended=False)
    (record_id,) = remember_all(here).values()
    receipt = erase(here, claims, RECORD, record_id)
    (source,) = rows(here, "SELECT source_id, title FROM neurigraph.sources")
    assert receipt.kept["sources"] == [source["source_id"]]
    assert source["title"] is None
    assert rows(here, "SELECT FROM neurigraph.messages") == []
    converse(here, claims, "#Family And then?", external_id=title, first=3)
    assert len(remember_all(here)) == 1
    assert sound(here)


def test_forgotten_persona_keeps_no_grants_elsewhere(installation: Installation) -> None:
    """A persona's node is forgotten: its grants to nodes outside end with it, and those of others stay."""
    here = installation
    _, claims = new_user(here)
    converse(here, claims, "#Family hello", "#Work hello")
    remember_all(here)
    family, work = node_at(here, claims, "Family"), node_at(here, claims, "Work")
    persona, other = (
        sharing.add_node(here.database, claims, family, name, node_type=NodeType.PERSONA) for name in ("One", "Other")
    )
    for subject in (persona, other):
        sharing.grant(here.database, claims, sharing.Subject(SubjectType.PERSONA, str(subject)), work)
    granted = sharing.page_of_grants(here.listing(claims)).items
    assert {grant.persona_id for grant in granted} == {persona, other}
    receipt = erase(here, claims, NODE, persona)
    assert receipt.erased["grants"] == 1
    left = rows(here, "SELECT subject_id FROM neurigraph.permission_grants WHERE user_id = %s", claims.user_id)
    assert [row["subject_id"] for row in left] == [str(other)]
