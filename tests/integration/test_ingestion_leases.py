"""Leases of batches, and segments that a batch loses: each is stored once, by the batch that holds it."""

from __future__ import annotations

from contextlib import AbstractContextManager, suppress
from dataclasses import replace

from psycopg import Error

from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.inbox import triggers
from neurigraph_pipelines.ingestion import batch
from neurigraph_pipelines.ingestion.batch import run_batch
from neurigraph_pipelines.ingestion.detection import detect_conversation_ends
from neurigraph_pipelines.lifecycle.orphans import audit_objects
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.retrieval.open import file_of_record, open_file
from neurigraph_pipelines.wiring.installation import Installation
from resources.postgres.delegating import DelegatingDatabase
from tests.support.ingestion_traces import traces, triggers_of
from tests.support.memories import PlainModel, WordEmbedder, converse, ingest, new_user, stored


def test_lapsed_batch_stores_nothing_for_the_next(
    here: Installation, context: Context, bob: tuple[User, Claims]
) -> None:
    """Batch A lapses, B leases the segment and has not stored it: A's commit stores nothing, and B's does."""
    user, claims = bob
    converse(here, claims, "#Family/Ana contested")
    detect_conversation_ends(here.context)
    first = triggers.lease_due(context, "first", user.user_id)
    assert first is not None
    assigned = batch.assign_nodes(context, first.batch_id)
    summarized = batch.summarize(context, assigned)
    described = batch.extract_keywords(context, assigned, summarized)
    embedded = batch.embed(context, assigned, summarized)
    with here.database.pipeline() as tx:
        tx.execute("UPDATE neurigraph.storage_triggers SET claimed_until = now() WHERE user_id = %s", [user.user_id])
    second = triggers.lease_due(context, "second", user.user_id)
    assert second is not None

    late = batch.commit(context, assigned, summarized, described, embedded)

    assert (late.stored, late.returned) == ((), ())
    found = traces(here, user)
    assert (found["record_index"], found["durable"], found["active"], found["delta_log"]) == (0, 0, 0, 0)
    assert [ref.user_id for ref in triggers.segments_of(here.database, second.batch_id)] == [user.user_id]
    assert len(run_batch(context, second.batch_id).stored) == 1


def test_long_commit_holds_up_no_sensor(here: Installation, context: Context, bob: tuple[User, Claims]) -> None:
    """Its lease lapses while it is locked: others are renewed and taken over meanwhile, and it keeps its own."""
    user, claims = bob
    leased = []
    for text in ("in its commit", "whose process died"):
        converse(here, claims, f"#Family/Ana {text}")
        detect_conversation_ends(here.context)
        leased.append(triggers.lease_due(context, "test", user.user_id))
    committing, dead = leased
    assert committing is not None
    assert dead is not None
    with here.database.pipeline() as tx:
        tx.execute("UPDATE neurigraph.storage_triggers SET claimed_until = now() WHERE user_id = %s", [user.user_id])
    held = None
    # The server ends the transaction if somebody waits for its lock.
    with suppress(Error), here.database.pipeline() as tx:
        tx.execute("SET idle_in_transaction_session_timeout = '30s'")
        tx.execute("SELECT FROM neurigraph.storage_triggers WHERE batch_id = %s FOR UPDATE", [committing.batch_id])
        triggers.renew(here.database, committing.batch_id, 60)
        triggers.expire(context)
        assert [row["state"] for row in triggers_of(here, user)] == ["claimed", "pending"]
        held = tx.execute("SELECT 1 AS held").fetchone()
    assert held == {"held": 1}
    assert [ref.user_id for ref in triggers.segments_of(here.database, committing.batch_id)] == [user.user_id]


class AuditBeforeCommit(DelegatingDatabase):
    """A database before whose transactions an audit without a grace period runs."""

    def __init__(self, here: Installation) -> None:
        super().__init__(here.database)
        self.here, self.removed = here, 0

    def pipeline(self) -> AbstractContextManager[Transaction]:
        now = self.here.settings.changed(orphan_grace_hours=0.0)
        self.removed += audit_objects(self.here.context.using(settings=now)).removed
        return self.inner.pipeline()


def test_audit_between_objects_and_commit(installation: Installation) -> None:
    """The commit notices that its objects are gone, and stores nothing; the next attempt writes them again."""
    here = installation
    user, claims = new_user(here)
    context = here.context.using(language_model=PlainModel(), embedder=WordEmbedder())
    converse(here, claims, "#Family/Ana audited")
    audited = AuditBeforeCommit(here)
    (result,) = ingest(context.using(database=audited), user)
    assert audited.removed >= 1
    assert result.stored == ()
    assert traces(here, user)["record_index"] == 0
    with here.database.pipeline() as tx:
        tx.execute("UPDATE neurigraph.storage_triggers SET next_attempt_at = now() WHERE user_id = %s", [user.user_id])
    (record,) = stored(ingest(context, user))
    opened = open_file(here.acting_for(claims), file_of_record(here.database, claims, record.record_id))
    assert b"audited" in opened.content


def test_forgotten_segment_returns_to_the_queue(here: Installation, context: Context, bob: tuple[User, Claims]) -> None:
    """Of two segments of a batch, the steps lose one: it is due again with the reason, and the other is stored."""
    user, claims = bob
    converse(here, claims, "#Family/Ana kept")
    converse(here, claims, "#Family/Ana lost")
    detect_conversation_ends(here.context)
    leased = triggers.lease_due(context, "test", user.user_id)
    assert leased is not None
    whole = batch.assign_nodes(context, leased.batch_id)
    kept = replace(whole, plans=whole.plans[:1])
    summarized = batch.summarize(context, kept)
    described = batch.extract_keywords(context, kept, summarized)
    result = batch.commit(context, kept, summarized, described, batch.embed(context, kept, summarized))
    assert len(result.stored) == 1
    ((failure, state),) = result.returned
    assert (failure.trigger_id, failure.error, state) == (
        whole.plans[1].ref.trigger_id,
        "no step accounted for this segment",
        "pending",
    )
    assert sorted(str(row["state"]) for row in triggers_of(here, user)) == ["pending", "stored"]
