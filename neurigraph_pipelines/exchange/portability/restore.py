"""The reader of the stream: rows, node schemas and stored objects of a user, or nothing.

A stream is read once, in one transaction. Its rows are staged and then written, and its objects are written as they
come, under new keys below the restored user. Derived data, which a stream leaves out, is computed again. Nothing in a
stream is believed: an export may be made to reach another user's rows and objects.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID, uuid4

import psycopg
from psycopg import sql

from neurigraph_pipelines.database.schema import SHIPPED
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.exchange.portability.former import line_now
from neurigraph_pipelines.exchange.portability.former_passages import segments_of_passages
from neurigraph_pipelines.exchange.portability.identifiers import Identifiers, id_of, row_of, tables_with_ids
from neurigraph_pipelines.exchange.portability.restored_objects import RestoredObjects
from neurigraph_pipelines.exchange.portability.segments import SEGMENTS, checked_line
from neurigraph_pipelines.exchange.portability.stream import (
    OBJECTS,
    VERSION,
    Ending,
    Header,
    Stream,
    StreamPart,
    rows_name,
)
from neurigraph_pipelines.exchange.portability.tables import (
    IMPLIED_REFERENCES,
    SECRETS,
    SHARED,
    Reference,
    StagedObject,
    Table,
    named_objects,
    references_in,
    shared_tables,
    tables_of,
)
from neurigraph_pipelines.graph.provisioning import free_schema_name, make_tables
from neurigraph_pipelines.lifecycle.erasure.forget import forget
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.lifecycle.object_keys import durable_key, original_key
from neurigraph_pipelines.lifecycle.stored_bytes import Manifest
from neurigraph_pipelines.lifecycle.uncommitted import removed_unless_committing
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import ConfigurationError, ConflictError, InvalidInputError, NeurigraphError
from neurigraph_pipelines.model.ports import Transaction

_QUERIES = statements("portability")
_ERASURE = statements("erasure")
_EVIDENCE = statements("evidence")
_MOVES = statements("moves")
_OLDEST = 50
"""Number of the oldest schema whose exports are read: those of earlier ones lack evidence and states of facts."""

_FIRST_WITH_SEGMENTS = 3
"""The version of the stream from which it has segments."""

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


@dataclass(slots=True)
class Restored:
    """The result of a restore.

    Attributes:
        lost: Keys of objects that were missing or damaged when they were exported.
    """

    user_id: UUID
    slug: str
    nodes: int = 0
    records: int = 0
    objects: int = 0
    lost: tuple[str, ...] = ()


def restore_user(
    context: Context, stream: Stream, slug: str, on_bytes: Callable[[int], None], *, arriving: bool = False
) -> Restored:
    """Restore the user of a stream in this database.

    All ids stay, except those that another user of this database has. An export contains no API keys, so they must be
    issued again.

    Args:
        stream: An opened export, which is verified first, or the stream of another database.
        slug: The user that the stream must belong to.
        on_bytes: Called with the number of bytes just read. Each byte of an export is read twice: to verify it and to
            store it.
        arriving: Keep the copy from its callers until the move is complete, and the secrets of the stream until then.

    Raises:
        InvalidInputError: The export is damaged, hostile, of another user, or of a newer version; nothing was stored.
        ConflictError: The user, or some of their data, is in this database already; nothing was stored.
        ConfigurationError: The server cannot lock so many tables in one transaction; nothing was stored.
        StorageError: The object store rejected a request; nothing was stored.
    """
    restored = Restored(_checked(stream.header(), slug), slug)
    stream.verify(on_bytes)
    written = RestoredObjects(context.objects, on_bytes)
    try:
        with removed_unless_committing(written.remove) as rows, rows(context.database.owner()) as tx:
            restore = _Restore(tx, written, restored, on_bytes, context.settings.language)
            restore.run(stream)
            left_over = restore.finish(stream.ending())
            if arriving:
                restore.arrive()
    except Exception as error:
        explained = _explained(error)
        if explained is None:
            raise
        raise explained from error
    restored.objects = written.count
    for record_id in left_over:
        claims = Claims.of_user(restored.user_id)
        forget(context.acting_for(claims), ErasureSubject(SubjectKind.RECORD, record_id), through="restore")
    return restored


class _Restore:
    """Restores one stream in one transaction."""

    def __init__(
        self,
        tx: Transaction,
        objects: RestoredObjects,
        restored: Restored,
        on_bytes: Callable[[int], None],
        language: str,
    ) -> None:
        self._tx = tx
        self._objects = objects
        self._restored = restored
        self._on_bytes = on_bytes
        self._user = {"user_id": restored.user_id, "slug": restored.slug}
        self._ids = Identifiers()
        self._staged: dict[str, list[str]] = {}  # columns by part
        self._language = language
        self._version = VERSION
        self._rows: Counter[str] = Counter()

    def run(self, stream: Stream) -> None:
        """Write the rows of a stream once all are staged, and the objects that follow."""
        self._require_absent()
        self._tx.execute(_QUERIES["create_staging_table"])
        self._tx.execute(_QUERIES["create_keys_table"])
        self._tx.execute(_QUERIES["begin_restoring"])
        self._version = stream.header().version
        parts = stream.parts()
        first = next((part for part in parts if not self._stages(part)), None)
        self._tx.execute(_QUERIES["index_staging_table"])
        if self._version < _FIRST_WITH_SEGMENTS:
            self._convert_passages()
        self._write_rows()
        self._objects.expect(named_objects(self._tx, self._restored.user_id), self._ids.staged)
        if first is not None:
            for part in (first, *parts):
                self._objects.write(part)

    def finish(self, ending: Ending) -> set[UUID]:
        """Check that everything came, and erase uploads that were forgotten while the stream was written.

        Returns:
            The records that were forgotten meanwhile, to erase after this transaction.
        """
        lost, forgotten = frozenset(ending.lost_objects), frozenset(ending.forgotten_objects)
        if self._version < _FIRST_WITH_SEGMENTS:
            del self._rows["segments"]  # the export counts passages
        missing = {name for name, came in self._rows.items() if came != ending.rows.get(name, 0)}
        if missing:
            raise InvalidInputError(f"the export has other numbers of rows than it says of {missing}: export it again")
        self._objects.require_all(lost | forgotten)
        self._restored.lost = tuple(sorted(lost))
        gone = [row for key, row in self._objects.expected.items() if key in forgotten]
        sources = [row.source_id for row in gone if isinstance(row, StagedObject)]
        self._tx.execute(_ERASURE["erase_sources"], {"source_ids": sources, "user_id": self._restored.user_id})
        return {row.record_id for row in gone if isinstance(row, Manifest)}

    def arrive(self) -> None:
        """Keep secrets in the row that keeps callers from the copy."""
        for table in tables_of(self._tx, SHARED):
            if table.name in SECRETS and rows_name(table) in self._staged:
                self._ids.rewrite(self._tx, table, rows_name(table))
        values = {**self._user, "names": list(SECRETS), "parts": [rows_name(name) for name in SECRETS]}
        self._tx.execute(_MOVES["arrive"], values)

    def _require_absent(self) -> None:
        found = self._tx.execute(_QUERIES["user_is_there"], self._user).fetchone()
        if found is None or found["present"]:
            raise ConflictError(
                f"the user {self._restored.slug!r} is in this database already: restore into another one"
            )
        if found["being_erased"]:
            raise ConflictError(
                f"the user {self._restored.slug!r} is still being erased: "
                "finish it with `neurigraph admin erasures --finish`"
            )

    def _stages(self, part: StreamPart) -> bool:
        """Stage the rows of a part; return False for an object."""
        if part.name.startswith(OBJECTS):
            return False
        with self._tx.cursor().copy(_QUERIES["copy_rows"]) as copy:
            for line in part.lines():
                self._on_bytes(len(line) + 1)
                line = self._line_now(part.name, line)
                if part.name not in self._staged:
                    self._staged[part.name] = list(row_of(line))
                copy.write_row((part.name, line))
        return True

    def _line_now(self, part: str, line: str) -> str:
        """Return a line as the tables have it now. Segments are read here, one after the other."""
        if part == SEGMENTS:
            return checked_line(line, self._language, self._version)
        return line_now(self._version, part, line)

    def _convert_passages(self) -> None:
        """Stage the segments of an export that has passages instead."""
        for line, passages in segments_of_passages(self._tx, list(self._staged), self._language):
            if SEGMENTS not in self._staged:
                self._staged[SEGMENTS] = list(row_of(line))
            with self._tx.cursor().copy(_QUERIES["copy_rows"]) as copy:
                copy.write_row((SEGMENTS, line))
            self._rows["passages"] += passages

    def _write_rows(self) -> None:
        tables = shared_tables(self._tx)
        for table in tables_with_ids(tables):
            if rows_name(table) in self._staged:
                self._ids.replace_foreign(self._tx, table, rows_name(table))
        self._ids.replace_originals(self._tx)
        for table in tables:
            self._load(table, rows_name(table))
        self._reject_foreign_references(tables)
        # Rows that follow from evidence are computed again, and never read from the stream.
        self._tx.execute(_EVIDENCE["sum_graph"], self._user)
        exported_ids = self._ids.inverse()
        for node in self._tx.execute(_QUERIES["nodes"], self._user).fetchall():
            exported = exported_ids.get(str(node["node_id"]), str(node["node_id"]))
            self._node(node["node_id"], node["names"], exported)
            self._restored.nodes += 1

    def _node(self, node_id: UUID, names: Sequence[str], exported: str) -> None:
        """Create the tables of a node, and load the rows."""
        # The schema name never comes from the export.
        schema_name = free_schema_name(self._tx, self._restored.slug, names[1:], node_id)
        schema = sql.Identifier(schema_name)
        self._tx.execute(_QUERIES["set_schema_name"], {"node_id": node_id, "schema_name": schema_name})
        make_tables(self._tx, schema_name, node_id, self._restored.user_id)
        tables = tables_of(self._tx, schema_name)
        for table in tables:
            self._tx.execute(_QUERIES["disable_triggers"].format(table=table.identifier))
        self._add_keys(rows_name("file_manifest", exported), names[1:])
        rows = {table.name: self._load(table, rows_name(table, exported)) for table in tables}
        self._restored.records += rows["metadata_records"]
        for table in tables:
            self._tx.execute(_QUERIES["enable_triggers"].format(table=table.identifier))
        found = self._tx.execute(_QUERIES["unregistered"].format(schema=schema), {"node_id": node_id}).fetchone()
        if found is None or found["found"]:
            raise InvalidInputError(f"the records and files of node {node_id} in the export differ from its registries")

    def _add_keys(self, name: str, path: Sequence[str]) -> None:
        """Choose the keys of a node's objects."""
        attempt, chosen = uuid4(), {}
        for row in self._tx.execute(_QUERIES["files_of_part"], {"part": name}).fetchall():
            record_id, exported = str(id_of(row, "record_id")), str(row["storage_path"])
            record_id = self._ids.changed.get(record_id, record_id)
            key = durable_key(self._restored.slug, path, UUID(record_id), attempt)
            if exported.endswith(_ORIGINAL_ENDS):
                key = original_key(key, exported.endswith(_COMPRESSED))
            if key in self._objects.exported:
                raise InvalidInputError("a record of the export has two files of one kind: export it again")
            self._objects.exported[key] = exported
            chosen[key] = record_id
        values = {
            "record_ids": list(chosen.values()),
            "exported": [self._objects.exported[key] for key in chosen],
            "keys": list(chosen),
        }
        self._tx.execute(_QUERIES["add_keys"], values)

    def _load(self, table: Table, name: str) -> int:
        """Write the staged rows of a part into their table, and return their number."""
        self._rows[table.name] += 0
        columns = self._staged.get(name)
        if columns is None:
            return 0
        if not columns or not set(columns) <= set(table.columns):
            raise InvalidInputError(f"{name} of the export has columns that {table.name} does not have")
        self._ids.rewrite(self._tx, table, name)
        done = self._tx.execute(
            _QUERIES["write_rows"].format(
                table=table.identifier,
                columns=sql.SQL(", ").join(map(sql.Identifier, columns)),
                values=sql.SQL(", ").join(_OWN_VALUES.get(c, sql.Identifier("r", c)) for c in columns),
            ),
            {**self._user, "part": name},
        )
        self._rows[table.name] += done.rowcount
        return done.rowcount

    def _reject_foreign_references(self, tables: Sequence[Table]) -> None:
        """Check that no restored row refers to a row of another user."""
        known = {table.name: table.identifier for table in tables}
        for reference in (*references_in(self._tx, SHARED), *IMPLIED_REFERENCES):
            if reference.child not in known or reference.parent not in known:
                continue
            query = _QUERIES["references_other_user"].format(
                child=known[reference.child], parent=known[reference.parent], condition=_condition(reference)
            )
            found = self._tx.execute(query, {"user_id": self._restored.user_id}).fetchone()
            if found is None or found["found"]:
                raise InvalidInputError(f"rows of {reference.child} in the export refer to rows of another user")


