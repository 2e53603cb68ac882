"""Failed checks and runs, as Dagster has recorded them in its database."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import psycopg
from psycopg.rows import dict_row

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.wiring.installation import Installation

RUNS_SHOWN = 3

_QUERIES = statements("doctor")


@dataclass(frozen=True, slots=True)
class FailedRun:
    """A run that failed in the last day."""

    run_id: str
    job: str
    ended_at: datetime


@dataclass(frozen=True, slots=True)
class DagsterFailures:
    """The failed checks and runs.

    Attributes:
        errors: Checks of severity ERROR whose newest evaluation failed.
        warnings: The same of severity WARN.
        runs: The newest failed runs of the last day, at most ``RUNS_SHOWN``.
    """

    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    runs: tuple[FailedRun, ...] = ()


def read(installation: Installation) -> DagsterFailures:
    """Return the failed checks and runs; none if Dagster never ran."""
    with installation.database.pipeline() as tx:
        (database,) = tx.execute(_QUERIES["has_dagster"])
    if not database["present"]:
        return DagsterFailures()
    # As Dagster's role, the only one that may connect.
    with psycopg.connect(installation.dagster_address, autocommit=True, row_factory=dict_row) as connection:
        (tables,) = connection.execute(_QUERIES["has_records"])
        if not tables["present"]:
            return DagsterFailures()
        checks = connection.execute(_QUERIES["failed_checks"], {}).fetchall()
        runs = connection.execute(_QUERIES["failed_runs"], {"limit": RUNS_SHOWN}).fetchall()
    return DagsterFailures(
        tuple(one["check_name"] for one in checks if one["is_error"]),
        tuple(one["check_name"] for one in checks if not one["is_error"]),
        tuple(FailedRun(**one) for one in runs),
    )
