"""Ingestion from the inbox to stored records, each exactly once."""

from __future__ import annotations

import gzip
import hashlib
import json
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.inbox.conversations import Inbox, purge_stored_bodies
from neurigraph_pipelines.inbox.importing import import_file
from neurigraph_pipelines.lifecycle.object_keys import active_key
from neurigraph_pipelines.model import Claims, IncomingMessage, Role, SourceKind
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.wiring.installation import Installation
from tests.conftest import ROOT
from tests.support.memories import (
    START,
    WordEmbedder,
    converse,
    ingest,
    messages,
    node_rows,
    rows,
    schemas_of,
    stored,
)
from tests.support.segments import StoredSegment, segments_of


def assert_file(here: Installation, schema: str, record: dict[str, Any], contents: tuple[str, ...]) -> dict[str, Any]:
    """Its file is stored as the manifest says, and lies there open, too; give its row and checksum."""
    (file,) = node_rows(here, schema, "SELECT * FROM {schema}.file_manifest")
    assert (file["record_id"], file["compression_state"], file["compression_format"]) == (
        record["record_id"],
        "active",
        "gzip",
    )
    durable = b"".join(here.objects.get(record["file_pointer"]))
    assert record["file_pointer"] == file["storage_path"]
    assert hashlib.sha256(durable).digest() == file["stored_sha256"]
    assert (len(durable), len(gzip.decompress(durable))) == (file["stored_bytes"], file["size_bytes"])
    assert b"".join(here.objects.get(active_key(file["storage_path"]))) == gzip.decompress(durable)
    assert [json.loads(line)["content"] for line in gzip.decompress(durable).split(b"\n")[:-1]] == list(contents)
    return {**file, "sha256": hashlib.sha256(gzip.decompress(durable)).digest()}


def test_ended_conversation_is_stored(here: Installation, context: Context, bob: tuple[User, Claims]) -> None:
    user, claims = bob
    contents = ("#Family/Dave I met Dave by the lake.", "What did he say?", 'He said "see you" \\ and left \u2028 🦊.')
    source_id = converse(here, claims, *contents, external_id="lake")
    (result,) = ingest(context, user)
    (committed,) = result.stored
    assert result.returned == ()
    assert (committed.node_path, committed.passages) == (f"{user.slug}/Family/Dave", 3)
    assert not committed.pending_embedding
    assert not committed.already_stored

    schema = schemas_of(here, user)["Family/Dave"]
    (record,) = node_rows(here, schema, "SELECT * FROM {schema}.metadata_records")
    assert record["record_id"] == committed.record_id
    assert record["title"].startswith("#Family/Dave I met Dave")
    assert "see you" in record["summary"]
    assert (record["embedding_pending"], record["embedding_model"]) == (False, "words")
    assert {"Dave", "What"} <= set(record["kw_entities"])
    assert (record["kw_topics"], record["kw_dates"], record["kw_relationships"]) == (["testing"], ["2025-03"], [])
    assert (record["content_type"], record["trigger_type"]) == ("conversation", "conversation_end")
    assert (record["source_kind"], record["source_id"]) == ("conversation", source_id)
    assert (record["first_message"], record["last_message"]) == (1, 3)
    assert record["occurred_at"] > START
    assert np.linalg.norm(record["embedding"].to_numpy()) == pytest.approx(1.0, abs=1e-5)

    assert_passages(segments_of(here, user)[committed.record_id])

    file = assert_file(here, schema, record, contents)
    (index,) = rows(here, "SELECT * FROM neurigraph.record_index WHERE record_id = %s", committed.record_id)
    assert (index["user_id"], index["source_kind"], index["source_id"]) == (user.user_id, "conversation", source_id)
    assert index["content_hash"] == record["content_hash"] == file["sha256"]
    (delta,) = rows(here, "SELECT * FROM neurigraph.delta_log WHERE record_id = %s", committed.record_id)
    assert delta["previous_delta_id"] is None
    assert delta["authored_by"] == "pipeline:plain"
    assert delta["delta_payload"]["operation"] == "create"
    assert delta["delta_payload"]["after"]["summary"] == record["summary"]
    (log,) = rows(here, "SELECT * FROM neurigraph.compression_state_log WHERE file_id = %s", file["file_id"])
    assert (log["event_type"], log["triggered_by"], log["node_id"]) == ("decompressed", "scheduler", index["node_id"])

    assert_node_and_source(here, schema, source_id)


