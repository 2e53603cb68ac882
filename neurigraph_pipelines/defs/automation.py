"""The sensor that requests runs of assets whose conditions hold."""

import dagster as dg

from neurigraph_pipelines.defs.shared.run_tags import WAITING, YIELDS

automation_sensor = dg.AutomationConditionSensorDefinition(
    "automation_sensor",
    target=dg.AssetSelection.all(),
    minimum_interval_seconds=30,
    run_tags={**WAITING, **YIELDS},
    default_status=dg.DefaultSensorStatus.RUNNING,
    emit_backfills=False,  # whose runs wait for those that a person started
    description="Launches runs of the assets that follow from new memories, or whose time has come.",
)
