"""Mirrors: what a pull brings here, keeps equal to its publisher, and takes away again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import pytest

from neurigraph_pipelines.exchange.peers import offering, pulling, subscriptions
from neurigraph_pipelines.exchange.peers.signatures import PublisherKey
from neurigraph_pipelines.graph.navigation import outline
from neurigraph_pipelines.graph.provisioning import provision_node
from neurigraph_pipelines.inbox.privacy import set_privacy
from neurigraph_pipelines.lifecycle.erasure.forget import forget
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.lifecycle.verification import verify
from neurigraph_pipelines.model import Privacy, SourceKind, Voice
from neurigraph_pipelines.model.errors import (
    ConflictError,
    ForbiddenError,
    NotFoundError,
    UnauthenticatedError,
)
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.text.search_segments import VOICES, SearchSegment, lexeme_keys
from neurigraph_pipelines.views.search import Hit
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.memories import converse, ingest, new_user, plain_context, rows, schemas_of
from tests.support.peers import GRANTED, THIRD_PARTY, Pair, new_pair, stored_words


@pytest.fixture
def pair(shared_installation: Installation, installation: Installation) -> Iterator[Pair]:
    with new_pair(shared_installation, installation) as made:
        yield made


def remember(pair: Pair, *texts: str) -> list[UUID]:
    sources = [converse(pair.publisher.installation, pair.publisher.owners, text) for text in texts]
    ingest(plain_context(pair.publisher.installation), pair.publisher.owner)
    return sources


def hits(pair: Pair, words: str) -> list[Hit]:
    return search(plain_context(pair.here).acting_for(pair.claims), Question(words)).hits


def node_of(pair: Pair) -> dict[str, Any]:
    (node,) = rows(
        pair.publisher.installation,
        "SELECT * FROM neurigraph.graph_index WHERE node_id = %s",
        pair.publisher.node(GRANTED),
    )
    return node


def test_mirror_equals_its_publisher(pair: Pair) -> None:
    remember(pair, f"#{GRANTED} Dave bought a canoe.", "#Work Nobody here may know of the Quagga.")
    done = pair.pull()
    assert (done.nodes, done.mirrored, done.forgotten) == (1, 2, 0)
    pair.check_equal()
    assert "canoe" in hits(pair, "canoe")[0].summary
    assert "Quagga" not in pair.words()
    again = pair.pull()
    assert (again.is_known, again.mirrored, again.forgotten, again.requests) == (True, 0, 0, 1)
    assert verify(plain_context(pair.here)).findings == []


def test_origin_is_shown(pair: Pair) -> None:
    pair.pull()
    (hit,) = hits(pair, "trout")
    assert str(hit.node_path).endswith("Laptop/Dave")
    (record,) = rows(pair.here, "SELECT received_through, key_id, persona_id FROM neurigraph.sources")
    assert record == {"received_through": "peer", "key_id": None, "persona_id": None}
    (row,) = rows(pair.here, "SELECT content FROM neurigraph.segments")
    segment = SearchSegment.read(row["content"])
    assert {VOICES[voice] for voice in segment.rows["voice"].tolist()} == {Voice.FETCHED}
    assert set(segment.external_ids) == {None}


def test_record_forgotten_at_the_publisher_leaves_no_word(pair: Pair) -> None:
    (source,) = remember(pair, f"#{GRANTED} Dave saw the Thylacine.")
    pair.pull()
    key = lexeme_keys(["thylacin"]).tobytes().hex()
    assert all(word in pair.words() for word in ("Thylacine", key))
    (record,) = rows(
        pair.publisher.installation,
        "SELECT record_id FROM neurigraph.record_index WHERE source_id = %s",
        source,
    )
    forget(
        plain_context(pair.publisher.installation).acting_for(pair.publisher.owners),
        ErasureSubject(SubjectKind.RECORD, record["record_id"]),
        through="tests",
    )
    done = pair.pull()
    assert (done.forgotten, done.mirrored) == (1, 0)
    pair.check_equal()
    for side in (pair.words(), stored_words(pair.publisher.installation)):
        assert "thylacin" not in side.lower()
        assert key not in side


def test_source_that_becomes_private_leaves(pair: Pair) -> None:
    (source,) = remember(pair, f"#{GRANTED} Dave saw the Thylacine.")
    pair.pull()
    database = pair.publisher.installation.database
    set_privacy(database, pair.publisher.owners, source, Privacy.PRIVATE, SourceKind.CONVERSATION)
    assert pair.pull().forgotten == 1
    pair.check_equal()
    assert "thylacin" not in pair.words().lower()


def test_ended_grant_takes_its_node_away(pair: Pair) -> None:
    grant = pair.publisher.grant("Work/Marketing", THIRD_PARTY)
    pair.pull()
    pair.check_equal()
    assert "campaign" in pair.words()
    pair.publisher.revoke(grant)
    assert pair.pull().forgotten == 1
    pair.check_equal()
    assert "campaign" not in pair.words()


def test_removals_come_before_new_rows(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    remember(pair, f"#{GRANTED} Dave bought a canoe.")
    pair.pull()
    (old,) = rows(
        pair.publisher.installation,
        "SELECT record_id FROM neurigraph.record_index WHERE node_id = %s ORDER BY created_at LIMIT 1",
        pair.publisher.node(GRANTED),
    )
    context = plain_context(pair.publisher.installation).acting_for(pair.publisher.owners)
    forget(context, ErasureSubject(SubjectKind.RECORD, old["record_id"]), through="tests")
    remember(pair, f"#{GRANTED} Dave sold the canoe.")
    steps: list[str] = []
    pulling.pull(pair.peering, pair.peer.peer_id, lambda what, _: steps.append(what))
    assert steps == ["forgotten", "mirrored"]
    pair.check_equal()


def test_changed_record_is_replaced(pair: Pair) -> None:
    pair.pull()
    schema = rows(
        pair.publisher.installation,
        "SELECT schema_name FROM neurigraph.graph_index WHERE node_id = %s",
        pair.publisher.node(GRANTED),
    )[0]["schema_name"]
    with pair.publisher.installation.database.pipeline() as tx:
        tx.execute("SELECT set_config('neurigraph.author', 'pipeline:test', true)")
        tx.execute(f"UPDATE \"{schema}\".metadata_records SET summary = 'Dave went to sea.'")
    done = pair.pull()
    assert (done.forgotten, done.mirrored) == (1, 1)
    pair.check_equal()
    assert "log_change" not in pair.words()


def test_large_nodes_are_compared_in_parts(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offering, "LISTED_AT_ONCE", 1)
    remember(pair, *(f"#{GRANTED} Dave has {number} oars." for number in range(4)))
    assert pair.pull().mirrored == 5
    pair.check_equal()
    remember(pair, f"#{GRANTED} Dave lost an oar.")
    assert pair.pull().mirrored == 1
    pair.check_equal()


def test_large_files_come_one_by_one(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    remember(pair, *(f"#{GRANTED} Dave has {number} oars." for number in range(3)))
    monkeypatch.setattr(offering, "BYTES_AT_ONCE", 50)
    assert pair.pull().requests == 6  # the nodes, the records, and four answers with a record each
    pair.check_equal()


def test_lost_file_keeps_no_other_record_back(pair: Pair) -> None:
    remember(pair, *(f"#{GRANTED} Dave has {number} oars." for number in range(3)))
    schema, objects = node_of(pair)["schema_name"], pair.publisher.installation.objects
    files = rows(pair.publisher.installation, f'SELECT storage_path AS key FROM "{schema}".file_manifest')
    content = {row["key"]: b"".join(objects.get(row["key"])) for row in files}
    lost, damaged = list(content)[:2]
    objects.delete(lost)
    objects.put(damaged, [b"something else"])
    assert pair.pull().mirrored == 2
    assert (pair.pull().mirrored, pair.pull().forgotten) == (0, 0)
    pair.check_whole()
    for key in (lost, damaged):
        objects.put(key, [content[key]])
    assert pair.pull().mirrored == 2
    pair.check_equal()


def test_mirror_without_vectors_waits_for_them(pair: Pair) -> None:
    with pair.here.database.owner() as tx:
        tx.execute("UPDATE neurigraph.users SET embedding_model = 'another' WHERE user_id = %s", [pair.user.user_id])
    pair.pull()
    assert len(rows(pair.here, "SELECT FROM neurigraph.pending_embeddings")) == 1


# Read-only


def test_nothing_is_written_in_a_mirror(pair: Pair) -> None:
    pair.pull()
    (node,) = rows(pair.here, "SELECT node_id FROM neurigraph.mirrored_nodes")
    (record,) = rows(pair.here, "SELECT record_id FROM neurigraph.mirrored_records")
    acting = plain_context(pair.here).acting_for(pair.claims)
    for subject in (
        ErasureSubject(SubjectKind.RECORD, record["record_id"]),
        ErasureSubject(SubjectKind.NODE, node["node_id"]),
    ):
        with pytest.raises(ConflictError, match="mirrored"):
            forget(acting, subject, through="api")
    for parent in (pair.peer.mount_node_id, node["node_id"]):
        with pytest.raises(ConflictError, match="read-only"):
            provision_node(pair.here.database, pair.claims, parent, "Own notes")
    with pair.here.database.agent(pair.claims) as tx:
        may = tx.execute("SELECT neurigraph.may_write_node(%s) AS may", [node["node_id"]]).fetchone()
    assert may == {"may": False}
    schema = schemas_of(pair.here, pair.user)["Laptop/Dave"]
    for change in (
        "UPDATE neurigraph.graph_index SET node_name = 'Mine', name_key = 'mine' WHERE node_name = 'Dave'",
        f"UPDATE \"{schema}\".metadata_records SET summary = 'Mine.'",
    ):
        with pytest.raises(ConflictError, match="read-only"), pair.here.database.pipeline() as tx:
            tx.execute(change)
    pair.check_equal()


def test_nothing_is_filed_in_a_mirror(pair: Pair) -> None:
    """Also not what names its path."""
    pair.pull()
    converse(pair.here, pair.claims, "#Laptop/Dave Dave eats my lunch.")
    (done,) = ingest(plain_context(pair.here), pair.user)
    (stored,) = done.stored
    assert "Laptop" not in stored.node_path
    pair.check_equal()


def test_outline_for_filing_has_no_mirror(pair: Pair) -> None:
    """A model chooses among these nodes."""
    pair.pull()
    with pair.here.database.pipeline() as tx:
        nodes = outline(tx, pair.user.user_id, "plain").nodes
    assert nodes == ()


# Peers


def test_peers_are_their_owners_alone(pair: Pair) -> None:
    _, stranger = new_user(pair.here)
    assert subscriptions.list_peers(pair.here.database, stranger) == []
    with pytest.raises(NotFoundError):
        subscriptions.remove(pair.peering.acting_for(stranger), "Laptop", "tests")
    third = replace(pair.claims, role="third_party", sub="anybody")
    with pytest.raises(ForbiddenError):
        subscriptions.list_peers(pair.here.database, third)
    with pair.here.database.agent(pair.claims) as tx:
        assert tx.execute("SELECT has_table_privilege('neurigraph.peer_keys', 'SELECT') AS may").fetchone() == {
            "may": False
        }


def test_key_is_stored_encrypted(pair: Pair) -> None:
    assert pair.key not in pair.words()
    assert pair.key.encode().hex() not in pair.words()


def test_removed_peer_leaves_nothing(pair: Pair) -> None:
    pair.pull()
    before = subscriptions.preview_removal(pair.acting, "Laptop")
    assert (before.record_count, len(before.nodes)) == (1, 2)
    pair.check_equal()
    subscriptions.remove(pair.acting, "Laptop", "tests")
    assert subscriptions.list_peers(pair.here.database, pair.claims) == []
    assert "trout" not in pair.words()
    assert list(pair.here.objects.keys("durable/")) == []
    assert rows(pair.here, "SELECT FROM neurigraph.graph_index WHERE user_id = %s", pair.user.user_id) == [{}]


def test_revoked_key_stops_the_pull(pair: Pair) -> None:
    pair.pull()
    with pair.publisher.installation.database.agent(pair.publisher.owners) as tx:
        tx.execute("UPDATE neurigraph.api_keys SET revoked_at = now() WHERE subject_id = %s", [THIRD_PARTY])
    with pytest.raises(UnauthenticatedError):
        pair.pull()
    (peer,) = subscriptions.list_peers(pair.here.database, pair.claims)
    assert (peer.last_error, peer.records) == ("key_refused", 1)


def test_addresses_are_those_that_the_operator_allows(pair: Pair) -> None:
    publisher_key = PublisherKey(pair.here.secret).public
    for url in (
        "http://169.254.169.254/",
        "http://10.0.0.1",
        "https://elsewhere.test",
        "ftp://127.0.0.1",
        "no address",
    ):
        with pytest.raises((ConflictError, Exception)) as refused:
            subscriptions.add(pair.acting, uuid4().hex, url, publisher_key, "ng_key")
        assert type(refused.value).__name__ == "InvalidInputError"
