"""What runs tell of themselves, as Dagster draws it: tables, and seconds. What is told is for the assets and checks."""

import time
from collections.abc import Sequence
from typing import Any

import dagster as dg

MAX_TABLE_ROWS = 200


def table(rows: Sequence[dict[str, Any]]) -> dg.MetadataValue[Any] | str:
    """The first rows, or that there are none."""
    if not rows:
        return "none"
    return dg.MetadataValue.table([dg.TableRecord(row) for row in rows[:MAX_TABLE_ROWS]])


def seconds_since(started: float) -> float:
    """Since a moment of ``time.monotonic``, to be plotted."""
    return round(time.monotonic() - started, 2)
