"""Faults while a batch is stored: other segments are stored, and nothing is stored in part."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Literal

import numpy as np
import psycopg
import pytest
from numpy.typing import NDArray
from psycopg import sql

from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.inbox import triggers
from neurigraph_pipelines.ingestion.batch import run_batch
from neurigraph_pipelines.ingestion.detection import detect_conversation_ends
from neurigraph_pipelines.ingestion.segment_storage import SegmentStorage
from neurigraph_pipelines.model import Claims, Segment, SegmentRef, StoredObject, Summary
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.ports import Database, ObjectStore, Transaction
from neurigraph_pipelines.retrieval.open import file_of_record, open_file
from neurigraph_pipelines.wiring.installation import Installation
from resources.postgres.delegating import DelegatingDatabase
from resources.storage.local import LocalObjectStore
from tests.support.ingestion_traces import traces, triggers_of
from tests.support.memories import PlainModel, WordEmbedder, converse, ingest, new_user, rows, schemas_of, stored


def due_again(here: Installation, user: User) -> None:
    """Make the next attempt due."""
    with here.database.pipeline() as tx:
        tx.execute("UPDATE neurigraph.storage_triggers SET next_attempt_at = now() WHERE user_id = %s", [user.user_id])


# Items


@pytest.mark.parametrize("concurrency", [1, 4])
def test_poisoned_item_fails_alone(
    here: Installation, context: Context, bob: tuple[User, Claims], concurrency: int
) -> None:
    user, claims = bob
    for text in ("before", "POISON", "after"):
        converse(here, claims, text)
    (result,) = ingest(context.using(language_model=PlainModel(concurrency)), user)
    assert sorted(record.title for record in result.stored) == ["after", "before"]
    ((failure, state),) = result.returned
    assert (failure.step, state, failure.transient) == ("summarize", "pending", True)
    assert failure.error == "OSError: this content breaks the model"
    assert [row["state"] for row in triggers_of(here, user)] == ["stored", "pending", "stored"]
    assert triggers_of(here, user)[1]["later"]
    assert traces(here, user)["record_index"] == 2


def test_refusal_fails_and_busy_provider_waits(here: Installation, context: Context, bob: tuple[User, Claims]) -> None:
    user, claims = bob
    converse(here, claims, "REFUSED")
    converse(here, claims, "LATER")
    (result,) = ingest(context, user)
    assert {failure.error: state for failure, state in result.returned} == {
        "this content is refused": "failed",
        "the provider is busy": "pending",
    }
    refused, later = triggers_of(here, user)
    assert (refused["state"], later["state"]) == ("failed", "pending")
    assert isinstance(later["seconds"], float)
    assert 60 < later["seconds"] <= 77


def test_messages_after_failure_are_stored(here: Installation, context: Context, bob: tuple[User, Claims]) -> None:
    user, claims = bob
    source_id = converse(here, claims, "POISON", external_id="talk")
    ingest(context, user)
    converse(here, claims, "harmless", external_id="talk", first=2)
    assert len(stored(ingest(context, user))) == 1
    (source,) = rows(here, "SELECT stored_through AS n FROM neurigraph.sources WHERE source_id = %s", source_id)
    assert source["n"] == 0


class SulkingModel(PlainModel):
    """Gives answers that a careless provider might: nameless, empty, endless."""

    def summarize(self, segment: Segment, words: int) -> Summary:
        text = segment.messages[0].content
        if "empty" in text:
            return Summary("", "  ")
        return Summary("\n  ", "word " * 50_000) if "endless" in text else super().summarize(segment, words)


def test_malformed_answers_are_repaired_or_refused(
    here: Installation, context: Context, bob: tuple[User, Claims]
) -> None:
    user, claims = bob
    for text in ("empty", "endless", "#\u202e/\x7f nameless @Nobody:x"):
        converse(here, claims, text, external_id=text[:5])
    (result,) = ingest(context.using(language_model=SulkingModel()), user)
    ((failure, state),) = result.returned
    assert (failure.error, state) == ("plain returned an empty summary", "failed")
    assert {record.title for record in result.stored} == {"endle", "#\u202e/\x7f nameless @Nobody:x"}


class ErasingEmbedder(WordEmbedder):
    """An embedder during whose work somebody erases a message that waits."""

    def __init__(self, database: Database, content: str) -> None:
        super().__init__()
        self._database, self._content = database, content

    def embed(self, texts: Sequence[str], kind: Literal["document", "query"] = "document") -> NDArray[np.float32]:
        with self._database.owner() as tx:
            tx.execute("DELETE FROM neurigraph.messages WHERE content = %s", [self._content])
        return super().embed(texts, kind)


def test_message_erased_after_embedding_is_in_no_segment(
    here: Installation, context: Context, bob: tuple[User, Claims]
) -> None:
    user, claims = bob
    converse(here, claims, "the quince tree", "a wandering albatross")
    (result,) = ingest(context.using(embedder=ErasingEmbedder(here.database, "a wandering albatross")), user)
    ((failure, state),) = result.returned
    assert (failure.step, failure.error, state) == ("commit", "messages of it were erased meanwhile", "pending")
    assert traces(here, user)["record_index"] == 0
    due_again(here, user)
    (record,) = stored(ingest(context, user))
    assert record.passages == 1


# Objects


class Blocked:
    """Objects where one of the tiers has no room, since a file bears its name."""

    def __init__(self, here: Installation, tier: str) -> None:
        self.folder = here.home / f"blocked-{tier}"
        self.folder.mkdir()
        (self.folder / tier).write_bytes(b"in the way")
        self.store = LocalObjectStore(self.folder)

    def kept(self) -> list[str]:
        return list(self.store.keys("durable/")) + list(self.store.keys("active/"))


@pytest.mark.parametrize("tier", ["durable", "active"])
def test_failing_object_store_leaves_no_trace(
    here: Installation, context: Context, bob: tuple[User, Claims], tier: str
) -> None:
    user, claims = bob
    converse(here, claims, "#Family/Ana One.", "#Work Two.")
    blocked = Blocked(here, tier)
    (result,) = ingest(context.using(objects=blocked.store), user)
    ((failure, state),) = result.returned
    assert (failure.step, state) == ("commit", "pending")
    assert "could not be written" in failure.error or "cannot be written" in failure.error
    assert set(traces(here, user).values()) == {0}
    assert blocked.kept() == []
    due_again(here, user)
    assert len(stored(ingest(context, user))) == 2


class ForgetfulStore:
    """An object store that flips a bit of what it keeps."""

    def __init__(self, inner: ObjectStore) -> None:
        self.inner = inner
        self.get_range, self.exists = inner.get_range, inner.exists
        self.delete, self.keys = inner.delete, inner.keys
        self.modified_at, self.move_to_cold = inner.modified_at, inner.move_to_cold

    def put(self, key: str, chunks: Iterable[bytes]) -> StoredObject:
        return self.inner.put(key, chunks)

    def get(self, key: str) -> Iterator[bytes]:
        for chunk in self.inner.get(key):
            yield bytes([chunk[0] ^ 1]) + chunk[1:]


class MeetingStore(ForgetfulStore):
    """An object store whose writers wait for another one for so many seconds, and that counts those that met."""

    def __init__(self, inner: ObjectStore, seconds: float) -> None:
        super().__init__(inner)
        self.met, self._seconds = 0, seconds
        self._meeting = threading.Barrier(2, self._count)

    def _count(self) -> None:
        self.met += 1

    def put(self, key: str, chunks: Iterable[bytes]) -> StoredObject:
        if key.startswith("durable/"):
            with suppress(threading.BrokenBarrierError):
                self._meeting.wait(self._seconds)
        return super().put(key, chunks)

    def get(self, key: str) -> Iterator[bytes]:
        return self.inner.get(key)


def test_users_are_stored_at_once(here: Installation, context: Context) -> None:
    for text in ("#Work/Desks One.", "#Family/Ana Two."):
        converse(here, new_user(here)[1], text)
    objects = MeetingStore(here.objects, 60)
    (result,) = ingest(context.using(objects=objects))
    assert len(result.stored) == 2
    assert objects.met == 1


def test_segments_of_one_user_are_written_at_once_and_stored_in_order(
    here: Installation, context: Context, bob: tuple[User, Claims]
) -> None:
    user, claims = bob
    for number in (1, 2, 3, 4):
        source_id = converse(here, claims, f"#Work/Desk{number} {number}", external_id="talk", first=number)
        detect_conversation_ends(here.context)
    objects = MeetingStore(here.objects, 60)
    (result,) = ingest(context.using(objects=objects), user)
    assert [record.node_path.rpartition("/")[2] for record in result.stored] == ["Desk1", "Desk2", "Desk3", "Desk4"]
    assert objects.met == 2
    once = "SELECT count(DISTINCT xmin::text) AS n FROM neurigraph.record_index WHERE user_id = %s"
    assert rows(here, once, user.user_id) == [{"n": 1}]
    (source,) = rows(here, "SELECT stored_through AS n FROM neurigraph.sources WHERE source_id = %s", source_id)
    assert source["n"] == 4


def transactions(here: Installation, user: User) -> int:
    """The number of transactions that stored the records of a user."""
    (found,) = rows(
        here, "SELECT count(DISTINCT xmin::text) AS n FROM neurigraph.record_index WHERE user_id = %s", user.user_id
    )
    number: int = found["n"]
    return number


def test_segments_of_one_user_share_a_transaction(
    here: Installation, context: Context, bob: tuple[User, Claims]
) -> None:
    user, claims = bob
    for number in range(20):
        converse(here, claims, f"#Work/Desks {number}")
    (result,) = ingest(context, user)
    assert len(result.stored) == 20
    assert transactions(here, user) == 2
    query = "SELECT record_count AS n FROM neurigraph.graph_index WHERE user_id = %s AND node_name = 'Desks'"
    assert rows(here, query, user.user_id) == [{"n": 20}]


def test_segments_that_fail_together_are_stored_alone(
    here: Installation, context: Context, bob: tuple[User, Claims], monkeypatch: pytest.MonkeyPatch
) -> None:
    user, claims = bob
    for number in range(3):
        converse(here, claims, f"#Work/Desks {number}", external_id=str(number))
    finish = SegmentStorage._finish_trigger

    def refuse(self: SegmentStorage, tx: Transaction, ref: SegmentRef) -> None:
        finish(self, tx, ref)
        if ref.title == "1":
            raise OSError("no room")

    monkeypatch.setattr(SegmentStorage, "_finish_trigger", refuse)
    (result,) = ingest(context, user)
    assert sorted(record.title for record in result.stored) == ["#Work/Desks 0", "#Work/Desks 2"]
    assert transactions(here, user) == 2
    found = traces(here, user)
    assert (found["record_index"], found["segments"], found["durable"], found["active"]) == (2, 2, 2, 2)


def test_damaged_object_is_not_stored(here: Installation, context: Context, bob: tuple[User, Claims]) -> None:
    user, claims = bob
    converse(here, claims, "precious")
    (result,) = ingest(context.using(objects=ForgetfulStore(here.objects)), user)
    ((failure, state),) = result.returned
    assert state == "pending"
    assert "reads back differently" in failure.error
    assert set(traces(here, user).values()) == {0}


# The database


class CutDatabase(DelegatingDatabase):
    """A database whose connection the administrator cuts in the transaction that stores a record, once."""

    def __init__(self, inner: Database, administrator_url: str, moment: str) -> None:
        super().__init__(inner)
        self.url = administrator_url
        self.moment = moment
        self.cuts = 0

    def pipeline(self) -> AbstractContextManager[Transaction]:
        return self._pipeline()

    @contextmanager
    def _pipeline(self) -> Iterator[Transaction]:
        with self.inner.pipeline() as tx:
            yield tx
            stores = "SELECT FROM pg_locks WHERE pid = pg_backend_pid() AND relation = %s::regclass AND mode = %s"
            storing = tx.execute(stores, ["neurigraph.delta_log", "RowExclusiveLock"]).fetchone() is not None
            if storing and self.cuts == 0:
                self.cuts += 1
                if self.moment == "after":
                    tx.commit()
                with psycopg.connect(self.url, autocommit=True) as administrator:
                    administrator.execute("SELECT pg_terminate_backend(%s)", [tx.info.backend_pid])
                tx.execute("SELECT 1")


@pytest.mark.parametrize("moment", ["before", "after"])
def test_cut_connection_at_commit_stores_once(
    here: Installation, context: Context, bob: tuple[User, Claims], moment: str
) -> None:
    user, claims = bob
    converse(here, claims, "#Family/Ana One.", "#Work Two. @Ana:sister")
    cut = CutDatabase(here.database, here.administrator_url, moment)
    (result,) = ingest(context.using(database=cut), user)
    assert cut.cuts == 1
    assert result.stored == ()
    if moment == "before":
        ((failure, state),) = result.returned
        assert (failure.step, failure.transient, state) == ("commit", True, "pending")
        found = traces(here, user)
        assert {name: n for name, n in found.items() if n} == {"durable": 2, "active": 2}, "only invisible objects"
        due_again(here, user)
        assert len(stored(ingest(context, user))) == 2
    assert ingest(context, user) == []
    found = traces(here, user)
    assert (found["record_index"], found["metadata_records"], found["delta_log"], found["segments"]) == (2, 2, 2, 2)
    for row in rows(here, "SELECT record_id FROM neurigraph.record_index WHERE user_id = %s", user.user_id):
        file_id = file_of_record(here.database, claims, row["record_id"])
        assert open_file(here.acting_for(claims), file_id).content


class Overtaken(PlainModel):
    """A model so slow that somebody else stores the segment meanwhile."""

    def __init__(self, context: Context, here: Installation, user: User) -> None:
        super().__init__()
        self.context, self.here, self.user = context, here, user

    def summarize(self, segment: Segment, words: int) -> Summary:
        with self.here.database.pipeline() as tx:
            tx.execute(
                "UPDATE neurigraph.storage_triggers SET claimed_until = now() WHERE user_id = %s", [self.user.user_id]
            )
        assert len(stored(ingest(self.context, self.user))) == 1
        return super().summarize(segment, words)


def test_lost_lease_stores_nothing(here: Installation, context: Context, bob: tuple[User, Claims]) -> None:
    user, claims = bob
    converse(here, claims, "#Family/Ana contested")
    slow = context.using(language_model=Overtaken(context, here, user))
    (result,) = ingest(slow, user)
    assert (result.stored, result.returned) == ((), ())
    found = traces(here, user)
    assert (found["record_index"], found["durable"], found["active"], found["delta_log"]) == (1, 1, 1, 1)
    assert [row["state"] for row in triggers_of(here, user)] == ["stored"]


def test_batches_in_opposite_order_do_not_deadlock(here: Installation, context: Context) -> None:
    user, claims = new_user(here)
    for number in range(24):
        texts = [f"#Work/Desks {number}", f"#Family/Ana {number} @Dave:x", f"#Family/Dave {number} @Ana:y"]
        converse(here, claims, *(texts if number % 2 else reversed(texts)))
    detect_conversation_ends(here.context)
    bounded = here.settings.changed(batch_max_segments=6)
    batches = [triggers.lease_due(here.context.using(settings=bounded), "test", user.user_id) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda b: run_batch(context, b.batch_id), filter(None, batches)))
    assert [result.returned for result in results] == [()] * 4
    assert len(stored(results)) == 72
    counts = rows(
        here,
        "SELECT record_count AS n FROM neurigraph.graph_index WHERE user_id = %s AND record_count > 0",
        user.user_id,
    )
    assert counts == [{"n": 24}] * 3


def test_broken_node_schema_fails_alone(here: Installation, context: Context, bob: tuple[User, Claims]) -> None:
    user, claims = bob
    converse(here, claims, "#Work whole")
    ingest(context, user)
    with here.database.owner() as tx:
        drop = sql.SQL("DROP TABLE {} CASCADE").format(sql.Identifier(schemas_of(here, user)["Work"], "file_manifest"))
        tx.execute(drop)
    converse(here, claims, "#Work broken")
    converse(here, claims, "#Family fine")
    (result,) = ingest(context, user)
    assert [record.title for record in result.stored] == ["#Family fine"]
    ((failure, state),) = result.returned
    assert state == "pending"
    assert "UndefinedTable" in failure.error
