"""Writing of a mirror: nodes below the mount node, and records with their search segments and files.

A page of records is one transaction of the reader of streams: a crash leaves only objects without rows, which an
audit removes. What is gone at the publisher is forgotten here as if its owner had asked.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID, uuid4, uuid5

from psycopg import sql

from neurigraph_pipelines.database.asking import rows_of
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.exchange.peers.granted_rows import TRANSCRIPT, GrantedRecord, GrantedRows, SegmentRow
from neurigraph_pipelines.exchange.portability.reader import Reader
from neurigraph_pipelines.exchange.portability.restored_objects import RestoredObjects
from neurigraph_pipelines.exchange.portability.segments import line_of
from neurigraph_pipelines.exchange.portability.stream import OBJECTS, Stream
from neurigraph_pipelines.exchange.portability.tables import SHARED, tables_of
from neurigraph_pipelines.exchange.received_segments import known_languages
from neurigraph_pipelines.graph.history import append_delta
from neurigraph_pipelines.graph.locks import lock_graph_exclusive, lock_graph_shared
from neurigraph_pipelines.graph.naming import display_name, name_key
from neurigraph_pipelines.graph.provisioning import add_child, resolve_node
from neurigraph_pipelines.graph.shell import rebuild_shell
from neurigraph_pipelines.graph.witnesses import Said, Witness, write_mentions
from neurigraph_pipelines.ingestion.embedding_models import lock_models
from neurigraph_pipelines.lifecycle.erasure.forget import forget
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.lifecycle.stored_bytes import Manifest
from neurigraph_pipelines.lifecycle.uncommitted import removed_unless_committing
from neurigraph_pipelines.model import (
    MAX_LAYER_DEPTH,
    RECORD_DIMENSIONS,
    Claims,
    CompressionState,
    ConceptKind,
    Detector,
    MentionRole,
    ReceivedThrough,
    SourceKind,
    Voice,
)
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import ProviderError, TransientError, require_found
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.text.search_segments import VOICES
from neurigraph_pipelines.views.mirrors import OfferedNode

THROUGH = "peer"
"""The reason in receipts of erasures that follow a publisher."""

_NAME_ROOM = 100
_QUERIES = statements("peers")
_EMBEDDINGS = statements("embeddings")
_TABLES = ("sources", "metadata_records", "file_manifest", "segments", "mirrored_records")
_ZEROS = json.dumps([0] * RECORD_DIMENSIONS)


@dataclass(frozen=True, slots=True)
class Mirror:
    """A mirror of one publisher.

    Attributes:
        context: Of the jobs.
    """

    context: Context
    peer_id: UUID
    user_id: UUID
    user_slug: str
    mount_node_id: UUID

    def add_node(self, node: OfferedNode) -> UUID:
        """Create the mirror of a node directly below the mount node, and return its id.

        A mirror is flat, because grants name single nodes. Its nodes are concepts: a publisher's persona has no rights.

        Raises:
            NotFoundError: The mount node is gone.
            ProviderError: The mount node was moved to the deepest layer.
        """
        with self._writing() as tx:
            lock_graph_exclusive(tx, self.user_id)
            mount = require_found(resolve_node(tx, self.mount_node_id))
            if mount.layer_depth >= MAX_LAYER_DEPTH:
                raise ProviderError("the mount node is in the deepest layer and can have no nodes: move it")
            kind = ConceptKind.TOPIC if node.kind is ConceptKind.USER else node.kind
            name = self._free_name(tx, node, None)
            made = add_child(tx, self.user_id, self.user_slug, mount, name, kind)
            values = {"node_id": made.node_id, "user_id": self.user_id, "peer_id": self.peer_id}
            tx.execute(_QUERIES["add_node"], {**values, "publisher_node_id": node.node_id})
        return made.node_id

    def rename_node(self, node_id: UUID, node: OfferedNode) -> None:
        """Give the mirror of a node the name that it has at the publisher."""
        with self._writing() as tx:
            lock_graph_exclusive(tx, self.user_id)
            name = self._free_name(tx, node, node_id)
            tx.execute(_QUERIES["rename_node"], {"node_id": node_id, "name": name, "name_key": name_key(name)})

    def forget_node(self, node_id: UUID) -> int:
        """Forget the mirror of a node with all its records, and return how many these were."""
        return self._forget(ErasureSubject(SubjectKind.NODE, node_id))

    def forget_record(self, record_id: UUID) -> int:
        """Forget the mirror of a record: rows, objects, and derived rows. Return 1, or 0 if it is gone."""
        return self._forget(ErasureSubject(SubjectKind.RECORD, record_id))

    def write(self, node_id: UUID, page: GrantedRows, stream: Stream, model: str | None) -> None:
        """Store records of one node, all or none.

        Args:
            node_id: The mirror of the node.
            page: The records, of which none is mirrored yet, with vectors of the model.
            stream: Has their objects.

        Raises:
            InvalidInputError: A file is not what the publisher states; nothing was stored.
            NotFoundError: The node is gone.
            TransientError: The user moves to another model.
            StorageError: An object could not be written; nothing was stored.
        """
        objects = RestoredObjects(self.context.objects, lambda _: None)
        with removed_unless_committing(objects.remove) as rows, rows(self._writing()) as tx:
            lock_graph_shared(tx, self.user_id)
            node = require_found(resolve_node(tx, node_id))
            has_vectors = any(record.has_vectors for record in page.records.values())
            if has_vectors and model is not None and not lock_models(tx, self.user_id, model).adopt(model):
                raise TransientError("the user moves to another embedding model: it is pulled again later")
            reader = Reader(tx, objects, self.user_id, self.user_slug, str(self.peer_id))
            reader.stage(self._lines(page, node.node_id, model))
            reader.add_keys("file_manifest", node.names)
            tables = {table.name: table for table in (*tables_of(tx, SHARED), *tables_of(tx, node.schema_name))}
            for name in _TABLES:
                reader.load(tables[name], name, renews=name == "sources")
            new_ids = [record.record_id for record in page.records.values()]
            query = _QUERIES["files_of_records"].format(schema=sql.Identifier(node.schema_name))
            parts = (part for part in stream.parts() if part.name.startswith(OBJECTS))
            reader.write_objects(rows_of(tx, query, Manifest, {"record_ids": new_ids}), parts)
            reader.require_all(stream.ending(), frozenset())
            self._note(tx, node.node_id, page)
            rebuild_shell(tx, node.node_id, self.user_slug)

    def _lines(self, page: GrantedRows, node_id: UUID, model: str | None) -> Iterator[tuple[str, str]]:
        """Yield the rows of records as they are stored here, with the names of their tables.

        Sources have ids that follow from the peer. Key and persona are none of this installation.
        """
        user_id, origin = str(self.user_id), {"received_through": ReceivedThrough.PEER}
        source_ids = {one: str(uuid5(self.peer_id, f"source {one}")) for one in page.sources}
        for source_id, source in page.sources.items():
            ids = {"source_id": source_ids[source_id], "external_id": f"{self.peer_id}:{source_id}", "user_id": user_id}
            yield "sources", json.dumps({**source.model_dump(mode="json"), **ids, **origin})
        for record in page.records.values():
            of_record = {"record_id": str(record.record_id)}
            ids = {**of_record, "node_id": str(node_id), "user_id": user_id}
            own = {**of_record, "source_id": source_ids[record.row.source_id], **origin}
            yield "metadata_records", json.dumps({**_of_record(record, model), **own})
            for file in record.files:
                kind = TRANSCRIPT if file.file_type == TRANSCRIPT else "original"
                own = {"file_id": str(uuid5(record.record_id, kind)), "compression_state": CompressionState.ACTIVE}
                yield "file_manifest", json.dumps({**file.model_dump(mode="json"), **own, **of_record})
            if record.segment is not None:
                others = {**ids, "vectors": record.segment.vectors, "model": model} if record.has_vectors else ids
                yield "segments", _of_segment(record, record.segment, others, self.context.settings.language)
            mirrored = {"peer_id": str(self.peer_id), "publisher_record_id": str(record.row.record_id)}
            yield "mirrored_records", json.dumps({**ids, **mirrored, "version": str(record.version)})

    def _note(self, tx: Transaction, node_id: UUID, page: GrantedRows) -> None:
        """Write deltas, mentions and pending vectors of new records."""
        said = []
        for record in page.records.values():
            ids = {"record_id": record.record_id, "node_id": node_id, "user_id": self.user_id}
            if not record.has_vectors:
                tx.execute(_EMBEDDINGS["insert_pending"], ids)
            after = {"title": record.row.title, "summary": record.row.summary, "node_id": str(node_id)}
            append_delta(tx, record.record_id, {}, after, f"peer:{self.peer_id}", operation="create")
            witness = Witness(record.record_id, Detector.RULE, lambda _: "{}")
            said.append(Said(witness, node_id=node_id, role=MentionRole.SUBJECT))
        write_mentions(tx, self.user_id, said)

    @contextmanager
    def _writing(self) -> Iterator[Transaction]:
        """Open a transaction that may write below the mount node."""
        with self.context.database.owner() as tx:
            tx.execute(_QUERIES["begin_mirroring"], {"peer_id": str(self.peer_id)})
            yield tx

    def _forget(self, subject: ErasureSubject) -> int:
        receipt = forget(self.context.acting_for(Claims.of_user(self.user_id)), subject, through=THROUGH)
        return receipt.erased.get("records", 0)

    def _free_name(self, tx: Transaction, node: OfferedNode, node_id: UUID | None) -> str:
        """Return a name that no other child of the mount node has: the publisher's, or with a part of the id."""
        shown = display_name(node.name)
        for name in (shown, f"{shown[:_NAME_ROOM]} {str(node.node_id)[:8]}", str(node.node_id)):
            values = {"parent_node_id": self.mount_node_id, "name_key": name_key(name), "node_id": node_id}
            row = tx.execute(_QUERIES["name_is_taken"], values).fetchone()
            if name_key(name) and row is not None and not row["taken"]:
                return name
        return str(uuid4())


def _of_record(record: GrantedRecord, model: str | None) -> dict[str, object]:
    """Return the columns of a record that do not name others; only notes have importance."""
    row, is_note = record.row.model_dump(mode="json"), record.row.source_kind is SourceKind.NOTE
    return {
        **row,
        "embedding": row["embedding"] if record.has_vectors else _ZEROS,
        "embedding_pending": not record.has_vectors,
        "embedding_model": model if record.has_vectors else None,
        "importance": row["importance"] if is_note else None,
    }


def _of_segment(record: GrantedRecord, segment: SegmentRow, others: Mapping[str, object], usual: str) -> str:
    """Return the row of a segment. Whatever the publisher says, the voice is one that was fetched.

    The messages have no ids of their writers, as they are none of this installation.
    """
    rows = segment.content.rows.copy()
    rows["voice"] = VOICES.index(Voice.FETCHED)
    fetched = segment.content._replace(rows=rows, external_ids=[None] * len(rows))
    spoken = known_languages((*segment.languages, record.row.language.rpartition(".")[2]))
    return line_of(fetched, spoken, usual, others)
