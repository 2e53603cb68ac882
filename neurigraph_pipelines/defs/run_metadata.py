"""What runs tell of themselves, as Dagster draws it: tables, and seconds. What is told is for the assets and checks.

Dagster keeps what it is told for as long as a run is kept, and knows nothing of whose it is. So it is told ids, counts
and times, never names, titles, text or the words of an error (docs/adr/0026-forgetting.md).
"""

import time
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

import dagster as dg

MAX_TABLE_ROWS = 200
"""A longer table only makes the page slow."""


def table(rows: Iterable[Mapping[str, Any]]) -> dg.MetadataValue[Any] | str:
    """The first rows, or that there are none."""
    records = [dg.TableRecord(dict(row)) for row in islice(rows, MAX_TABLE_ROWS)]
    return dg.MetadataValue.table(records) if records else "none"


def seconds_since(started: float) -> float:
    """Since a moment of ``time.monotonic``, to be plotted."""
    return round(time.monotonic() - started, 2)
