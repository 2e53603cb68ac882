"""Labels that all assets have, and how old each may be: put on the definitions that Dagster found in the folder."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import dagster as dg

OWNERS = ["team:data-engineering"]

_NIGHTLY = dg.FreshnessPolicy.time_window(fail_window=timedelta(hours=50), warn_window=timedelta(hours=26))

FRESH = {
    "dormant_files": dg.FreshnessPolicy.time_window(
        fail_window=timedelta(hours=6), warn_window=timedelta(hours=2, minutes=30)
    ),
    "orphan_objects": _NIGHTLY,
    "storage_report": _NIGHTLY,
    "node_profiles": _NIGHTLY,
    "daily_report": _NIGHTLY,
    "faded_facts": dg.FreshnessPolicy.time_window(fail_window=timedelta(days=15), warn_window=timedelta(days=8)),
}
"""How old the newest event of an asset may be, where the clock makes it."""


def labelled(found: dg.Definitions) -> dg.Definitions:
    """Return definitions whose assets have an owner, a kind, a link to their function, and its folder as their group.

    A group and a kind that an asset names itself stand.
    """
    done: dict[dg.AssetKey, dg.AssetSpec] = {}  # Dagster finds a specification twice, and knows it again as one object
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dg.BetaWarning)
        warnings.simplefilter("ignore", dg.PreviewWarning)
        linked = dg.with_source_code_references(list(found.assets or ()))
        code = {spec.key: spec.metadata for one in linked if isinstance(one, dg.AssetsDefinition) for spec in one.specs}
        return found.map_asset_specs(func=lambda spec: done.setdefault(spec.key, _labelled(spec, code)))


def _labelled(spec: dg.AssetSpec, code: Mapping[dg.AssetKey, Mapping[str, object]]) -> dg.AssetSpec:
    metadata = code.get(spec.key, {})
    found = metadata.get("dagster/code_references")
    if (
        spec.group_name in (None, "default")
        and isinstance(found, dg.CodeReferencesMetadataValue)
        and isinstance(place := found.code_references[0], dg.LocalFileCodeReference)
    ):
        spec = spec.replace_attributes(group_name=Path(place.file_path).parent.name)
    return spec.replace_attributes(
        metadata={**spec.metadata, **metadata},
        owners=OWNERS,
        kinds=spec.kinds or {"postgres"},
        freshness_policy=FRESH.get(spec.key.to_user_string()),
    )