def _condition(reference: Reference) -> sql.Composable:
    """Return the condition under which a row refers to another; an implied reference may be the text of an id."""
    form = "{}::text = {}::text" if reference in IMPLIED_REFERENCES else "{} = {}"
    return sql.SQL(" AND ").join(
        sql.SQL(form).format(sql.Identifier("c", child), sql.Identifier("p", parent))
        for child, parent in zip(reference.child_columns, reference.parent_columns, strict=True)
    )


def _checked(header: Header, slug: str) -> UUID:
    """Return the id of a stream's user, if the stream can be restored here."""
    if header.version > VERSION or header.shared_ddl > SHIPPED.newest:
        raise InvalidInputError(
            f"the export was made by Neurigraph {header.neurigraph}, which is newer: restore it with that"
        )
    if header.shared_ddl < _OLDEST:
        raise InvalidInputError(
            f"the export has schema {header.shared_ddl}, and {_OLDEST} is the oldest that this version reads: "
            "restore it with the version that made it, upgrade that, and export it again"
        )
    if header.user.slug != slug:
        raise InvalidInputError(f"the export is of the user {header.user.slug!r}: give that user")
    return header.user.user_id


def _explained(error: Exception) -> NeurigraphError | None:
    """Return the error for a person; None if it is one already, or none that an export can cause."""
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
    if isinstance(error, RecursionError | UnicodeDecodeError):
        return InvalidInputError("the export cannot be restored: a line is nested too deeply or is not UTF-8")
    return None


def _one_line(error: psycopg.Error) -> str:
    return " ".join(str(error).split())[:500]
