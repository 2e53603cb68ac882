"""Writing of a mirror: nodes below the mount node, and records with their search segments and files.

Everything gets ids of this installation, so a publisher can name nothing here. Objects are written first, then rows of
a page of records in one transaction: what a crash leaves are objects without rows, which an audit removes. What is gone
at the publisher is forgotten here as if its owner had asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID, uuid4, uuid5

import numpy as np
from pgvector import Vector
from psycopg import DataError, IntegrityError, sql
from psycopg.errors import UndefinedObject

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.exchange.peers.answers import Node, Record, Vectors, require_content, vectors_of
from neurigraph_pipelines.exchange.portability.restored_objects import NewObjects
from neurigraph_pipelines.exchange.received_segments import known_languages
from neurigraph_pipelines.graph.history import append_delta
from neurigraph_pipelines.graph.locks import lock_graph_exclusive, lock_graph_shared
from neurigraph_pipelines.graph.naming import display_name, name_key
from neurigraph_pipelines.graph.provisioning import NodeRef, add_child, resolve_node
from neurigraph_pipelines.graph.shell import rebuild_shell
from neurigraph_pipelines.graph.witnesses import Said, Witness, write_mentions
from neurigraph_pipelines.ingestion.embedding_models import lock_models
from neurigraph_pipelines.ingestion.passage_words import columns_of
from neurigraph_pipelines.ingestion.record_rows import insert_record
from neurigraph_pipelines.lifecycle.erasure.forget import forget
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.lifecycle.object_keys import active_key, durable_key, original_key
from neurigraph_pipelines.lifecycle.orphans import guard_objects
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
from neurigraph_pipelines.model.errors import NotFoundError, ProviderError
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.text.search_segments import VOICES, SearchSegment
from neurigraph_pipelines.text.stored_text import decompress

THROUGH = "peer"
"""The reason in receipts of erasures that follow a publisher."""

_NAME_ROOM = 100
_QUERIES = statements("peers")
_COMMIT = statements("commit")
_EMBEDDINGS = statements("embeddings")


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

    def add_node(self, node: Node) -> UUID:
        """Create the mirror of a node directly below the mount node, and return its id.

        A mirror is flat, because grants name single nodes. Its nodes are concepts: a publisher's persona has no rights.

        Raises:
            NotFoundError: The mount node is gone.
            ProviderError: The mount node was moved to the deepest layer.
        """
        with self._writing() as tx:
            lock_graph_exclusive(tx, self.user_id)
            mount = resolve_node(tx, self.mount_node_id)
            if mount is None:
                raise NotFoundError
            if mount.layer_depth >= MAX_LAYER_DEPTH:
                raise ProviderError("the mount node is in the deepest layer and can have no nodes: move it")
            kind = ConceptKind.TOPIC if node.kind is ConceptKind.USER else node.kind
            name = self._free_name(tx, node, None)
            made = add_child(tx, self.user_id, self.user_slug, mount, name, kind)
            values = {"node_id": made.node_id, "user_id": self.user_id, "peer_id": self.peer_id}
            tx.execute(_QUERIES["add_node"], {**values, "publisher_node_id": node.node_id})
        return made.node_id

    def rename_node(self, node_id: UUID, node: Node) -> None:
        """Give the mirror of a node the name that it has at the publisher."""
        with self._writing() as tx:
            lock_graph_exclusive(tx, self.user_id)
            name = self._free_name(tx, node, node_id)
            tx.execute(_QUERIES["rename_node"], {"node_id": node_id, "name": name, "name_key": name_key(name)})

    def forget_node(self, node_id: UUID) -> int:
        """Forget the mirror of a node with all its records, and return how many these were."""
        return self._forget(ErasureSubject(SubjectKind.NODE, node_id))

    def forget_record(self, record_id: UUID) -> int:
        """Forget the mirror of a record: rows, objects, and what was derived from it. Return 1, or 0 if it is gone."""
        return self._forget(ErasureSubject(SubjectKind.RECORD, record_id))

    def write(self, node_id: UUID, records: Sequence[Record], contents: Mapping[UUID, bytes]) -> None:
        """Store records of one node, all or none.

        Args:
            node_id: The mirror of the node.
            records: Of which none is mirrored yet.
            contents: The stored bytes of their files, by the ids at the publisher.

        Raises:
            ProviderError: A file or a vector is not what the publisher states; nothing was stored.
            NotFoundError: The node is gone.
            StorageError: An object could not be written; nothing was stored.
        """
        vectors = [vectors_of(record) for record in records]
        with self.context.database.pipeline() as tx:
            node = resolve_node(tx, node_id)
        if node is None:
            raise NotFoundError
        objects = NewObjects(self.context.objects)
        try:
            with removed_unless_committing(objects.remove) as rows:
                drafts = [_put(objects, self.user_slug, node, record, contents) for record in records]
                with rows(self._writing()) as tx:
                    lock_graph_shared(tx, self.user_id)
                    for draft, found in zip(drafts, vectors, strict=True):
                        self._insert(tx, node, draft, found)
                    rebuild_shell(tx, node.node_id, self.user_slug)
        except (DataError, IntegrityError, UndefinedObject) as error:
            raise ProviderError("the publisher sent a record that cannot be stored: nothing of it is used") from error

    @contextmanager
    def _writing(self) -> Iterator[Transaction]:
        """Open a transaction that may write below the mount node."""
        with self.context.database.owner() as tx:
            tx.execute(_QUERIES["begin_mirroring"], {"peer_id": str(self.peer_id)})
            yield tx

    def _forget(self, subject: ErasureSubject) -> int:
        receipt = forget(self.context.acting_for(Claims.of_user(self.user_id)), subject, through=THROUGH)
        return receipt.erased.get("records", 0)

    def _free_name(self, tx: Transaction, node: Node, node_id: UUID | None) -> str:
        """Return a name that no other child of the mount node has: the publisher's, or with a part of the id."""
        shown = display_name(node.name)
        for name in (shown, f"{shown[:_NAME_ROOM]} {str(node.node_id)[:8]}", str(node.node_id)):
            values = {"parent_node_id": self.mount_node_id, "name_key": name_key(name), "node_id": node_id}
            row = tx.execute(_QUERIES["name_is_taken"], values).fetchone()
            if name_key(name) and row is not None and not row["taken"]:
                return name
        return str(uuid4())

    def _insert(self, tx: Transaction, node: NodeRef, draft: _Draft, vectors: Vectors | None) -> None:
        record, schema = draft.record, sql.Identifier(node.schema_name)
        guard_objects(tx, self.context.objects, {draft.record_id: draft.files})
        model = self.context.embedder.model if vectors is not None else None
        models = lock_models(tx, self.user_id, model) if model is not None else None
        if models is not None and model is not None and not models.adopt(model):
            vectors = model = None
        source_id = self._insert_source(tx, record)
        insert_record(
            tx,
            schema,
            {
                **_of_record(draft, source_id),
                "embedding": Vector(vectors.summary if vectors else np.zeros(RECORD_DIMENSIONS, np.float32)),
                "embedding_pending": vectors is None,
                "embedding_model": model,
            },
        )
        for file in draft.files.values():
            tx.execute(_COMMIT["insert_file"].format(schema=schema), file)
        ids = {"record_id": draft.record_id, "node_id": node.node_id, "user_id": self.user_id}
        if record.segment is not None:
            columns = _of_segment(record, record.segment, self.context.settings.language)
            packed = {"vectors": vectors.passages if vectors is not None else None, "model": model}
            tx.execute(_COMMIT["insert_segment"], {**ids, **columns, **packed})
        if vectors is None:
            tx.execute(_EMBEDDINGS["insert_pending"], ids)
        after = {"title": record.title, "summary": record.summary, "node_id": str(node.node_id)}
        append_delta(tx, draft.record_id, {}, after, f"peer:{self.peer_id}", operation="create")
        witness = Witness(draft.record_id, Detector.RULE, lambda _: "{}")
        write_mentions(tx, self.user_id, [Said(witness, node_id=node.node_id, role=MentionRole.SUBJECT)])
        mirrored = {"peer_id": self.peer_id, "publisher_record_id": record.record_id, "version": record.version}
        tx.execute(_QUERIES["add_record"], {**ids, **mirrored})

    def _insert_source(self, tx: Transaction, record: Record) -> UUID:
        """Write the source of a record, under an id that follows from the peer and the id at the publisher."""
        source = record.source
        source_id = uuid5(self.peer_id, f"source {source.source_id}")
        values = source.model_dump(exclude={"source_id", "kind"})
        ids = {"source_id": source_id, "user_id": self.user_id, "external_id": f"{self.peer_id}:{source.source_id}"}
        tx.execute(_QUERIES["add_source"], {**values, **ids, "kind": source.kind})
        return source_id


