"""What the UI shows of Dagster's definitions, as plain values to compare with a file."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import dagster as dg


def specifications(repository: dg.RepositoryDefinition) -> dict[str, dict[str, Any]]:
    """Return the specification of each job, asset, check, sensor and schedule by name."""
    graph = repository.asset_graph
    return {
        "jobs": {
            job.name: {
                "description": job.description,
                "steps": sorted(_ops(job.graph)),
                "tags": dict(job.tags),
            }
            for job in repository.get_all_jobs()
            if not job.name.startswith("__")  # those are Dagster's own
        },
        "assets": {key.to_user_string(): _asset(repository, key) for key in graph.get_all_asset_keys()},
        "asset_checks": {
            spec.key.to_user_string(): {"description": spec.description, "severity": _severity(checks)}
            for checks in repository.asset_checks_defs_by_key.values()
            for spec in checks.check_specs
        },
        "sensors": {
            sensor.name: {
                "description": sensor.description,
                "jobs": sorted(target.job_name for target in sensor.targets),
                "seconds": sensor.minimum_interval_seconds,
            }
            for sensor in repository.sensor_defs
        },
        "schedules": {
            schedule.name: {
                "cron": str(schedule.cron_schedule),
                "description": schedule.description,
                "job": schedule.job_name,
            }
            for schedule in repository.schedule_defs
        },
    }


def _ops(graph: dg.GraphDefinition) -> Iterator[str]:
    """Yield the names of a graph's ops, with those of the graphs in it before them."""
    for node in graph.nodes:
        inner = node.definition
        if isinstance(inner, dg.GraphDefinition):
            yield from (f"{node.name}.{name}" for name in _ops(inner))
        else:
            yield node.name


def _asset(repository: dg.RepositoryDefinition, key: dg.AssetKey) -> dict[str, Any]:
    asset = repository.asset_graph.get(key)
    return {
        "by day": asset.is_partitioned,
        "deps": sorted(parent.to_user_string() for parent in asset.parent_keys),
        "description": asset.description,
        "fresh": _hours(asset.freshness_policy),
        "group": asset.group_name,
        "kinds": sorted(asset.kinds),
        "made by a run": asset.is_materializable,
        "owners": list(asset.owners),
        "pools": sorted(asset.pools or ()),
    }


def _severity(checks: dg.AssetChecksDefinition) -> str:
    """Return the severity of a failure. Dagster knows it from results alone, so it is read in the source."""
    decorated = getattr(checks.node_def, "compute_fn").decorated_fn  # noqa: B009 - no public name
    return "WARN" if "AssetCheckSeverity.WARN" in inspect.getsource(decorated) else "ERROR"


def _hours(policy: object) -> list[float] | None:
    """Return the hours after which a policy warns and fails."""
    if not isinstance(policy, dg.FreshnessPolicy):
        return None
    windows = (getattr(policy, name) for name in ("warn_window", "fail_window"))
    return [window.to_timedelta().total_seconds() / 3600 for window in windows]
