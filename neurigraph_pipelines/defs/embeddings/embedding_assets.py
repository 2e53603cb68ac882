"""Embedding assets: records that wait for vectors, and the vectors of each day.

Each asset calls one function of ``ingestion.healing`` or ``ingestion.reembed`` and reports the result.
"""

import time
from collections.abc import Iterable
from datetime import UTC, datetime

import dagster as dg
from pydantic import Field

from neurigraph_pipelines.defs.shared import backfills
from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.defs.shared.job_config import JobConfig, config_of, schema_of
from neurigraph_pipelines.defs.shared.run_metadata import MAX_TABLE_ROWS, table
from neurigraph_pipelines.defs.shared.run_states import waiting_already
from neurigraph_pipelines.defs.shared.run_tags import YIELDS
from neurigraph_pipelines.ingestion import healing
from neurigraph_pipelines.ingestion.embedding_models import ModelMove
from neurigraph_pipelines.ingestion.waiting_records import Waiting

_OTHER_MODEL_REASON = (
    "their users' searches use another model than the configured one: backfill record_embeddings, or go back to it"
)


class HealConfig(JobConfig):
    """How many records one run embeds."""

    limit: int = Field(default=healing.MAX_HEALED, ge=1, description="Most records that one run embeds.")


class ReembedConfig(backfills.BackfillConfig):
    """Whose records a backfill embeds."""

    again: bool = Field(
        default=True, description="Switch it off to leave out records that have vectors of the configured model."
    )


@dg.asset(
    deps=["record_summaries", "passages"],
    pool=backfills.EMBEDDER_POOL,
    config_schema=schema_of(HealConfig),
)
def pending_embeddings(
    context: dg.AssetExecutionContext, installation: InstallationResource
) -> dg.MaterializeResult[None]:
    """Embeds records that were committed while the embedder was down."""
    started = time.monotonic()
    done = healing.heal_pending(installation.context, config_of(context, HealConfig).limit)
    for record_id, _ in done.failed:
        context.log.warning("record %s stays pending", record_id)
    return dg.MaterializeResult(
        metadata={
            "embedding model": installation.context.embedder.model,
            "records healed": done.records,
            "passages": done.passages,
            "failed for now": backfills.failures(done.failed),
            **_waiting(done.waiting),
            "finished after a switch": sum(move.finished for move in done.moves),
            "seconds": round(time.monotonic() - started, 3),
        }
    )


@dg.asset_check(asset=pending_embeddings)
def no_embedding_is_overdue(installation: InstallationResource) -> dg.AssetCheckResult:
    """No record has waited for its vectors for more than an hour.

    Records of users whose searches use another model than the configured one wait for a backfill and are not overdue:
    this installation cannot embed them.

    If it fails: `neurigraph doctor` says whether the embedder answers; then materialize `pending_embeddings`.
    """
    found = healing.waiting(installation.context)
    longest = healing.overdue(installation.context, MAX_TABLE_ROWS) if found.overdue else []
    return dg.AssetCheckResult(
        passed=found.overdue == 0,
        metadata={
            "embedding model": installation.context.embedder.model,
            "overdue": found.overdue,
            **_waiting(found),
            "why others wait": _OTHER_MODEL_REASON if found.of_other_models else "none do",
            "waiting longest": table(
                [
                    {
                        "record": str(each.record_id),
                        "user": str(each.user_id),
                        "since": each.since.isoformat(timespec="seconds"),
                        "attempts": each.attempts,
                    }
                    for each in longest
                ]
            ),
        },
    )


@backfills.asset_by_day(ReembedConfig, deps=["record_summaries", "passages"], pool=backfills.EMBEDDER_POOL)
def record_embeddings(
    context: dg.AssetExecutionContext, installation: InstallationResource
) -> Iterable[dg.MaterializeResult[None] | dg.AssetObservation]:
    """Vectors by the configured model of the records stored on each day.

    Ingestion adds to it day by day. A backfill embeds all records of its days again. A user's searches switch to the
    model once all of the user's records have its vectors.
    """
    from neurigraph_pipelines.ingestion.reembed import reembed  # loads numpy: not needed to load definitions

    config = config_of(context, ReembedConfig)
    done = reembed(
        installation.context,
        *backfills.records_of(context, installation, config),
        again=config.again,
        dry_run=config.dry_run,
    )
    by_day = table([{"day": day, "records": count} for day, count in sorted(done.days.items())])
    if config.dry_run:
        counts = {"records to embed": done.records, "have them already": done.complete, "by day": by_day}
        yield backfills.would_do(context, {"embedding model": done.model, **counts})
        return
    for record_id, _ in done.failed:
        context.log.error("record %s has no vectors of %s: `neurigraph admin reembed` says why", record_id, done.model)
    yield dg.MaterializeResult(
        metadata={
            "embedding model": done.model,
            "records embedded": done.records,
            "passages": done.passages,
            "had them already": done.complete,
            "failed": backfills.failures(done.failed),
            "embedded by day": by_day,
            "moves": table([_move_row(move) for move in done.moves]),
            "users switched": sum(not move.missing for move in done.moves),
            "users not done yet": sum(bool(move.missing) for move in done.moves),
        }
    )
    if done.failed:
        raise dg.Failure(f"{len(done.failed)} records have no vectors of {done.model}: the log names them")


heal_job = dg.define_asset_job(
    "heal_embeddings_job",
    selection=dg.AssetSelection.assets(pending_embeddings),  # and its check
    tags=YIELDS,
    description="Embeds records that were committed while the embedder was down.",
)


@dg.sensor(
    job=heal_job,
    minimum_interval_seconds=300,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Launches a run if a record that waits for its vectors is due.",
)
def waiting_embeddings_sensor(
    context: dg.SensorEvaluationContext, installation: InstallationResource
) -> dg.RunRequest | dg.SkipReason:
    """Launches a run if a record that waits for its vectors is due."""
    if not healing.has_due(installation.context):
        return dg.SkipReason("no record that waits for its vectors is due")
    return waiting_already(context, heal_job.name) or dg.RunRequest()


check_job = dg.define_asset_job(
    "check_embeddings_job",
    selection=dg.AssetSelection.checks(no_embedding_is_overdue),
    tags=YIELDS,
    description="Checks that no record has waited for its vectors for more than an hour.",
)

check_embeddings_schedule = dg.ScheduleDefinition(
    name="check_embeddings_schedule",
    job=check_job,
    cron_schedule="47 * * * *",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Once an hour, since the job that embeds runs only if a record is due.",
)


def _move_row(move: ModelMove) -> dict[str, str | int]:
    state = f"{move.missing} records to go" if move.missing else "switched"
    return {"user": str(move.user_id), "state": state, "finished": move.finished}


def _waiting(found: Waiting) -> dict[str, int | float]:
    waited = (datetime.now(UTC) - found.since).total_seconds() if found.since is not None else 0.0
    return {
        "still pending": found.records,
        "oldest waits for seconds": round(waited, 1),
        "waiting for another model": found.of_other_models,
    }