@dataclass(frozen=True, slots=True)
class _Draft:
    """A record whose objects are written.

    Attributes:
        files: Its rows of ``file_manifest``, by key.
        pointer: The key of the file that opens it.
    """

    record_id: UUID
    record: Record
    files: dict[str, dict[str, object]]
    pointer: str


def _put(objects: NewObjects, user_slug: str, node: NodeRef, record: Record, contents: Mapping[UUID, bytes]) -> _Draft:
    """Write the objects of a record, after checking them."""
    record_id = uuid4()
    transcript = durable_key(user_slug, node.names, record_id, uuid4())
    keys, rows = {}, {}
    for file in record.files:
        stored = contents[file.file_id]
        content_sha256 = require_content(file, stored)
        is_transcript = file.type == "transcript"
        key = keys[file.is_main] = transcript if is_transcript else original_key(transcript, file.format == "gzip")
        objects.put(key, [stored])
        if file.format == "gzip":
            objects.put(active_key(key), decompress([stored]))
        rows[key] = {
            **file.model_dump(include={"size_bytes", "stored_bytes", "member_offsets", "member_text_offsets"}),
            "file_id": uuid5(record_id, "transcript" if is_transcript else "original"),
            "record_id": record_id,
            "file_name": file.name,
            "file_type": file.type,
            "storage_path": key,
            "compression_state": CompressionState.ACTIVE.value,
            "compression_format": file.format,
            "stored_sha256": bytes.fromhex(file.stored_sha256),
            "content_sha256": content_sha256,
        }
    return _Draft(record_id, record, rows, keys[True])


