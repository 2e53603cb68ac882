"""Apply a function to the text of every record of a batch, in parallel, collecting failures.

``summarize`` and ``keywords`` supply the function.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar
from uuid import UUID

from neurigraph_pipelines.inbox import triggers
from neurigraph_pipelines.ingestion.records import Assigned, Progress, RecordPlan, failure_of
from neurigraph_pipelines.ingestion.time_limits import StepClock
from neurigraph_pipelines.model import ItemFailure, Segment
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.enriching import enriched
from neurigraph_pipelines.model.errors import NotFoundError
from neurigraph_pipelines.model.measuring import carried

Result = TypeVar("Result")


def map_records(
    step: str,
    work: Callable[[Segment, UUID], Result],
    instead: Callable[[Segment], Result],
    context: Context,
    assigned: Assigned,
    on_done: Progress | None,
) -> tuple[dict[UUID, Result], tuple[ItemFailure, ...], dict[UUID, float], dict[UUID, str]]:
    """Call ``work`` with the text and the id of each planned record, and renew the batch's lease meanwhile.

    As many calls run at once as the language model's ``concurrency`` permits.

    Args:
        step: Name of the op, for failures.
        work: Must not share state between records.
        instead: Returns the default of a record whose work a defect or the time limit ends.

    Returns:
        Results by record, the failures, the seconds by trigger, and by record the enrichments that were left out.
    """
    clock = StepClock(context.settings, step)
    left_out: dict[UUID, str] = {}
    refs = {plan.ref.trigger_id: plan.ref for plan in assigned.plans}
    loaded: dict[UUID, Callable[[], Segment]] = {}

    def attempt(plan: RecordPlan) -> Result | ItemFailure:
        try:
            part = part_of(loaded[plan.ref.trigger_id](), plan)
            missing: list[str] = []
            made = partial(clock.run, lambda text: work(text, plan.record_id), part)
            result = enriched(step, made, lambda: instead(part), missing)
            left_out.update((plan.record_id, one) for one in missing)
            return result
        except Exception as error:  # one bad item must not fail the others
            return failure_of(plan.ref.trigger_id, step, error)
        finally:
            if on_done is not None:
                on_done(1)

    with (
        triggers.keep_lease(context, assigned.batch_id),
        ThreadPoolExecutor(context.language_model.concurrency, thread_name_prefix=step) as pool,
    ):
        loaded.update(zip(refs, triggers.load_each(context.database, refs.values()), strict=True))
        results = list(pool.map(carried(attempt), assigned.plans))
    by_record = zip((plan.record_id for plan in assigned.plans), results, strict=True)
    done = {record_id: result for record_id, result in by_record if not isinstance(result, ItemFailure)}
    failures = tuple(result for result in results if isinstance(result, ItemFailure))
    return done, failures, clock.seconds, left_out


def part_of(segment: Segment, plan: RecordPlan) -> Segment:
    """Return the messages of a record; NotFoundError is raised if they were erased."""
    part = segment.within(*plan.messages)
    if not part.messages:
        raise NotFoundError("its messages were erased meanwhile")
    return part
