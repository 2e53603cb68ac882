"""What a peer reads at the publisher: granted nodes and records in pages, signed, and nothing else."""

from __future__ import annotations

import gzip
import hashlib
import json
import threading
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from pydantic import BaseModel

from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.exchange.peers import granted_rows, offering, signatures
from neurigraph_pipelines.exchange.portability.stream import table_of
from neurigraph_pipelines.exchange.sharing import Subject
from neurigraph_pipelines.inbox.privacy import set_privacy
from neurigraph_pipelines.lifecycle.erasure.forget import forget
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.model import Privacy, SourceKind, SubjectType
from neurigraph_pipelines.model.errors import ForbiddenError, NotFoundError, ProviderError
from neurigraph_pipelines.text.search_segments import SearchSegment, read_vectors
from neurigraph_pipelines.views.mirrors import OfferedNodes, OfferedRecord
from neurigraph_pipelines.wiring.installation import Installation
from tests.conftest import SECRET
from tests.support.api_server import serving
from tests.support.memories import converse, ingest, plain_context, schemas_of
from tests.support.sent_streams import SentStream
from tests.support.shared_graph import SharedGraph, new_shared_graph

PEER = "laptop"


@pytest.fixture
def graph(shared_installation: Installation) -> SharedGraph:
    made = new_shared_graph(shared_installation)
    made.grant("Family/Dave", PEER)
    return made


@pytest.fixture
def address(graph: SharedGraph) -> Iterator[str]:
    with serving(graph.installation) as base:
        yield base


def listing(graph: SharedGraph, since: UUID | None = None) -> OfferedNodes:
    return offering.list_nodes(graph.installation.acting_for(graph.third_party(PEER)), since=since)


def versions(graph: SharedGraph, node_id: UUID) -> dict[UUID, UUID]:
    found = offering.list_records(graph.installation.acting_for(graph.third_party(PEER)), node_id)
    return {row.record_id: row.version for row in found.records or ()}


def remember(graph: SharedGraph, text: str) -> UUID:
    source_id = converse(graph.installation, graph.owners, text)
    ingest(plain_context(graph.installation), graph.owner)
    return source_id


def test_granted_nodes_alone_are_listed(graph: SharedGraph) -> None:
    (node,) = listing(graph).nodes
    assert (node.name, node.record_count, node.node_id) == ("Dave", 1, graph.node("Family/Dave"))
    assert listing(graph).nodes == [node]


@pytest.mark.parametrize("caller", ["owners", "personas"])
def test_only_third_parties_mirror(graph: SharedGraph, caller: str) -> None:
    context = graph.installation.acting_for(getattr(graph, caller))
    with pytest.raises(ForbiddenError):
        offering.list_nodes(context)


def test_hidden_node_is_absent(graph: SharedGraph) -> None:
    context = graph.installation.acting_for(graph.third_party(PEER))
    for node_id in (graph.node("Work"), uuid4()):
        with pytest.raises(NotFoundError):
            offering.list_records(context, node_id)


def test_private_source_leaves_no_trace(graph: SharedGraph) -> None:
    before = listing(graph)
    source_id = converse(graph.installation, graph.owners, "#Family/Dave Dave hides a Quagga.")
    set_privacy(graph.installation.database, graph.owners, source_id, Privacy.PRIVATE, SourceKind.CONVERSATION)
    ingest(plain_context(graph.installation), graph.owner)
    after = listing(graph, before.horizon)
    assert after.nodes == before.nodes
    assert len(versions(graph, after.nodes[0].node_id)) == 1


def test_digest_follows_every_visible_change(graph: SharedGraph) -> None:
    """Also those that change no row of the node: a source that becomes private and shared again."""
    first = listing(graph)
    source_id = remember(graph, "#Family/Dave Dave bought a canoe.")
    second = listing(graph, first.horizon)
    assert second.is_known
    assert second.nodes[0].digest != first.nodes[0].digest
    database = graph.installation.database
    set_privacy(database, graph.owners, source_id, Privacy.PRIVATE, SourceKind.CONVERSATION)
    third = listing(graph, second.horizon)
    assert third.nodes[0].digest == first.nodes[0].digest
    set_privacy(database, graph.owners, source_id, Privacy.SHARED, SourceKind.CONVERSATION)
    assert listing(graph, third.horizon).nodes[0].digest == second.nodes[0].digest