def _of_record(draft: _Draft, source_id: UUID) -> dict[str, object]:
    """Return the columns of ``metadata_records`` that do not depend on vectors. Key and persona are the publisher's."""
    record = draft.record
    keywords = {"entities", "topics", "dates", "relationships"}
    others = {"record_id", "version", "embedding", "source", "files", "segment", "languages", "vectors"}
    return {
        **record.model_dump(exclude=keywords | others),
        **{f"kw_{name}": getattr(record, name) for name in keywords},
        "record_id": draft.record_id,
        "source_kind": record.source.kind,
        "source_id": source_id,
        "content_hash": bytes.fromhex(record.content_hash),
        "file_pointer": draft.pointer,
        "persona_id": None,
        "key_id": None,
        "received_through": ReceivedThrough.PEER,
        "importance": record.importance if record.source.kind is SourceKind.NOTE else None,
    }


def _of_segment(record: Record, segment: SearchSegment, usual: str) -> dict[str, object]:
    """Return the columns that follow from a segment. Whatever the publisher says, the voice is one that was fetched.

    The messages have no ids of their writers, as they are none of this installation.
    """
    rows = segment.rows.copy()
    rows["voice"] = VOICES.index(Voice.FETCHED)
    fetched = segment._replace(rows=rows, external_ids=[None] * len(rows))
    spoken = known_languages((*record.languages, record.language.rpartition(".")[2]))
    return columns_of(fetched, spoken, usual)
