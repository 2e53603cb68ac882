"""Changing the embedding model record by record; searches never compare vectors of two models."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import LiteralString

import numpy as np
import psycopg
import pytest
from numpy.typing import NDArray
from psycopg import sql

from neurigraph_pipelines.graph.provisioning import User, create_user
from neurigraph_pipelines.ingestion import healing, reembed
from neurigraph_pipelines.model.errors import ConfigurationError, TransientError
from neurigraph_pipelines.text.vectors import to_passage_vectors, to_record_vector
from neurigraph_pipelines.wiring.installation import Installation
from resources.minilm.embedder import OwnEmbedder
from tests.conftest import ROOT
from tests.support.command_line import environment, run_cli
from tests.support.memories import explained
from tests.support.vectors import (
    NamedEmbedder,
    UnreachableEmbedder,
    ask,
    end_conversation,
    models_of,
    one,
    records_of,
    store,
    with_embedder,
)
from tests.support.waiting import wait_for_process

pytestmark = pytest.mark.slow

OLD, NEW = NamedEmbedder("old-words"), NamedEmbedder("new-words")
TOPICS = ("copper gutters for the boathouse", "a violin lesson on Monday", "seven trout from Lake Orrin")
FOREVER = datetime.now(UTC) + timedelta(days=1)
SAME = 0.02
"""How far a cosine of half-precision vectors may be off."""


@pytest.fixture
def user(installation: Installation) -> User:
    made, _ = create_user(installation.database, "bob")
    for number, topic in enumerate(TOPICS):
        end_conversation(installation, made, f"c{number}", f"We spoke about {topic}.", "That was all.")
    assert len(store(installation, with_embedder(installation, OLD))) == len(TOPICS)
    return made


@pytest.fixture
def administrator_of(installation: Installation) -> Iterator[psycopg.Connection]:
    """A connection that may do anything in the installation's database."""
    with psycopg.connect(installation.administrator_url, autocommit=True) as connection:
        yield connection


@contextmanager
def held_up(connection: psycopg.Connection, when: LiteralString) -> Iterator[None]:
    """Block changes of records until the block ends."""
    connection.execute("SELECT pg_advisory_lock(77)")
    connection.execute(
        "CREATE FUNCTION hold_up() RETURNS trigger LANGUAGE plpgsql AS "
        "'BEGIN PERFORM pg_advisory_xact_lock_shared(77); RETURN NEW; END'"
    )
    for (schema,) in connection.execute("SELECT schema_name FROM neurigraph.graph_index").fetchall():
        connection.execute(
            sql.SQL(
                "CREATE TRIGGER hold_up BEFORE UPDATE ON {}.metadata_records FOR EACH ROW WHEN ({}) "
                "EXECUTE FUNCTION hold_up()"
            ).format(sql.Identifier(schema), sql.SQL(when))
        )
    try:
        yield
    finally:
        connection.execute("SELECT pg_advisory_unlock(77)")
        connection.execute("DROP FUNCTION hold_up CASCADE")


def run(installation: Installation, embedder: NamedEmbedder = NEW, since: datetime | None = None) -> reembed.Reembedded:
    return reembed.reembed(with_embedder(installation, embedder), since, FOREVER)


def assert_dense(installation: Installation, user: User, embedder: NamedEmbedder, query: str) -> None:
    """Every dense component of an answer is the cosine of vectors of this one model."""
    answer = ask(installation, embedder, user, query)
    asked = to_record_vector(embedder.embed([query])[0])
    summaries = {row["record_id"]: row["summary"] for row in records_of(installation, user)}
    assert len(answer.hits) == len(summaries)
    assert answer.notes == []
    for hit in answer.hits:
        expected = float(asked @ to_record_vector(embedder.embed([summaries[hit.key]])[0]))
        assert explained(hit)["summary_dense"] == pytest.approx(expected, abs=SAME)
    assert max(explained(message)["dense"] for message in answer.messages) == 1.0


def assert_words_alone(installation: Installation, user: User, embedder: NamedEmbedder) -> None:
    answer = ask(installation, embedder, user, "copper gutters")
    assert answer.hits[0].summary.find("copper") >= 0, "words find it all the same"
    assert all(explained(hit)["summary_dense"] is None for hit in answer.hits)
    assert all(explained(m)["dense"] == 0 for m in answer.messages)
    assert all(anchor.reason != "centroid" or anchor.score == 0 for anchor in answer.anchors)
    assert "words alone" in answer.notes[0]


