"""Summaries and keywords as an asset: those of each day.

Calls one function of ``ingestion.resummarize`` and says what it did.
"""

from collections.abc import Iterable

import dagster as dg
from pydantic import Field

from neurigraph_pipelines.defs.backfills import asset_by_day, days_of, failures
from neurigraph_pipelines.defs.installation import InstallationResource
from neurigraph_pipelines.graph.provisioning import find_user


class ResummarizeConfig(dg.Config):
    """Which records a backfill summarises."""

    user: str = Field(default="", description="Only this user's, by slug. Empty: everybody's.")
    again: bool = Field(default=False, description="Those too whose words are of the configured model already.")
    also_revised: bool = Field(default=False, description="Those too whose words a person wrote.")
    dry_run: bool = Field(default=False, description="Only count.")


@asset_by_day("summaries")
def record_summaries(
    context: dg.AssetExecutionContext, config: ResummarizeConfig, installation: InstallationResource
) -> Iterable[dg.MaterializeResult[None]]:
    """Titles, summaries and keywords of the records stored on each day, by the configured language model.

    Ingestion writes them once; a backfill writes anew what another model wrote, from the stored transcripts.
    """
    from neurigraph_pipelines.ingestion.resummarize import Wanted, resummarize  # numpy: for runs, not for loading

    since, until = days_of(context)
    user_id = find_user(installation.opened.database, config.user).user_id if config.user else None
    done = resummarize(
        installation.context,
        since,
        until,
        user_id,
        wanted=Wanted(config.again, config.also_revised),
        dry_run=config.dry_run,
    )
    for record_id, _ in done.failed:
        context.log.error("%s bears the words that it had: `neurigraph resummarize` says why", record_id)
    yield dg.MaterializeResult(
        metadata={
            "language model": done.model,
            "dry run": config.dry_run,
            "records summarised": done.records,
            "came out the same": done.unchanged,
            "were of this model already": done.complete,
            "left alone, revised by a person": done.revised,
            "forgotten meanwhile": done.gone,
            "failed": failures(done.failed),
        }
    )
    if done.failed:
        # Another attempt would meet the same files and the same refusals.
        raise dg.Failure(
            f"{len(done.failed)} records bear the words that they had: the log names them", allow_retries=False
        )
