"""Vectors as assets: those that wait for a provider, and those of each day.

An asset calls one function of ``ingestion.reembed`` and says what it did.
"""

import warnings
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, date, datetime
from typing import Any

import dagster as dg
from pydantic import Field

from neurigraph_pipelines.defs.installation import InstallationResource
from neurigraph_pipelines.defs.run_metadata import table
from neurigraph_pipelines.graph.provisioning import find_user
from neurigraph_pipelines.ingestion import reembed
from neurigraph_pipelines.ingestion.embedding_models import Move
from neurigraph_pipelines.ingestion.records import Committed

FIRST_DAY = "2026-01-01"
"""The first partition; it also holds whatever claims to be older."""

GROUP = "embeddings"
OWNERS = ["team:data-engineering"]

RETRY_POLICY = dg.RetryPolicy(max_retries=3, delay=10, backoff=dg.Backoff.EXPONENTIAL, jitter=dg.Jitter.PLUS_MINUS)

days = dg.DailyPartitionsDefinition(start_date=FIRST_DAY, end_offset=1)
"""Days (UTC) on which records were stored, today's included."""


class HealConfig(dg.Config):
    """How much one run heals."""

    limit: int = Field(default=reembed.MAX_HEALED, ge=1, description="Most records that one run takes up.")


class ReembedConfig(dg.Config):
    """Whose records a backfill embeds."""

    user: str = Field(default="", description="Only this user's, by slug. Empty: everybody's.")


@dg.asset(group_name=GROUP, owners=OWNERS, kinds={"postgres"})
def pending_embeddings(
    context: dg.AssetExecutionContext, config: HealConfig, installation: InstallationResource
) -> dg.MaterializeResult[None]:
    """Gives records their vectors that were committed while the embedder was down."""
    done = reembed.heal_pending(installation.adapters, installation.settings, config.limit)
    for record_id, error in done.failed:
        context.log.warning("%s stays pending: %s", record_id, error)
    waited = (datetime.now(UTC) - done.since).total_seconds() if done.since is not None else 0.0
    return dg.MaterializeResult(
        metadata={
            "embedding model": installation.adapters.embedder.model,
            "records healed": done.records,
            "passages": done.passages,
            "failed for now": _failures(done.failed),
            "still pending": done.waiting,
            "oldest waits for seconds": round(waited, 1),
            "settled after a switch": sum(move.settled for move in done.moves),
        }
    )


with warnings.catch_warnings():
    # Dagster calls the backfill policy beta; without it a backfill of a year is 365 runs.
    warnings.simplefilter("ignore", dg.BetaWarning)
    _asset_by_day = dg.asset(
        group_name=GROUP,
        owners=OWNERS,
        kinds={"postgres"},
        partitions_def=days,
        backfill_policy=dg.BackfillPolicy.single_run(),
        retry_policy=RETRY_POLICY,
    )


@_asset_by_day
def record_embeddings(
    context: dg.AssetExecutionContext, config: ReembedConfig, installation: InstallationResource
) -> Iterable[dg.MaterializeResult[None]]:
    """The vectors of the records stored on each day, of the configured model.

    Ingestion adds to it day by day. A backfill embeds what lacks the configured model; a user's searches switch to it
    once all of the user's records have it.
    """
    window = context.partition_time_window
    keys = list(context.partition_keys)
    since = None if keys[0] == FIRST_DAY else window.start
    user_id = find_user(installation.opened.database, config.user).user_id if config.user else None
    done = reembed.reembed(installation.adapters, since, window.end, user_id)
    for record_id, error in done.failed:
        context.log.error("%s has no vectors of %s: %s", record_id, done.model, error)
    yield dg.MaterializeResult(
        metadata={
            "embedding model": done.model,
            "records embedded": done.records,
            "passages": done.passages,
            "had them already": done.complete,
            "failed": _failures(done.failed),
            "embedded by day": table([{"day": day, "records": count} for day, count in sorted(done.days.items())]),
            "moves": table([_move_row(move) for move in done.moves]),
            "users switched": sum(not move.missing for move in done.moves),
            "users not done yet": sum(bool(move.missing) for move in done.moves),
        }
    )
    if done.failed:
        # Another attempt would meet the same files and the same refusals.
        raise dg.Failure(
            f"{len(done.failed)} records have no vectors of {done.model}: the log names them", allow_retries=False
        )


heal_job = dg.define_asset_job(
    "heal_embeddings_job",
    selection=[pending_embeddings],
    executor_def=dg.in_process_executor,
    description="Gives records their vectors that were committed while the embedder was down.",
)


@dg.schedule(
    job=heal_job,
    cron_schedule="* * * * *",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Looks once a minute, and launches a run only when something is due.",
)
def heal_embeddings_schedule(installation: InstallationResource) -> dg.RunRequest | dg.SkipReason:
    """Launches a run when records wait for their vectors and are due."""
    if not reembed.has_due(installation.adapters):
        return dg.SkipReason("no record waits for its vectors, or none is due")
    return dg.RunRequest()


def materializations(stored: Iterable[Committed], model: str) -> list[dg.AssetMaterialization]:
    """What a commit adds to ``record_embeddings``: one event for each day on which it stored."""
    records: Counter[str] = Counter()
    pending: Counter[str] = Counter()
    for record in stored:
        if not record.already_stored:
            day = partition_of(record.created_at)
            records[day] += 1
            pending[day] += record.pending_embedding
    return [
        dg.AssetMaterialization(
            asset_key=record_embeddings.key,
            partition=day,
            metadata={"embedding model": model, "records stored": count, "embeddings pending": pending[day]},
        )
        for day, count in sorted(records.items())
    ]


def partition_of(moment: datetime) -> str:
    """The partition that a record stored at that moment belongs to."""
    return max(moment.astimezone(UTC).date(), date.fromisoformat(FIRST_DAY)).isoformat()


def _move_row(move: Move) -> dict[str, str | int]:
    state = f"{move.missing} records to go" if move.missing else "switched"
    return {"user": str(move.user_id), "state": state, "settled": move.settled}


def _failures(failed: list[tuple[Any, str]]) -> dg.MetadataValue[Any] | str:
    return table([{"record": str(record_id), "error": error} for record_id, error in failed])
