"""Checks of the lifecycle assets, which run with each asset.

Each check calls one function of ``lifecycle``. It changes nothing, except that unreadable files are logged as failed.
"""

import time
from collections.abc import Callable

import dagster as dg

from neurigraph_pipelines.access import authentication as access
from neurigraph_pipelines.defs.lifecycle.lifecycle_assets import MOST_COUNTED
from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.defs.shared.run_metadata import seconds_since, table
from neurigraph_pipelines.exchange import grant_previews
from neurigraph_pipelines.ingestion import canaries
from neurigraph_pipelines.lifecycle import dormancy, verification
from neurigraph_pipelines.views.quarantines import Suggestion

SAMPLE_FILES = 100
EXPIRY_GRACE_SECONDS = 600.0
"""Allowed delay of a compression: a few ticks of the schedule, and the run."""

DORMANCY_GRACE_SECONDS = 86_400.0


@dg.asset_check(asset="expired_files")
def no_file_is_awake_past_its_time(installation: InstallationResource) -> dg.AssetCheckResult:
    """No file is still active long after its `recompress_ttl_minutes`.

    If it fails: materialize `expired_files` and `stuck_rehydrations`: the log names files that cannot be
    compressed.
    """
    return _overdue(installation, dormancy.sweep_expired, EXPIRY_GRACE_SECONDS, dg.AssetCheckSeverity.WARN)


@dg.asset_check(asset="dormant_files")
def no_file_is_awake_unopened(installation: InstallationResource) -> dg.AssetCheckResult:
    """No file is still active long after `dormancy_days` without access.

    If it fails: materialize `dormant_files`: its log names files that cannot be compressed.
    """
    return _overdue(installation, dormancy.sweep_dormant, DORMANCY_GRACE_SECONDS, dg.AssetCheckSeverity.WARN)


@dg.asset_check(asset="orphan_objects")
def every_row_has_its_object(installation: InstallationResource) -> dg.AssetCheckResult:
    """Every file of a manifest has its object, and registry, counters, states and log agree.

    If it fails: `neurigraph admin verify` lists the files; restore the objects from the newest backup.
    """
    started = time.monotonic()
    return _verified(verification.verify(installation.opened.context, read=False), started)


@dg.asset_check(asset="storage_report")
def sampled_checksums_hold(installation: InstallationResource) -> dg.AssetCheckResult:
    """A random sample of files is readable and has the recorded checksums.

    If it fails: `neurigraph admin verify` reads all files; restore the damaged ones from the newest backup.
    """
    started = time.monotonic()
    here = installation.opened
    return _verified(verification.verify_sample(here.context, SAMPLE_FILES), started)


@dg.asset_check(asset="storage_report")
def every_table_is_guarded(installation: InstallationResource) -> dg.AssetCheckResult:
    """No table of any node is open to the role of the faces without its policies.

    If it fails: `neurigraph admin migrate` writes the policies again.
    """
    unguarded = access.unguarded_tables(installation.opened.database)
    return dg.AssetCheckResult(
        passed=not unguarded,
        metadata={"unguarded tables": len(unguarded), "first of them": table([{"table": name} for name in unguarded])},
    )


@dg.asset_check(asset="storage_report")
def no_canary_was_retrieved(installation: InstallationResource) -> dg.AssetCheckResult:
    """Nobody retrieved a memory that was planted as a canary.

    If it fails: `neurigraph access canary list` says through which key; end it with `neurigraph access key remove`.
    """
    retrieved = canaries.retrieved_canaries(installation.opened.database)
    rows = [{name: str(value) for name, value in one._asdict().items()} for one in retrieved]
    return dg.AssetCheckResult(
        passed=not retrieved, metadata={"canaries retrieved": len(retrieved), "newest of them": table(rows)}
    )


@dg.asset_check(asset="storage_report")
def no_memory_looks_like_poison(installation: InstallationResource) -> dg.AssetCheckResult:
    """Nothing that is found looks like hidden instructions, stuffed keywords, restatements or a flood.

    If it fails: `neurigraph memory quarantine suggest` lists what looks like it; `quarantine add` hides it.
    """
    from neurigraph_pipelines.lifecycle.quarantine.suggestions import suggest  # loads numpy

    found = suggest(installation.opened.context)
    return dg.AssetCheckResult(
        passed=not found,
        # A suggestion: a person decides with `neurigraph memory quarantine`.
        severity=dg.AssetCheckSeverity.WARN,
        metadata={
            "suggestions": len(found),
            "first suggestions": table(
                [
                    {"suspicion": one.suspicion.value, "source or key": _subject(one), "detail": one.detail}
                    for one in found
                ]
            ),
        },
    )


@dg.asset_check(asset="storage_report")
def no_foreign_memory_is_shared(installation: InstallationResource) -> dg.AssetCheckResult:
    """No memory of the last day that a grant opens looks foreign to its node.

    If it fails: `neurigraph memory move` files the memory elsewhere, `neurigraph access remove` ends the grant.
    """
    found = grant_previews.new_foreign_memories(installation.opened.context)
    rows = [{name: str(value) for name, value in one._asdict().items()} for one in found]
    return dg.AssetCheckResult(
        passed=not found,
        severity=dg.AssetCheckSeverity.WARN,  # a hint: a person decides with `neurigraph memory move`
        metadata={"memories": len(found), "first of them": table(rows)},
    )


def _subject(found: Suggestion) -> str:
    return str(found.rule.source_id or found.rule.key_id or "")


def _overdue(
    installation: InstallationResource,
    sweep: Callable[..., dormancy.SweepReport],
    grace_seconds: float,
    severity: dg.AssetCheckSeverity,  # space is wasted, nothing is lost
) -> dg.AssetCheckResult:
    report = sweep(installation.context, limit=MOST_COUNTED, overdue_seconds=grace_seconds, dry_run=True)
    return dg.AssetCheckResult(
        passed=report.files == 0,
        severity=severity,
        metadata={
            "files overdue": report.files,
            "bytes overdue": report.bytes_freed,
            "grace in seconds": grace_seconds,
        },
    )


def _verified(found: verification.Verification, started: float) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(
        passed=not found.findings,
        metadata={
            "files": found.files,
            "bytes read": found.bytes_read,
            "findings": len(found.findings),
            "seconds": seconds_since(started),
            "first findings": table([_row(finding) for finding in found.findings]),
        },
    )


def _row(finding: verification.Finding) -> dict[str, str]:
    return {
        "fault": finding.fault.value,
        "node": str(finding.node_id),
        "file or record": str(finding.subject),
    }
