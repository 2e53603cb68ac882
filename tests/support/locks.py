"""Waiting for sessions of the database that wait for a lock."""

from __future__ import annotations

import psycopg

from neurigraph_pipelines.wiring.installation import Installation
from tests.support.waiting import wait_until


def wait_until_locked(installation: Installation, sessions: int = 1, role: str = "neurigraph_agent") -> None:
    """Wait until exactly ``sessions`` sessions of ``role`` wait for a lock."""
    query = """SELECT count(*) FROM pg_stat_activity
    WHERE usename = %s AND datname = current_database() AND wait_event_type = 'Lock'"""
    with psycopg.connect(installation.administrator_url, autocommit=True) as connection:
        wait_until(lambda: connection.execute(query, [role]).fetchone() == (sessions,), "sessions wait for a lock")
