"""Runs in the database of Dagster, as far as tests of that database need them."""

from __future__ import annotations

import psycopg

from neurigraph_pipelines.wiring.installation import Installation


def note_run(here: Installation, run_id: str) -> None:
    """Make Dagster's database, if it is absent, and note a run there."""
    here.ensure_dagster_database()
    with psycopg.connect(here.dagster_address) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS runs (id serial PRIMARY KEY, run_id text)")
        connection.execute("INSERT INTO runs (run_id) VALUES (%s)", [run_id])


def noted_runs(here: Installation) -> list[str]:
    """Return the runs that were noted."""
    with psycopg.connect(here.dagster_address) as connection:
        return [run_id for (run_id,) in connection.execute("SELECT run_id FROM runs ORDER BY id").fetchall()]
