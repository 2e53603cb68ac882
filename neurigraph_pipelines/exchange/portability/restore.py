"""Restoring a stream: rows, node schemas and stored objects of a user, or nothing.

A stream is read once, in one transaction, by ``reader``. Rows are staged and then written, and objects are written as
they come, under new keys below the restored user. Derived data, which a stream leaves out, is computed again. Nothing
in a stream is believed: an export may be made to reach another user's rows and objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from uuid import UUID

from psycopg import sql

from neurigraph_pipelines.database.schema import SHIPPED
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.exchange.portability.former import line_now
from neurigraph_pipelines.exchange.portability.former_passages import segments_of_passages
from neurigraph_pipelines.exchange.portability.identifiers import tables_with_ids
from neurigraph_pipelines.exchange.portability.reader import Reader, explained
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
from neurigraph_pipelines.lifecycle.stored_bytes import Manifest
from neurigraph_pipelines.lifecycle.uncommitted import removed_unless_committing
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import ConflictError, InvalidInputError
from neurigraph_pipelines.model.ports import Transaction

_QUERIES = statements("portability")
_ERASURE = statements("erasure")
_EVIDENCE = statements("evidence")
_MOVES = statements("moves")
_OLDEST = 50
"""Number of the oldest schema whose exports are read: those of earlier ones lack evidence and states of facts."""

_FIRST_WITH_SEGMENTS = 3
"""The version of the stream from which it has segments."""


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
        known = explained(error)
        if known is None:
            raise
        raise known from error
    restored.objects = written.count
    for record_id in left_over:
        claims = Claims.of_user(restored.user_id)
        forget(context.acting_for(claims), ErasureSubject(SubjectKind.RECORD, record_id), through="restore")
    return restored


class _Restore(Reader):
    """Restores the stream of a user."""

    def __init__(
        self,
        tx: Transaction,
        objects: RestoredObjects,
        restored: Restored,
        on_bytes: Callable[[int], None],
        language: str,
    ) -> None:
        super().__init__(tx, objects, restored.user_id, restored.slug, "all")
        self._restored = restored
        self._on_bytes = on_bytes
        self._language = language
        self._version = VERSION

    def run(self, stream: Stream) -> None:
        """Write the rows of a stream once all are staged, and the objects that follow."""
        self._require_absent()
        self._version = stream.header().version
        parts = stream.parts()
        first: list[StreamPart] = []
        self.stage(self._lines(parts, first))
        self.tx.execute(_QUERIES["index_staging_table"])
        if self._version < _FIRST_WITH_SEGMENTS:
            self._convert_passages()
        self._write_rows()
        self.write_objects(named_objects(self.tx, self._restored.user_id), chain(first, parts))

    def finish(self, ending: Ending) -> set[UUID]:
        """Check that everything came, and erase uploads that were forgotten while the stream was written.

        Returns:
            The records that were forgotten meanwhile, to erase after this transaction.
        """
        lost, forgotten = frozenset(ending.lost_objects), frozenset(ending.forgotten_objects)
        if self._version < _FIRST_WITH_SEGMENTS:
            del self.rows["segments"]  # the export counts passages
        self.require_all(ending, lost | forgotten)
        self._restored.lost = tuple(sorted(lost))
        gone = [row for key, row in self.objects.expected.items() if key in forgotten]
        sources = [row.source_id for row in gone if isinstance(row, StagedObject)]
        self.tx.execute(_ERASURE["erase_sources"], {"source_ids": sources, "user_id": self._restored.user_id})
        return {row.record_id for row in gone if isinstance(row, Manifest)}

    def arrive(self) -> None:
        """Keep secrets in the row that keeps callers from the copy."""
        for table in tables_of(self.tx, SHARED):
            if table.name in SECRETS and rows_name(table) in self.staged:
                self.ids.rewrite(self.tx, table, rows_name(table))
        values = {**self.user, "names": list(SECRETS), "parts": [rows_name(name) for name in SECRETS]}
        self.tx.execute(_MOVES["arrive"], values)

    def _require_absent(self) -> None:
        found = self.tx.execute(_QUERIES["user_is_there"], self.user).fetchone()
        if found is None or found["present"]:
            raise ConflictError(
                f"the user {self._restored.slug!r} is in this database already: restore into another one"
            )
        if found["being_erased"]:
            raise ConflictError(
                f"the user {self._restored.slug!r} is still being erased: "
                "finish it with `neurigraph admin erasures --finish`"
            )

    def _lines(self, parts: Iterator[StreamPart], first: list[StreamPart]) -> Iterator[tuple[str, str]]:
        """Yield the lines of the parts with rows; the part after them becomes the ``first`` with an object."""
        for part in parts:
            if part.name.startswith(OBJECTS):
                first.append(part)
                return
            for line in part.lines():
                self._on_bytes(len(line) + 1)
                yield part.name, self._line_now(part.name, line)

    def _line_now(self, part: str, line: str) -> str:
        """Return a line as the tables have it now. Segments are read here, one after the other."""
        if part == SEGMENTS:
            return checked_line(line, self._language, self._version)
        return line_now(self._version, part, line)

    def _convert_passages(self) -> None:
        """Stage the segments of an export that has passages instead."""
        for line, passages in segments_of_passages(self.tx, list(self.staged), self._language):
            self.stage([(SEGMENTS, line)])
            self.rows["passages"] += passages

    def _write_rows(self) -> None:
        tables = shared_tables(self.tx)
        for table in tables_with_ids(tables):
            if rows_name(table) in self.staged:
                self.ids.replace_foreign(self.tx, table, rows_name(table))
        self.ids.replace_originals(self.tx)
        for table in tables:
            self.load(table, rows_name(table))
        self._reject_foreign_references(tables)
        # Rows that follow from evidence are computed again, and never read from the stream.
        self.tx.execute(_EVIDENCE["sum_graph"], self.user)
        exported_ids = self.ids.inverse()
        for node in self.tx.execute(_QUERIES["nodes"], self.user).fetchall():
            exported = exported_ids.get(str(node["node_id"]), str(node["node_id"]))
            self._node(node["node_id"], node["names"], exported)
            self._restored.nodes += 1

    def _node(self, node_id: UUID, names: Sequence[str], exported: str) -> None:
        """Create the tables of a node, and load the rows."""
        # The schema name never comes from the export.
        schema_name = free_schema_name(self.tx, self._restored.slug, names[1:], node_id)
        schema = sql.Identifier(schema_name)
        self.tx.execute(_QUERIES["set_schema_name"], {"node_id": node_id, "schema_name": schema_name})
        make_tables(self.tx, schema_name, node_id, self._restored.user_id)
        tables = tables_of(self.tx, schema_name)
        for table in tables:
            self.tx.execute(_QUERIES["disable_triggers"].format(table=table.identifier))
        self.add_keys(rows_name("file_manifest", exported), names[1:])
        rows = {table.name: self.load(table, rows_name(table, exported)) for table in tables}
        self._restored.records += rows["metadata_records"]
        for table in tables:
            self.tx.execute(_QUERIES["enable_triggers"].format(table=table.identifier))
        found = self.tx.execute(_QUERIES["unregistered"].format(schema=schema), {"node_id": node_id}).fetchone()
        if found is None or found["found"]:
            raise InvalidInputError(f"the records and files of node {node_id} in the export differ from its registries")

    def _reject_foreign_references(self, tables: Sequence[Table]) -> None:
        """Check that no restored row refers to a row of another user."""
        known = {table.name: table.identifier for table in tables}
        for reference in (*references_in(self.tx, SHARED), *IMPLIED_REFERENCES):
            if reference.child not in known or reference.parent not in known:
                continue
            query = _QUERIES["references_other_user"].format(
                child=known[reference.child], parent=known[reference.parent], condition=_condition(reference)
            )
            found = self.tx.execute(query, {"user_id": self._restored.user_id}).fetchone()
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
    if header.user is None:
        raise InvalidInputError("this is a part of a memory, which a peer was granted: give the export of a user")
    if header.user.slug != slug:
        raise InvalidInputError(f"the export is of the user {header.user.slug!r}: give that user")
    return header.user.user_id
