"""Search for a word in every table of the database and every object."""

from __future__ import annotations

import gzip

import psycopg
from psycopg import sql

from neurigraph_pipelines.wiring.installation import Installation


def found_in_database(installation: Installation, word: str, *, statistics: bool = False) -> list[str]:
    """Return the tables of all schemas with the word in a row or in the schema name, in any case.

    Args:
        statistics: Also what the server noted for its planner, which goes with its next look at the table.
    """
    wanted = word.lower().encode()
    found = []
    with psycopg.connect(installation.administrator_url) as connection:
        tables = connection.execute(
            "SELECT n.nspname, c.relname FROM pg_class AS c INNER JOIN pg_namespace AS n ON c.relnamespace = n.oid "
            "WHERE c.relkind IN ('r', 'm') AND n.nspname NOT LIKE 'pg_toast%%' ORDER BY 1, 2"
        ).fetchall()
        for schema, table in tables:
            if table == "pg_statistic" and not statistics:
                continue
            statement = sql.SQL("COPY {} TO STDOUT").format(sql.Identifier(schema, table))
            with connection.cursor().copy(statement) as copy:
                content = b"".join(map(bytes, copy))
            if wanted in content.lower():
                found.append(f"{schema}.{table}")
    return found


def found_in_objects(installation: Installation, word: str) -> list[str]:
    """Return the keys with the word in the key or in the unpacked object."""
    wanted = word.lower()
    found = []
    for key in installation.objects.keys(""):
        content = b"".join(installation.objects.get(key))
        text = gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content
        if wanted in key.lower() or wanted.encode() in text.lower():
            found.append(key)
    return found
