"""The asset of passages, by day. It calls one function of ``ingestion.recount``."""

from collections.abc import Iterable

import dagster as dg

from neurigraph_pipelines.defs.shared.backfills import BackfillConfig, asset_by_day, failures, records_of, would_do
from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.defs.shared.job_config import config_of


@asset_by_day(BackfillConfig, deps=["memories"])
def passages(
    context: dg.AssetExecutionContext, installation: InstallationResource
) -> Iterable[dg.MaterializeResult[None] | dg.AssetObservation]:
    """Passages of the records of each day: positions, stems and vectors.

    Ingestion adds to it day by day. A backfill counts the stems again from the stored transcripts, for example after a
    change of the language; `record_embeddings` makes the vectors again.
    """
    from neurigraph_pipelines.ingestion.recount import recount  # loads numpy

    config = config_of(context, BackfillConfig)
    done = recount(installation.context, *records_of(context, installation, config), dry_run=config.dry_run)
    counts = {"came out the same": done.complete, "failed": failures(done.failed)}
    if config.dry_run:
        yield would_do(context, {"records to count": done.records, "passages to count": done.passages, **counts})
        return
    yield dg.MaterializeResult(metadata={"records counted": done.records, "passages": done.passages, **counts})
    if done.failed:
        # A retry would fail on the same files.
        raise dg.Failure(f"{len(done.failed)} records keep their passages: a table lists them")
