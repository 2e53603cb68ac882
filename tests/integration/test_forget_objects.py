"""Objects after erasure: shared originals stay, and leftover objects are erased."""

from __future__ import annotations

from uuid import uuid4

from neurigraph_pipelines.graph.provisioning import resolve_path
from neurigraph_pipelines.lifecycle.orphans import audit_objects
from neurigraph_pipelines.model import ConceptKind, PlannedNode
from neurigraph_pipelines.retrieval.open import file_of_record, open_file
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.erasures import NODE, RECORD, USER, erase, mark, parts_of_a_document, remember_all, sound
from tests.support.memories import converse, new_user, rows
from tests.support.word_traces import found_in_database


def test_original_stays_for_remaining_parts(installation: Installation) -> None:
    here = installation
    _, claims = new_user(here)
    (first, gone), (second, _), *others = parts_of_a_document(here, claims)
    original = file_of_record(here.database, claims, first)
    content = open_file(here.acting_for(claims), original).content

    receipt = erase(here, claims, RECORD, first)

    assert receipt.kept["originals"] == [original]
    assert len(receipt.kept["sources"]) == 1
    assert found_in_database(here, gone) == []
    assert file_of_record(here.database, claims, second) == original
    assert open_file(here.acting_for(claims), original).content == content
    assert sound(here)
    for record_id, _ in others:
        assert erase(here, claims, RECORD, record_id).kept["originals"] == [original]
    last = erase(here, claims, RECORD, second)
    assert last.kept == {"sources": [], "originals": []}
    assert list(here.objects.keys()) == []
    assert found_in_database(here, "tides.txt") == []


def test_original_follows_into_another_node(installation: Installation) -> None:
    here = installation
    user, claims = new_user(here)
    (first, _), (second, _), *_ = parts_of_a_document(here, claims)
    with here.database.owner() as tx:
        made = resolve_path(tx, user.user_id, user.slug, ("Sea",), [PlannedNode(("Sea",), ConceptKind.TOPIC, 1.0)])
        (place,) = tx.execute("SELECT node_id FROM neurigraph.record_index WHERE record_id = %s", [second]).fetchall()
        tx.execute(
            "SELECT neurigraph_private.move_records(array_agg(record_id), %s, %s) FROM neurigraph.record_index "
            "WHERE record_id <> %s",
            [place["node_id"], made.node_id, first],
        )
    original = file_of_record(here.database, claims, first)
    content = open_file(here.acting_for(claims), original).content
    log = "SELECT DISTINCT node_id FROM neurigraph.compression_state_log WHERE file_id = %s"
    assert [row["node_id"] for row in rows(here, log, original)] == [place["node_id"]]
    erase(here, claims, RECORD, first)
    assert file_of_record(here.database, claims, second) == original
    assert open_file(here.acting_for(claims), original).content == content
    assert [row["node_id"] for row in rows(here, log, original)] == [made.node_id], "its log follows"
    found = audit_objects(here.context, dry_run=True)
    assert found.orphans == []


def test_original_stays_beside_uploads_that_go(installation: Installation) -> None:
    """A node is erased with several uploads, of one of which another node has a part."""
    here = installation
    user, claims = new_user(here)
    (first, _), (second, _), *_ = parts_of_a_document(here, claims)
    for number in range(9):
        here.uploads.receive(claims, f"{number}.txt", [f"The boat {number} lies in the harbour.".encode()])
    here.uploads.read_due(here.text_extractor)
    remember_all(here)
    with here.database.owner() as tx:
        planned = [PlannedNode((name,), ConceptKind.TOPIC, 1.0) for name in ("Sea", "Land")]
        sea, land = (resolve_path(tx, user.user_id, user.slug, one.path, [one]).node_id for one in planned)
        for target, is_second in ((sea, True), (land, False)):
            moved = tx.execute(
                "SELECT node_id, array_agg(record_id) AS ids FROM neurigraph.record_index"
                " WHERE (record_id = %s) = %s GROUP BY node_id",
                [second, is_second],
            ).fetchall()
            for row in moved:
                tx.execute("SELECT neurigraph_private.move_records(%s, %s, %s)", [row["ids"], row["node_id"], target])
    original = file_of_record(here.database, claims, first)
    assert erase(here, claims, NODE, land).kept["originals"] == [original]
    assert file_of_record(here.database, claims, second) == original
    assert audit_objects(here.context, dry_run=True).orphans == []


def test_leftover_objects_are_erased(installation: Installation) -> None:
    """A process that died between an object and its row, in an attempt before the one that stored the record."""
    here = installation
    user, claims = new_user(here, "alice")
    gone = mark()
    converse(here, claims, f"#Family {gone} says hello.")
    (record_id,) = remember_all(here).values()
    for tier, end in (("durable", ".jsonl.gz"), ("active", ".jsonl")):
        here.objects.put(f"{tier}/alice/family/{record_id}-00000000{end}", [gone.encode()])
    receipt = erase(here, claims, RECORD, record_id)
    assert receipt.erased["objects"] == 2
    assert list(here.objects.keys()) == []
    here.objects.put(f"durable/alice/family/{uuid4()}-00000000.jsonl.gz", [gone.encode()])
    erase(here, claims, USER, user.user_id)
    assert list(here.objects.keys()) == []
