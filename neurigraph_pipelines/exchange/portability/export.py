"""The writer of the stream: the rows of every table of a user as JSON lines, and the stored objects unchanged.

It reads one snapshot of the database, row by row. Objects that are forgotten after the snapshot are noted as such.
docs/backup.md describes the layout.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain, groupby
from operator import itemgetter
from typing import IO, Any, cast
from uuid import UUID

from psycopg import sql
from psycopg.rows import DictRow

import neurigraph_pipelines
from neurigraph_pipelines.database.schema import SHIPPED
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.exchange.portability.archive import zip_writer
from neurigraph_pipelines.exchange.portability.stream import (
    OBJECTS,
    VERSION,
    Ending,
    Hashed,
    Header,
    Stream,
    StreamPart,
    StreamUser,
    rows_name,
    table_of,
)
from neurigraph_pipelines.exchange.portability.tables import (
    StagedObject,
    Table,
    named_objects,
    shared_tables,
    tables_of,
)
from neurigraph_pipelines.lifecycle.stored_bytes import Manifest, durable_content
from neurigraph_pipelines.lifecycle.transitions import locate, manifest_of
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import LostObjectError, NotFoundError, TransientError, require_found
from neurigraph_pipelines.model.ports import Transaction

_QUERIES = statements("portability")
_PIECE_BYTES = 256 << 10
_FILES = "/file_manifest.jsonl"


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


@contextmanager
def written(
    context: Context, user_id: UUID, report: Exported | None = None, *, secrets: bool = False
) -> Iterator[Stream]:
    """Open the stream of a user, which reads one snapshot while the block runs.

    Args:
        report: Receives the counts.
        secrets: Whether the stream has keys and passwords, too.

    Raises:
        NotFoundError: There is no such user.
    """
    with context.database.owner() as tx:
        tx.execute(_QUERIES["snapshot"])
        row = require_found(tx.execute(_QUERIES["user"], {"user_id": user_id}).fetchone())
        user = StreamUser(**row)
        report = report or Exported()
        report.slug = user.slug
        named = ((one, one.storage_path) for one in named_objects(tx, user_id))
        yield _Written(context, report, user, _rows_of_user(tx, user_id, secrets), named)


@contextmanager
def granted(
    context: Context, statement: sql.Composed, values: Mapping[str, object], report: Exported
) -> Iterator[Stream]:
    """Open the stream of a part: the rows that one statement shows the caller, and the objects of their files.

    Args:
        context: Of the caller: row-level security applies.
        statement: Returns lines with the names of their parts. One statement reads one snapshot.
        report: Receives the counts.

    Raises:
        NotFoundError: A file was forgotten meanwhile, or is hidden since.
    """
    with context.database.agent(context.claims) as tx:
        found = sorted(tx.execute(statement, values), key=itemgetter("part"))
        parts = [(name, list(rows)) for name, rows in groupby(found, itemgetter("part"))]
        files = [json.loads(row["line"]) for name, rows in parts if name.endswith(_FILES) for row in rows]
        named = ((manifest_of(tx, locate(tx, UUID(file["file_id"]))), file["storage_path"]) for file in files)
        yield _Written(context, report, None, iter(parts), named)


def zipped(opened: AbstractContextManager[Stream]) -> Iterator[bytes]:
    """Yield the bytes of a stream as a zip file while it is written. An interrupted one is not a valid zip file.

    Raises:
        NotFoundError: There is no such user.
        StorageError: The object store rejected a request.
    """
    buffer = _Buffer()
    with (
        zip_writer(cast(IO[bytes], buffer)) as archive,
        opened as stream,
        closing(archive.write(stream)) as steps,
    ):
        for _ in steps:
            yield buffer.drain()
    yield buffer.drain()


class _Buffer(bytearray):
    """A write-only stream that keeps written bytes until they are drained."""

    def write(self, data: Any) -> int:
        self += data
        return len(data)

    def flush(self) -> None: ...

    def drain(self) -> bytes:
        drained = bytes(self)
        self.clear()
        return drained


class _Written(Stream):
    def __init__(
        self,
        context: Context,
        report: Exported,
        user: StreamUser | None,
        rows: Iterator[tuple[str, Iterable[DictRow]]],
        named: Iterator[tuple[Manifest | StagedObject, str]],
    ) -> None:
        self._database = context.database
        self._objects = context.objects
        self._report = report
        self._user = user
        self._rows = rows
        self._named = named

    def header(self) -> Header:
        return Header(
            version=VERSION,
            neurigraph=neurigraph_pipelines.__version__,
            exported_at=datetime.now(UTC),
            user=self._user,
            shared_ddl=SHIPPED.newest,
            node_ddl=SHIPPED.newest,
        )

    def parts(self) -> Iterator[StreamPart]:
        for name, rows in self._rows:
            lines = self._lines(name, rows)
            first = next(lines, None)
            if first is not None:  # a table without rows has no part
                yield StreamPart(name, chain([first], lines))
        for row, key in self._named:
            yield from self._object(row, key)

    def verify(self, on_bytes: Callable[[int], None]) -> None:
        """Do nothing: the rows are those of the database."""

    def ending(self) -> Ending:
        return Ending(rows=self._report.rows, lost_objects=self._report.lost, forgotten_objects=self._report.forgotten)

    def _lines(self, name: str, rows: Iterable[DictRow]) -> Iterator[bytes]:
        """Yield rows as lines, in pieces."""
        table, piece = table_of(name), bytearray()
        for row in rows:
            self._report.rows[table] += 1
            piece += row["line"].encode() + b"\n"
            if len(piece) >= _PIECE_BYTES:
                yield self._counted(bytes(piece))
                piece.clear()
        if piece:
            yield self._counted(bytes(piece))

    def _counted(self, piece: bytes) -> bytes:
        self._report.size_bytes += len(piece)
        return piece

    def _object(self, row: Manifest | StagedObject, key: str) -> Iterator[StreamPart]:
        """Yield the object of a row under a key of the stream."""
        try:
            chunks = _begun(self._objects.get(row.storage_path))
        except LostObjectError:
            try:
                found = self._content_by_now(row)
            except NotFoundError:
                self._report.forgotten.append(key)
                return
            if found is None:
                self._report.lost.append(key)
                return
            chunks = found
        yield StreamPart(OBJECTS + key, self._hashed(key, row.stored_sha256, chunks))
        self._report.objects += 1

    def _hashed(self, key: str, sha256: bytes, chunks: Iterator[bytes]) -> Iterator[bytes]:
        hashed = Hashed(chunks)
        yield from map(self._counted, hashed)
        if hashed.sha256 != sha256.hex():
            self._report.lost.append(key)

    def _content_by_now(self, row: Manifest | StagedObject) -> Iterator[bytes] | None:
        """Look beyond the snapshot for the content of an absent object; None means that it is lost.

        The object of a file has one key until a split. An upload may be stored by a record since the snapshot.

        Raises:
            NotFoundError: The file or upload is forgotten.
            TransientError: The memory was split, and the text that the rows tell of is gone.
        """
        with self._database.pipeline() as tx:
            if isinstance(row, Manifest):
                if manifest_of(tx, locate(tx, row.file_id)).storage_path != row.storage_path:
                    raise TransientError("a memory was split while it was exported: export again")
                return None
            upload = require_found(tx.execute(_QUERIES["file_of_upload"], {"source_id": row.source_id}).fetchone())
            if upload["file_id"] is None:
                return None
            manifest = manifest_of(tx, locate(tx, upload["file_id"]))
        return durable_content(self._objects, manifest).chunks()


def _rows_of_user(tx: Transaction, user_id: UUID, secrets: bool) -> Iterator[tuple[str, Iterator[DictRow]]]:
    """Yield the rows of every table of a user, with the name of their part."""
    for table in shared_tables(tx, secrets=secrets):
        yield rows_name(table), _selected(tx, table, _QUERIES["rows_of_user"], user_id)
    for node in tx.execute(_QUERIES["nodes"], {"user_id": user_id}).fetchall():
        for table in tables_of(tx, node["schema_name"]):
            yield rows_name(table, node["node_id"]), _selected(tx, table, _QUERIES["rows_of_node"], user_id)


def _selected(tx: Transaction, table: Table, query: sql.SQL, user_id: UUID) -> Iterator[DictRow]:
    statement = query.format(
        table=table.identifier,
        columns=sql.SQL(", ").join(map(sql.Identifier, table.columns)),
        ordered_by=sql.SQL(", ").join(map(sql.Identifier, table.ordered_by)),
    )
    return tx.cursor().stream(statement, {"user_id": user_id})


def _begun(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Read the first chunk: an object may be removed before it is opened, and not after."""
    first = next(chunks, b"")
    return chain([first], chunks)
