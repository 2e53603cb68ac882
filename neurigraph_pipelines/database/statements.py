"""The SQL of the ``sql`` folder: named queries, numbered migrations and routines.

Python contains no SQL. Identifiers are composed with ``psycopg.sql``, and values are bound. A query is explained in its
file.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from psycopg import sql

from neurigraph_pipelines.settings.shipped import shipped

SQL_ROOT = shipped("sql")
BASELINE = {"shared": 21, "node": 6}
"""Number of the first file of each folder. Lower numbers belonged to files that the baseline replaced."""

NEW_NODE = 12
"""Number of the last file of ``sql/node`` that ``sql/new_node.sql`` contains. Later ones are applied after it."""

_ROUTINES = SQL_ROOT / "routines"

_NAME_LINE = re.compile(r"^-- name: (?P<name>[a-z][a-z0-9_]*)\s*$", re.MULTILINE)
_MIGRATION_FILE = re.compile(r"^(?P<number>\d{4})_(?P<name>[a-z0-9_]+)\.sql$")


class Statement(sql.SQL):
    """A query that knows its name, such as ``search.layers``; so does what it is formatted to."""

    def __init__(self, text: str, name: str) -> None:
        super().__init__(text)
        self.name = name

    def format(self, *given: Any, **named: Any) -> sql.Composed:
        """Return the query with its identifiers and literals."""
        composed = super().format(*given, **named)
        vars(composed)["name"] = self.name
        return composed


def name_of(statement: object) -> str:
    """Return the name of a query, and ``other`` for any other statement."""
    name = getattr(statement, "name", None)
    return name if isinstance(name, str) else "other"


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


@dataclass(frozen=True, slots=True)
class Routine:
    """One file of functions, triggers or policies that replaces what an earlier text of it made."""

    name: str
    text: str

    @property
    def statement(self) -> sql.SQL:
        """The text of the file, to format or execute."""
        return _trusted(self.text)

    @property
    def checksum(self) -> str:
        """SHA-256 of the text, in hexadecimal."""
        return hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Migration(Routine):
    """One numbered file, which is applied once."""

    number: int


@cache
def statements(concern: str) -> Statements:
    """Return the named queries of ``sql/queries/<concern>.sql``, cached."""
    return Statements(concern)


@cache
def numbered(folder: str) -> tuple[Migration, ...]:
    """Return the migrations of ``sql/<folder>`` in order.

    Raises:
        ValueError: A file is not named ``NNNN_words.sql``, or the numbers do not count up from ``BASELINE``.
    """
    found: list[Migration] = []
    for path in sorted((SQL_ROOT / folder).glob("*.sql")):
        match = _MIGRATION_FILE.match(path.name)
        if match is None:
            raise ValueError(f"{path} is not named NNNN_words.sql")
        found.append(Migration(match["name"], path.read_text(encoding="utf-8"), int(match["number"])))
    first = BASELINE[folder]
    if [m.number for m in found] != list(range(first, first + len(found))):
        raise ValueError(f"the migrations of sql/{folder} do not count up from {first:04d}")
    return tuple(found)


@cache
def new_node() -> sql.SQL:
    """Return the statements that make the schema of a node as the files of ``sql/node`` up to ``NEW_NODE`` do."""
    return _trusted((SQL_ROOT / "new_node.sql").read_text(encoding="utf-8"))


def newest(folder: str) -> int:
    """Return the number of the last migration of ``sql/<folder>``."""
    return numbered(folder)[-1].number


@cache
def routines() -> tuple[Routine, ...]:
    """Return the files of ``sql/routines`` by name; one may use functions of an earlier one."""
    return tuple(Routine(path.stem, path.read_text(encoding="utf-8")) for path in sorted(_ROUTINES.glob("*.sql")))


def _trusted(text: str) -> sql.SQL:
    """Wrap text of our own files; ``sql.SQL`` accepts no other text."""
    return sql.SQL(text)
