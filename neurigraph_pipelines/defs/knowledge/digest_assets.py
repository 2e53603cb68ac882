"""The asset of digests, made at night. It calls one function of ``knowledge.digesting``."""

import time

import dagster as dg
from pydantic import Field

from neurigraph_pipelines.defs.shared.automation import at, takes_what_waits
from neurigraph_pipelines.defs.shared.backfills import LANGUAGE_MODEL_POOL
from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.defs.shared.job_config import JobConfig, config_of, schema_of, user_id_of
from neurigraph_pipelines.defs.shared.run_metadata import seconds_since
from neurigraph_pipelines.knowledge import digesting
from neurigraph_pipelines.knowledge.digests import faulty_digests


class DigestConfig(JobConfig):
    """How many windows one run puts into words, and whose."""

    limit: int = Field(
        default=digesting.MOST_WINDOWS, ge=1, description="Most windows that one run looks at; the next one continues."
    )
    user: str = Field(default="", description="Only windows of this user, by slug. Empty: of all users.")


@dg.asset(
    deps=["record_summaries", "links_and_beliefs"],
    pool=LANGUAGE_MODEL_POOL,
    automation_condition=at("17 4 * * *"),
    config_schema=schema_of(DigestConfig),
)
def node_digests(context: dg.AssetExecutionContext, installation: InstallationResource) -> dg.MaterializeResult[None]:
    """Digests of windows of 7, 30 and 90 days of each node, of those whose memories changed. Made at night."""
    if takes_what_waits(context) and not installation.settings.ingestion.digests:
        return dg.MaterializeResult(metadata={"digests written": 0, "switched off": "`digests`"})
    config, started = config_of(context, DigestConfig), time.monotonic()
    done = digesting.sweep(installation.context, config.limit, user_id_of(installation.opened.database, config.user))
    for window, error in done.failed:
        context.log.warning(
            "%s days of node %s since %s failed: %s", window.days, window.node_id, window.starts_at.date(), error
        )
    return dg.MaterializeResult(
        metadata={
            "language model": installation.context.language_model.name,
            "windows due": done.windows,
            "digests written": done.written,
            "windows changed meanwhile": done.changed,
            "windows failed": len(done.failed),
            "limit reached": done.limit_reached,
            "seconds": seconds_since(started),
        }
    )


@dg.asset_check(asset=node_digests)
def every_digest_covers_current_records(installation: InstallationResource) -> dg.AssetCheckResult:
    """Every digest covers records that are current and as open as the digest is.

    If it fails: materialize `node_digests`; `neurigraph memory digest remove` removes one that stays.
    """
    found = faulty_digests(installation.opened.database)
    return dg.AssetCheckResult(
        passed=not found, metadata={"digests": len(found), "ids": ", ".join(map(str, found[:20]))}
    )
