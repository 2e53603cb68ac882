"""The files that make the schema: tables, functions, migrations and the tables of a node.

The files beside ``sql/migrations`` always say what the schema is now, and make it in an empty database. A migration
brings a database of an earlier version there. ``migrations`` runs both.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from uuid import UUID

from psycopg import sql

from neurigraph_pipelines.database.statements import SQL_ROOT, trusted

FIRST = 73
"""Number of the schema before the first migration. Migrations count up from the next number."""

_REPLACED = "\n-- Replaced when it changes: functions, triggers, policies.\n"
"""The line of a table's file below which everything can be applied again."""

_MIGRATION_FILE = re.compile(r"^(?P<number>\d{4})_(?P<name>[a-z0-9_]+)\.sql$")
_FROM_LINE = re.compile(r"-- from: (?P<digest>[0-9a-f]{64})\n")
_COMMENT_LINE = re.compile(r"^\s*--.*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Script:
    """Statements of one file, or of a part of it.

    Attributes:
        name: The path below ``sql``, without the ending.
        text: The statements.
    """

    name: str
    text: str

    @property
    def statement(self) -> sql.SQL:
        """The text, to format or execute."""
        return trusted(self.text)

    @property
    def checksum(self) -> str:
        """SHA-256 of the text, in hexadecimal."""
        return hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Migration(Script):
    """A file that is applied once to a database of the schema before.

    Attributes:
        number: The number of the schema that it leads to.
        starts_at: The digest of the schema before.
    """

    number: int
    starts_at: str

    @property
    def is_of_nodes(self) -> bool:
        """Whether it changes the tables of nodes, and is applied to each."""
        return "{schema}" in self.text


class Schema:
    """The files of a folder, each read when it is needed.

    Args:
        root: The folder ``sql``, or a copy of it.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    @cached_property
    def tables(self) -> dict[str, str]:
        """The shared tables in the order in which they are made, each with its heading.

        Raises:
            ValueError: ``order.txt`` and the folder ``tables`` do not name the same tables.
        """
        heading, found = "", dict[str, str]()
        for line in (self._root / "order.txt").read_text(encoding="utf-8").splitlines():
            if line.startswith("## "):
                heading = line.removeprefix("## ")
            elif line and not line.startswith("#"):
                found[line] = heading
        if found.keys() != {path.stem for path in (self._root / "tables").glob("*.sql")}:
            raise ValueError(f"order.txt names other tables than the folder tables in {self._root}")
        return found

    @cached_property
    def roles(self) -> Script:
        """The script of roles and schemas, which the connecting administrator runs."""
        return self._script("roles")

    @cached_property
    def base(self) -> tuple[Script, ...]:
        """The scripts that make types and tables, in their order."""
        parts = [Script(one.name, one.text.partition(_REPLACED)[0]) for one in map(self._table, self.tables)]
        return (self._script("types"), *parts)

    @cached_property
    def routines(self) -> tuple[Script, ...]:
        """The scripts that are applied again when they change, in their order.

        Functions come by name, and one may use those of an earlier file. The triggers and policies of tables follow.
        """
        functions = [self._script(f"functions/{path.stem}") for path in self._files("functions")]
        parts = [Script(one.name, one.text.partition(_REPLACED)[2]) for one in map(self._table, self.tables)]
        return (*functions, *(part for part in parts if part.text))

    @cached_property
    def node(self) -> Script:
        """The script that makes the schema of a node."""
        return self._script("node")

    @cached_property
    def migrations(self) -> tuple[Migration, ...]:
        """The migrations in order.

        Raises:
            ValueError: A file is not named ``NNNN_words.sql``, names no schema to start from in its first line, or the
                numbers do not count up from ``FIRST``.
        """
        found: list[Migration] = []
        for path in self._files("migrations"):
            text = path.read_text(encoding="utf-8")
            named, start = _MIGRATION_FILE.match(path.name), _FROM_LINE.match(text)
            if named is None or start is None:
                raise ValueError(f"{path} is not named NNNN_words.sql, or does not begin with `-- from: DIGEST`")
            found.append(Migration(path.stem, text, int(named["number"]), start["digest"]))
        if [one.number for one in found] != [FIRST + 1 + place for place in range(len(found))]:
            raise ValueError(f"the migrations in {self._root} do not count up from {FIRST + 1:04d}")
        return tuple(found)

    @property
    def newest(self) -> int:
        """The number of the schema that the files make."""
        return FIRST + len(self.migrations)

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of all that makes tables, without comments and differences of whitespace."""
        texts = [script.text for script in (self.roles, *self.base, self.node)]
        words = [word for text in texts for word in _COMMENT_LINE.sub("", text).split()]
        return hashlib.sha256(" ".join(words).encode()).hexdigest()

    def digest_at(self, number: int) -> str | None:
        """Return the digest of the schema of a number; None if nothing leads from there to this schema."""
        if number == self.newest:
            return self.digest
        return next((one.starts_at for one in self.migrations if one.number == number + 1), None)

    def _files(self, folder: str) -> list[Path]:
        return sorted((self._root / folder).glob("*.sql"))

    def _table(self, name: str) -> Script:
        return self._script(f"tables/{name}")

    def _script(self, name: str) -> Script:
        return Script(name, (self._root / f"{name}.sql").read_text(encoding="utf-8"))


def node_statement(script: Script, schema_name: str, node_id: UUID, user_id: UUID) -> sql.Composed:
    """Return a script of nodes for one node."""
    return script.statement.format(
        schema=sql.Identifier(schema_name), node_id=sql.Literal(str(node_id)), user_id=sql.Literal(str(user_id))
    )


SHIPPED = Schema(SQL_ROOT)
"""The schema of this version."""
