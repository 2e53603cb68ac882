"""The asset of vector indexes, built in the background for nodes too large for exact search."""

import dagster as dg
from pydantic import Field

from neurigraph_pipelines.defs.backfills import OWNERS, RETRY_POLICY
from neurigraph_pipelines.defs.code_links import linked
from neurigraph_pipelines.defs.installation import InstallationResource
from neurigraph_pipelines.defs.job_config import JobConfig, config_of, schema_of
from neurigraph_pipelines.defs.run_states import waiting_already
from neurigraph_pipelines.lifecycle.node_indexes import build_node_indexes, has_large
from neurigraph_pipelines.lifecycle.vector_indexes import build_vector_indexes, count_due, drop_vector_indexes

PACKED_AT_ONCE = 1_000
"""Most layers that one run packs."""


class IndexConfig(JobConfig):
    """How many indexes one run builds."""

    limit: int = Field(
        default=10, ge=1, description="Most nodes that one run indexes; it drops the indexes of as many more."
    )


@dg.asset(
    group_name="maintenance",
    deps=["record_embeddings"],
    owners=OWNERS,
    kinds={"postgres"},
    retry_policy=RETRY_POLICY,
    config_schema=schema_of(IndexConfig),
)
def vector_indexes(context: dg.AssetExecutionContext, installation: InstallationResource) -> dg.MaterializeResult[None]:
    """Indexes of the tables of large nodes, and vector indexes of those that are too large for exact search."""
    config, opened = config_of(context, IndexConfig), installation.opened
    large = build_node_indexes(opened.context, config.limit)
    dropped = drop_vector_indexes(opened.context, config.limit)
    built = build_vector_indexes(opened.context, config.limit)
    rows = [dg.TableRecord({"node": str(index.node_id), "passages": index.passages}) for index in built]
    return dg.MaterializeResult(
        metadata={
            "method": opened.settings.retrieval.vector_index_method,
            "from passages": opened.settings.retrieval.vector_index_passages,
            "nodes indexed": len(built),
            "large nodes that got their indexes": len(large),
            "indexes dropped": len(dropped),
            "nodes still waiting": count_due(opened.context),
            "indexed": dg.MetadataValue.table(rows) if rows else "none",
        }
    )


@dg.asset(
    group_name="maintenance",
    deps=["record_summaries", "record_embeddings"],
    owners=OWNERS,
    kinds={"postgres"},
    retry_policy=RETRY_POLICY,
)
def layer_packs(installation: InstallationResource) -> dg.MaterializeResult[None]:
    """Packed layers of the nodes that changed, by which first questions are answered without reading their tables."""
    from neurigraph_pipelines.retrieval.packing import pack_layers

    packed = pack_layers(installation.opened.context, PACKED_AT_ONCE)
    return dg.MaterializeResult(metadata={"nodes packed": packed})


vector_index_job = dg.define_asset_job(
    "vector_index_job",
    selection=[vector_indexes, layer_packs],
    executor_def=dg.in_process_executor,
    description="Builds the indexes of large nodes, vectors included for the largest, drops those of small ones, "
    "and packs the layers of nodes that changed.",
)


@dg.schedule(
    job=vector_index_job,
    cron_schedule="*/10 * * * *",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Checks every ten minutes and launches a run only if an index has to be built or dropped, or a layer "
    "to be packed.",
)
def vector_index_schedule(
    context: dg.ScheduleEvaluationContext, installation: InstallationResource
) -> dg.RunRequest | dg.SkipReason:
    """Launches a run if an index has to be built or dropped, or a layer to be packed."""
    from neurigraph_pipelines.retrieval.packing import count_due as count_unpacked

    opened = installation.opened
    if not (has_large(opened.context) or count_due(opened.context) or count_unpacked(opened.context)):
        return dg.SkipReason("no index has to be built or dropped, and no layer to be packed")
    return waiting_already(context, vector_index_job.name) or dg.RunRequest()


def definitions() -> dg.Definitions:
    """Return the definitions of vector indexes and packed layers."""
    return dg.Definitions(
        assets=linked(vector_indexes, layer_packs), jobs=[vector_index_job], schedules=[vector_index_schedule]
    )