def assert_all_of(installation: Installation, user: User, embedder: NamedEmbedder) -> None:
    """Nothing is left of another model: records, passages, windows, centroids."""
    rows = records_of(installation, user)
    for row in rows:
        assert (row["embedding_model"], row["embedding_next_model"]) == (embedder.model, None)
        assert row["embedding_next"] is row["passage_next"] is None
        own = embedder.embed([row["summary"]])[0]
        np.testing.assert_allclose(row["embedding"].to_numpy(), to_record_vector(own), atol=1e-5)
    first = to_passage_vectors(embedder.embed([f"Bob: We spoke about {topic}." for topic in TOPICS]), False)
    found = np.stack([row["passage"] for row in rows])
    assert np.allclose(np.max(found @ first.astype(np.float32).T, axis=0), 1, atol=SAME)
    assert_centroids(installation, user)


def assert_centroids(installation: Installation, user: User) -> None:
    """Every centroid is the mean of the vectors in use of its node's records, and counts them."""
    rows = records_of(installation, user)
    with installation.database.pipeline() as tx:
        nodes = tx.execute(
            "SELECT g.centroid, g.embedded_count, array_agg(i.record_id) AS records FROM neurigraph.graph_index AS g "
            "JOIN neurigraph.record_index AS i USING (node_id) WHERE g.user_id = %s GROUP BY g.node_id",
            [user.user_id],
        ).fetchall()
    vectors = {row["record_id"]: row["embedding"].to_numpy() for row in rows}
    for node in nodes:
        assert node["embedded_count"] == len(node["records"])
        mean = np.mean([vectors[record_id] for record_id in node["records"]], axis=0)
        np.testing.assert_allclose(node["centroid"].to_numpy(), mean, atol=1e-5)


def test_user_changes_model(installation: Installation, user: User) -> None:
    assert models_of(installation, user.user_id) == (OLD.model, None)
    assert_dense(installation, user, OLD, "copper gutters")
    assert_words_alone(installation, user, NEW)

    done = run(installation)
    assert (done.records, done.complete, done.failed) == (len(TOPICS), 0, [])
    assert sum(done.days.values()) == len(TOPICS)
    assert [(move.missing, move.finished) for move in done.moves] == [(0, len(TOPICS))]
    assert models_of(installation, user.user_id) == (NEW.model, None)
    assert_all_of(installation, user, NEW)
    assert_dense(installation, user, NEW, "copper gutters")
    assert_words_alone(installation, user, OLD)

    before = NEW.texts
    again = run(installation)
    assert (again.records, again.complete, again.moves) == (0, len(TOPICS), [])
    assert NEW.texts == before, "what is done costs nothing"


def test_vectors_are_made_again(installation: Installation, user: User) -> None:
    """As a backfill in the UI does, for example after a change of a model's weights under the same name."""

    class Changed(NamedEmbedder):
        def _direction(self, word: str) -> NDArray[np.float32]:
            return super()._direction(f"changed {word}")

    changed = Changed(OLD.model)
    done = reembed.reembed(with_embedder(installation, changed), None, FOREVER, again=True)
    assert (done.records, done.complete, done.failed, done.moves) == (len(TOPICS), 0, [], [])
    assert models_of(installation, user.user_id) == (OLD.model, None)
    assert_all_of(installation, user, changed)


def test_search_uses_old_model_until_complete(installation: Installation, user: User) -> None:
    newest = one(installation, "SELECT max(created_at) FROM neurigraph.record_index")
    with installation.database.owner() as tx:
        tx.execute(
            "UPDATE neurigraph.record_index SET created_at = created_at - interval '2 days'"
            " WHERE record_id <> (SELECT record_id FROM neurigraph.record_index ORDER BY created_at DESC LIMIT 1)"
        )
    recent = run(installation, since=newest - timedelta(days=1))
    assert recent.records == 1
    assert [(move.missing, move.finished) for move in recent.moves] == [(2, 0)]
    assert models_of(installation, user.user_id) == (OLD.model, NEW.model)
    beside = [row for row in records_of(installation, user) if row["embedding_next_model"] is not None]
    assert [row["embedding_model"] for row in beside] == [OLD.model]
    assert beside[0]["passage_next"] is not None
    assert_dense(installation, user, OLD, "a violin lesson")
    assert_words_alone(installation, user, NEW)
    assert_centroids(installation, user)

    rest = run(installation)
    assert (rest.records, rest.complete) == (2, 1)
    assert_all_of(installation, user, NEW)