def test_unknown_horizon_compares_everything(graph: SharedGraph) -> None:
    """Of another third party too, whose horizon says nothing about this one."""
    graph.grant("Family/Dave", "stranger")
    others = offering.list_nodes(graph.installation.acting_for(graph.third_party("stranger"))).horizon
    expected = listing(graph).nodes
    for horizon in (uuid4(), others):
        found = listing(graph, horizon)
        assert (found.is_known, found.nodes) == (False, expected)


def test_transaction_that_commits_below_the_horizon_is_seen(graph: SharedGraph) -> None:
    """It began first, a later one committed and was listed, and then it commits: a clock would skip it."""
    (node,) = listing(graph).nodes
    table = f'"{schemas_of(graph.installation, graph.owner)["Family/Dave"]}".metadata_records'
    begun, listed = threading.Event(), threading.Event()

    def slow() -> None:
        with graph.installation.database.pipeline() as tx:
            tx.execute("SELECT set_config('neurigraph.author', 'pipeline:test', true)")
            tx.execute(f"UPDATE {table} SET summary = summary || ' Late words.'")
            begun.set()
            assert listed.wait(60)

    thread = threading.Thread(target=slow)
    thread.start()
    try:
        assert begun.wait(60)
        with graph.installation.database.pipeline() as tx:  # a younger transaction of the same graph commits first
            tx.execute("UPDATE neurigraph.graph_index SET node_summary = '' WHERE node_id = %s", [node.node_id])
        between = listing(graph)
    finally:
        listed.set()
        thread.join()
    assert between.nodes == [node]
    after = listing(graph, between.horizon)
    assert after.is_known
    assert after.nodes[0].digest != node.digest


