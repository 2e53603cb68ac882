"""The reader of the stream: stages its rows in a transaction, writes them, and writes the objects that they name.

``restore`` reads all of a user into an empty place, and a mirror the part that was granted to it. Nothing in a stream
is believed: rows and objects belong to the reading user, and keys are new.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from uuid import UUID, uuid4

import psycopg
from psycopg import sql

from neurigraph_pipelines.database.schema import SHIPPED
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.exchange.portability.identifiers import Identifiers, id_of, row_of
from neurigraph_pipelines.exchange.portability.restored_objects import RestoredObjects
from neurigraph_pipelines.exchange.portability.stream import Ending, StreamPart
from neurigraph_pipelines.exchange.portability.tables import StagedObject, Table
from neurigraph_pipelines.lifecycle.object_keys import durable_key, original_key
from neurigraph_pipelines.lifecycle.stored_bytes import Manifest
from neurigraph_pipelines.model.errors import ConfigurationError, ConflictError, InvalidInputError, NeurigraphError
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.text.search_segments import DamagedSegmentError

_QUERIES = statements("portability")
_ORIGINAL_ENDS = (".original", ".original.gz")
_COMPRESSED = ".gz"
_NEW_KEY = "(SELECT k.object_key FROM pg_temp.new_keys AS k WHERE k.record_id = r.record_id AND k.exported = {})"
_IS_SHOWN = "NOT (SELECT q.quarantined FROM neurigraph.record_index AS q WHERE q.record_id = r.record_id)"
_OWN_VALUES: dict[str, sql.Composable] = {
    # These values never come from the export: rows and objects belong to this user, and this module names them.
    "user_id": sql.Placeholder("user_id"),
    "slug": sql.Placeholder("slug"),
    "schema_name": sql.SQL("r.node_id::text"),
    "node_ddl_version": sql.Literal(SHIPPED.newest),
    "storage_path": sql.SQL(_NEW_KEY).format(sql.Identifier("r", "storage_path")),
    "file_pointer": sql.SQL(_NEW_KEY).format(sql.Identifier("r", "file_pointer")),
    "is_counted": sql.SQL(_IS_SHOWN),
}


class Reader:
    """Reads one stream in one transaction.

    Args:
        tx: As the owner.
        user_id: The user to whom everything belongs.
        mirroring: The peer whose mirror may be written, or ``all``.

    Attributes:
        ids: New ids of rows that are staged with ids of the stream. Rows may also be staged with the ids that they get.
        staged: The columns of the staged rows, by part.
        rows: Number of written rows by table.
    """

    def __init__(self, tx: Transaction, objects: RestoredObjects, user_id: UUID, slug: str, mirroring: str) -> None:
        self.tx = tx
        self.objects = objects
        self.slug = slug
        self.user = {"user_id": user_id, "slug": slug}
        self.ids = Identifiers()
        self.staged: dict[str, list[str]] = {}
        self.rows: Counter[str] = Counter()
        tx.execute(_QUERIES["create_staging_table"])
        tx.execute(_QUERIES["create_keys_table"])
        tx.execute(_QUERIES["begin_restoring"], {"mirroring": mirroring})

    def stage(self, lines: Iterable[tuple[str, str]]) -> None:
        """Stage lines with the names of their parts. All lines of a part have the columns of its first."""
        with self.tx.cursor().copy(_QUERIES["copy_rows"]) as copy:
            for part, line in lines:
                if part not in self.staged:
                    self.staged[part] = list(row_of(line))
                copy.write_row((part, line))

    def add_keys(self, name: str, path: Sequence[str]) -> None:
        """Choose the keys of a node's objects."""
        attempt, chosen = uuid4(), {}
        for row in self.tx.execute(_QUERIES["files_of_part"], {"part": name}).fetchall():
            record_id, exported = str(id_of(row, "record_id")), str(row["storage_path"])
            record_id = self.ids.changed.get(record_id, record_id)
            key = durable_key(self.slug, path, UUID(record_id), attempt)
            if exported.endswith(_ORIGINAL_ENDS):
                key = original_key(key, exported.endswith(_COMPRESSED))
            if key in self.objects.exported:
                raise InvalidInputError("a record of the export has two files of one kind: export it again")
            self.objects.exported[key] = exported
            chosen[key] = record_id
        values = {
            "record_ids": list(chosen.values()),
            "exported": [self.objects.exported[key] for key in chosen],
            "keys": list(chosen),
        }
        self.tx.execute(_QUERIES["add_keys"], values)

    def load(self, table: Table, name: str, *, renews: bool = False) -> int:
        """Write the staged rows of a part into their table, or renew those that are there; return their number."""
        self.rows[table.name] += 0
        columns = self.staged.get(name)
        if columns is None:
            return 0
        if not columns or not set(columns) <= set(table.columns):
            raise InvalidInputError(f"{name} of the export has columns that {table.name} does not have")
        for odd in self.tx.execute(_QUERIES["odd_line"], {"part": name, "columns": columns}):
            raise InvalidInputError(
                f"line {odd['line_number']} of {name} of the export has the column {str(odd['name'])[:80]!r}, "
                "which its first line does not have: export it again"
            )
        self.ids.rewrite(self.tx, table, name)
        query = _QUERIES["write_rows"].format(
            table=table.identifier,
            columns=sql.SQL(", ").join(map(sql.Identifier, columns)),
            values=sql.SQL(", ").join(_OWN_VALUES.get(c, sql.Identifier("r", c)) for c in columns),
        )
        done = self.tx.execute(query + _renewal(table, columns) if renews else query, {**self.user, "part": name})
        self.rows[table.name] += done.rowcount
        return done.rowcount

    def write_objects(self, rows: Iterable[Manifest | StagedObject], parts: Iterable[StreamPart]) -> None:
        """Write the objects that written rows name: the last parts of the stream."""
        self.objects.expect(rows, self.ids.staged)
        for part in parts:
            self.objects.write(part)

    def require_all(self, ending: Ending, absent: frozenset[str]) -> None:
        """Check that all rows came, and all objects that were not lost or forgotten.

        Raises:
            InvalidInputError: There are other numbers of rows than the stream says, or an object is missing or damaged.
        """
        missing = {name for name, came in self.rows.items() if came != ending.rows.get(name, 0)}
        if missing:
            raise InvalidInputError(f"the export has other numbers of rows than it says of {missing}: export it again")
        self.objects.require_all(absent)


