"""Encrypted files: an asset that encrypts files that were stored before encryption was switched on, and its check."""

import time
from typing import TYPE_CHECKING

import dagster as dg
from pydantic import Field

from neurigraph_pipelines.defs.lifecycle.lifecycle_assets import DryRunConfig, Results, observed
from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.defs.shared.job_config import config_of, schema_of
from neurigraph_pipelines.defs.shared.run_metadata import seconds_since
from neurigraph_pipelines.lifecycle.encrypting import EncryptionReport, encrypt_stored

if TYPE_CHECKING:
    from neurigraph_pipelines.wiring.installation import Installation


class EncryptionConfig(DryRunConfig):
    """How many files one run encrypts."""

    limit: int = Field(default=10_000, ge=1, description="Most files that one run encrypts; the next run continues.")


@dg.asset(
    deps=["memories"],
    output_required=False,
    config_schema=schema_of(EncryptionConfig),
)
def encrypted_files(context: dg.AssetExecutionContext, installation: InstallationResource) -> Results:
    """Files that were stored before encryption was switched on: encrypted. Without encryption nothing is looked at."""
    config, started = config_of(context, EncryptionConfig), time.monotonic()
    report = _encrypted(installation.opened, limit=config.limit, dry_run=config.dry_run)
    yield observed(
        context,
        config,
        {
            "encrypted before": report.encrypted,
            "encrypted now": report.written,
            "left": report.plain,
            "seconds": seconds_since(started),
        },
    )


@dg.asset_check(asset=encrypted_files)
def files_are_encrypted(installation: InstallationResource) -> dg.AssetCheckResult:
    """No stored file is without encryption while that is switched on.

    If it fails: materialize `encrypted_files`, until nothing is left.
    """
    report = _encrypted(installation.opened, dry_run=True)
    return dg.AssetCheckResult(
        passed=report.plain == 0,
        severity=dg.AssetCheckSeverity.WARN,
        metadata={"encrypted": report.encrypted, "not encrypted": report.plain},
    )


def _encrypted(here: "Installation", *, limit: int = 10_000, dry_run: bool) -> EncryptionReport:
    objects = here.encrypted_objects
    if objects is None or not here.settings.objects.encryption:
        return EncryptionReport()
    return encrypt_stored(here.context, objects, limit=limit, dry_run=dry_run)
