"""The assets of indexes of large nodes and of packed layers, made in the background."""

import dagster as dg
from pydantic import Field

from neurigraph_pipelines.defs.shared.automation import hourly_after
from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.defs.shared.job_config import JobConfig, config_of, schema_of
from neurigraph_pipelines.lifecycle.node_indexes import build_node_indexes, count_large

PACKED_AT_ONCE = 1_000
"""Most layers that one run packs."""


class IndexConfig(JobConfig):
    """How many indexes one run builds."""

    limit: int = Field(default=10, ge=1, description="Most nodes that one run indexes.")


@dg.asset(
    deps=["record_embeddings"],
    automation_condition=hourly_after("record_embeddings"),
    config_schema=schema_of(IndexConfig),
)
def node_indexes(context: dg.AssetExecutionContext, installation: InstallationResource) -> dg.MaterializeResult[None]:
    """Indexes of the tables of large nodes, that of the vectors of their records among them.

    Made at night, and at most once an hour if there are new vectors.
    """
    config, opened = config_of(context, IndexConfig), installation.opened
    built = build_node_indexes(opened.context, config.limit)
    rows = [dg.TableRecord({"node": str(node.node_id), "records": node.records}) for node in built]
    return dg.MaterializeResult(
        metadata={
            "from records": opened.settings.retrieval.node_index_records,
            "nodes indexed": len(built),
            "nodes still waiting": count_large(opened.context),
            "indexed": dg.MetadataValue.table(rows) if rows else "none",
        }
    )


@dg.asset(
    deps=["record_summaries", "record_embeddings"],
    automation_condition=hourly_after("record_summaries", "record_embeddings"),
)
def layer_packs(installation: InstallationResource) -> dg.MaterializeResult[None]:
    """Packed layers of the nodes that changed, by which first questions are answered without reading their tables.

    Made at night, and at most once an hour if there are new summaries or vectors.
    """
    from neurigraph_pipelines.retrieval.packing import pack_layers

    packed = pack_layers(installation.opened.context, PACKED_AT_ONCE)
    return dg.MaterializeResult(metadata={"nodes packed": packed})