def assert_passages(stored: StoredSegment) -> None:
    passages = stored.segment.rows
    assert passages["message"].tolist() == passages["seq"].tolist() == [1, 2, 3]
    assert stored.segment.external_ids == ["m1", "m2", "m3"]
    assert stored.says("lake") == [True, False, False]
    assert [sum(words.values()) for words in stored.words] == passages["lexeme_count"].tolist()
    assert stored.vectors is not None
    assert np.linalg.norm(stored.vectors, axis=1) == pytest.approx(np.ones(3), abs=2e-3)
    assert (stored.row["passages"], stored.row["model"], stored.row["is_counted"]) == (3, "words", True)


def assert_node_and_source(here: Installation, schema: str, source_id: UUID) -> None:
    (node,) = rows(here, "SELECT * FROM neurigraph.graph_index WHERE schema_name = %s", schema)
    assert (node["record_count"], node["embedded_count"]) == (1, 1)
    assert {"testing", "Family"} <= set(node["node_keywords"])
    assert "Dave" not in node["node_keywords"], "a node is found by its own name anyway"

    (source,) = rows(here, "SELECT * FROM neurigraph.sources WHERE source_id = %s", source_id)
    assert source["stored_through"] == source["triggered_through"] == source["last_message"] == 3
    (trigger,) = rows(here, "SELECT * FROM neurigraph.storage_triggers WHERE source_id = %s", source_id)
    assert (trigger["state"], trigger["attempts"], trigger["batch_id"]) == ("stored", 1, None)
    bodies = rows(
        here, "SELECT content, tool_calls, token_count FROM neurigraph.messages WHERE source_id = %s", source_id
    )
    assert [(b["content"], b["tool_calls"]) for b in bodies] == [(None, None)] * 3
    assert all(b["token_count"] > 0 for b in bodies)


def test_two_topics_become_two_records(here: Installation, context: Context, bob: tuple[User, Claims]) -> None:
    user, claims = bob
    converse(
        here, claims, "#Family/Ana Ana called.", "Oh.", "#Work/Desks The desk is done.", "#Family/Ana She is well."
    )
    records = stored(ingest(context, user))
    assert len({record.trigger_id for record in records}) == 1
    assert sorted((record.node_path.partition("/")[2], record.passages) for record in records) == [
        ("Family/Ana", 1),
        ("Family/Ana", 2),
        ("Work/Desks", 1),
    ]
    found = node_rows(
        here,
        schemas_of(here, user)["Family/Ana"],
        "SELECT first_message AS a, last_message AS b FROM {schema}.metadata_records ORDER BY 1",
    )
    assert found == [{"a": 1, "b": 2}, {"a": 4, "b": 4}]


def test_centroid_is_mean_of_records(here: Installation, context: Context, bob: tuple[User, Claims]) -> None:
    user, claims = bob
    for text in ("the lake is deep", "the desk is oak", "the knee hurts", "taxes are due"):
        converse(here, claims, f"#Notes {text}")
    ingest(context, user)
    schema = schemas_of(here, user)["Notes"]
    vectors = [
        r["embedding"].to_numpy() for r in node_rows(here, schema, "SELECT embedding FROM {schema}.metadata_records")
    ]
    (node,) = rows(here, "SELECT * FROM neurigraph.graph_index WHERE schema_name = %s", schema)
    assert (node["record_count"], node["embedded_count"], len(vectors)) == (4, 4, 4)
    assert node["centroid"].to_numpy() == pytest.approx(np.mean(vectors, axis=0), abs=1e-6)


def test_relations_become_weighted_edges(here: Installation, context: Context, bob: tuple[User, Claims]) -> None:
    user, claims = bob
    converse(here, claims, "#Family/Ana My sister is well.")
    ingest(context, user)
    for _ in range(2):
        converse(here, claims, "#Work/Dave Dave works here. @Ana:husband @Nobody:ghost")
        ingest(context, user)
    edges = rows(
        here,
        """SELECT f.node_name AS one, e.relation, t.node_name AS other, e.evidence_count AS n
        FROM neurigraph.node_edges AS e JOIN neurigraph.graph_index AS f ON f.node_id = e.from_node_id
        JOIN neurigraph.graph_index AS t ON t.node_id = e.to_node_id WHERE e.user_id = %s""",
        user.user_id,
    )
    assert edges == [{"one": "Dave", "relation": "husband", "other": "Ana", "n": 2}]


