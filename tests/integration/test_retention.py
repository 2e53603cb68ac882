"""Removal of message bodies: its cost depends on what it removes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from psycopg import sql

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.inbox.conversations import purge_stored_bodies
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.memories import converse, ingest, new_user, plain_context, rows

STORED = 5_000
"""Segments stored long ago, whose bodies are gone."""


def scans(plan: dict[str, Any], table: str) -> Iterator[int]:
    """How many rows of a table each node of a plan looked at."""
    if plan.get("Relation Name") == table and "Scan" in plan["Node Type"]:
        looked_at = plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0)
        yield round(looked_at * plan["Actual Loops"])
    for child in plan.get("Plans", ()):
        yield from scans(child, table)


def test_purge_skips_purged_segments(installation: Installation) -> None:
    user, claims = new_user(installation)
    converse(installation, claims, "to be kept", "for a day")
    settings = installation.settings.changed(inbox_retention_days=1.0)
    ingest(plain_context(installation).using(settings=settings), user)
    with installation.database.owner() as tx:
        tx.execute(
            """INSERT INTO neurigraph.storage_triggers (
                user_id, source_id, trigger_type, first_message, last_message, token_count, state, stored_at,
                bodies_kept
            )
            SELECT s.user_id, s.source_id, 'conversation_end', n, n, 1, 'stored', now() - interval '9 days', false
            FROM neurigraph.sources AS s, generate_series(100, 99 + %s) AS n""",
            [STORED],
        )
        tx.execute("ANALYZE neurigraph.storage_triggers")
    purge = sql.SQL("EXPLAIN (ANALYZE, FORMAT JSON) ") + statements("inbox")["purge_bodies"]
    with installation.database.pipeline() as tx:
        row = tx.execute(purge, {"age_seconds": 0, "limit": 1_000}).fetchone()
        assert row is not None
        plan = row["QUERY PLAN"][0]["Plan"]
        assert sum(scans(plan, "storage_triggers")) <= 10
        assert sum(scans(plan, "messages")) <= 10
    assert rows(installation, "SELECT count(content) AS n FROM neurigraph.messages") == [{"n": 0}]


def test_empty_page_does_not_end_purge(installation: Installation) -> None:
    """As where segments were stored before they bore a mark."""
    user, claims = new_user(installation)
    settings = installation.settings.changed(inbox_retention_days=1.0)
    for hours in range(3):
        converse(installation, claims, "one", "two", hours=hours)
    ingest(plain_context(installation).using(settings=settings), user)
    with installation.database.owner() as tx:
        tx.execute(
            "UPDATE neurigraph.messages SET content = NULL WHERE source_id = (SELECT source_id FROM "
            "neurigraph.storage_triggers ORDER BY stored_at LIMIT 1)"
        )
    assert purge_stored_bodies(installation.database, 0, at_once=1) == 4
    assert purge_stored_bodies(installation.database, 0) == 0
