"""Assets of summaries and of keywords, by day. They call one function of ``ingestion.resummarize``."""

from collections.abc import Iterable

import dagster as dg
from pydantic import Field

from neurigraph_pipelines.defs.shared import backfills
from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.defs.shared.job_config import config_of
from neurigraph_pipelines.defs.shared.run_metadata import MAX_TABLE_ROWS, table
from neurigraph_pipelines.ingestion.unfinished import count_unfinished, list_unfinished


class ResummarizeConfig(backfills.BackfillConfig):
    """The records that a backfill summarises or describes."""

    again: bool = Field(
        default=True, description="Switch it off to leave out records whose words the configured model wrote."
    )
    also_revised: bool = Field(default=False, description="Also records that a person has revised.")


@backfills.asset_by_day(ResummarizeConfig, deps=["memories"], pool=backfills.LANGUAGE_MODEL_POOL)
def record_summaries(
    context: dg.AssetExecutionContext, installation: InstallationResource
) -> Iterable[dg.MaterializeResult[None] | dg.AssetObservation]:
    """Titles, summaries and keywords of the records stored on each day, by the configured language model.

    Ingestion adds to it day by day. A backfill rewrites all of its days from the stored transcripts.
    """
    yield from _describe_again(context, installation, "summarise", keywords_only=False)


@backfills.asset_by_day(ResummarizeConfig, deps=["memories"], pool=backfills.LANGUAGE_MODEL_POOL)
def record_keywords(
    context: dg.AssetExecutionContext, installation: InstallationResource
) -> Iterable[dg.MaterializeResult[None] | dg.AssetObservation]:
    """Entities, topics, dates and relationships of the records stored on each day, by the configured language model.

    Ingestion adds to it day by day. A backfill rewrites all of its days, and leaves titles,
    summaries and vectors as they are.
    """
    yield from _describe_again(context, installation, "describe", keywords_only=True)


@dg.asset_check(asset=record_summaries)
def no_memory_is_unfinished(installation: InstallationResource) -> dg.AssetCheckResult:
    """No memory lacks a title, a summary, keywords, its place or links because of a defect.

    If it fails: update to a release in which the defect is mended; then materialize `record_summaries` of the
    days with `again: false`.
    """
    database = installation.opened.database
    waiting = count_unfinished(database)
    longest = list_unfinished(database, MAX_TABLE_ROWS) if waiting else []
    return dg.AssetCheckResult(
        passed=waiting == 0,
        severity=dg.AssetCheckSeverity.WARN,
        metadata={
            "memories": waiting,
            "waiting longest": table(
                {
                    "record": str(one.record_id),
                    "user": str(one.user_id),
                    "lacks": one.left_out,
                    "since": one.since.isoformat(timespec="seconds"),
                }
                for one in longest
            ),
        },
    )


def _describe_again(
    context: dg.AssetExecutionContext, installation: InstallationResource, verb: str, *, keywords_only: bool
) -> Iterable[dg.MaterializeResult[None] | dg.AssetObservation]:
    from neurigraph_pipelines.ingestion.resummarize import WantedSummaries, resummarize  # loads numpy

    config = config_of(context, ResummarizeConfig)
    done = resummarize(
        installation.context,
        *backfills.records_of(context, installation, config),
        wanted=WantedSummaries(config.again, config.also_revised, keywords_only),
        dry_run=config.dry_run,
    )
    counts = {
        "were of this model already": done.complete,
        "left alone, revised by a person": done.revised,
        "forgotten meanwhile": done.gone,
    }
    if config.dry_run:
        yield backfills.would_do(context, {"language model": done.model, f"records to {verb}": done.records, **counts})
        return
    for record_id, _ in done.failed:
        context.log.error("record %s keeps its words: `neurigraph admin resummarize` says why", record_id)
    yield dg.MaterializeResult(
        metadata={
            "language model": done.model,
            f"records {verb}d": done.records,
            "came out the same": done.unchanged,
            **counts,
            "failed": backfills.failures(done.failed),
        }
    )
    if done.failed:
        # A retry would fail on the same files.
        raise dg.Failure(f"{len(done.failed)} records keep their words: the log names them")
