"""The runs of leased batches: a batch whose run waits keeps its lease, and one whose run has ended loses it.

A run that ends well returns all its segments. One that was killed or terminated cannot, and Dagster requests none again
under its key: without a look at its end, its segments would wait for their lease to expire. A process that died with
what watched it, such as by a power cut, is known by the lease that it does not renew.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence

import dagster as dg
from dagster import MAX_RUNTIME_SECONDS_TAG

from neurigraph_pipelines.defs.shared.run_states import WAITING
from neurigraph_pipelines.inbox import triggers
from neurigraph_pipelines.model.context import Context

RUN_KEY = "dagster/run_key"
WILL_RETRY = "dagster/will_retry"

GRACE_SECONDS = 10.0
"""Time from the failure of a run in which another one may go on with its steps, requested by a person or by Dagster."""

_RETRY_SECONDS = 180.0
"""The same time for a run that Dagster has announced to repeat (``run_retries``): its daemon may be slow to do so."""

_Found = list[dg.RunRecord]


def look_after_runs(context: Context, instance: dg.DagsterInstance, job_name: str, claimed_by: str) -> None:
    """Renew the leases of a sensor's batches whose runs wait, and end those of batches whose runs have ended.

    Runs that wait cannot renew their leases, and would start with expired ones. What a terminated run had leased is due
    again as if it had never been leased, and so is what a run had that never started. A failed run may have been killed
    by one of its segments: its leases expire.
    """
    _fail_silent(context, instance, job_name)
    batches = {batch.run_key: batch for batch in triggers.open_batches(context, claimed_by)}
    for key, found in _runs(instance, job_name, list(batches)):
        batch_id, newest = batches[key].batch_id, found[0]
        status = newest.dagster_run.status
        if any(one.dagster_run.status in WAITING for one in found):
            triggers.renew(context.database, batch_id, context.settings.ingestion.claim_lease_seconds)
        elif not all(one.dagster_run.is_finished for one in found):
            continue
        elif status is dg.DagsterRunStatus.CANCELED and not _was_too_long(newest):
            triggers.return_canceled(context.database, batch_id)
        elif status is not dg.DagsterRunStatus.SUCCESS and _is_given_up(newest):
            has_started = any(one.start_time for one in found)
            (triggers.end_leases if has_started else triggers.return_canceled)(context.database, batch_id)


def _fail_silent(context: Context, instance: dg.DagsterInstance, job_name: str) -> None:
    """Report runs as failed that renew no lease, whichever sensor requested them; Dagster then repeats them."""
    silent = {triggers.run_key(batch_id): batch_id for batch_id in triggers.silent_batches(context.database)}
    for key, (newest, *_) in _runs(instance, job_name, list(silent)):
        if newest.dagster_run.status is dg.DagsterRunStatus.STARTED:
            instance.report_run_failed(newest.dagster_run, "The run renews its lease no more: its process has ended.")
            triggers.renew(context.database, silent[key], context.settings.ingestion.claim_lease_seconds)


def _runs(instance: dg.DagsterInstance, job_name: str, keys: Sequence[str]) -> Iterator[tuple[str, _Found]]:
    """Yield the runs of each key that has any, newest first."""
    by_key: dict[str, _Found] = {}
    if keys:
        wanted = dg.RunsFilter(job_name=job_name, tags={RUN_KEY: list(keys)})
        for record in instance.get_run_records(wanted):
            by_key.setdefault(record.dagster_run.tags[RUN_KEY], []).append(record)
    yield from by_key.items()


def _is_given_up(ended: dg.RunRecord) -> bool:
    """Return whether nothing goes on with a run."""
    is_announced = ended.dagster_run.tags.get(WILL_RETRY) == "true"
    return time.time() - _end_of(ended) > (_RETRY_SECONDS if is_announced else GRACE_SECONDS)


def _was_too_long(canceled: dg.RunRecord) -> bool:
    """Return whether Dagster ended a run because of its length, which one of its segments may have caused."""
    most = canceled.dagster_run.tags.get(MAX_RUNTIME_SECONDS_TAG)
    return most is not None and _end_of(canceled) - (canceled.start_time or math.inf) > float(most)


def _end_of(run: dg.RunRecord) -> float:
    return run.end_time or run.update_timestamp.timestamp()
