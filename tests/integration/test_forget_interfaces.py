"""Erasure on the command line and over HTTP, and the objects that go with it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from neurigraph_pipelines.access.authentication import issue_api_key
from neurigraph_pipelines.graph.provisioning import User, resolve_path
from neurigraph_pipelines.lifecycle.orphans import audit_objects
from neurigraph_pipelines.model import ConceptKind, PlannedNode
from neurigraph_pipelines.retrieval.open import file_of_record, open_file
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.api_calls import SAME_ID
from tests.support.api_server import serving
from tests.support.command_line import run_cli
from tests.support.erasures import NODE, RECORD, USER, erase, mark, parts_of_a_document, remember_all, sound
from tests.support.memories import converse, ingest, new_user, plain_context, rows, stored
from tests.support.word_traces import found_in_database


def remembered(here: Installation, slug: str) -> tuple[User, UUID]:
    """A user with a record in one node and another below it; gives the first."""
    user, claims = new_user(here, slug)
    converse(here, claims, "#Family I met Ana.", "#Family/Dave I met Dave.")
    records = {record.node_path: record.record_id for record in stored(ingest(plain_context(here)))}
    return user, records[f"{slug}/Family"]


def test_forget_by_cli(settings: Settings, installation: Installation) -> None:
    user, record_id = remembered(installation, "alice")

    def said(*arguments: str, code: int = 0) -> Any:
        done = run_cli(settings, *arguments, "--json")
        assert done.returncode == code, done.stderr
        return json.loads(done.stdout or done.stderr)

    plan = said("forget", "family", "--user", "alice", "--dry-run")
    assert plan["nodes"] == ["alice/Family", "alice/Family/Dave"]
    assert plan["record_count"] == 2
    assert said("forget", str(record_id)[:8], "--user", "alice", "--dry-run")["subject_id"] == str(record_id)
    assert said("forget", str(record_id), "--user", "alice", code=2)["error"] == "InvalidInputError", "nobody said yes"
    assert len(rows(installation, "SELECT FROM neurigraph.record_index")) == 2

    receipt = said("forget", str(record_id), "--user", "alice", "--yes")
    assert (receipt["subject_kind"], receipt["erased"]["records"]) == ("record", 1)
    assert len(receipt["objects"]) == 2
    assert said("forget", str(record_id), "--user", "alice") == receipt, "the second time there is nothing to ask about"
    said("forget", str(record_id), "--user", "alice", "--dry-run", code=3)
    said("forget", str(uuid4()), "--user", "alice", "--yes", code=3)
    said("forget", "--user", "alice", "--yes", code=2)
    said("forget", "alice", "--user", "alice", "--yes", code=2)
    assert said("forget", "Family", "--user", "alice", "--yes")["erased"]["nodes"] == 2

    last = said("forget", "--everything", "--user", "alice", "--yes")
    assert last["subject_id"] == str(user.user_id)
    said("forget", "--everything", "--user", "alice", "--yes", code=3)
    assert said("admin", "erasures", "--finish")["erasures"][0] == last
    assert "Nothing was erased" not in run_cli(settings, "admin", "erasures").stdout


@pytest.fixture
def client(installation: Installation) -> Iterator[httpx.Client]:
    with (
        serving(installation) as address,
        httpx.Client(base_url=f"{address}/v1", headers=SAME_ID, timeout=60) as client,
    ):
        client.timeout = 60
        yield client


def test_forget_over_http(installation: Installation, client: httpx.Client) -> None:
    user, record_id = remembered(installation, "alice")
    stranger, _ = new_user(installation, "bob")
    key, theirs = (
        {"Authorization": f"Bearer {issue_api_key(installation.database, each.user_id)}"} for each in (user, stranger)
    )
    (family,) = rows(installation, "SELECT node_id FROM neurigraph.graph_index WHERE node_name = 'Family'")
    paths = [f"/records/{record_id}", f"/nodes/{family['node_id']}", f"/users/{user.user_id}"]

    absent = client.delete(f"/records/{uuid4()}", headers=theirs)
    assert absent.status_code == 404
    for path in paths:
        denied = client.delete(path, headers=theirs)
        assert (denied.status_code, denied.content) == (404, absent.content)
    assert client.delete(paths[0]).status_code == 401

    plan = client.delete(paths[1], headers=key, params={"dry_run": True}).json()
    assert (plan["nodes"], plan["record_count"]) == (["alice/Family", "alice/Family/Dave"], 2)
    assert len(rows(installation, "SELECT FROM neurigraph.record_index")) == 2

    receipt = client.delete(paths[0], headers=key).json()
    assert (receipt["erased"]["records"], len(receipt["objects"])) == (1, 2)
    assert client.delete(paths[0], headers=key).json() == receipt
    assert client.delete(paths[1], headers=key).json()["erased"]["nodes"] == 2
    page = client.get("/erasures", headers=key, params={"limit": 1}).json()
    assert page["erasures"][0]["subject_kind"] == "node"
    rest = client.get("/erasures", headers=key, params={"cursor": page["next_cursor"]}).json()
    assert ([one["subject_kind"] for one in rest["erasures"]], rest["next_cursor"]) == (["record"], None)
    assert client.get("/erasures", headers=theirs).json()["erasures"] == []

    last = client.delete(paths[2], headers=key).json()
    assert (last["subject_id"], last["erased"]["users"]) == (str(user.user_id), 1)
    assert client.delete(paths[2], headers=key).status_code == 410, "their key is gone, too"


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