def _renewal(table: Table, columns: Sequence[str]) -> sql.Composed:
    """Return the clause of an insert that gives the row with the same key the new values."""
    key, names = (sql.SQL(", ").join(map(sql.Identifier, some)) for some in (table.key, columns))
    values = sql.SQL(", ").join(sql.Identifier("excluded", column) for column in columns)
    return sql.SQL(" ON CONFLICT ({}) DO UPDATE SET ({}) = ROW ({})").format(key, names, values)


def explained(error: Exception) -> NeurigraphError | None:
    """Return the error for a person; None if it is one already, or none that a stream can cause."""
    if isinstance(error, psycopg.errors.UniqueViolation):
        return ConflictError(f"something of this export is in this database already: {_one_line(error)}")
    if isinstance(error, psycopg.errors.OutOfMemory):
        return ConfigurationError(
            "the server cannot create so many tables at once: raise its max_locks_per_transaction, and try again"
        )
    if isinstance(error, psycopg.DataError | psycopg.IntegrityError | psycopg.ProgrammingError):
        return InvalidInputError(f"the export cannot be restored: {_one_line(error)}")
    if isinstance(error, zlib.error):
        return InvalidInputError("the export cannot be restored: an object of it is not what its row says")
    if isinstance(error, DamagedSegmentError):
        return InvalidInputError(f"a segment of the export is damaged ({error}): export it again")
    if isinstance(error, RecursionError | UnicodeDecodeError):
        return InvalidInputError("the export cannot be restored: a line is nested too deeply or is not UTF-8")
    return None


def _one_line(error: psycopg.Error) -> str:
    return " ".join(str(error).split())[:500]
