"""Partitions by day, for assets that a backfill makes again."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

import dagster as dg
from pydantic import Field

from neurigraph_pipelines.defs.shared.first_day import first_day
from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.defs.shared.job_config import JobConfig, schema_of, user_id_of
from neurigraph_pipelines.defs.shared.run_metadata import RunMetadata, table
from neurigraph_pipelines.settings import Settings

FIRST_DAY = first_day(Settings()).isoformat()
"""The first partition; it also holds all older records."""

LANGUAGE_MODEL_POOL, EMBEDDER_POOL = "language_model", "embedder"
"""Pools of runs that call models; the instance says how many runs of each go on at once."""

days = dg.DailyPartitionsDefinition(start_date=FIRST_DAY, end_offset=1)
"""Days (UTC) on which records were stored, today's included."""

with warnings.catch_warnings():
    # Dagster calls it beta; without it a backfill of a year is 365 runs.
    warnings.simplefilter("ignore", dg.BetaWarning)
    AT_ONCE = dg.BackfillPolicy.single_run()


class BackfillConfig(JobConfig):
    """The records that a backfill makes again."""

    user: str = Field(default="", description="Only records of this user, by slug. Empty: of all users.")
    dry_run: bool = Field(default=False, description="Only count, as an observation, and change nothing.")


def asset_by_day(
    config: type[JobConfig],
    deps: Sequence[str] = (),
    pool: str | None = None,
    automation_condition: dg.AutomationCondition[dg.AssetKey] | None = None,
) -> Callable[[Callable[..., Any]], dg.AssetsDefinition]:
    """Return a decorator for an asset with a partition for each day; a backfill of many days is one run.

    Args:
        config: The configuration of a run.
        deps: Names of the assets that it is made from.
        pool: The pool of the models that it calls.
        automation_condition: When it is made by itself.
    """
    return dg.asset(
        deps=deps,
        partitions_def=days,
        output_required=False,
        backfill_policy=AT_ONCE,
        pool=pool,
        automation_condition=automation_condition,
        config_schema=schema_of(config),
    )


def days_of(context: dg.AssetExecutionContext) -> tuple[datetime | None, datetime]:
    """Return the first moment of a run's days (None for the beginning), and the first moment after them."""
    window = context.partition_time_window
    return (None if context.partition_keys[0] == FIRST_DAY else window.start), window.end


def records_of(
    context: dg.AssetExecutionContext, installation: InstallationResource, config: BackfillConfig
) -> tuple[datetime | None, datetime, UUID | None]:
    """Return the records of a backfill: its days, as ``days_of`` does, and the user; None for all users."""
    return *days_of(context), user_id_of(installation.opened.database, config.user)


def partition_of(moment: datetime) -> str:
    """Return the partition of a record that was stored at a moment."""
    return max(moment.astimezone(UTC).date(), date.fromisoformat(FIRST_DAY)).isoformat()


def failures(failed: Iterable[tuple[Any, str]]) -> dg.MetadataValue[Any] | str:
    """Return a table of failed records, without reasons: an error may quote text."""
    return table([{"record": str(record_id)} for record_id, _ in failed])


def would_do(context: dg.AssetExecutionContext, metadata: RunMetadata) -> dg.AssetObservation:
    """Return the counts of a dry run: an observation, so that no day counts as made."""
    return dg.AssetObservation(asset_key=context.asset_key, metadata=metadata, description="the planned changes")
