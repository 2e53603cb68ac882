"""Rows of one record: record, search segment, files, registry entries and delta, in the transaction of its commit.

``commit`` stores the objects before and changes the graph around these rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from uuid import UUID, uuid5

import numpy as np
from pgvector import Vector
from psycopg import sql

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.edges import Places
from neurigraph_pipelines.graph.history import append_delta, pipeline_author
from neurigraph_pipelines.graph.provisioning import NodeRef
from neurigraph_pipelines.graph.shell import Addition
from neurigraph_pipelines.graph.voices import common_origin
from neurigraph_pipelines.graph.witnesses import Said, Witness, messages_with, named
from neurigraph_pipelines.inbox.stored_files import StoredFile
from neurigraph_pipelines.ingestion.distinct_titles import free_titles, possible_titles, with_id
from neurigraph_pipelines.ingestion.embedding_models import UserModels
from neurigraph_pipelines.ingestion.note_records import pinned_node
from neurigraph_pipelines.ingestion.persona_filing import require_writable
from neurigraph_pipelines.ingestion.records import (
    OFFLINE,
    Committed,
    Described,
    Embedded,
    MadeSegment,
    RecordPlan,
    Summarized,
    Vectors,
)
from neurigraph_pipelines.ingestion.unfinished import UNFINISHED
from neurigraph_pipelines.ingestion.written_records import Inserted, WrittenRecord
from neurigraph_pipelines.lifecycle.object_keys import active_key
from neurigraph_pipelines.model import (
    KEYWORD_COLUMNS,
    RECORD_DIMENSIONS,
    CompressionState,
    ContentType,
    Detector,
    Keywords,
    MentionRole,
    SourceKind,
    Summary,
)
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.enriching import enriched
from neurigraph_pipelines.model.errors import ConflictError, TransientError
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.text.search_segments import pack_vectors

_QUERIES = statements("commit")
_EMBEDDINGS = statements("embeddings")
_UPLOADS = statements("uploads")
_CONTENT_TYPES = {
    SourceKind.CONVERSATION: ContentType.CONVERSATION,
    SourceKind.EVENT: ContentType.EVENT,
    SourceKind.UPLOAD: ContentType.FILE_UPLOAD,
    SourceKind.NOTE: ContentType.NOTE,
}


def insert_record(tx: Transaction, schema: sql.Identifier, values: Mapping[str, object]) -> None:
    """Insert the row of a record, with values by column."""
    columns, placeholders = (sql.SQL(", ").join(map(kind, values)) for kind in (sql.Identifier, sql.Placeholder))
    tx.execute(_QUERIES["insert_record"].format(schema=schema, columns=columns, values=placeholders), values)


def replace_record(tx: Transaction, schema: sql.Identifier, values: Mapping[str, object]) -> None:
    """Write columns of the row of a stored record, with values by column."""
    assigned = sql.SQL(", ").join(
        sql.SQL("{} = {}").format(sql.Identifier(name), sql.Placeholder(name)) for name in values
    )
    tx.execute(_QUERIES["replace_record"].format(schema=schema, assigned=assigned), values)


class RecordRows:
    """Inserts the rows of the records of one batch."""

    def __init__(
        self,
        context: Context,
        summarized: Summarized,
        described: Described,
        embedded: Embedded,
    ) -> None:
        self._context = context
        self._summaries = summarized.summaries
        self._keywords = described.keywords
        self._titles: dict[UUID, str] = {}
        self._untitled: dict[UUID, str] = {}
        self._left_out = (summarized.left_out, described.left_out, self._untitled)
        self._embedded = embedded
        self._detector = Detector.RULE if context.language_model.name == OFFLINE else Detector.MODEL

    def choose_titles(self, tx: Transaction, records: Sequence[WrittenRecord]) -> None:
        """Choose the titles of records of one user, before they are written: no other record of the graph has them.

        The title given to a note stays.
        """
        possible: dict[UUID, list[str]] = {}
        for record in records:
            ref, record_id = record.plan.ref, record.plan.record_id
            if ref.note is not None and ref.title is not None:
                self._titles[record_id] = self._summaries[record_id].title
            else:
                possible[record_id] = self._possible_titles(record)
        if possible:
            self._titles |= free_titles(tx, records[0].plan.ref.user_id, possible)

    def _possible_titles(self, record: WrittenRecord) -> list[str]:
        record_id, left_out = record.plan.record_id, list[str]()
        title, keywords = self._summaries[record_id].title, self._keywords[record_id]
        subjects = (*keywords.topics, *keywords.entities)
        titles = enriched(
            "title",
            lambda: possible_titles(record_id, title, subjects, record.part.occurred_at),
            lambda: [with_id(title, record_id)],
            left_out,
        )
        self._untitled.update((record_id, one) for one in left_out)
        return titles

    def insert(self, tx: Transaction, record: WrittenRecord, models: UserModels | None, places: Places) -> Inserted:
        """Insert the rows of one record, unless it is stored already.

        Args:
            tx: The transaction of the commit; it has locked the graph shared.
            record: The record.
            models: The user's models; None if the batch has no vectors.
            places: The user's nodes; those that the record needs are created.

        Raises:
            ForbiddenError: The persona that sent the segment may no longer write to the node.
        """
        plan, ref = record.plan, record.plan.ref
        summary, keywords = self._summaries[plan.record_id], self._keywords[plan.record_id]
        vectors = self._usable_vectors(plan, models)
        node = pinned_node(tx, ref) or places.reach(plan.filing.path)
        if ref.persona_id is not None:
            require_writable(tx, ref.persona_id, node.node_id)
        path = "/".join((ref.user_slug, *node.names))
        assert record.created_at is not None
        if record.known is not None:
            stored = (record.known, ref.trigger_id, path, summary.title, 0, False, record.created_at)
            return Inserted(record, Committed(*stored, already_stored=True), node.node_id)
        schema = sql.Identifier(node.schema_name)
        made = self._made_segment(record)
        left_out = [*self._left_out_before(plan), *made.left_out]
        summary = replace(summary, title=self._titles[plan.record_id])
        columns = self._columns(record, summary, keywords, vectors, made.language)
        insert_record(tx, schema, columns)
        passages = self._insert_segment(tx, plan, node.node_id, made, vectors)
        for file in record.files:
            self._insert_file(tx, schema, record, file, summary)
        if vectors is None:
            ids = {"record_id": plan.record_id, "node_id": node.node_id, "user_id": ref.user_id}
            tx.execute(_EMBEDDINGS["insert_pending"], ids)
        self._append_delta(tx, plan, node, summary, keywords, vectors, left_out)
        if record.quarantines:
            tx.execute(_QUERIES["hold_record"], {"record_id": plan.record_id, "quarantines": list(record.quarantines)})
        is_current = vectors is not None and models is not None and models.current == self._embedded.model
        shell_keywords = Keywords() if record.private else keywords
        addition = Addition(node, shell_keywords, vectors.summary if vectors is not None and is_current else None)
        stored = (plan.record_id, ref.trigger_id, path, summary.title, passages, vectors is None, record.created_at)
        witness = Witness(plan.record_id, self._detector, messages_with(record.part.messages))
        committed = Committed(*stored, left_out=tuple(left_out))
        return Inserted(record, committed, node.node_id, addition if not record.quarantines else None, witness)

    def replace(self, tx: Transaction, record: WrittenRecord, models: UserModels | None, node: NodeRef) -> Inserted:
        """Write the rows of a stored record that keeps a part of its messages: its id, file and state stay.

        Args:
            tx: A transaction of the owner that has locked the graph exclusively, and knows the author.
            record: The part, with its transcript alone.
            models: The user's models; None if there are no vectors.
            node: The node that the record is at.

        Raises:
            ConflictError: A defect keeps a row from being made.
        """
        plan, schema = record.plan, sql.Identifier(node.schema_name)
        keywords, vectors = self._keywords[plan.record_id], self._usable_vectors(plan, models)
        made = self._made_segment(record)
        left_out = [*self._left_out_before(plan), *made.left_out]
        summary = replace(self._summaries[plan.record_id], title=self._titles[plan.record_id])
        columns = self._columns(record, summary, keywords, vectors, made.language)
        replace_record(tx, schema, {**columns, "embedding_next": None, "embedding_next_model": None})
        ids = {"record_id": plan.record_id, "node_id": node.node_id, "user_id": plan.ref.user_id}
        tx.execute(_QUERIES["delete_segment"], ids)
        passages = self._insert_segment(tx, plan, node.node_id, made, vectors)
        columns_of_file = _columns_of_file(record, record.main_file, summary)
        (file,) = tx.execute(_QUERIES["replace_file"].format(schema=schema), columns_of_file)
        if file["compression_state"] == CompressionState.REHYDRATING:
            raise ConflictError("its file is being decompressed: run it again")
        if file["compression_state"] == CompressionState.DORMANT:
            self._context.objects.delete(active_key(record.main_file.durable.key))
        tx.execute(_EMBEDDINGS["delete_pending"], ids)
        if vectors is None:
            tx.execute(_EMBEDDINGS["insert_pending"], ids)
        if left_out:
            raise ConflictError(f"a part could not be made: {', '.join(left_out)}")
        path = "/".join((plan.ref.user_slug, *node.names))
        stored = (plan.record_id, plan.ref.trigger_id, path, summary.title, passages, vectors is None, file["stored"])
        witness = Witness(plan.record_id, self._detector, messages_with(record.part.messages))
        return Inserted(record, Committed(*stored), node.node_id, None, witness)

    def _made_segment(self, record: WrittenRecord) -> MadeSegment:
        """Return the segment of a record.

        Raises:
            TransientError: A message was erased since it was made.
        """
        made = self._embedded.segments[record.plan.record_id]
        if made.messages != tuple(message.seq for message in record.part.messages):
            raise TransientError("messages of it were erased meanwhile")
        return made

    def _left_out_before(self, plan: RecordPlan) -> list[str]:
        """Return the values of a record that earlier steps left out."""
        marks = (plan.filing.left_out, *(marks.get(plan.record_id) for marks in self._left_out))
        return [mark for mark in marks if mark is not None]

    def words(self, inserted: Inserted) -> dict[str, object]:
        """Return the title and the keywords of a new record, by column."""
        record_id = inserted.committed.record_id
        keywords = asdict(self._keywords[record_id])
        return {"title": self._titles[record_id], **{f"kw_{name}": words for name, words in keywords.items()}}

    def said(self, inserted: Inserted) -> list[Said]:
        """Return the nodes that a new record speaks of: its own node, its speakers, and its entities."""
        witness = inserted.witness
        if witness is None:
            return []
        entities = self._keywords[witness.record_id].entities
        authors = (message.author for message in inserted.written.part.messages if message.author)
        return [
            Said(witness, node_id=inserted.node_id, role=MentionRole.SUBJECT),
            *named(witness, authors, MentionRole.AUTHOR),
            *named(witness, entities, MentionRole.MENTION),
        ]

    def _append_delta(
        self,
        tx: Transaction,
        plan: RecordPlan,
        node: NodeRef,
        summary: Summary,
        keywords: Keywords,
        vectors: Vectors | None,
        left_out: Sequence[str],
    ) -> None:
        append_delta(
            tx,
            plan.record_id,
            before={},
            after={
                "title": summary.title,
                "summary": summary.text,
                **{f"kw_{name}": words for name, words in asdict(keywords).items()},
                "embedding_model": self._embedded.model if vectors is not None else None,
                "node_id": str(node.node_id),
            },
            author=UNFINISHED if left_out else pipeline_author(self._context.language_model.name),
            operation="create",
            notes=(*left_out, *plan.filing.notes),
        )

    def _usable_vectors(self, plan: RecordPlan, models: UserModels | None) -> Vectors | None:
        """Return the vectors of a record; none of a model that the user neither uses nor moves to."""
        usable = models is not None and models.adopt(self._embedded.model)
        return self._embedded.vectors.get(plan.record_id) if usable else None

    def _columns(
        self, record: WrittenRecord, summary: Summary, keywords: Keywords, vectors: Vectors | None, language: str
    ) -> dict[str, object]:
        """Return the columns of a record's row."""
        plan, ref = record.plan, record.plan.ref
        persona_id, key_id, received_through = common_origin(record.part.messages)
        embedding = vectors.summary if vectors is not None else np.zeros(RECORD_DIMENSIONS, np.float32)
        return {
            "record_id": plan.record_id,
            "title": summary.title,
            "summary": summary.text,
            "embedding": Vector(embedding),
            "embedding_pending": vectors is None,
            "embedding_model": self._embedded.model if vectors is not None else None,
            **{column: list(getattr(keywords, name)) for name, column in KEYWORD_COLUMNS.items()},
            "content_type": _CONTENT_TYPES[ref.source_kind].value,
            "trigger_type": ref.trigger_type.value,
            "source_kind": ref.source_kind.value,
            "source_id": ref.source_id,
            "first_message": plan.filing.first_message,
            "last_message": plan.filing.last_message,
            "content_hash": record.content_hash,
            "language": f"pg_catalog.{language}",
            "file_pointer": record.main_file.durable.key,
            "occurred_at": record.part.occurred_at,
            "persona_id": persona_id,
            "key_id": key_id,
            "received_through": received_through,
            "received_at": max((m.received_at for m in record.part.messages if m.received_at), default=None),
            "importance": ref.note.importance if ref.note is not None else None,
            "created_at": record.created_at,
        }

    def _insert_segment(
        self, tx: Transaction, plan: RecordPlan, node_id: UUID, made: MadeSegment, vectors: Vectors | None
    ) -> int:
        """Insert the search segment of a record; return the number of its passages."""
        if made.columns is None:
            return 0
        tx.execute(
            _QUERIES["insert_segment"],
            {
                "record_id": plan.record_id,
                "user_id": plan.ref.user_id,
                "node_id": node_id,
                **made.columns,
                "vectors": pack_vectors(vectors.passages) if vectors is not None else None,
                "model": self._embedded.model if vectors is not None else None,
            },
        )
        return int(str(made.columns["passages"]))

    def _insert_file(
        self, tx: Transaction, schema: sql.Identifier, record: WrittenRecord, file: StoredFile, summary: Summary
    ) -> None:
        file_id = uuid5(record.plan.record_id, file.kind)
        columns = _columns_of_file(record, file, summary)
        state = {"compression_state": CompressionState.ACTIVE.value}
        tx.execute(_QUERIES["insert_file"].format(schema=schema), {"file_id": file_id, **columns, **state})
        if file.kind == "original":
            tx.execute(_UPLOADS["set_original"], {"source_id": record.plan.ref.source_id, "file_id": file_id})


def _columns_of_file(record: WrittenRecord, file: StoredFile, summary: Summary) -> dict[str, object]:
    """Return the columns of a file's row, besides its id and its state."""
    default_name = f"{record.part.occurred_at:%Y-%m-%d} {summary.title}.jsonl".replace("/", "-")
    return {
        "record_id": record.plan.record_id,
        "file_name": file.name or default_name,
        "file_type": file.file_type,
        "storage_path": file.durable.key,
        "compression_format": file.compression,
        "size_bytes": file.size_bytes,
        "stored_bytes": file.durable.size_bytes,
        "stored_sha256": bytes.fromhex(file.durable.sha256),
        "content_sha256": file.content_sha256,
        "member_offsets": file.layout.member_offsets,
        "member_text_offsets": file.layout.member_text_offsets,
    }
