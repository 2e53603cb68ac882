"""Lifecycle assets: dormant files, stuck rehydrations, orphan objects and the storage report.

Each asset calls one function of ``lifecycle`` and reports the result. Checks are in ``lifecycle_checks``, schedules in
``schedules``.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import dagster as dg
from pydantic import Field

from neurigraph_pipelines.defs.shared.backfills import would_do
from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.defs.shared.job_config import JobConfig, config_of, schema_of, user_id_of
from neurigraph_pipelines.defs.shared.run_metadata import Row, RunMetadata, seconds_since, table
from neurigraph_pipelines.ingestion.readiness import beat
from neurigraph_pipelines.lifecycle import dormancy, orphans, rehydration
from neurigraph_pipelines.lifecycle import storage_report as storage
from neurigraph_pipelines.lifecycle.object_keys import record_of

MOST_COUNTED = 100_000
"""Most files that a run counts after it hit its limit."""

_LOG_EVERY = 1_000

Results = Iterator[dg.MaterializeResult[None] | dg.AssetObservation]
"""What an asset yields: a materialization, or an observation after a dry run."""


class DryRunConfig(JobConfig):
    """Whether a run changes anything."""

    dry_run: bool = Field(
        default=False, description="Report the planned changes, as an observation, and change nothing."
    )


class SweepConfig(DryRunConfig):
    """How many files, memories or facts one run treats, and whose."""

    limit: int = Field(default=10_000, ge=1, description="Most that one run treats; the next run continues.")
    user: str = Field(default="", description="Only of this user, by slug. Empty: of all users.")


class AuditConfig(DryRunConfig):
    """How many orphans one run removes."""

    limit: int = Field(default=10_000, ge=1, description="Most orphans that one run treats; the next run continues.")


@dg.asset(
    deps=["memories"],
    output_required=False,
    config_schema=schema_of(SweepConfig),
)
def dormant_files(context: dg.AssetExecutionContext, installation: InstallationResource) -> Results:
    """Files that were compressed because nobody opened them for `dormancy_days`."""
    yield from _sweep(context, installation, dormancy.sweep_dormant)


@dg.asset(
    deps=["dormant_files"],
    output_required=False,
    config_schema=schema_of(SweepConfig),
)
def expired_files(context: dg.AssetExecutionContext, installation: InstallationResource) -> Results:
    """Files that were compressed again `recompress_ttl_minutes` after they were last opened."""
    yield from _sweep(context, installation, dormancy.sweep_expired)


@dg.asset(
    deps=["dormant_files"],
    output_required=False,
    config_schema=schema_of(SweepConfig),
)
def stuck_rehydrations(context: dg.AssetExecutionContext, installation: InstallationResource) -> Results:
    """Files whose worker died while decompressing them: they are dormant again and can be opened."""
    config, database = config_of(context, SweepConfig), installation.opened.database
    started = time.monotonic()
    found = rehydration.revert_stuck(
        database, limit=config.limit, user_id=user_id_of(database, config.user), dry_run=config.dry_run
    )
    yield observed(
        context,
        config,
        {
            "files reverted": len(found),
            "limit reached": len(found) == config.limit,
            "seconds": seconds_since(started),
            "files": table(
                [{"file": str(f.file_id), "node": str(f.node_id), "since": f.since.isoformat()} for f in found]
            ),
        },
    )


@dg.asset(
    deps=["memories"],
    output_required=False,
    config_schema=schema_of(AuditConfig),
)
def orphan_objects(context: dg.AssetExecutionContext, installation: InstallationResource) -> Results:
    """Objects that no row has named for `orphan_grace_hours`: removed.

    Its check looks for rows without an object.
    """
    config, here = config_of(context, AuditConfig), installation.opened
    started = time.monotonic()
    report = orphans.audit_objects(
        here.context,
        limit=config.limit,
        dry_run=config.dry_run,
        on_done=progress(context, "objects looked at"),
    )
    yield observed(
        context,
        config,
        {
            "objects looked at": report.objects,
            "orphans": len(report.orphans),
            "removed": report.removed,
            "younger than the grace period": report.young,
            "not ours": len(report.foreign),
            "limit reached": not report.finished,
            "seconds": seconds_since(started),
            "orphans of": table([{"record": str(record_of(key))} for key in report.orphans]),
        },
    )


@dg.asset(
    deps=["dormant_files", "expired_files"],
)
def storage_report(installation: InstallationResource) -> dg.MaterializeResult[None]:
    """Space used by active and dormant files, and space saved, by user and node."""
    started = time.monotonic()
    users = list(storage.storage_report(installation.opened.database))
    nodes = [node for user in users for node in user.nodes]
    totals = sum((user.totals for user in users), storage.StorageTotals())
    storage.note_totals(installation.opened.database, totals)
    beat(installation.opened.database, "storage_report")
    return dg.MaterializeResult(
        metadata={
            "users with files": len(users),
            "nodes with files": len(nodes),
            **_totals_row(totals),
            "seconds": seconds_since(started),
            "by user": _largest([{"user": str(user.user_id), **_totals_row(user.totals)} for user in users]),
            "by node": _largest([{"node": str(node.node_id), **_totals_row(node.totals)} for node in nodes]),
        }
    )


def _sweep(
    context: dg.AssetExecutionContext,
    installation: InstallationResource,
    sweep: Callable[..., dormancy.SweepReport],
) -> Results:
    config = config_of(context, SweepConfig)
    here, user_id = installation.opened, user_id_of(installation.opened.database, config.user)

    def swept(limit: int, dry_run: bool, on_done: Callable[[int], None] | None = None) -> dormancy.SweepReport:
        return sweep(here.context, limit=limit, user_id=user_id, dry_run=dry_run, on_done=on_done)

    started = time.monotonic()
    report = swept(config.limit, config.dry_run, progress(context, "files looked at"))
    left = 0
    if not report.finished:
        left = swept(MOST_COUNTED, dry_run=True).files - (report.files if config.dry_run else 0)
    for file_id in report.failures:
        context.log.warning("file %s stays active: `neurigraph memory state` says why", file_id)
    yield observed(
        context,
        config,
        {
            "files compressed": report.files,
            "bytes freed": report.bytes_freed,
            "nodes looked at": report.nodes,
            "failed": len(report.failures),
            "limit reached": not report.finished,
            "files left": max(left, 0),
            "seconds": seconds_since(started),
            "failures": table([{"file": str(file_id)} for file_id in report.failures]),
        },
    )


def observed(
    context: dg.AssetExecutionContext, config: DryRunConfig, metadata: RunMetadata
) -> dg.MaterializeResult[None] | dg.AssetObservation:
    """Return the result of a run: an observation after a dry run."""
    if config.dry_run:
        return would_do(context, metadata)
    return dg.MaterializeResult(metadata=metadata)


def progress(context: dg.AssetExecutionContext, what: str) -> Callable[[int], None]:
    """Return a function that logs the progress every ``_LOG_EVERY`` items."""
    done = 0

    def advance(count: int) -> None:
        nonlocal done
        before, done = done, done + count
        if done // _LOG_EVERY > before // _LOG_EVERY:
            context.log.info("%s %s so far", done, what)

    return advance


def _totals_row(totals: storage.StorageTotals) -> dict[str, int]:
    return {
        "files": totals.files,
        "active files": totals.active_files,
        "rehydrating files": totals.rehydrating_files,
        "dormant files": totals.dormant_files,
        "content bytes": totals.content_bytes,
        "active bytes": totals.active_bytes,
        "dormant bytes": totals.dormant_bytes,
        "saved bytes": totals.saved_bytes,
    }


def _largest(rows: list[Row]) -> dg.MetadataValue[Any] | str:
    return table(sorted(rows, key=lambda row: int(row["active bytes"]) + int(row["dormant bytes"]), reverse=True))
