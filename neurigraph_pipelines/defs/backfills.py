"""Assets that can be made again for a range of days: their partitions, and the days that a run is about."""

import warnings
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime
from typing import Any

import dagster as dg

from neurigraph_pipelines.defs.run_metadata import table

FIRST_DAY = "2026-01-01"
"""The first partition; it also holds whatever claims to be older."""

OWNERS = ["team:data-engineering"]

RETRY_POLICY = dg.RetryPolicy(max_retries=3, delay=10, backoff=dg.Backoff.EXPONENTIAL, jitter=dg.Jitter.PLUS_MINUS)

days = dg.DailyPartitionsDefinition(start_date=FIRST_DAY, end_offset=1)
"""Days (UTC) on which records were stored, today's included."""


def asset_by_day(group: str) -> Callable[[Callable[..., Any]], dg.AssetsDefinition]:
    """Decorates an asset with a partition for each day; a backfill of many is one run."""
    with warnings.catch_warnings():
        # Dagster calls the backfill policy beta; without it a backfill of a year is 365 runs.
        warnings.simplefilter("ignore", dg.BetaWarning)
        return dg.asset(
            group_name=group,
            owners=OWNERS,
            kinds={"postgres"},
            partitions_def=days,
            backfill_policy=dg.BackfillPolicy.single_run(),
            retry_policy=RETRY_POLICY,
        )


def days_of(context: dg.AssetExecutionContext) -> tuple[datetime | None, datetime]:
    """The first moment that a run is about, None for the beginning, and the first after it."""
    window = context.partition_time_window
    return (None if context.partition_keys[0] == FIRST_DAY else window.start), window.end


def partition_of(moment: datetime) -> str:
    """The partition that a record stored at that moment belongs to."""
    return max(moment.astimezone(UTC).date(), date.fromisoformat(FIRST_DAY)).isoformat()


def failures(failed: Iterable[tuple[Any, str]]) -> dg.MetadataValue[Any] | str:
    """The records that failed; why is not for Dagster to know."""
    return table([{"record": str(record_id)} for record_id, _ in failed])
