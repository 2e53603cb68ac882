"""Waiting until others wait."""

from __future__ import annotations

import time

import psycopg

from neurigraph_pipelines.wiring import Installation


def wait_until_locked(installation: Installation, sessions: int = 1) -> None:
    """Until so many sessions of the faces wait for a lock."""
    query = """SELECT count(*) FROM pg_stat_activity
    WHERE usename = 'neurigraph_agent' AND datname = current_database() AND wait_event_type = 'Lock'"""
    with psycopg.connect(installation.administrator_url, autocommit=True) as connection:
        until = time.monotonic() + 60
        while connection.execute(query).fetchone() != (sessions,):
            assert time.monotonic() < until, "nobody waits"
            time.sleep(0.01)