def test_late_messages_are_stored_separately(here: Installation, context: Context, bob: tuple[User, Claims]) -> None:
    user, claims = bob
    source_id = converse(here, claims, "one", "two", external_id="talk")
    assert len(stored(ingest(context, user))) == 1
    converse(here, claims, "three", external_id="talk", first=3)
    assert len(stored(ingest(context, user))) == 1
    found = node_rows(
        here,
        schemas_of(here, user)["Notes"],
        "SELECT first_message AS a, last_message AS b FROM {schema}.metadata_records ORDER BY 1",
    )
    assert found == [{"a": 1, "b": 2}, {"a": 3, "b": 3}]
    (source,) = rows(here, "SELECT stored_through AS n FROM neurigraph.sources WHERE source_id = %s", source_id)
    assert source["n"] == 3


def test_importing_again_adds_nothing(here: Installation, context: Context, bob: tuple[User, Claims]) -> None:
    user, claims = bob
    sample = ROOT / "samples" / "bob.jsonl"
    first, again, later = (import_file(here.acting_for(claims), sample, "jsonl") for _ in range(3))
    assert (first.conversations_added, first.messages_added, first.messages_known) == (16, 295, 0)
    for report in (again, later):
        assert (report.conversations_added, report.conversations_seen) == (0, 16)
        assert (report.messages_added, report.messages_known, report.rejected) == (0, 295, [])
    assert first.tokens_added > 5_000
    (result,) = ingest(context, user)
    assert len({record.trigger_id for record in result.stored}) == 16
    # The bodies are gone from the inbox, and every message is known all the same.
    after = import_file(here.acting_for(claims), sample, "jsonl")
    assert (after.messages_added, after.messages_known) == (0, 295)
    assert ingest(context, user) == []


def test_changed_text_keeps_first_version(here: Installation, bob: tuple[User, Claims]) -> None:
    _, claims = bob
    source_id = converse(here, claims, "first words", external_id="talk")
    inbox = Inbox(here.context)
    with here.database.agent(claims) as tx:
        result = inbox.append(tx, SourceKind.CONVERSATION, source_id, messages("other words", "new words"))
    assert (result.added, result.known, result.conflicts) == (1, 0, ["m1"])
    (kept,) = rows(here, "SELECT content FROM neurigraph.messages WHERE source_id = %s AND seq = 1", source_id)
    assert kept["content"] == "first words"


def test_external_ids_like_internal_ones(here: Installation, bob: tuple[User, Claims]) -> None:
    _, claims = bob
    source_id = converse(here, claims, ended=False, external_id="talk")
    inbox = Inbox(here.context)
    sent = [
        IncomingMessage(Role.USER, "one", external_id="#2"),
        IncomingMessage(Role.USER, "two"),
        IncomingMessage(Role.USER, "two"),
    ]
    with here.database.agent(claims) as tx:
        assert inbox.append(tx, SourceKind.CONVERSATION, source_id, sent).added == 3
        again = inbox.append(
            tx, SourceKind.CONVERSATION, source_id, [IncomingMessage(Role.USER, "x", external_id="#3")]
        )
    assert (again.added, again.conflicts) == (1, [])


def test_unstorable_text_is_repaired(here: Installation, context: Context, bob: tuple[User, Claims]) -> None:
    user, claims = bob
    source_id = converse(here, claims, external_id="nasty", ended=False)
    nasty = [IncomingMessage(Role.USER, "a\x00b \ud800 c", author="D\x00ave", tool_calls=({"k\x00": "\udfff"},))]
    inbox = Inbox(here.context)
    with here.database.agent(claims) as tx:
        assert inbox.append(tx, SourceKind.CONVERSATION, source_id, nasty).repaired == 1
        inbox.end(tx, SourceKind.CONVERSATION, source_id)
    (committed,) = stored(ingest(context, user))
    (line,) = _transcript(here, user, committed.record_id)
    assert (line["content"], line["author"]) == ("a\ufffdb \ufffd c", "D\ufffdave")
    assert line["tool_calls"] == [{"k\ufffd": "\ufffd"}]


