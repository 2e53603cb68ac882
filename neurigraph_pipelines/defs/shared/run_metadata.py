"""Metadata tables for Dagster runs. Their content is chosen by the assets and checks.

Dagster keeps metadata as long as the run, without knowing the user. Metadata therefore holds ids, counts and times, and
never names, titles, text or error messages (docs/adr/0016-forgetting.md).
"""

import time
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, TypeAlias

import dagster as dg

MAX_TABLE_ROWS = 200
"""Most rows of a table: a longer one makes the page slow."""


RunMetadata: TypeAlias = dict[str, dg.MetadataValue[Any] | str | int | float]
"""What a run says of itself, by names for people."""

Row: TypeAlias = Mapping[str, str | int | float]


def table(rows: Iterable[Row]) -> dg.MetadataValue[Any] | str:
    """Return the first ``MAX_TABLE_ROWS`` rows as a table, or "none"."""
    records = [dg.TableRecord(dict(row)) for row in islice(rows, MAX_TABLE_ROWS)]
    return dg.MetadataValue.table(records) if records else "none"


def seconds_since(started: float) -> float:
    """Return the seconds since a moment of ``time.monotonic``."""
    return round(time.monotonic() - started, 2)
