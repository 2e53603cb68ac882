"""Whether a run of a job waits to start. Nothing that is looked for again and again may fill the queue meanwhile."""

import dagster as dg

WAITING = [dg.DagsterRunStatus.QUEUED, dg.DagsterRunStatus.NOT_STARTED, dg.DagsterRunStatus.STARTING]
UNFINISHED = [*WAITING, dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.CANCELING]


def waiting_already(
    context: dg.ScheduleEvaluationContext | dg.SensorEvaluationContext, job_name: str
) -> dg.SkipReason | None:
    """Return why a schedule or sensor launches nothing: a run of its job waits; None if none does.

    While the code server is away, a sensor of every minute would put sixty runs an hour into the queue, and what
    ingestion requests would wait behind them.
    """
    waiting = dg.RunsFilter(job_name=job_name, statuses=WAITING)
    return dg.SkipReason("a run waits already") if context.instance.get_run_records(waiting, limit=1) else None
