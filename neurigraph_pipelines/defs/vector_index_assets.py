"""Vector indexes as an asset: built in the background for nodes that have outgrown exact search, and dropped again."""

import dagster as dg
from pydantic import Field

from neurigraph_pipelines.defs.installation import InstallationResource
from neurigraph_pipelines.lifecycle.vector_indexes import build_vector_indexes, count_due, drop_vector_indexes


class IndexConfig(dg.Config):
    """How much one run builds."""

    limit: int = Field(
        default=10, ge=1, description="Most nodes that one run indexes, and as many more whose indexes it drops."
    )


@dg.asset(group_name="maintenance", owners=["team:data-engineering"], kinds={"postgres"})
def vector_indexes(config: IndexConfig, installation: InstallationResource) -> dg.MaterializeResult[None]:
    """Indexes the passages' vectors of nodes that are too big to be searched exactly, and of no others."""
    opened = installation.opened
    dropped = drop_vector_indexes(opened.context, config.limit)
    built = build_vector_indexes(opened.context, config.limit)
    rows = [dg.TableRecord({"node": str(index.node_id), "passages": index.passages}) for index in built]
    return dg.MaterializeResult(
        metadata={
            "method": opened.settings.vector_index_method,
            "from passages": opened.settings.vector_index_passages,
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
    description="Builds vector indexes for nodes that have outgrown exact search, drops those of nodes that shrank.",
)


@dg.schedule(
    job=vector_index_job,
    cron_schedule="*/10 * * * *",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Looks every ten minutes, and launches a run only when a node waits for an index, or for its end.",
)
def vector_index_schedule(installation: InstallationResource) -> dg.RunRequest | dg.SkipReason:
    """Launches a run when a node waits for its index, or for an end of it."""
    opened = installation.opened
    if not count_due(opened.context):
        return dg.SkipReason("every node is searched as its size asks for")
    return dg.RunRequest()
