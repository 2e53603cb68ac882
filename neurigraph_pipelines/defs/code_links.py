"""Links from the UI to the code of assets."""

from __future__ import annotations

import warnings
from typing import Any

import dagster as dg


def linked(*assets: dg.AssetsDefinition) -> list[Any]:
    """Return assets whose pages link to the file and line of their function, on this machine."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dg.BetaWarning)
        return list(dg.with_source_code_references(assets))