@pytest.mark.parametrize(
    "content", ["", " ", "\n" * 300, "🦊" * 5_000, "漢" * 5_000, "a" * 300_000, "'; DROP TABLE x; --"]
)
def test_content_is_stored_verbatim(
    here: Installation, context: Context, bob: tuple[User, Claims], content: str
) -> None:
    user, claims = bob
    converse(here, claims, content, "and then", external_id="any")
    (committed,) = stored(ingest(context, user))
    assert [line["content"] for line in _transcript(here, user, committed.record_id)] == [content, "and then"]


def test_retention_of_bodies(here: Installation, context: Context, bob: tuple[User, Claims]) -> None:
    user, claims = bob
    source_id = converse(here, claims, "to be kept", "for a day")
    ingest(context.using(settings=here.settings.changed(inbox_retention_days=1.0)), user)
    count = "SELECT count(content) AS n FROM neurigraph.messages WHERE source_id = %s"
    assert rows(here, count, source_id) == [{"n": 2}]
    purge_stored_bodies(here.database, 86_400)
    assert rows(here, count, source_id) == [{"n": 2}]
    assert purge_stored_bodies(here.database, 0) >= 2
    assert purge_stored_bodies(here.database, 0) == 0
    assert rows(here, count, source_id) == [{"n": 0}]


def test_stored_segment_is_recognised(here: Installation, context: Context, bob: tuple[User, Claims]) -> None:
    """As after the database lost the last word of a run, such as in a restored backup."""
    user, claims = bob
    settings = here.settings.changed(inbox_retention_days=1.0)
    source_id = converse(here, claims, "#Family/Ana One.", "#Work Two. @Ana:sister")
    first = stored(ingest(context.using(settings=settings), user))
    objects = list(here.objects.keys(f"durable/{user.slug}"))
    with here.database.owner() as tx:
        tx.execute(
            "UPDATE neurigraph.storage_triggers SET state = 'pending', stored_at = NULL WHERE source_id = %s",
            [source_id],
        )
    again = stored(ingest(context.using(settings=settings), user))
    assert {record.record_id for record in again} == {record.record_id for record in first}
    assert all(record.already_stored for record in again)
    assert list(here.objects.keys(f"durable/{user.slug}")) == objects
    assert rows(here, "SELECT count(*) AS n FROM neurigraph.record_index WHERE user_id = %s", user.user_id) == [
        {"n": 2}
    ]
    edges = rows(here, "SELECT evidence_count AS n FROM neurigraph.node_edges WHERE user_id = %s", user.user_id)
    assert edges == [{"n": 1}, {"n": 1}]


def test_vectors_of_any_width_fit_their_columns(here: Installation, context: Context, bob: tuple[User, Claims]) -> None:
    user, claims = bob
    for dimensions in (1, 384, 512, 1024, 1536):
        converse(here, claims, f"{dimensions} dimensions of the same thing")
        wide = context.using(embedder=WordEmbedder(dimensions))
        (committed,) = stored(ingest(wide, user))
        assert not committed.pending_embedding
    found = segments_of(here, user).values()
    assert len(found) == 5
    for segment in found:
        assert segment.vectors is not None
        assert np.linalg.norm(segment.vectors, axis=1) == pytest.approx(np.ones(1), abs=2e-3)


def test_record_without_passages(here: Installation, context: Context, bob: tuple[User, Claims]) -> None:
    user, claims = bob
    converse(here, claims, "no passages", "at all")
    (committed,) = stored(ingest(context.using(settings=here.settings.changed(passages=False)), user))
    assert committed.passages == 0
    assert segments_of(here, user) == {}
    assert [line["content"] for line in _transcript(here, user, committed.record_id)] == ["no passages", "at all"]


def _transcript(here: Installation, user: User, record_id: UUID) -> list[dict[str, object]]:
    """The lines of a record's durable object."""
    for schema in schemas_of(here, user).values():
        for row in node_rows(
            here, schema, "SELECT storage_path AS p FROM {schema}.file_manifest WHERE record_id = %s", record_id
        ):
            text = gzip.decompress(b"".join(here.objects.get(row["p"])))
            return [json.loads(line) for line in text.split(b"\n")[:-1]]
    raise AssertionError("the record has no file")