def test_large_nodes_are_listed_in_parts(graph: SharedGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        remember(graph, f"#Family/Dave Dave has {number} oars.")
    (node,) = listing(graph).nodes
    whole = versions(graph, node.node_id)
    monkeypatch.setattr(offering, "LISTED_AT_ONCE", 1)
    context = graph.installation.acting_for(graph.third_party(PEER))
    parts = offering.list_records(context, node.node_id).parts
    assert parts is not None
    assert sum(part.record_count for part in parts) == len(whole) == 4
    for part in parts:
        within = sorted((one, at) for one, at in whole.items() if str(one).startswith(part.prefix))
        stated = ",".join(f"{one}:{at}" for one, at in within)
        assert part.digest == hashlib.md5(stated.encode(), usedforsecurity=False).hexdigest()


def test_answer_ends_before_too_many_passages(graph: SharedGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    remember(graph, "#Family/Dave Dave sold the canoe.")
    (node,) = listing(graph).nodes
    monkeypatch.setattr(offering, "PASSAGES_AT_ONCE", 1)
    context = graph.installation.acting_for(graph.third_party(PEER))
    ids = sorted(versions(graph, node.node_id))
    sent = SentStream.read(b"".join(offering.read_records(context, node.node_id, ids).chunks()))
    assert [row["record_id"] for row in sent.of("metadata_records")] == [str(ids[0])]


def read_sent(graph: SharedGraph, record_ids: list[UUID], model: str) -> SentStream:
    context = graph.installation.acting_for(graph.third_party(PEER))
    content = offering.read_records(context, graph.node("Family/Dave"), record_ids, model)
    return SentStream.read(b"".join(content.chunks()))


def test_record_comes_with_its_passages_and_files(graph: SharedGraph) -> None:
    record_id, file_id = graph.record_of("Family/Dave")
    hidden, _ = graph.record_of("Work")
    sent = read_sent(graph, [record_id, hidden, uuid4()], plain_context(graph.installation).embedder.model)
    (row,) = sent.of("metadata_records")
    (file,) = sent.of("file_manifest")
    (packed,) = sent.of("segments")
    assert (row["record_id"], file["file_id"]) == (str(record_id), str(file_id))
    assert row["file_pointer"] == file["storage_path"]
    content = sent.objects["objects/" + file["storage_path"]]
    assert "\\x" + hashlib.sha256(content).hexdigest() == file["stored_sha256"]
    assert b"Dave caught a trout." in gzip.decompress(content)
    assert row["embedding"]
    assert len(SearchSegment.read(bytes.fromhex(packed["content"][2:])).rows) == 1
    assert read_vectors(bytes.fromhex(packed["vectors"][2:]), 1).any()
    other = read_sent(graph, [record_id], "another model")
    assert other.of("metadata_records")[0]["embedding"] is None
    assert other.of("segments") == [{**packed, "vectors": None}]


def test_record_forgotten_while_it_is_sent_is_absent(graph: SharedGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    """As one that was forgotten before: the peer goes on with other nodes, and its next pull forgets it."""
    record_id, _ = graph.record_of("Family/Dave")
    context = graph.installation.acting_for(graph.third_party(PEER))
    acting, read = graph.installation.acting_for(graph.owners), context.objects.get

    def forgetting(key: str) -> Iterator[bytes]:
        forget(acting, ErasureSubject(SubjectKind.RECORD, record_id), through="tests")
        return read(key)

    monkeypatch.setattr(context.objects, "get", forgetting)
    with pytest.raises(NotFoundError):
        offering.read_records(context, graph.node("Family/Dave"), [record_id])


def test_stream_says_nothing_of_others(graph: SharedGraph) -> None:
    """Not the names above the node, not who the user is, and no column beside those that peers get."""
    record_id, _ = graph.record_of("Family/Dave")
    sent = read_sent(graph, [record_id], "another model")
    assert sent.manifest["user"] is None
    keys = [list(sent.objects), [row["storage_path"] for row in sent.of("file_manifest")]]
    for hidden in (graph.owner.slug, str(graph.owner.user_id), "Family"):
        assert hidden.lower() not in json.dumps([sent.manifest, keys]).lower()
    assert str(graph.owner.user_id) not in json.dumps(sent.rows)
    forms: dict[str, type[BaseModel]] = {
        "metadata_records": granted_rows.RecordRow,
        "file_manifest": granted_rows.FileRow,
        "sources": granted_rows.SourceRow,
        "segments": granted_rows.SegmentRow,
        "mirrored_records": OfferedRecord,
    }
    assert {table_of(name): list(rows[0]) for name, rows in sent.rows.items()} == {
        table: list(form.model_fields) for table, form in forms.items()
    }


def checksum(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def test_answers_are_signed_for_their_request(graph: SharedGraph, address: str) -> None:
    key = graph.key(Subject(SubjectType.THIRD_PARTY, PEER))
    publisher = signatures.checked_key(signatures.PublisherKey(graph.installation.secret).public)

    def ask(nonce: str) -> httpx.Response:
        return httpx.get(f"{address}/v1/mirror?nonce={nonce}", headers={"Authorization": f"Bearer {key}"}, timeout=60)

    nonce = signatures.new_nonce()
    answer = ask(nonce)
    signature = answer.headers[signatures.HEADER]
    signatures.require_signed(publisher, nonce, checksum(answer.content), signature)
    forger = signatures.PublisherKey(Secret(SECRET + "another"))
    forged: list[tuple[str, bytes, Any]] = [
        (signatures.new_nonce(), answer.content, signature),
        (nonce, answer.content.replace(b"Dave", b"Date"), signature),
        (nonce, answer.content, forger.sign(nonce, checksum(answer.content))),
        (nonce, answer.content, None),
        (nonce, answer.content, "no base64"),
    ]
    for to, content, by in forged:
        with pytest.raises(ProviderError):
            signatures.require_signed(publisher, to, checksum(content), by)
    assert json.loads(answer.content)["nodes"][0]["name"] == "Dave"
    assert answer.headers["Content-Encoding"] == "gzip"


def test_revoked_key_and_ended_grant_end_everything(graph: SharedGraph, address: str) -> None:
    key = graph.key(Subject(SubjectType.THIRD_PARTY, PEER))
    headers = {"Authorization": f"Bearer {key}"}
    node, (record_id, _) = graph.node("Family/Dave"), graph.record_of("Family/Dave")
    path, nonce = f"{address}/v1/mirror/nodes/{node}", {"nonce": "0" * 32}

    def ask() -> list[int]:
        asked = {"record_ids": [str(record_id)]}
        listed = httpx.get(path, params=nonce, headers=headers, timeout=60)
        read = httpx.post(f"{path}/records", params=nonce, headers=headers, json=asked, timeout=60)
        return [listed.status_code, read.status_code]

    assert ask() == [200, 200]
    with graph.installation.database.agent(graph.owners) as tx:
        tx.execute("UPDATE neurigraph.permission_grants SET revoked_at = now() WHERE subject_id = %s", [PEER])
    assert ask() == [404, 404]
    assert listing(graph).nodes == []
    with graph.installation.database.agent(graph.owners) as tx:
        tx.execute("UPDATE neurigraph.api_keys SET revoked_at = now() WHERE subject_id = %s", [PEER])
    assert ask() == [401, 401]
