"""Restore of an export into a database without its user: rows, node schemas and stored files, or nothing.

The export is verified first, and then restored in one transaction. Objects are written last, under new keys below the
restored user. Derived data, which an export leaves out, is computed again. Nothing in an export is believed: it may be
made to reach another user's rows and objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import psycopg
from psycopg import sql

from neurigraph_pipelines.database.schema import SHIPPED
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.exchange.portability.archive import ArchiveReader, Entry
from neurigraph_pipelines.exchange.portability.export import VERSION
from neurigraph_pipelines.exchange.portability.identifiers import Identifiers, id_of, row_of, tables_with_ids
from neurigraph_pipelines.exchange.portability.restored_objects import RestoredObjects
from neurigraph_pipelines.exchange.portability.tables import (
    IMPLIED_REFERENCES,
    SHARED,
    Reference,
    Table,
    references_in,
    shared_tables,
    tables_of,
)
from neurigraph_pipelines.graph.provisioning import free_schema_name, make_tables
from neurigraph_pipelines.lifecycle.erasure.forget import forget
from neurigraph_pipelines.lifecycle.erasure.receipts import Subject, SubjectKind
from neurigraph_pipelines.lifecycle.object_keys import durable_key, original_key
from neurigraph_pipelines.lifecycle.uncommitted import removed_unless_committing
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import ConfigurationError, ConflictError, InvalidInputError, NeurigraphError
from neurigraph_pipelines.model.ports import Transaction

_QUERIES = statements("portability")
_ERASURE = statements("erasure")
_EVIDENCE = statements("evidence")
_MAX_LINE_BYTES = 256 << 20
_OLDEST = 50
"""Number of the oldest schema whose exports are read: those of earlier ones lack evidence and states of facts."""

_ORIGINAL_ENDS = (".original", ".original.gz")
_COMPRESSED = ".gz"
_NEW_KEY = "(SELECT k.object_key FROM pg_temp.new_keys AS k WHERE k.record_id = r.record_id AND k.exported = {})"
_OWN_VALUES: dict[str, sql.Composable] = {
    # These values never come from the export: rows and objects belong to this user, and this module names them.
    "user_id": sql.Placeholder("user_id"),
    "slug": sql.Placeholder("slug"),
    "schema_name": sql.SQL("r.node_id::text"),
    "node_ddl_version": sql.Literal(SHIPPED.newest),
    "storage_path": sql.SQL(_NEW_KEY).format(sql.Identifier("r", "storage_path")),
    "file_pointer": sql.SQL(_NEW_KEY).format(sql.Identifier("r", "file_pointer")),
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
    context: Context,
    archive: ArchiveReader,
    slug: str,
    on_bytes: Callable[[int], None],
    also: Callable[[Transaction], None] = lambda _: None,
) -> Restored:
    """Restore the user of an export in this database.

    All ids stay, except those that another user of this database has. An export contains no API keys, so they must be
    issued again.

    Args:
        slug: The user that the export must belong to.
        on_bytes: Called with the number of bytes just read. Each byte is read twice: to verify it and to store it.
        also: Called at the end of the transaction, which it may write in.

    Raises:
        InvalidInputError: The export is damaged, hostile, of another user, or of a newer version; nothing was stored.
        ConflictError: The user, or some of their data, is in this database already; nothing was stored.
        ConfigurationError: The server cannot lock so many tables in one transaction; nothing was stored.
        StorageError: The object store rejected a request; nothing was stored.
    """
    entries, manifest = archive.entries(), _checked(archive, slug)
    archive.check(entries.values(), on_bytes)
    restored = Restored(UUID(manifest["user"]["user_id"]), slug, lost=tuple(manifest["lost_objects"]))
    forgotten = tuple(manifest.get("forgotten_objects", ()))
    written = RestoredObjects(context.objects, archive, entries, frozenset((*restored.lost, *forgotten)), on_bytes)
    try:
        with removed_unless_committing(written.remove) as rows, rows(context.database.owner()) as tx:
            restore = _Restore(tx, written, archive, entries, restored, on_bytes)
            restore.run()
            left_over = restore.forget(frozenset(forgotten))
            also(tx)
    except Exception as error:
        explained = _explained(error)
        if explained is None:
            raise
        raise explained from error
    restored.objects = written.count
    for record_id in left_over:
        claims = Claims.of_user(restored.user_id)
        forget(context.acting_for(claims), Subject(SubjectKind.RECORD, record_id), through="restore")
    return restored


class _Restore:
    """Restores one export in one transaction."""

    def __init__(
        self,
        tx: Transaction,
        objects: RestoredObjects,
        archive: ArchiveReader,
        entries: Mapping[str, Entry],
        restored: Restored,
        on_bytes: Callable[[int], None],
    ) -> None:
        self._tx = tx
        self._objects = objects
        self._archive = archive
        self._entries = entries
        self._restored = restored
        self._on_bytes = on_bytes
        self._ids = Identifiers()
        self._files: dict[str, UUID] = {}  # records by the key of their file in the export
        self._uploads: dict[str, UUID] = {}

    def run(self) -> None:
        user = {"user_id": self._restored.user_id, "slug": self._restored.slug}
        self._require_absent(user)
        self._tx.execute(_QUERIES["create_staging_table"])
        self._tx.execute(_QUERIES["create_keys_table"])
        self._tx.execute(_QUERIES["begin_restoring"])
        tables = shared_tables(self._tx)
        self._choose_ids(tables)
        for table in tables:
            self._load(table, _file_of(table))
        self._reject_foreign_references(tables)
        # Rows that follow from evidence are computed again, and never read from the archive.
        self._tx.execute(_EVIDENCE["sum_graph"], user)
        nodes = self._tx.execute(_QUERIES["nodes_of_user"], user).fetchall()
        self._restored.nodes = len(nodes)
        exported_ids = self._ids.inverse()
        for node in nodes:
            folder = f"nodes/{exported_ids.get(str(node['node_id']), str(node['node_id']))}"
            node["schema_name"] = self._node(node["node_id"], node["names"], folder)
        for node in nodes:
            files = _QUERIES["objects_of_node"].format(schema=sql.Identifier(node["schema_name"]))
            for file in self._tx.execute(files).fetchall():
                self._objects.write_file(file)
                self._files[self._objects.exported[file["storage_path"]]] = file["record_id"]
        self._objects.exported.update(self._ids.staged)
        for upload in self._tx.execute(_QUERIES["staged_of_user"], user).fetchall():
            self._objects.write(upload["staging_key"], upload["sha256"])
            self._uploads[self._objects.exported[upload["staging_key"]]] = upload["source_id"]

    def forget(self, keys: frozenset[str]) -> set[UUID]:
        """Erase uploads that were forgotten during the export.

        Args:
            keys: Objects that were forgotten.

        Returns:
            The records that were forgotten with them, to erase after this transaction.
        """
        sources = [source_id for key, source_id in self._uploads.items() if key in keys]
        self._tx.execute(_ERASURE["erase_sources"], {"source_ids": sources, "user_id": self._restored.user_id})
        return {record_id for key, record_id in self._files.items() if key in keys}

    def _require_absent(self, user: Mapping[str, object]) -> None:
        found = self._tx.execute(_QUERIES["user_is_there"], user).fetchone()
        if found is None or found["present"]:
            raise ConflictError(f"the user {user['slug']!r} is in this database already: restore into another one")
        if found["being_erased"]:
            raise ConflictError(
                f"the user {user['slug']!r} is still being erased: finish it with `neurigraph erasures --finish`"
            )

    def _choose_ids(self, tables: Sequence[Table]) -> None:
        for table in tables_with_ids(tables):
            if _file_of(table) in self._entries:
                self._ids.replace_foreign(self._tx, table, self._lines(_file_of(table)))
        for name in self._entries:
            if name.endswith("/file_manifest.jsonl"):
                self._ids.replace_originals(self._lines(name))

    def _node(self, node_id: UUID, names: Sequence[str], folder: str) -> str:
        """Create the tables of a node, and load the rows.

        Returns:
            The name of its schema.
        """
        # The schema name never comes from the export.
        schema_name = free_schema_name(self._tx, self._restored.slug, names[1:], node_id)
        schema = sql.Identifier(schema_name)
        self._tx.execute(_QUERIES["set_schema_name"], {"node_id": node_id, "schema_name": schema_name})
        make_tables(self._tx, schema_name, node_id, self._restored.user_id)
        tables = tables_of(self._tx, schema_name)
        for table in tables:
            self._tx.execute(_QUERIES["disable_triggers"].format(table=table.identifier))
        self._add_keys(f"{folder}/file_manifest.jsonl", names[1:])
        rows = {table.name: self._load(table, f"{folder}/{table.name}.jsonl") for table in tables}
        self._restored.records += rows["metadata_records"]
        for table in tables:
            self._tx.execute(_QUERIES["enable_triggers"].format(table=table.identifier))
        self._tx.execute(_QUERIES["clear_keys"])
        found = self._tx.execute(_QUERIES["unregistered"].format(schema=schema), {"node_id": node_id}).fetchone()
        if found is None or found["found"]:
            raise InvalidInputError(f"the records and files of node {node_id} in the export differ from its registries")
        if rows["passages"]:
            self._tx.execute(_QUERIES["recount_node"], {"node_id": node_id})
        return schema_name

    def _add_keys(self, name: str, path: Sequence[str]) -> None:
        """Choose the keys of a node's objects."""
        if name not in self._entries:
            return
        attempt, chosen = uuid4(), {}
        for line in self._lines(name):
            row = row_of(line)
            record_id, exported = str(id_of(row, "record_id")), str(row.get("storage_path"))
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
        """Load the rows of a file into their table, and return their number."""
        if name not in self._entries:
            return 0
        columns: list[str] = []
        rewrite = self._ids.rewriter(table)
        with self._tx.cursor().copy(_QUERIES["copy_rows"]) as copy:
            for line in self._lines(name):
                columns = columns or _columns(line, table, name)
                copy.write_row((line if rewrite is None else rewrite(line),))
                self._on_bytes(len(line))
        done = self._tx.execute(
            _QUERIES["write_rows"].format(
                table=table.identifier,
                columns=sql.SQL(", ").join(map(sql.Identifier, columns)),
                values=sql.SQL(", ").join(_OWN_VALUES.get(c, sql.Identifier("r", c)) for c in columns),
            ),
            {"user_id": self._restored.user_id, "slug": self._restored.slug},
        )
        self._tx.execute(_QUERIES["clear_staging_table"])
        return done.rowcount

    def _lines(self, name: str) -> Iterator[str]:
        with self._archive.open(name) as file:
            while line := file.readline(_MAX_LINE_BYTES):
                yield line.decode()

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


