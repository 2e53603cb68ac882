"""When assets are made by themselves (docs/adr/0038-assets.md)."""

import dagster as dg

from neurigraph_pipelines.defs.shared.run_tags import WAITING

Condition = dg.AutomationCondition[dg.AssetKey]

_IDLE = ~dg.AutomationCondition.in_progress()


def at(cron: str) -> Condition:
    """Return the condition of an asset that the clock makes."""
    return _until_requested(dg.AutomationCondition.cron_tick_passed(cron)) & _IDLE


def soon_after(asset: str) -> Condition:
    """Return the condition of an asset whose newest day is made whenever another has something new."""
    return _until_requested(dg.AutomationCondition.in_latest_time_window() & _is_new(asset)) & _IDLE


def hourly_after(*assets: str) -> Condition:
    """Return the condition of an asset that is made at night, and at most once an hour if one of these is new."""
    hourly = _until_requested(_is_new(*assets)) & dg.AutomationCondition.cron_tick_passed("53 * * * *")
    return (hourly | dg.AutomationCondition.cron_tick_passed("29 4 * * *")) & _IDLE


def takes_what_waits(context: dg.AssetExecutionContext) -> bool:
    """Return whether an automation requested a run. Any other run makes again the days that it names."""
    return WAITING.items() <= context.run.tags.items()


def _is_new(*assets: str) -> Condition:
    return dg.AutomationCondition.any_deps_updated().allow(dg.AssetSelection.assets(*assets))


def _until_requested(condition: Condition) -> Condition:
    """Return a condition that stays true until a run is requested: records that come during a run are not in it."""
    return condition.since(dg.AutomationCondition.newly_requested())