def test_search_during_cleanup_reads_both_columns(
    installation: Installation, user: User, administrator_of: psycopg.Connection
) -> None:
    """Kill a process right after the switch, at the first record of the cleanup."""
    with held_up(administrator_of, "OLD.embedding_next_model IS NOT NULL AND NEW.embedding_next_model IS NULL"):
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.embedding_process", "reembed", NEW.model],
            env=environment(installation.settings),
            cwd=ROOT,
        )
        try:
            wait_for_process(lambda: models_of(installation, user.user_id) == (NEW.model, NEW.model), process)
        finally:
            process.send_signal(signal.SIGKILL)
            assert process.wait(30) == -signal.SIGKILL
    rows = records_of(installation, user)
    assert {(row["embedding_model"], row["embedding_next_model"]) for row in rows} == {(OLD.model, NEW.model)}
    assert_dense(installation, user, NEW, "seven trout")
    assert_words_alone(installation, user, OLD)

    end_conversation(installation, user, "late", "We spoke about a late guest.", "That was all.")
    assert not store(installation, with_embedder(installation, NEW))[0].pending_embedding
    assert_dense(installation, user, NEW, "a late guest")  # one in place, three beside

    context = with_embedder(installation, NEW)
    assert healing.has_due(context)
    healed = healing.heal_pending(context)
    assert [move.finished for move in healed.moves] == [len(TOPICS)]
    assert not healing.has_due(context)
    assert models_of(installation, user.user_id) == (NEW.model, None)
    assert_dense(installation, user, NEW, "seven trout")
    assert_centroids(installation, user)


def test_records_stored_during_backfill(installation: Installation, user: User) -> None:
    down = UnreachableEmbedder(NEW.model)
    with pytest.raises(TransientError):
        run(installation, down)
    assert models_of(installation, user.user_id) == (OLD.model, NEW.model), "the move has begun"

    end_conversation(installation, user, "by-new", "We spoke about a walnut tree.", "That was all.")
    (by_new,) = store(installation, with_embedder(installation, NEW))
    end_conversation(installation, user, "by-old", "We spoke about a rusty bell.", "That was all.")
    (by_old,) = store(installation, with_embedder(installation, OLD))
    assert not by_new.pending_embedding
    assert not by_old.pending_embedding
    old = ask(installation, OLD, user, "a walnut tree")
    dense = {hit.record_id: explained(hit)["summary_dense"] for hit in old.hits}
    assert dense[by_new.record_id] is None, "a vector of the new model, not compared with a question of the old"
    assert dense[by_old.record_id] is not None
    assert old.hits[0].record_id == by_new.record_id, "found by its words"

    run(installation)
    assert_dense(installation, user, NEW, "a rusty bell")
    assert_centroids(installation, user)
    assert models_of(installation, user.user_id) == (NEW.model, None)


def test_unused_vectors_are_dropped(installation: Installation, user: User) -> None:
    end_conversation(installation, user, "stray", "We spoke about a stray cat.", "That was all.")
    (stray,) = store(installation, with_embedder(installation, NamedEmbedder("third")))
    assert stray.pending_embedding
    assert not healing.has_due(with_embedder(installation, NamedEmbedder("third"))), "only a backfill makes it wanted"
    healed = healing.heal_pending(with_embedder(installation, OLD))
    assert healed.records == 1
    assert_dense(installation, user, OLD, "a stray cat")
    assert_centroids(installation, user)


def test_return_to_old_model_drops_new_vectors(installation: Installation, user: User) -> None:
    with installation.database.owner() as tx:
        tx.execute(
            "UPDATE neurigraph.record_index SET created_at = created_at - interval '3 days' WHERE record_id = "
            "(SELECT min(record_id::text)::uuid FROM neurigraph.record_index)"
        )
    run(installation, since=datetime.now(UTC) - timedelta(days=1))
    assert models_of(installation, user.user_id) == (OLD.model, NEW.model)
    end_conversation(installation, user, "meanwhile", "We spoke about a walnut tree.", "That was all.")
    store(installation, with_embedder(installation, NEW))
    back = run(installation, OLD)
    assert back.records == 1, "what was stored meanwhile"
    assert models_of(installation, user.user_id) == (OLD.model, None)
    assert all(row["embedding_next"] is None for row in records_of(installation, user))
    assert_dense(installation, user, OLD, "a walnut tree")
    assert_centroids(installation, user)


