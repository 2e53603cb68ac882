"""The named queries of ``sql/queries``. ``schema`` reads the tables, functions and migrations.

Python contains no SQL. Identifiers are composed with ``psycopg.sql``, and values are bound. A query is explained in its
file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from psycopg import sql

from neurigraph_pipelines.settings.shipped import shipped

SQL_ROOT = shipped("sql")

_PLANNED_ONCE = "-- Planned once a connection."

_NAME_LINE = re.compile(r"^-- name: (?P<name>[a-z][a-z0-9_]*)\s*$", re.MULTILINE)


class Statement(sql.SQL):
    """A query that knows its name, such as ``search.layers``; so does the query that it is formatted to."""

    def __init__(self, text: str, name: str) -> None:
        super().__init__(text)
        self.name = name
        self.is_planned_once = _PLANNED_ONCE in text

    def format(self, *given: Any, **named: Any) -> sql.Composed:
        """Return the query with its identifiers and literals."""
        composed = super().format(*given, **named)
        parts = (self, *given, *named.values())
        vars(composed).update(name=self.name, is_planned_once=any(map(is_planned_once, parts)))
        return composed


def name_of(statement: object) -> str:
    """Return the name of a query, and ``other`` for any other statement."""
    name = getattr(statement, "name", None)
    return name if isinstance(name, str) else "other"


def is_planned_once(statement: object) -> bool:
    """Return whether a connection plans a query once for all values: planning takes longer than the query does."""
    return bool(getattr(statement, "is_planned_once", False))


class Statements(Mapping[str, sql.SQL]):
    """The named queries of one file of ``sql/queries``.

    Raises:
        ValueError: Two queries of the file have the same name.
    """

    def __init__(self, concern: str) -> None:
        path = SQL_ROOT / "queries" / f"{concern}.sql"
        parts = _NAME_LINE.split(path.read_text(encoding="utf-8"))
        names, bodies = parts[1::2], parts[2::2]
        if len(set(names)) < len(names):
            raise ValueError(f"{path} has two queries of one name")
        self._queries = {
            name: Statement(body.strip().removesuffix(";"), f"{concern}.{name}")
            for name, body in zip(names, bodies, strict=True)
        }

    def __getitem__(self, name: str) -> sql.SQL:
        return self._queries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._queries)

    def __len__(self) -> int:
        return len(self._queries)


@cache
def statements(concern: str) -> Statements:
    """Return the named queries of ``sql/queries/<concern>.sql``, cached."""
    return Statements(concern)


def trusted(text: str) -> sql.SQL:
    """Wrap text of our own files; ``sql.SQL`` accepts no other text."""
    return sql.SQL(text)
