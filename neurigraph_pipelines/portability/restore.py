"""Restore of an export into a database without its user: rows, node schemas and stored files, or nothing.

The export is verified first, and then restored in one transaction. An object is written only after the rows that refer
to it. Derived data, which an export leaves out, is computed again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg
from psycopg import sql

from neurigraph_pipelines.context import Context
from neurigraph_pipelines.errors import ConfigurationError, ConflictError, InvalidInputError
from neurigraph_pipelines.graph.provisioning import free_schema_name, make_tables, upgrade_node
from neurigraph_pipelines.lifecycle.object_keys import DURABLE, active_key, record_of
from neurigraph_pipelines.lifecycle.stored_bytes import has_working_copy, make_working_copy
from neurigraph_pipelines.model import CompressionState
from neurigraph_pipelines.portability.archive import OBJECTS, ArchiveReader, Entry
from neurigraph_pipelines.portability.export import VERSION
from neurigraph_pipelines.portability.tables import SHARED, Table, references_in, shared_tables, tables_of
from neurigraph_pipelines.ports import ObjectStore, Transaction
from neurigraph_pipelines.statements import BASELINE, newest, statements

_QUERIES = statements("portability")
_MAX_LINE_BYTES = 256 << 20
_OWN_VALUES: dict[str, sql.Composable] = {
    # These values never come from the export: the rows belong to this user, and this module names the node schemas.
    "user_id": sql.Placeholder("user_id"),
    "slug": sql.Placeholder("slug"),
    "schema_name": sql.SQL("r.node_id::text"),
}
_STAGED = re.compile(r"staging/\d{4}-\d\d-\d\d/[0-9a-f-]{36}")


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


def restore_user(context: Context, archive: ArchiveReader, slug: str, on_bytes: Callable[[int], None]) -> Restored:
    """Restore the user of an export in this database, with all ids unchanged.

    An export contains no API keys, so they must be issued again.

    Args:
        slug: The user that the export must belong to.
        on_bytes: Called with the number of bytes just read. Each byte is read twice: to verify it and to store it.

    Raises:
        InvalidInputError: The export is damaged, of another user, or of a newer version; nothing was stored.
        ConflictError: The user, or some of their data, is in this database already; nothing was stored.
        ConfigurationError: The server cannot lock so many tables in one transaction.
        StorageError: The object store rejected a request; nothing was stored.
    """
    database, objects = context.database, context.objects
    entries, manifest = archive.entries(), _checked(archive, slug)
    archive.check(entries.values(), on_bytes)
    restored = Restored(UUID(manifest["user"]["user_id"]), slug, lost=tuple(manifest["lost_objects"]))
    written: list[str] = []
    try:
        with database.owner() as tx:
            _Restore(tx, objects, archive, entries, restored, written, on_bytes).run()
    except psycopg.errors.UniqueViolation as error:
        _remove(objects, written)
        raise ConflictError(f"something of this export is in this database already: {_one_line(error)}") from error
    except psycopg.errors.OutOfMemory as error:
        raise ConfigurationError(
            "the server cannot create so many tables at once: raise its max_locks_per_transaction, and try again"
        ) from error
    except (psycopg.DataError, psycopg.IntegrityError, psycopg.ProgrammingError) as error:
        _remove(objects, written)
        raise InvalidInputError(f"the export cannot be restored: {_one_line(error)}") from error
    except psycopg.OperationalError:  # the transaction may have been committed nevertheless
        raise
    except BaseException:
        _remove(objects, written)
        raise
    return restored


class _Restore:
    """Restores one export in one transaction."""

    def __init__(
        self,
        tx: Transaction,
        objects: ObjectStore,
        archive: ArchiveReader,
        entries: Mapping[str, Entry],
        restored: Restored,
        written: list[str],
        on_bytes: Callable[[int], None],
    ) -> None:
        self._tx = tx
        self._objects = objects
        self._archive = archive
        self._entries = entries
        self._restored = restored
        self._written = written
        self._on_bytes = on_bytes

    def run(self) -> None:
        user = {"user_id": self._restored.user_id, "slug": self._restored.slug}
        found = self._tx.execute(_QUERIES["user_is_there"], user).fetchone()
        if found is None or found["present"]:
            raise ConflictError(f"the user {user['slug']!r} is in this database already: restore into another one")
        if found["being_erased"]:
            raise ConflictError(
                f"the user {user['slug']!r} is still being erased: finish it with `neurigraph erasures --finish`"
            )
        self._tx.execute(_QUERIES["create_staging_table"])
        for table in shared_tables(self._tx):
            self._load(table, f"tables/{table.name}.jsonl")
        self._reject_foreign_references()
        nodes = self._tx.execute(_QUERIES["nodes_of_user"], user).fetchall()
        self._restored.nodes = len(nodes)
        for node in nodes:
            self._node(node["node_id"], node["names"], node["node_ddl_version"])
        for upload in self._tx.execute(_QUERIES["staged_of_user"], user).fetchall():
            if not _STAGED.fullmatch(upload["staging_key"]):
                raise InvalidInputError(
                    f"the export names an object {upload['staging_key'][:80]!r}, which is not a valid key"
                )
            self._object(upload["staging_key"], upload["sha256"])

    def _node(self, node_id: UUID, names: Sequence[str], version: int) -> None:
        """Create the tables of a node at their exported version, load the rows, and upgrade the tables."""
        if not BASELINE["node"] <= version <= newest("node"):
            raise InvalidInputError(
                f"the export has a node of DDL {version}, and this version reads {BASELINE['node']} to "
                f"{newest('node')}: restore it with the version that made it, upgrade, and export it again"
            )
        # The schema name never comes from the export.
        schema_name = free_schema_name(self._tx, self._restored.slug, names[1:], node_id)
        self._tx.execute(_QUERIES["set_schema_name"], {"node_id": node_id, "schema_name": schema_name})
        make_tables(self._tx, schema_name, node_id, self._restored.user_id, version)
        tables = tables_of(self._tx, schema_name)
        for table in tables:
            self._tx.execute(_QUERIES["disable_triggers"].format(table=table.identifier))
        rows = {table.name: self._load(table, f"nodes/{node_id}/{table.name}.jsonl") for table in tables}
        self._restored.records += rows["metadata_records"]
        for table in tables:
            self._tx.execute(_QUERIES["enable_triggers"].format(table=table.identifier))
        if rows["passages"]:
            self._tx.execute(_QUERIES["recount_node"], {"node_id": node_id})
        upgrade_node(self._tx, node_id, schema_name)
        files = _QUERIES["objects_of_node"].format(schema=sql.Identifier(schema_name))
        for file in self._tx.execute(files).fetchall():
            self._file(file)

    def _load(self, table: Table, name: str) -> int:
        """Load the rows of a file into their table, and return their number."""
        if name not in self._entries:
            return 0
        columns: list[str] = []
        with self._tx.cursor().copy(_QUERIES["copy_rows"]) as copy:
            for line in self._lines(name):
                columns = columns or _columns(line, table, name)
                copy.write_row((line,))
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
                self._on_bytes(len(line))
                yield line.decode()

    def _reject_foreign_references(self) -> None:
        """Check that no restored row refers to a row of another user."""
        tables = {table.name: table.identifier for table in shared_tables(self._tx)}
        for reference in references_in(self._tx, SHARED):
            if reference.child not in tables or reference.parent not in tables:
                continue
            condition = sql.SQL(" AND ").join(
                sql.SQL("{} = {}").format(sql.Identifier("c", child), sql.Identifier("p", parent))
                for child, parent in zip(reference.child_columns, reference.parent_columns, strict=True)
            )
            query = _QUERIES["references_other_user"].format(
                child=tables[reference.child], parent=tables[reference.parent], condition=condition
            )
            found = self._tx.execute(query, {"user_id": self._restored.user_id}).fetchone()
            if found is None or found["found"]:
                raise InvalidInputError(f"rows of {reference.child} in the export refer to rows of another user")

    def _file(self, file: dict[str, Any]) -> None:
        """Write the durable object of a file, and the working copy if the file is active."""
        key = file["storage_path"]
        if record_of(key) != file["record_id"] or not key.startswith(DURABLE):
            raise InvalidInputError(f"the export names an object {key[:80]!r}, which is not that of its record")
        self._object(key, file["stored_sha256"])
        needs_copy = file["compression_state"] == CompressionState.ACTIVE and has_working_copy(file)
        if needs_copy and key not in self._restored.lost:
            self._written.append(active_key(key))
            # The copy comes from bytes that were just verified, so its checksum need not be compared.
            make_working_copy(self._objects, {**file, "content_sha256": None}, lambda: None)

    def _object(self, key: str, sha256: bytes) -> None:
        name = OBJECTS + key
        if name not in self._entries and key in self._restored.lost:
            return
        self._written.append(key)
        stored = self._objects.put(key, self._counted(name))
        if bytes.fromhex(stored.sha256) != sha256 and key not in self._restored.lost:
            raise InvalidInputError(f"{name} differs from its checksum in the export: export it again")
        self._restored.objects += 1

    def _counted(self, name: str) -> Iterator[bytes]:
        if name not in self._entries:
            raise InvalidInputError(f"{name} is missing in the export: export it again")
        for piece in self._archive.chunks(name):
            self._on_bytes(len(piece))
            yield piece


def _checked(archive: ArchiveReader, slug: str) -> dict[str, Any]:
    """Return the manifest of an export, if it can be restored here."""
    manifest = archive.manifest()
    try:
        newer = (
            manifest["version"] > VERSION
            or manifest["shared_ddl"] > newest("shared")
            or manifest["node_ddl"] > newest("node")
        )
        known = manifest["user"]["slug"]
        UUID(manifest["user"]["user_id"])
        lost = manifest["lost_objects"]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidInputError(f"the manifest of the export is damaged ({error!r}): export it again") from error
    if newer:
        raise InvalidInputError(
            f"the export was made by Neurigraph {manifest.get('neurigraph')}, which is newer: restore it with that"
        )
    if known != slug:
        raise InvalidInputError(f"the export is of the user {known!r}: give that user")
    if not isinstance(lost, list) or not all(isinstance(key, str) for key in lost):
        raise InvalidInputError("the manifest of the export is damaged (lost_objects): export it again")
    return manifest


def _columns(line: str, table: Table, name: str) -> list[str]:
    """Return the columns of a file's rows, from its first line."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"{name} of the export is not JSON: export it again") from error
    if not isinstance(row, dict) or not row or not row.keys() <= set(table.columns):
        raise InvalidInputError(f"{name} of the export has columns that {table.name} does not have")
    return list(row)


def _remove(objects: ObjectStore, keys: Iterable[str]) -> None:
    for key in keys:
        objects.delete(key)


def _one_line(error: psycopg.Error) -> str:
    return " ".join(str(error).split())[:500]