def test_users_switch_separately(installation: Installation, user: User) -> None:
    other, _ = create_user(installation.database, "eve")
    end_conversation(installation, other, "c", "We spoke about a walnut tree.", "That was all.")
    store(installation, with_embedder(installation, OLD))
    done = reembed.reembed(with_embedder(installation, NEW), None, FOREVER, other.user_id)
    assert done.records == 1
    assert models_of(installation, other.user_id) == (NEW.model, None)
    assert models_of(installation, user.user_id) == (OLD.model, None)
    assert_dense(installation, user, OLD, "copper gutters")


def test_damaged_file_blocks_switch(installation: Installation, user: User) -> None:
    key = next(key for key in installation.objects.keys("durable/") if key.endswith(".gz"))
    whole = b"".join(installation.objects.get(key))
    installation.objects.put(key, [whole[:-5]])
    done = run(installation)
    assert (done.records, len(done.failed)) == (2, 1)
    assert "damaged" in done.failed[0][1]
    assert [move.missing for move in done.moves] == [1]
    assert_dense(installation, user, OLD, "copper gutters")
    installation.objects.put(key, [whole])
    assert run(installation).records == 1
    assert_all_of(installation, user, NEW)


def test_concurrent_backfills_searches_and_commits(installation: Installation, user: User) -> None:
    """Whatever is caught in the middle, each answer's vectors are of one model, or there are none."""
    errors: list[BaseException] = []
    finished = threading.Event()

    def watch() -> None:
        try:
            while not finished.is_set():
                for embedder in (OLD, NEW):
                    answer = ask(installation, embedder, user, "We spoke about seven trout")
                    asked = embedder.embed(["We spoke about seven trout"])[0]
                    for hit in answer.hits:
                        dense = explained(hit)["summary_dense"]
                        if dense is not None:
                            expected = float(asked @ embedder.embed([hit.summary])[0])
                            assert dense == pytest.approx(expected, abs=SAME)
        except BaseException as error:
            errors.append(error)

    def move() -> None:
        try:
            run(installation)
        except BaseException as error:
            errors.append(error)

    def write() -> None:
        try:
            for number in range(6):
                end_conversation(installation, user, f"w{number}", f"We spoke about guest {number}.", "That was all.")
                store(installation, with_embedder(installation, NEW if number % 2 else OLD))
        except BaseException as error:
            errors.append(error)

    watching = threading.Thread(target=watch)
    working = [threading.Thread(target=work) for work in (move, move, write)]
    watching.start()
    for thread in working:
        thread.start()
    for thread in working:
        thread.join(60)
    finished.set()
    watching.join(60)
    assert errors == []
    run(installation)
    healing.heal_pending(with_embedder(installation, NEW))
    assert models_of(installation, user.user_id) == (NEW.model, None)
    assert len(records_of(installation, user)) == len(TOPICS) + 6
    assert_dense(installation, user, NEW, "seven trout")
    assert_centroids(installation, user)


def test_command_counts_the_records_of_each_day(installation: Installation, user: User) -> None:
    done = run_cli(installation.settings, "admin", "reembed", "--user", user.slug, "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert (answer["records"], sum(answer["days"].values())) == (len(TOPICS), len(TOPICS))


def test_broken_graph_moves_nobody_and_is_named(installation: Installation, user: User, tmp_path: Path) -> None:
    (graph := tmp_path / "ours.onnx").write_bytes(b"no graph at all")
    broken = OwnEmbedder(graph)
    with pytest.raises(ConfigurationError, match=r"ours\.onnx, which NEURIGRAPH_MINILM_GRAPH names"):
        reembed.reembed(with_embedder(installation, broken), None, FOREVER)
    assert models_of(installation, user.user_id) == (OLD.model, None)
    (note,) = ask(installation, broken, user, "copper gutters").notes[:1]
    assert "ours.onnx, which NEURIGRAPH_MINILM_GRAPH names" in note
    assert "write it again, or leave the setting out" in note
    assert "words alone" in note
    assert str(tmp_path) not in note, "a caller of a face sees no folder"