def _file_of(table: Table) -> str:
    return f"tables/{table.name}.jsonl"


def _condition(reference: Reference) -> sql.Composable:
    """Return the condition under which a row refers to another; an implied reference may be the text of an id."""
    form = "{}::text = {}::text" if reference in IMPLIED_REFERENCES else "{} = {}"
    return sql.SQL(" AND ").join(
        sql.SQL(form).format(sql.Identifier("c", child), sql.Identifier("p", parent))
        for child, parent in zip(reference.child_columns, reference.parent_columns, strict=True)
    )


def _checked(archive: ArchiveReader, slug: str) -> dict[str, Any]:
    """Return the manifest of an export, if it can be restored here."""
    manifest = archive.manifest()
    try:
        newer = manifest["version"] > VERSION or manifest["shared_ddl"] > SHIPPED.newest
        is_too_old = manifest["shared_ddl"] < _OLDEST
        known = manifest["user"]["slug"]
        UUID(manifest["user"]["user_id"])
        lost = [*manifest["lost_objects"], *manifest.get("forgotten_objects", ())]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidInputError(f"the manifest of the export is damaged ({error!r}): export it again") from error
    if newer:
        raise InvalidInputError(
            f"the export was made by Neurigraph {manifest.get('neurigraph')}, which is newer: restore it with that"
        )
    if is_too_old:
        raise InvalidInputError(
            f"the export has schema {manifest['shared_ddl']}, and {_OLDEST} is the oldest that this version reads: "
            "restore it with the version that made it, upgrade that, and export it again"
        )
    if known != slug:
        raise InvalidInputError(f"the export is of the user {known!r}: give that user")
    if not all(isinstance(key, str) for key in lost):
        raise InvalidInputError("the manifest of the export is damaged (lost_objects): export it again")
    return manifest


def _columns(line: str, table: Table, name: str) -> list[str]:
    """Return the columns of a file's rows, from its first line."""
    row = row_of(line)
    if not row or not row.keys() <= set(table.columns):
        raise InvalidInputError(f"{name} of the export has columns that {table.name} does not have")
    return list(row)


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
    if isinstance(error, RecursionError | UnicodeDecodeError):
        return InvalidInputError("the export cannot be restored: a line is nested too deeply or is not UTF-8")
    return None


def _one_line(error: psycopg.Error) -> str:
    return " ".join(str(error).split())[:500]
