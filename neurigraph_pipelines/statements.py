"""Reads the SQL of the ``sql`` folder: named queries, numbered migrations, and functions.

No SQL is written in Python; identifiers are composed with ``psycopg.sql`` and values are bound. What a query means
stands with it, in its file.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from psycopg import sql

SQL_ROOT = Path(__file__).resolve().parent.parent / "sql"
_ROUTINES = SQL_ROOT / "routines"

_NAME_LINE = re.compile(r"^-- name: (?P<name>[a-z][a-z0-9_]*)\s*$", re.MULTILINE)
_MIGRATION_FILE = re.compile(r"^(?P<number>\d{4})_(?P<name>[a-z0-9_]+)\.sql$")


class Statements(Mapping[str, sql.SQL]):
    """The named queries of one file of ``sql/queries``.

    Raises:
        ValueError: Two queries of the file bear one name.
    """

    def __init__(self, concern: str) -> None:
        path = SQL_ROOT / "queries" / f"{concern}.sql"
        parts = _NAME_LINE.split(path.read_text(encoding="utf-8"))
        names, bodies = parts[1::2], parts[2::2]
        if len(set(names)) < len(names):
            raise ValueError(f"{path} gives one name to two queries")
        self._queries = {
            name: _trusted(body.strip().removesuffix(";")) for name, body in zip(names, bodies, strict=True)
        }

    def __getitem__(self, name: str) -> sql.SQL:
        return self._queries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._queries)

    def __len__(self) -> int:
        return len(self._queries)


@dataclass(frozen=True, slots=True)
class Routine:
    """One file of functions that are created or replaced; ``checksum`` is the SHA-256 of its text."""

    name: str
    text: str

    @property
    def statement(self) -> sql.SQL:
        """The file as it stands, ready to be formatted or executed."""
        return _trusted(self.text)

    @property
    def checksum(self) -> str:
        """Says whether the file is what was applied."""
        return hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Migration(Routine):
    """One numbered file, applied once."""

    number: int


@cache
def statements(concern: str) -> Statements:
    """The named queries of ``sql/queries/<concern>.sql``, read once."""
    return Statements(concern)


@cache
def numbered(folder: str) -> tuple[Migration, ...]:
    """The migrations of ``sql/<folder>`` in order.

    Raises:
        ValueError: A file is not named ``NNNN_words.sql``, or the numbers do not count up from 1.
    """
    found: list[Migration] = []
    for path in sorted((SQL_ROOT / folder).glob("*.sql")):
        match = _MIGRATION_FILE.match(path.name)
        if match is None:
            raise ValueError(f"{path} is not named NNNN_words.sql")
        found.append(Migration(match["name"], path.read_text(encoding="utf-8"), int(match["number"])))
    if [m.number for m in found] != list(range(1, len(found) + 1)):
        raise ValueError(f"the migrations of sql/{folder} do not count up from 0001")
    return tuple(found)


@cache
def routines() -> tuple[Routine, ...]:
    """The files of ``sql/routines``, by name: one may use what an earlier one defines."""
    return tuple(Routine(path.stem, path.read_text(encoding="utf-8")) for path in sorted(_ROUTINES.glob("*.sql")))


def _trusted(text: str) -> sql.SQL:
    """Only text of our own files comes here; ``sql.SQL`` is not for anything else."""
    return sql.SQL(text)
