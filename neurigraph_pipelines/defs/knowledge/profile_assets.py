"""The asset of profiles, rebuilt at night. It calls one function of ``graph.profile_building``."""

import time

import dagster as dg
from pydantic import Field

from neurigraph_pipelines.defs.shared.automation import at
from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.defs.shared.job_config import JobConfig, config_of, schema_of, user_id_of
from neurigraph_pipelines.defs.shared.run_metadata import seconds_since
from neurigraph_pipelines.graph.governance.doubles import propose_merges


class ProfileConfig(JobConfig):
    """How many nodes one run looks at, and whose."""

    limit: int = Field(default=10_000, ge=1, description="Most nodes that one run rebuilds; the next run continues.")
    user: str = Field(default="", description="Only nodes of this user, by slug. Empty: of all users.")


@dg.asset(
    deps=["record_embeddings", "links_and_beliefs"],
    automation_condition=at("41 3 * * *"),
    config_schema=schema_of(ProfileConfig),
)
def node_profiles(context: dg.AssetExecutionContext, installation: InstallationResource) -> dg.MaterializeResult[None]:
    """Profiles of the nodes whose memories changed: their themes, and how the newest differ.

    Made at night.
    """
    from neurigraph_pipelines.graph.profile_building import rebuild_profiles  # loads numpy

    config, started = config_of(context, ProfileConfig), time.monotonic()
    database = installation.opened.database
    user_id = user_id_of(database, config.user)
    done = rebuild_profiles(database, config.limit, user_id)
    return dg.MaterializeResult(
        metadata={
            "nodes due": done.nodes,
            "profiles rebuilt": done.profiles,
            "profiles removed": done.removed,
            "merges proposed": propose_merges(database, user_id),
            "limit reached": done.limit_reached,
            "seconds": seconds_since(started),
        }
    )
