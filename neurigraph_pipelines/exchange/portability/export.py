"""Export of all data of a user to an archive: the rows of every table as JSON lines, and the stored files unchanged.

It reads one snapshot of the database, row by row. Objects that are forgotten after the snapshot are noted as such.
``archive`` writes folders and zip files. docs/export.md describes the layout.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from typing import IO, Any, cast
from uuid import UUID

from psycopg import sql

import neurigraph_pipelines
from neurigraph_pipelines.database.schema import SHIPPED
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.exchange.portability.archive import FORMAT, OBJECTS, ArchiveWriter, ZipWriter
from neurigraph_pipelines.exchange.portability.tables import Table, shared_tables, tables_of
from neurigraph_pipelines.lifecycle.stored_bytes import durable_content
from neurigraph_pipelines.lifecycle.transitions import locate, manifest_of
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import LostObjectError, NotFoundError
from neurigraph_pipelines.model.ports import Transaction

VERSION = 1
"""Version of the layout; it changes when older readers would misread an export."""

_QUERIES = statements("portability")
_PIECE_BYTES = 256 << 10


@dataclass(slots=True)
class Exported:
    """The contents of an export.

    Attributes:
        rows: Number of rows by table, summed over all nodes.
        objects: Number of stored files, and of uploads that no record stores yet.
        lost: Keys of missing or damaged objects. Damaged ones are exported as they are.
        forgotten: Keys of objects that were forgotten during the export. A restore forgets their memories, too.
    """

    slug: str = ""
    rows: Counter[str] = field(default_factory=Counter)
    objects: int = 0
    size_bytes: int = 0
    lost: list[str] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)


def export_user(context: Context, user_id: UUID, archive: ArchiveWriter, report: Exported) -> Generator[int]:
    """Write all data of a user in steps, and yield the number of bytes of each. Close the generator to stop early.

    Args:
        archive: Receives the files; the last step writes its manifest.
        report: Receives the counts.

    Raises:
        NotFoundError: There is no such user.
        StorageError: The object store rejected a request.
    """
    with context.database.owner() as tx:
        tx.execute(_QUERIES["snapshot"])
        yield from _Export(tx, context, user_id, archive, report).steps()


def zipped(context: Context, user_id: UUID) -> Iterator[bytes]:
    """Yield the bytes of the export as a zip file while it is written. An interrupted one is not a valid zip file.

    Raises:
        NotFoundError: There is no such user.
        StorageError: The object store rejected a request.
    """
    buffer = _Buffer()
    with (
        closing(ZipWriter(cast(IO[bytes], buffer))) as archive,
        closing(export_user(context, user_id, archive, Exported())) as steps,
    ):
        for _ in steps:
            yield buffer.drain()
    yield buffer.drain()


class _Buffer(io.RawIOBase):
    """A write-only stream that keeps written bytes until they are drained."""

    def __init__(self) -> None:
        super().__init__()
        self._written = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._written += data
        return len(data)

    def drain(self) -> bytes:
        drained = bytes(self._written)
        self._written.clear()
        return drained


class _Export:
    def __init__(
        self, tx: Transaction, context: Context, user_id: UUID, archive: ArchiveWriter, report: Exported
    ) -> None:
        self._tx = tx
        self._database = context.database
        self._objects = context.objects
        self._user_id = user_id
        self._archive = archive
        self._report = report

    def steps(self) -> Iterator[int]:
        user = self._tx.execute(_QUERIES["user"], {"user_id": self._user_id}).fetchone()
        if user is None:
            raise NotFoundError
        self._report.slug = user["slug"]
        nodes = self._tx.execute(_QUERIES["nodes_of_user"], {"user_id": self._user_id}).fetchall()
        for step in self._parts(nodes):
            self._report.size_bytes += step
            yield step
        self._archive.finish(
            {
                "format": FORMAT,
                "version": VERSION,
                "neurigraph": neurigraph_pipelines.__version__,
                "exported_at": datetime.now(UTC),
                "user": user,
                "shared_ddl": SHIPPED.newest,
                "node_ddl": SHIPPED.newest,
                "rows": dict(self._report.rows),
                "lost_objects": self._report.lost,
                "forgotten_objects": self._report.forgotten,
            }
        )

    def _parts(self, nodes: Sequence[dict[str, object]]) -> Iterator[int]:
        for table in shared_tables(self._tx):
            yield from self._table(f"tables/{table.name}.jsonl", table, _QUERIES["rows_of_user"])
        for node in nodes:
            for table in tables_of(self._tx, str(node["schema_name"])):
                yield from self._table(f"nodes/{node['node_id']}/{table.name}.jsonl", table, _QUERIES["rows_of_node"])
        for node in nodes:
            schema = sql.Identifier(str(node["schema_name"]))
            for file in self._tx.execute(_QUERIES["objects_of_node"].format(schema=schema)).fetchall():
                yield from self._object(
                    file["storage_path"], file["stored_sha256"], partial(self._now, file["file_id"])
                )
        for upload in self._tx.execute(_QUERIES["staged_of_user"], {"user_id": self._user_id}).fetchall():
            yield from self._object(
                upload["staging_key"], upload["sha256"], partial(self._upload_now, upload["source_id"])
            )

    def _table(self, name: str, table: Table, query: sql.SQL) -> Iterator[int]:
        """Write the rows of a table as lines; a table without rows has no file."""
        lines = self._lines(table, query)
        first = next(lines, None)
        if first is not None:
            yield from self._archive.add(name, chain([first], lines))

    def _lines(self, table: Table, query: sql.SQL) -> Iterator[bytes]:
        statement = query.format(
            table=table.identifier,
            columns=sql.SQL(", ").join(map(sql.Identifier, table.columns)),
            ordered_by=sql.SQL(", ").join(map(sql.Identifier, table.ordered_by)),
        )
        piece = bytearray()
        for row in self._tx.cursor().stream(statement, {"user_id": self._user_id}):
            self._report.rows[table.name] += 1
            piece += row["line"].encode() + b"\n"
            if len(piece) >= _PIECE_BYTES:
                yield bytes(piece)
                piece.clear()
        if piece:
            yield bytes(piece)

    def _object(self, key: str, sha256: bytes, elsewhere: Callable[[], Iterator[bytes] | None]) -> Iterator[int]:
        """Write an object.

        Args:
            elsewhere: Looks beyond the snapshot for the content of an absent object. None means that it is lost, and
                NotFoundError that it is forgotten.
        """
        try:
            chunks = _begun(self._objects.get(key))
        except LostObjectError:
            try:
                found = elsewhere()
            except NotFoundError:
                self._report.forgotten.append(key)
                return
            if found is None:
                self._report.lost.append(key)
                return
            chunks = found
        yield from self._archive.add(OBJECTS + key, chunks)
        self._report.objects += 1
        if bytes.fromhex(self._archive.entries[-1].sha256) != sha256:
            self._report.lost.append(key)

    def _now(self, file_id: UUID) -> None:
        """Raise NotFoundError if a file is forgotten by now. Its object has one key for good."""
        with self._database.pipeline() as tx:
            locate(tx, file_id)

    def _upload_now(self, source_id: UUID) -> Iterator[bytes] | None:
        """Return the content of an upload from the record that stored it since the snapshot.

        Raises:
            NotFoundError: The upload is forgotten.
        """
        with self._database.pipeline() as tx:
            upload = tx.execute(_QUERIES["file_of_upload"], {"source_id": source_id}).fetchone()
            if upload is None:
                raise NotFoundError
            if upload["file_id"] is None:
                return None
            manifest = manifest_of(tx, locate(tx, upload["file_id"]))
        return durable_content(self._objects, manifest).chunks()


def _begun(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Read the first chunk: an object may be removed before it is opened, and not after."""
    first = next(chunks, b"")
    return chain([first], chunks)
