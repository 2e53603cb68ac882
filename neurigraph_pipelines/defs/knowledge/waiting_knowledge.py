"""The asset of memories that wait to be read for facts and facts that wait to be compared. A sensor reports it."""

import dagster as dg

from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.defs.shared.run_states import UNFINISHED
from neurigraph_pipelines.defs.shared.run_tags import WAITING
from neurigraph_pipelines.knowledge import reading, reconciling

NAME = "waiting_knowledge"

waiting_knowledge = dg.AssetSpec(
    NAME,
    deps=["memories"],
    description="Memories that wait to be read for facts, and facts that wait to be compared: stored, stated, revised "
    "or restored, and those whose model did not answer. A sensor reports that there are some.",
    group_name="knowledge",
)


@dg.sensor(
    minimum_interval_seconds=60,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Reports `waiting_knowledge` if something is due, unless a run takes it already.",
)
def waiting_knowledge_sensor(
    context: dg.SensorEvaluationContext, installation: InstallationResource
) -> dg.SensorResult | dg.SkipReason:
    """Reports that memories wait to be read or facts to be compared."""
    if not installation.settings.ingestion.facts:
        return dg.SkipReason("facts are switched off (`facts`)")
    if not (reading.TO_READ.has_due(installation.context) or reconciling.TO_COMPARE.has_due(installation.context)):
        return dg.SkipReason("nothing waits")
    under_way = dg.RunsFilter(tags=WAITING, statuses=UNFINISHED)
    if context.instance.get_run_records(under_way, limit=1):
        return dg.SkipReason("a run is under way")
    return dg.SensorResult(asset_events=[dg.AssetMaterialization(NAME)])
