"""Rows and objects of some segments of one user, in one transaction: all of them are stored, or none.

Objects are written first, then all rows. So every crash is harmless: an object without a row is invisible and removed
by a later sweep, and a row without its object cannot exist. ``commit`` stores segments alone that fail together.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import NamedTuple
from uuid import UUID, uuid4

from neurigraph_pipelines.database.pipelined import pipelined
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.edges import Places
from neurigraph_pipelines.graph.locks import lock_graph_shared
from neurigraph_pipelines.graph.naming import name_key
from neurigraph_pipelines.inbox.source_versions import lock_versions, settle_source
from neurigraph_pipelines.inbox.stored_files import Original, remove, write_original, write_transcript
from neurigraph_pipelines.ingestion.batch_totals import count_stored
from neurigraph_pipelines.ingestion.conditions import conditions_of
from neurigraph_pipelines.ingestion.embedding_models import UserModels, lock_models
from neurigraph_pipelines.ingestion.graph_updates import update_graph
from neurigraph_pipelines.ingestion.note_records import settle_versions
from neurigraph_pipelines.ingestion.persona_filing import may_enter_personas
from neurigraph_pipelines.ingestion.read_windows import keep_window
from neurigraph_pipelines.ingestion.record_rows import RecordRows
from neurigraph_pipelines.ingestion.records import Committed, Described, Embedded, RecordPlan, Summarized
from neurigraph_pipelines.ingestion.time_limits import time_limit
from neurigraph_pipelines.ingestion.unfinished import mark_unfinished
from neurigraph_pipelines.ingestion.written_records import Inserted, WrittenRecord
from neurigraph_pipelines.lifecycle.object_keys import durable_key
from neurigraph_pipelines.lifecycle.orphans import guard_objects
from neurigraph_pipelines.lifecycle.retention import set_tier_of_source, set_tiers_of_standards
from neurigraph_pipelines.lifecycle.uncommitted import removed_unless_committing
from neurigraph_pipelines.model import Segment, SegmentRef, SourceKind, Tier
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.enriching import enriched
from neurigraph_pipelines.model.measuring import carried
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.text.transcript import transcript_writer

STEP = "commit"

_NODES_A_CONNECTION = 32
"""New nodes after which connections are renewed: one caches some 0.7 MB for each, and looks through it at each change
of the catalog, so that making the hundredth node took four times as long as making the first."""

_FACTS = statements("facts")
_QUERIES = statements("commit")
_TRIGGERS = statements("triggers")
_UPLOADS = statements("uploads")


_WRITES_AT_ONCE = 8
"""Objects that are written at the same time: each waits for the disk, or for the object store."""


class LostLeaseError(Exception):
    """Another batch leases a segment now, or has stored it."""


class _OneIsDefectError(Exception):
    """A defect in one of several segments keeps the links of all from being made; alone, only its own are left out."""


class _Written(NamedTuple):
    """One segment whose objects are stored.

    Attributes:
        records: Its records in the order of their nodes.
        tier: The tier that its source was handed in with; None before it is known, or if there is none.
    """

    ref: SegmentRef
    records: list[WrittenRecord]
    tier: Tier | None = None


@contextmanager
def _writers(objects: int) -> Iterator[Executor]:
    """Yield threads that write objects. No thread outlives the block; an error drops the writes that wait."""
    pool = ThreadPoolExecutor(min(objects, _WRITES_AT_ONCE), thread_name_prefix="write")
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


class SegmentStorage:
    """Stores segments of one batch, those of a call completely or not at all."""

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
        self._summaries = summarized.summaries
        self._writer = transcript_writer(context)
        self._rows = RecordRows(context, summarized, described, embedded)
        self._new_nodes = 0
        self._counting = threading.Lock()

    def store(self, segments: Sequence[tuple[Sequence[RecordPlan], Segment]]) -> list[list[Committed]]:
        """Store all records of some segments of one user, which either all enter personas or all do not.

        Returns:
            The records of each segment.

        Raises:
            LostLeaseError: The batch no longer leases a segment.
        """
        # Every commit creates and locks nodes in the same order, so that two commits cannot deadlock.
        planned = [sorted(plans, key=lambda p: (tuple(map(name_key, p.filing.path)), p.part)) for plans, _ in segments]
        attempt = uuid4()
        keys = [[durable_key(p.ref.user_slug, p.filing.path, p.record_id, attempt) for p in plans] for plans in planned]
        tokens = sum(plans[0].ref.token_count for plans in planned)
        limited = partial(time_limit, self._context.settings, STEP, tokens)
        with removed_unless_committing(lambda: self._remove(key for some in keys for key in some)) as rows:
            with _writers(sum(map(len, keys))) as pool:
                begun = [
                    self._begin_write(pool, limited, plans, segment, some)
                    for plans, (_, segment), some in zip(planned, segments, keys, strict=True)
                ]
                written = [_Written(ref, [record.result() for record in records]) for ref, records in begun]
            with rows(self._context.database.pipeline()) as tx, limited():  # the limit ends before COMMIT is sent
                committed = self._commit(tx, written)
        for some, records in zip(keys, committed, strict=True):
            self._remove(key for key, record in zip(some, records, strict=True) if record.already_stored)
        filings = [plan.filing for plans in planned for plan in plans]
        self._renew_connections(sum(len(filing.new_nodes) + len(filing.beside) for filing in filings))
        return committed

    def _renew_connections(self, new_nodes: int) -> None:
        """Count new nodes, and renew the connections when there were many."""
        with self._counting:
            self._new_nodes += new_nodes
            if self._new_nodes < _NODES_A_CONNECTION:
                return
            self._new_nodes = 0
        self._context.database.renew_connections()

    def _begin_write(
        self,
        pool: Executor,
        limited: Callable[[], AbstractContextManager[None]],
        plans: Sequence[RecordPlan],
        segment: Segment,
        keys: Sequence[str],
    ) -> tuple[SegmentRef, list[Future[WrittenRecord]]]:
        """Begin to write the objects of one segment."""

        def write(one: tuple[RecordPlan, str]) -> WrittenRecord:
            with limited():  # of the thread that writes
                return self._write_record(one[0], segment, one[1])

        records = [pool.submit(carried(write), one) for one in zip(plans, keys, strict=True)]
        return plans[0].ref, records

    def _write_record(self, plan: RecordPlan, segment: Segment, key: str) -> WrittenRecord:
        """Write the objects of one record."""
        objects = self._context.objects
        part = segment.within(*plan.messages)
        transcript = write_transcript(objects, self._writer, part, key)
        original = self._original(plan)
        if original is None:
            return WrittenRecord(plan, part, (transcript,))
        file = write_original(objects, original, key, self._context.settings.objects.gzip_level)
        return WrittenRecord(plan, part, (file, transcript))

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

    def _commit(self, tx: Transaction, written: Sequence[_Written]) -> list[list[Committed]]:
        ref = written[0].ref
        with pipelined(tx):  # what needs no answer shares a way to the server; each statement still sees the one before
            written, models = self._lock(tx, written)
        places = Places(tx, ref.user_id, ref.user_slug, personas=may_enter_personas(ref))
        self._provision(places, written)  # several statements in one text, which a pipeline does not send
        with pipelined(tx):
            return self._insert(tx, written, models, places)

    def _lock(self, tx: Transaction, written: Sequence[_Written]) -> tuple[list[_Written], UserModels | None]:
        """Lock the rows that the commit needs; return the segments as they may be stored, and the user's models.

        Raises:
            LostLeaseError: The batch no longer leases a segment.
        """
        user_id = written[0].ref.user_id
        tx.execute(_QUERIES["reuse_plans"])
        trigger_ids = [one.ref.trigger_id for one in written]
        leased = tx.execute(_TRIGGERS["lock_leases"], {"trigger_ids": trigger_ids, "batch_id": self._batch_id})
        lock_graph_shared(tx, user_id)
        items = [item for one in written for item in one.records]
        parts = [(item.plan.ref.source_id, *item.plan.messages, item.content_hash) for item in items]
        asked = conditions_of(tx, user_id, parts)
        models = lock_models(tx, user_id, self._embedding_model) if self._embedding_model is not None else None
        if len(leased.fetchall()) < len(trigger_ids):
            raise LostLeaseError
        keys = {item.plan.record_id: [file.durable.key for file in item.files] for item in items}
        guard_objects(tx, self._context.objects, keys)
        found = iter(asked())
        allowed = []
        for one in written:
            conditions = list(islice(found, len(one.records)))
            records = [item.under(under) for item, under in zip(one.records, conditions, strict=True)]
            tier = conditions[0].tier
            allowed.append(_Written(one.ref, records, Tier(tier) if tier is not None else None))
        return allowed, models

    def _insert(
        self, tx: Transaction, written: Sequence[_Written], models: UserModels | None, places: Places
    ) -> list[list[Committed]]:
        """Insert all rows of the segments, and take them from the queue."""
        user_id, settings = written[0].ref.user_id, self._context.settings
        self._rows.choose_titles(tx, [item for one in written for item in one.records])
        rows = [self._insert_records(tx, one, models, places) for one in written]
        standard = [some for one, some in zip(written, rows, strict=True) if one.tier is None]
        set_tiers_of_standards(tx, settings, user_id, [one for some in standard for one in _new(some)])
        left_out = self._update_graph(tx, places, [one for some in rows for one in some])
        if left_out and len(rows) > 1:
            raise _OneIsDefectError
        committed = [[one.committed for one in some] for some in rows]
        if left_out:
            committed = [self._marked(tx, some, left_out) for some in rows]
        if settings.ingestion.facts:
            self._wait_for_facts(tx, [one for some in rows for one in _new(some)])
        stored = list(zip((one.ref for one in written), committed, strict=True))
        self._finish(tx, [ref for ref, _ in stored])
        enriched("totals", lambda: count_stored(tx, stored), lambda: None)
        return committed

    def _wait_for_facts(self, tx: Transaction, record_ids: Sequence[UUID]) -> None:
        """Let new records wait to be read for facts, with the facts that the calls for their summaries read."""
        tx.execute(_FACTS["insert_pending"], {"record_ids": list(record_ids)})
        for record_id in record_ids:
            also = self._summaries[record_id].also
            if also is not None:
                keep_window(tx, record_id, 0, bytes.fromhex(also.window), also.facts)

    def _insert_records(
        self, tx: Transaction, segment: _Written, models: UserModels | None, places: Places
    ) -> list[Inserted]:
        """Insert the rows of the records of one segment."""
        ref, settings = segment.ref, self._context.settings
        inserted: list[Inserted] = []
        for item in segment.records:
            same = (one.committed for one in inserted if one.written.content_hash == item.content_hash)
            if (known := next(same, None)) is not None:
                item = replace(item, known=known.record_id, created_at=known.created_at)
            inserted.append(self._rows.insert(tx, item, models, places))
        if segment.tier is not None:
            for record_id in _new(inserted):
                set_tier_of_source(tx, settings, record_id, segment.tier)
        for one in inserted:
            if ref.note is not None and one.witness is not None and not one.written.quarantines:
                settle_versions(tx, ref, one.committed.record_id, facts=settings.ingestion.facts)
        return inserted

    def _update_graph(self, tx: Transaction, places: Places, inserted: Sequence[Inserted]) -> list[str]:
        """Write the graph changes that new records cause, and return the parts that a defect left out."""
        return update_graph(
            tx,
            places,
            [(one.witness, one.written.plan.filing) for one in inserted if one.witness is not None],
            lambda: [said for one in inserted for said in self._rows.said(one)],
            [one.addition for one in inserted if one.addition is not None],
        )

    def _marked(self, tx: Transaction, inserted: Sequence[Inserted], left_out: Sequence[str]) -> list[Committed]:
        """Mark the new records as unfinished; return all."""
        for one in inserted:
            if one.witness is not None:
                row = self._rows.words(one)
                mark_unfinished(tx, one.committed.record_id, row, [*one.committed.left_out, *left_out])
        marked = set(_new(inserted))
        return [
            replace(one, left_out=(*one.left_out, *left_out)) if one.record_id in marked else one
            for one in (each.committed for each in inserted)
        ]

    def _finish(self, tx: Transaction, refs: Iterable[SegmentRef]) -> None:
        """Take segments from the queue, in the order of their sources, so that two commits cannot deadlock."""
        refs = sorted(refs, key=lambda ref: ref.source_id)
        locked = lock_versions(tx, [ref.source_id for ref in refs])
        for ref in refs:
            self._finish_trigger(tx, ref)
        versions = locked()
        for ref in refs:
            if versions[ref.source_id] > 1:
                settle_source(tx, ref)

    def _finish_trigger(self, tx: Transaction, ref: SegmentRef) -> None:
        """Mark a segment as stored, and remove its messages from the inbox unless they are retained."""
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

    def _provision(self, places: Places, written: Sequence[_Written]) -> None:
        """Create all nodes that the segments need, in the common order, before any of them is locked."""
        filings = [item.plan.filing for one in written for item in one.records]
        # Of two plans for one node the last counts: that of the first segment.
        plans = [item.plan.filing for one in reversed(written) for item in one.records]
        planned = [node for filing in plans for node in (*filing.new_nodes, *filing.beside)]
        paths = {filing.path for filing in filings} | {node.path for filing in filings for node in filing.beside}
        for path in sorted(paths, key=lambda path: tuple(map(name_key, path))):
            places.reach(path, planned)


def _new(inserted: Iterable[Inserted]) -> list[UUID]:
    """Return the ids of the records that were not stored before."""
    return [one.committed.record_id for one in inserted if one.witness is not None]
