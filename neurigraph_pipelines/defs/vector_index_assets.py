"""The asset of vector indexes, built in the background for nodes too large for exact search."""

import dagster as dg
from pydantic import Field

from neurigraph_pipelines.defs.installation import InstallationResource
from neurigraph_pipelines.defs.job_config import JobConfig, config_of, schema_of
from neurigraph_pipelines.lifecycle.vector_indexes import build_vector_indexes, count_due, drop_vector_indexes


class IndexConfig(JobConfig):
    """How many indexes one run builds."""

    limit: int = Field(
        default=10, ge=1, description="Most nodes that one run indexes; it drops the indexes of as many more."
    )


@dg.asset(
    group_name="maintenance",
    owners=["team:data-engineering"],
    kinds={"postgres"},
    config_schema=schema_of(IndexConfig),
)
def vector_indexes(context: dg.AssetExecutionContext, installation: InstallationResource) -> dg.MaterializeResult[None]:
    """Vector indexes of the nodes that are too large for exact search."""
    config, opened = config_of(context, IndexConfig), installation.opened
    dropped = drop_vector_indexes(opened.context, config.limit)
    built = build_vector_indexes(opened.context, config.limit)
    rows = [dg.TableRecord({"node": str(index.node_id), "passages": index.passages}) for index in built]
    return dg.MaterializeResult(
        metadata={
            "method": opened.settings.retrieval.vector_index_method,
            "from passages": opened.settings.retrieval.vector_index_passages,
            "nodes indexed": len(built),
            "indexes dropped": len(dropped),
            "nodes still waiting": count_due(opened.context),
            "indexed": dg.MetadataValue.table(rows) if rows else "none",
        }
    )


vector_index_job = dg.define_asset_job(
    "vector_index_job",
    selection=[vector_indexes],
    executor_def=dg.in_process_executor,
    description="Builds vector indexes for nodes too large for exact search, and drops those of nodes that shrank.",
)


@dg.schedule(
    job=vector_index_job,
    cron_schedule="*/10 * * * *",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Checks every ten minutes and launches a run only if an index has to be built or dropped.",
)
def vector_index_schedule(installation: InstallationResource) -> dg.RunRequest | dg.SkipReason:
    """Launches a run if an index has to be built or dropped."""
    opened = installation.opened
    if not count_due(opened.context):
        return dg.SkipReason("no index has to be built or dropped")
    return dg.RunRequest()


def definitions() -> dg.Definitions:
    """Return the definitions of vector indexes."""
    return dg.Definitions(assets=[vector_indexes], jobs=[vector_index_job], schedules=[vector_index_schedule])
