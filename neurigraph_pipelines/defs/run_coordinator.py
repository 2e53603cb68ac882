"""A run coordinator that leaves ingestion a slot of its own among the runs that go on at once.

Dagster limits runs by their tags, and a backfill runs in a job of Dagster's own, which can have none. So each run is
given a tag when it enters the queue. ``dagster_home/dagster.yaml`` names this coordinator, and says how many runs
with the tag go on at once (docs/adr/0095-ingestion-has-a-slot-of-its-own.md).
"""

from threading import Event

from dagster import DagsterInstance, DagsterRun, QueuedRunCoordinator, SubmitRunContext

TAG = "neurigraph/yields"
"""Runs with this tag leave one slot to ingestion; its value says what kind of work they do."""

LARGE = {"neurigraph/size": "large"}
"""The tag that the sensors give to segments that take minutes."""

SUBMITTED = Event()
"""Set when this process has put a run into the queue: the daemon's queue waits for it."""

_INGESTION = ("ingestion_job", "upload_job")


class YieldingRunCoordinator(QueuedRunCoordinator):
    """Dagster's queue, with a tag for each run that must leave ingestion room."""

    def submit_run(self, context: SubmitRunContext) -> DagsterRun:
        """Put a run into the queue."""
        run = context.dagster_run
        if (kind := _kind_of(run)) is not None:
            instance: DagsterInstance = self._instance
            instance.add_run_tags(run.run_id, {TAG: kind})
        submitted = super().submit_run(context)
        SUBMITTED.set()
        return submitted


def _kind_of(run: DagsterRun) -> str | None:
    """Return the value of a run's tag; None for runs that the reserved slot is for."""
    if run.job_name in _INGESTION:
        return "large" if run.tags.items() >= LARGE.items() else None
    calls_models = run.run_op_concurrency is not None and run.run_op_concurrency.all_pools
    return "models" if calls_models else "upkeep"
