"""The fifth step: store the records of a batch, each segment completely or not at all.

Several segments of one user share a transaction, because most of a commit costs the same for one record as for ten.
If it fails, each is stored alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby, islice
from uuid import UUID

from neurigraph_pipelines.inbox import triggers
from neurigraph_pipelines.inbox.queue_hold import end_hold, hold_queue
from neurigraph_pipelines.ingestion.batch_totals import count_times
from neurigraph_pipelines.ingestion.persona_filing import may_enter_personas
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
from neurigraph_pipelines.ingestion.segment_storage import STEP, LostLeaseError, SegmentStorage
from neurigraph_pipelines.model import ItemFailure, Segment, SegmentRef
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.enriching import enriched
from neurigraph_pipelines.model.measuring import carried, measured

_MOST_AT_ONCE = 3
"""Users whose segments are stored at the same time: more would wait for each other in Python."""

_SEGMENTS, _TOKENS = 16, 20_000
"""Most segments and tokens of one transaction, which others wait for."""

_Loaded = tuple[UUID, Callable[[], Segment]]
"""A segment, by its trigger, and the function that returns it with its messages."""


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
    storage = SegmentStorage(context, assigned.batch_id, summarized, described, embedded)
    failed = failed_triggers(assigned.failures, summarized.failures, described.failures, embedded.failures)
    with triggers.keep_lease(context, assigned.batch_id):
        storing = _Storing(context, storage, assigned.plans, failed, on_done)
        stored = storing.run()
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
    result = BatchResult(assigned.batch_id, tuple(stored), returned, storing.seconds)
    figures = (assigned, summarized, described, embedded, result)
    enriched("times", lambda: count_times(context.database, *figures), lambda: None)
    return result


class _Storing:
    """Stores the segments of a batch that have not failed: several users at a time, those of one user in order.

    Args:
        failed: The failures of the steps before; what fails here is added.
    """

    def __init__(
        self,
        context: Context,
        storage: SegmentStorage,
        plans: Sequence[RecordPlan],
        failed: dict[UUID, ItemFailure],
        on_done: Progress | None,
    ) -> None:
        self._context, self._storage, self._failed, self._on_done = context, storage, failed, on_done
        self._segments = {one: list(group) for one, group in groupby(plans, key=lambda plan: plan.ref.trigger_id)}
        self._done: dict[UUID, list[Committed]] = {}
        self.seconds: dict[UUID, float] = {}

    def run(self) -> list[Committed]:
        """Store all segments; return the records in the order of the plans."""
        by_user: dict[UUID, list[UUID]] = {}
        for trigger_id, records in self._segments.items():
            by_user.setdefault(records[0].ref.user_id, []).append(trigger_id)
        # One connection of the pool renews the lease.
        most = min(_MOST_AT_ONCE, self._context.settings.database.pool_size - 1)
        if min(most, len(by_user)) < 2:
            for trigger_ids in by_user.values():
                self._store(trigger_ids)
        else:
            with ThreadPoolExecutor(most, thread_name_prefix=STEP) as pool:
                futures = [pool.submit(carried(self._store), trigger_ids) for trigger_ids in by_user.values()]
                try:
                    for future in futures:
                        future.result()
                except BaseException:  # an interrupt ends the work after the segments that are being stored
                    pool.shutdown(cancel_futures=True)
                    raise
        return [record for trigger_id in self._segments for record in self._done.get(trigger_id, ())]

    def _store(self, trigger_ids: Sequence[UUID]) -> None:
        """Store the segments of one user."""
        refs = [self._segments[one][0].ref for one in trigger_ids]
        loaded = zip(trigger_ids, triggers.load_each(self._context.database, refs), strict=True)
        for size in _sizes(refs):
            group = list(islice(loaded, size))
            self._attempt([one for one in group if one[0] not in self._failed])
            for trigger_id, _ in group:
                self.seconds.setdefault(trigger_id, 0.0)
                if self._on_done is not None:
                    self._on_done(len(self._segments[trigger_id]))

    def _attempt(self, group: Sequence[_Loaded]) -> None:
        """Store the segments of one transaction; if it fails, each alone."""
        if not group:
            return
        started = time.monotonic()
        try:
            records = self._storage.store([(self._segments[trigger_id], load()) for trigger_id, load in group])
            self._done.update(zip((trigger_id for trigger_id, _ in group), records, strict=True))
        except Exception as error:  # one bad item must not fail the others
            if len(group) > 1:
                for one in group:
                    self._attempt([one])
                return
            if not isinstance(error, LostLeaseError):
                self._failed[group[0][0]] = failure_of(group[0][0], STEP, error)
        self.seconds.update((trigger_id, (time.monotonic() - started) / len(group)) for trigger_id, _ in group)


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


def _sizes(refs: Iterable[SegmentRef]) -> Iterator[int]:
    """Yield how many segments of one user, in their order, share each transaction."""
    segments, tokens, personas = 0, 0, False
    for ref in refs:
        enters = may_enter_personas(ref)
        full = segments == _SEGMENTS or tokens + ref.token_count > _TOKENS or enters != personas
        if segments and full:
            yield segments
            segments, tokens = 0, 0
        segments, tokens, personas = segments + 1, tokens + ref.token_count, enters
    if segments:
        yield segments
