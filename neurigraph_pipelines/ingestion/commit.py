"""The fifth step: store the records of a batch, each segment completely or not at all.

Objects are written first, then all rows of a segment in one transaction. So every crash is harmless: an object without
a row is invisible and removed by a later sweep, and a row without its object cannot exist.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Container, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import groupby
from uuid import UUID, uuid4

from neurigraph_pipelines.database.pipelined import pipelined
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.edges import Places
from neurigraph_pipelines.graph.locks import lock_graph_shared
from neurigraph_pipelines.graph.naming import name_key
from neurigraph_pipelines.graph.voices import voices_of
from neurigraph_pipelines.inbox import triggers
from neurigraph_pipelines.inbox.queue_hold import end_hold, hold_queue
from neurigraph_pipelines.inbox.source_versions import lock_versions, settle_source
from neurigraph_pipelines.inbox.stored_files import Original, remove, write_original, write_transcript
from neurigraph_pipelines.ingestion.batch_totals import count_stored, count_times
from neurigraph_pipelines.ingestion.conditions import conditions_of
from neurigraph_pipelines.ingestion.embedding_models import UserModels, lock_models
from neurigraph_pipelines.ingestion.graph_updates import update_graph
from neurigraph_pipelines.ingestion.note_records import settle_versions
from neurigraph_pipelines.ingestion.persona_filing import may_enter_personas
from neurigraph_pipelines.ingestion.record_rows import Inserted, RecordRows, WrittenRecord
from neurigraph_pipelines.ingestion.records import (
    Assigned,
    BatchResult,
    Committed,
    Described,
    Embedded,
    Progress,
    RecordPlan,
    Summarized,
    failed_triggers,
    failure_of,
)
from neurigraph_pipelines.ingestion.time_limits import time_limit
from neurigraph_pipelines.ingestion.unfinished import mark_unfinished
from neurigraph_pipelines.lifecycle.object_keys import durable_key
from neurigraph_pipelines.lifecycle.orphans import guard_objects
from neurigraph_pipelines.lifecycle.retention import set_tier_of_source, set_tiers_of_standards
from neurigraph_pipelines.lifecycle.uncommitted import removed_unless_committing
from neurigraph_pipelines.model import ItemFailure, Segment, SegmentRef, SourceKind, Tier, Voice
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.enriching import enriched
from neurigraph_pipelines.model.measuring import carried, measured
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.text.transcript import transcript_writer

STEP = "commit"

_MOST_AT_ONCE = 3
"""Users whose segments are stored at the same time: more would wait for each other in Python."""

_NODES_A_CONNECTION = 32
"""New nodes after which connections are renewed: one caches some 0.7 MB for each, and looks through it at each change
of the catalog, so that making the hundredth node took four times as long as making the first."""

_FACTS = statements("facts")
_QUERIES = statements("commit")
_TRIGGERS = statements("triggers")
_UPLOADS = statements("uploads")


class _LostLeaseError(Exception):
    """Another batch leases the segment now, or has stored it."""


@measured("ingestion.commit")
def commit(
    context: Context,
    assigned: Assigned,
    summarized: Summarized,
    described: Described,
    embedded: Embedded,
    on_done: Progress | None = None,
) -> BatchResult:
    """Store the segments that passed all steps, and give the others back.

    A segment that no step accounts for is given back too, so no segment of a batch can be lost silently.
    """
    storage = _SegmentStorage(context, assigned.batch_id, summarized, described, embedded)
    failed = failed_triggers(assigned.failures, summarized.failures, described.failures, embedded.failures)
    with triggers.keep_lease(context, assigned.batch_id):
        stored, seconds = _store(context, storage, assigned.plans, failed, on_done)
    attempts = {ref.trigger_id: ref.attempts for ref in triggers.segments_of(context.database, assigned.batch_id)}
    for trigger_id in attempts.keys() - failed.keys():
        failed[trigger_id] = ItemFailure(trigger_id, STEP, "no step accounted for this segment", transient=True)
    refused = _account_failures(failed, any_stored=bool(stored))
    failures = [failure for trigger_id, failure in failed.items() if trigger_id in attempts]
    returned = _give_back(context, assigned.batch_id, failures, attempts, refused)
    if stored:
        end_hold(context.database)
    elif refused:
        hold_queue(context.database, next(iter(refused.values())).error)
    result = BatchResult(assigned.batch_id, tuple(stored), returned, seconds)
    figures = (assigned, summarized, described, embedded, result)
    enriched("times", lambda: count_times(context.database, *figures), lambda: None)
    return result


def _store(
    context: Context,
    storage: _SegmentStorage,
    plans: Sequence[RecordPlan],
    failed: dict[UUID, ItemFailure],
    on_done: Progress | None,
) -> tuple[list[Committed], dict[UUID, float]]:
    """Store the segments that have not failed, several users at a time and those of one user in order.

    Returns:
        The records in the order of the plans, and the seconds by trigger; what fails is added to ``failed``.
    """
    segments = {trigger: list(group) for trigger, group in groupby(plans, key=lambda plan: plan.ref.trigger_id)}
    by_user: dict[UUID, list[UUID]] = {}
    for trigger_id, records in segments.items():
        by_user.setdefault(records[0].ref.user_id, []).append(trigger_id)
    done: dict[UUID, list[Committed]] = {}
    seconds: dict[UUID, float] = {}

    def store(trigger_ids: Sequence[UUID]) -> None:
        loaded = triggers.load_each(context.database, (segments[one][0].ref for one in trigger_ids))
        for trigger_id, load in zip(trigger_ids, loaded, strict=True):
            started = time.monotonic()
            if trigger_id not in failed:
                try:
                    done[trigger_id] = storage.store(segments[trigger_id], load())
                except _LostLeaseError:
                    pass
                except Exception as error:  # one bad item must not fail the others
                    failed[trigger_id] = failure_of(trigger_id, STEP, error)
            seconds[trigger_id] = time.monotonic() - started
            if on_done is not None:
                on_done(len(segments[trigger_id]))

    # One connection of the pool renews the lease.
    most = min(_MOST_AT_ONCE, context.settings.database.pool_size - 1)
    if min(most, len(by_user)) < 2:
        for trigger_ids in by_user.values():
            store(trigger_ids)
    else:
        with ThreadPoolExecutor(most, thread_name_prefix=STEP) as pool:
            futures = [pool.submit(carried(store), trigger_ids) for trigger_ids in by_user.values()]
            try:
                for future in futures:
                    future.result()
            except BaseException:  # an interrupt ends the work after the segments that are being stored
                pool.shutdown(cancel_futures=True)
                raise
    return [record for trigger_id in segments for record in done.get(trigger_id, ())], seconds


def _give_back(
    context: Context,
    batch_id: UUID,
    failures: Iterable[ItemFailure],
    attempts: Mapping[UUID, int],
    refused: Container[UUID],
) -> tuple[tuple[ItemFailure, str], ...]:
    """Give back the segments that failed; return the failures with the new state of each that was still leased.

    Args:
        attempts: How often each segment was tried.
        refused: The segments whose failure costs no attempt.
    """
    returned = []
    for failure in failures:
        counts = failure.trigger_id not in refused
        state = triggers.give_back(context, batch_id, failure, attempts[failure.trigger_id], counts=counts)
        if state is not None:
            returned.append((failure, state))
    return tuple(returned)


def _account_failures(failed: Mapping[UUID, ItemFailure], *, any_stored: bool) -> dict[UUID, ItemFailure]:
    """Return the failures that cost no attempt, because the provider refused the account.

    Where another segment of the batch was stored, a refusal that may be about the content is taken for that.
    """
    return {
        trigger_id: failure
        for trigger_id, failure in failed.items()
        if failure.account and not (failure.transient and any_stored)
    }


class _SegmentStorage:
    """Stores segments of one batch, each completely or not at all."""

    def __init__(
        self,
        context: Context,
        batch_id: UUID,
        summarized: Summarized,
        described: Described,
        embedded: Embedded,
    ) -> None:
        self._context = context
        self._batch_id = batch_id
        self._embedding_model = embedded.model if embedded.vectors else None
        self._writer = transcript_writer(context)
        self._rows = RecordRows(context, self._writer, summarized, described, embedded)
        self._new_nodes = 0
        self._counting = threading.Lock()

    def store(self, plans: Sequence[RecordPlan], segment: Segment) -> list[Committed]:
        """Store all records of one segment.

        Raises:
            _LostLeaseError: The batch no longer leases the segment.
        """
        # Every commit creates and locks nodes in the same order, so that two commits cannot deadlock.
        plans = sorted(plans, key=lambda plan: (tuple(map(name_key, plan.filing.path)), plan.part))
        attempt = uuid4()
        keys = [durable_key(p.ref.user_slug, p.filing.path, p.record_id, attempt) for p in plans]
        limited = partial(time_limit, self._context.settings, STEP, plans[0].ref.token_count)
        with removed_unless_committing(lambda: self._remove(keys)) as rows:
            with limited():
                voices = voices_of(segment.messages, segment.ref.source_kind, segment.ref.user_slug)
                written = [self._write(plan, segment, voices, key) for plan, key in zip(plans, keys, strict=True)]
            with rows(self._context.database.pipeline()) as tx, limited():  # the limit ends before COMMIT is sent
                committed = self._commit(tx, written)
        self._remove(key for key, record in zip(keys, committed, strict=True) if record.already_stored)
        self._renew_connections(sum(len(plan.filing.new_nodes) + len(plan.filing.beside) for plan in plans))
        return committed

    def _renew_connections(self, new_nodes: int) -> None:
        """Count new nodes, and renew the connections when there were many."""
        with self._counting:
            self._new_nodes += new_nodes
            if self._new_nodes < _NODES_A_CONNECTION:
                return
            self._new_nodes = 0
        self._context.database.renew_connections()

    def _write(self, plan: RecordPlan, segment: Segment, voices: Mapping[int, Voice], key: str) -> WrittenRecord:
        """Write the objects of one record."""
        objects = self._context.objects
        part = segment.within(*plan.messages)
        transcript = write_transcript(objects, self._writer, part, key)
        original = self._original(plan)
        if original is None:
            return WrittenRecord(plan, part, (transcript,), voices)
        file = write_original(objects, original, key, self._context.settings.objects.gzip_level)
        return WrittenRecord(plan, part, (file, transcript), voices)

    def _original(self, plan: RecordPlan) -> Original | None:
        """Return the uploaded file, for the record that begins with the file's first message."""
        if plan.ref.source_kind is not SourceKind.UPLOAD or plan.filing.first_message != 1:
            return None
        with self._context.database.pipeline() as tx:
            row = tx.execute(_UPLOADS["original"], {"source_id": plan.ref.source_id}).fetchone()
        return Original.of_row(row) if row is not None else None

    def _remove(self, keys: Iterable[str]) -> None:
        for key in keys:
            remove(self._context.objects, key)

    def _commit(self, tx: Transaction, written: Sequence[WrittenRecord]) -> list[Committed]:
        ref = written[0].plan.ref
        with pipelined(tx):  # what needs no answer shares a way to the server; each statement still sees the one before
            written, models, tier = self._lock(tx, written)
        places = Places(tx, ref.user_id, ref.user_slug, personas=may_enter_personas(ref))
        self._provision(places, written)  # several statements in one text, which a pipeline does not send
        with pipelined(tx):
            return self._insert(tx, written, models, places, tier)

    def _lock(
        self, tx: Transaction, written: Sequence[WrittenRecord]
    ) -> tuple[list[WrittenRecord], UserModels | None, Tier | None]:
        """Lock what the commit needs; return the records as they may be stored, the user's models, and a stated tier.

        Raises:
            _LostLeaseError: The batch no longer leases the segment.
        """
        ref = written[0].plan.ref
        tx.execute(_QUERIES["reuse_plans"])
        leased = tx.execute(_TRIGGERS["lock_lease"], {"trigger_id": ref.trigger_id, "batch_id": self._batch_id})
        lock_graph_shared(tx, ref.user_id)
        found = conditions_of(tx, ref, [(*item.plan.messages, item.content_hash) for item in written])
        models = lock_models(tx, ref.user_id, self._embedding_model) if self._embedding_model is not None else None
        if leased.fetchone() is None:
            raise _LostLeaseError
        conditions = found()
        for item in written:
            guard_objects(tx, self._context.objects, item.plan.record_id, (file.durable.key for file in item.files))
        tier = conditions[0].tier
        allowed = [item.under(one) for item, one in zip(written, conditions, strict=True)]
        return allowed, models, Tier(tier) if tier is not None else None

    def _insert(
        self,
        tx: Transaction,
        written: Sequence[WrittenRecord],
        models: UserModels | None,
        places: Places,
        tier: Tier | None,
    ) -> list[Committed]:
        """Insert all rows of a segment, and take it from the queue."""
        ref = written[0].plan.ref
        inserted: list[Inserted] = []
        for item in written:
            same = (one.committed for one in inserted if one.written.content_hash == item.content_hash)
            known = next(((one.record_id, one.created_at) for one in same), item.known)
            inserted.append(self._rows.insert(tx, replace(item, known=known), models, places))
        new_records = [one.committed.record_id for one in inserted if one.witness is not None]
        if tier is not None:
            for record_id in new_records:
                set_tier_of_source(tx, self._context.settings, record_id, tier)
        else:
            set_tiers_of_standards(tx, self._context.settings, ref.user_id, new_records)
        for one in inserted:
            if ref.note is not None and one.witness is not None and not one.written.quarantines:
                settle_versions(tx, ref, one.committed.record_id, facts=self._context.settings.ingestion.facts)
        committed = self._update_graph(tx, places, inserted)
        if self._context.settings.ingestion.facts:
            tx.execute(_FACTS["insert_pending"], {"record_ids": new_records})
        versions = lock_versions(tx, ref.source_id)
        self._finish_trigger(tx, ref)
        if versions() > 1:
            settle_source(tx, ref)
        enriched("totals", lambda: count_stored(tx, ref, committed), lambda: None)
        return committed

    def _update_graph(self, tx: Transaction, places: Places, inserted: Sequence[Inserted]) -> list[Committed]:
        """Write the graph changes that new records cause, and return all records as stored."""
        new = [one for one in inserted if one.witness is not None]
        left_out = update_graph(
            tx,
            places,
            [(one.witness, one.written.plan.filing) for one in new if one.witness is not None],
            lambda: [said for one in inserted for said in self._rows.said(one)],
            [one.addition for one in inserted if one.addition is not None],
        )
        if not left_out:
            return [one.committed for one in inserted]
        for one in new:
            row = self._rows.words(one)
            mark_unfinished(tx, one.committed.record_id, row, [*one.committed.left_out, *left_out])
        marked = {one.committed.record_id for one in new}
        return [
            replace(one, left_out=(*one.left_out, *left_out)) if one.record_id in marked else one
            for one in (each.committed for each in inserted)
        ]

    def _finish_trigger(self, tx: Transaction, ref: SegmentRef) -> None:
        """Mark the segment as stored, and remove its messages from the inbox unless they are retained."""
        bodies_kept = self._context.settings.ingestion.inbox_retention_days > 0
        tx.execute(
            _TRIGGERS["finish"],
            {
                "trigger_id": ref.trigger_id,
                "source_id": ref.source_id,
                "first_message": ref.first_message,
                "last_message": ref.last_message,
                "bodies_kept": bodies_kept,
            },
        )

    def _provision(self, places: Places, written: Sequence[WrittenRecord]) -> None:
        """Create all nodes that the segment needs, in the common order, before any of them is locked."""
        filings = [item.plan.filing for item in written]
        planned = [node for filing in filings for node in (*filing.new_nodes, *filing.beside)]
        paths = {filing.path for filing in filings} | {node.path for filing in filings for node in filing.beside}
        for path in sorted(paths, key=lambda path: tuple(map(name_key, path))):
            places.reach(path, planned)
