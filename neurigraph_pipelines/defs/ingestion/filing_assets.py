"""The asset of places in the graph, by day. It calls one function of ``ingestion.filing_again``."""

from collections.abc import Iterable

import dagster as dg
from pydantic import Field

from neurigraph_pipelines.defs.shared import backfills
from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.defs.shared.job_config import config_of
from neurigraph_pipelines.defs.shared.run_metadata import RunMetadata, table


class FilingConfig(backfills.BackfillConfig):
    """The records that a backfill files again."""

    again: bool = Field(
        default=True, description="Switch it off to leave out records that the configured model has filed again."
    )
    dry_run: bool = Field(
        default=False, description="Only count the moves and splits, as an observation, and change nothing."
    )


@backfills.asset_by_day(FilingConfig, deps=["memories"], pool=backfills.LANGUAGE_MODEL_POOL)
def record_places(
    context: dg.AssetExecutionContext, installation: InstallationResource
) -> Iterable[dg.MaterializeResult[None] | dg.AssetObservation]:
    """Nodes at which the records stored on each day are filed, by today's rules and the configured language model.

    A backfill files its days again, moves what belongs elsewhere, and splits what has several subjects; what a person
    moved, revised, pinned or put into quarantine stays.
    """
    from neurigraph_pipelines.ingestion.filing_again import file_again  # loads numpy

    config = config_of(context, FilingConfig)
    done = file_again(
        installation.context,
        *backfills.records_of(context, installation, config),
        again=config.again,
        dry_run=config.dry_run,
    )
    counts: RunMetadata = {
        "language model": done.model,
        "stayed": done.stayed,
        "stayed whole, of several subjects": table(
            {"record": str(record_id), "reason": reason} for record_id, reason in done.whole
        ),
        "left alone, decided by a person": done.by_hand,
        "were filed again already": done.complete,
        "forgotten meanwhile": done.gone,
    }
    if config.dry_run:
        yield backfills.would_do(
            context, {"records to move": len(done.moved), "records to split": len(done.split), **counts}
        )
        return
    changed = {"records moved": len(done.moved), "records split": len(done.split)}
    yield dg.MaterializeResult(metadata={**changed, **counts, "failed": backfills.failures(done.failed)})
    if done.failed:
        # A retry would fail on the same files.
        raise dg.Failure(f"{len(done.failed)} records stay where they were: a table lists them")
