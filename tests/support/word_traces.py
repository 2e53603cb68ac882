"""Search for a word in every table of the databases and every object."""

from __future__ import annotations

import gzip
import re

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from neurigraph_pipelines.text.lexemes import Lexer
from neurigraph_pipelines.text.search_segments import lexeme_keys
from neurigraph_pipelines.wiring.installation import Installation
from resources.postgres.dagster_database import dagster_database

_BYTES = re.compile(rb"\\\\x((?:[0-9a-f]{2})+)")
"""A value of bytes, as COPY writes it."""


def found_in_dagster(installation: Installation, word: str) -> list[str]:
    """Return the tables of Dagster's database with the word in a row."""
    url = installation.administrator_url
    return _found(make_conninfo(url, dbname=dagster_database(url)), word, statistics=False)


def found_in_database(installation: Installation, word: str, *, statistics: bool = False) -> list[str]:
    """Return the tables of all schemas with the word in a row or in the schema name, in any case.

    The bytes of a row are searched, too: for the word, and for the key under which search finds it.

    Args:
        statistics: Also what the server noted for its planner, which goes with its next look at the table.
    """
    return _found(installation.administrator_url, word, statistics=statistics)


def _found(url: str, word: str, *, statistics: bool) -> list[str]:
    wanted = word.lower().encode()
    lexemes = Lexer().lexemes(word)
    key = lexeme_keys(lexemes).tobytes() if len(lexemes) == 1 else None
    found = []
    with psycopg.connect(url) as connection:
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
            packed = b" ".join(bytes.fromhex(one.decode()) for one in _BYTES.findall(content))
            if wanted in content.lower() or wanted in packed.lower() or (key is not None and key in packed):
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
