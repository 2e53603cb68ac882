"""The fifth step, the atomic zone: objects first, then one transaction for a segment, or no trace of it.

Everything a record writes, it writes here. The order makes every crash harmless: an object without a row is
invisible and swept later; a row without its object cannot come to be.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from itertools import groupby
from uuid import UUID, uuid4, uuid5

import numpy as np
from pgvector import HalfVector, Vector
from psycopg import OperationalError, sql

from neurigraph_pipelines.context import Context
from neurigraph_pipelines.graph.candidates import add_candidates, promote_candidates
from neurigraph_pipelines.graph.edges import write_edges
from neurigraph_pipelines.graph.locks import lock_graph_shared
from neurigraph_pipelines.graph.naming import name_key
from neurigraph_pipelines.graph.provisioning import resolve_path
from neurigraph_pipelines.graph.shell import Addition, update_shells
from neurigraph_pipelines.history import append_delta, pipeline_author
from neurigraph_pipelines.ingestion import triggers
from neurigraph_pipelines.ingestion.embed import transcript_writer
from neurigraph_pipelines.ingestion.embedding_models import UserModels, lock_models
from neurigraph_pipelines.ingestion.persona_filing import require_writable
from neurigraph_pipelines.ingestion.records import (
    Assigned,
    BatchResult,
    Committed,
    Described,
    Embedded,
    Progress,
    RecordPlan,
    Summarized,
    Vectors,
    failed_triggers,
    failure_of,
)
from neurigraph_pipelines.ingestion.stored_files import Original, StoredFile, remove, write_original, write_transcript
from neurigraph_pipelines.lifecycle.object_keys import durable_key
from neurigraph_pipelines.lifecycle.orphans import guard_objects
from neurigraph_pipelines.model import (
    KEYWORD_COLUMNS,
    RECORD_DIMENSIONS,
    CompressionState,
    ContentType,
    ItemFailure,
    Keywords,
    Segment,
    SourceKind,
    Summary,
)
from neurigraph_pipelines.ports import Transaction
from neurigraph_pipelines.statements import statements
from neurigraph_pipelines.text.lexemes import Lexer, window_lengths

STEP = "commit"

_PASSAGES_AT_ONCE = 1_000

_QUERIES = statements("commit")
_EMBEDDINGS = statements("embeddings")
_TRIGGERS = statements("triggers")
_UPLOADS = statements("uploads")
_CONTENT_TYPES = {
    SourceKind.CONVERSATION: ContentType.CONVERSATION,
    SourceKind.EVENT: ContentType.EVENT,
    SourceKind.UPLOAD: ContentType.FILE_UPLOAD,
}


@dataclass(frozen=True, slots=True)
class _Written:
    """One record with its bytes in place, ready for the transaction."""

    plan: RecordPlan
    part: Segment
    files: tuple[StoredFile, ...]
    private: bool = False

    @property
    def content_hash(self) -> bytes:
        """The digest of the transcript's text: what tells one segment of a source from another."""
        return self.files[-1].content_sha256

    @property
    def main_file(self) -> StoredFile:
        """What is opened when somebody opens the record: the original where there is one."""
        return self.files[0]

    @property
    def kept_private(self) -> _Written:
        """The same, leaving no trace in the graph: in the deepest node that is there, without edges and names."""
        filing = replace(self.plan.filing, new_nodes=(), beside=(), edges=(), aliases=(), candidates=())
        return replace(self, plan=replace(self.plan, filing=filing), private=True)


class _LostClaimError(Exception):
    """Somebody else holds the segment now, or has stored it."""


def commit(
    context: Context,
    assigned: Assigned,
    summarized: Summarized,
    described: Described,
    embedded: Embedded,
    on_done: Progress | None = None,
) -> BatchResult:
    """Store what got through, and give back what did not.

    A segment of the batch that no step accounts for is given back too, so nothing that a batch held can be lost
    without a word.
    """
    zone = _AtomicZone(context, assigned.batch_id, summarized, described, embedded)
    failed = failed_triggers(assigned.failures, summarized.failures, described.failures, embedded.failures)
    stored: list[Committed] = []
    with triggers.keep_lease(context, assigned.batch_id):
        for trigger_id, group in groupby(assigned.plans, key=lambda plan: plan.ref.trigger_id):
            plans = list(group)
            if trigger_id not in failed:
                try:
                    stored.extend(zone.store(plans))
                except _LostClaimError:
                    pass
                except Exception as error:  # one poisoned item must not take its neighbours down
                    failed[trigger_id] = failure_of(trigger_id, STEP, error)
            if on_done is not None:
                on_done(len(plans))
    attempts = {ref.trigger_id: ref.attempts for ref in triggers.segments_of(context.database, assigned.batch_id)}
    for trigger_id in attempts.keys() - failed.keys():
        failed[trigger_id] = ItemFailure(trigger_id, STEP, "no step accounted for this segment", transient=True)
    returned = [
        (failure, state)
        for trigger_id, failure in failed.items()
        if trigger_id in attempts
        and (state := triggers.give_back(context, assigned.batch_id, failure, attempts[trigger_id]))
    ]
    return BatchResult(assigned.batch_id, tuple(stored), tuple(returned))


class _AtomicZone:
    """Stores segments of one batch, each completely or not at all."""

    def __init__(
        self,
        context: Context,
        batch_id: UUID,
        summarized: Summarized,
        described: Described,
        embedded: Embedded,
    ) -> None:
        self._context = context
        self._batch_id = batch_id
        self._summaries = summarized.summaries
        self._keywords = described.keywords
        self._embedded = embedded
        self._writer = transcript_writer(context)
        self._lexer = Lexer(context.settings.language)

    def store(self, plans: Sequence[RecordPlan]) -> list[Committed]:
        """Store all records of one segment.

        Raises:
            _LostClaimError: The batch does not hold the segment any more.
        """
        segment = triggers.load(self._context.database, plans[0].ref)
        # Nodes are made and locked in one order everywhere, so that two commits cannot wait for each other.
        plans = sorted(plans, key=lambda plan: (tuple(map(name_key, plan.filing.path)), plan.part))
        attempt = uuid4()
        keys = [durable_key(p.ref.user_slug, p.filing.path, p.record_id, attempt) for p in plans]
        try:
            written = [self._write(plan, segment, key) for plan, key in zip(plans, keys, strict=True)]
            with self._context.database.pipeline() as tx:
                committed = self._commit(tx, written)
        except OperationalError:
            # The connection broke: the transaction may have been committed all the same, so its objects must stay
            # until somebody can look.
            raise
        except BaseException:
            self._remove(keys)
            raise
        self._remove(key for key, record in zip(keys, committed, strict=True) if record.already_stored)
        return committed

    def _write(self, plan: RecordPlan, segment: Segment, key: str) -> _Written:
        """Put the objects of one record in place."""
        objects = self._context.objects
        part = segment.within(*plan.messages)
        transcript = write_transcript(objects, self._writer, part, key)
        original = self._original(plan)
        if original is None:
            return _Written(plan, part, (transcript,))
        file = write_original(objects, original, key, self._context.settings.objects.gzip_level)
        return _Written(plan, part, (file, transcript))

    def _original(self, plan: RecordPlan) -> Original | None:
        """The uploaded file, for the record that begins with the file's first message."""
        if plan.ref.source_kind is not SourceKind.UPLOAD or plan.filing.first_message != 1:
            return None
        with self._context.database.pipeline() as tx:
            row = tx.execute(_UPLOADS["original"], {"source_id": plan.ref.source_id}).fetchone()
        return Original.of_row(row) if row is not None else None

    def _remove(self, keys: Iterable[str]) -> None:
        for key in keys:
            remove(self._context.objects, key)

    def _commit(self, tx: Transaction, written: Sequence[_Written]) -> list[Committed]:
        ref = written[0].plan.ref
        held = tx.execute(_TRIGGERS["lock_claim"], {"trigger_id": ref.trigger_id, "batch_id": self._batch_id})
        if held.fetchone() is None:
            raise _LostClaimError
        lock_graph_shared(tx, ref.user_id)
        source = tx.execute(_QUERIES["is_private"], {"source_id": ref.source_id}).fetchone()
        if source is not None and source["private"]:
            written = [item.kept_private for item in written]
        for item in written:
            guard_objects(tx, self._context.objects, item.plan.record_id, (file.durable.key for file in item.files))
        models = lock_models(tx, ref.user_id, self._embedded.model) if self._embedded.vectors else None
        self._provision(tx, written)
        additions: list[Addition] = []
        committed = [self._insert(tx, item, models, additions) for item in written]
        filings = [
            item.plan.filing for item, record in zip(written, committed, strict=True) if not record.already_stored
        ]
        edges = [
            *(edge for filing in filings for edge in filing.edges),
            *promote_candidates(
                tx, ref.user_id, [node for filing in filings for node in (*filing.new_nodes, *filing.beside)]
            ),
            *add_candidates(tx, ref.user_id, [candidate for filing in filings for candidate in filing.candidates]),
        ]
        write_edges(tx, ref.user_id, ref.user_slug, edges)
        aliases = [alias for filing in filings for alias in filing.aliases]
        update_shells(tx, ref.user_id, ref.user_slug, additions, aliases)
        bodies_kept = self._context.settings.ingestion.inbox_retention_days > 0
        tx.execute(_TRIGGERS["mark_stored"], {"trigger_id": ref.trigger_id, "bodies_kept": bodies_kept})
        tx.execute(_TRIGGERS["advance_stored"], {"source_id": ref.source_id})
        if not bodies_kept:
            tx.execute(
                _TRIGGERS["drop_bodies"],
                {
                    "source_id": ref.source_id,
                    "first_message": ref.first_message,
                    "last_message": ref.last_message,
                },
            )
        return committed

    def _provision(self, tx: Transaction, written: Sequence[_Written]) -> None:
        """Make all nodes that the segment needs, in one order everywhere, before anything of them is locked."""
        ref, filings = written[0].plan.ref, [item.plan.filing for item in written]
        planned = [node for filing in filings for node in (*filing.new_nodes, *filing.beside)]
        paths = {filing.path for filing in filings} | {node.path for filing in filings for node in filing.beside}
        for path in sorted(paths, key=lambda path: tuple(map(name_key, path))):
            resolve_path(tx, ref.user_id, ref.user_slug, path, planned)

    def _insert(
        self, tx: Transaction, item: _Written, models: UserModels | None, additions: list[Addition]
    ) -> Committed:
        plan, ref = item.plan, item.plan.ref
        summary = self._summaries[plan.record_id]
        keywords = self._keywords[plan.record_id]
        # Vectors that no search of this user compares, now or soon, are none.
        usable = models is not None and models.adopt(self._embedded.model)
        vectors = self._embedded.vectors.get(plan.record_id) if usable else None
        known = tx.execute(
            _QUERIES["already_stored"],
            {
                "user_id": ref.user_id,
                "source": f"{ref.source_kind.value}:{ref.source_id}",
                "content_hash": item.content_hash,
            },
        ).fetchone()
        node = resolve_path(tx, ref.user_id, ref.user_slug, plan.filing.path)
        if ref.persona_id is not None:
            require_writable(tx, ref.persona_id, node.node_id)
        path = "/".join((ref.user_slug, *node.names))
        if known is not None:
            stored = (known["record_id"], ref.trigger_id, path, summary.title, 0, False, known["created_at"])
            return Committed(*stored, already_stored=True)
        schema = sql.Identifier(node.schema_name)
        created_at = self._insert_record(tx, schema, item, summary, keywords, vectors)
        passages = self._insert_passages(tx, schema, item, vectors)
        for file in item.files:
            self._insert_file(tx, schema, item, file, summary)
        if vectors is None:
            tx.execute(
                _EMBEDDINGS["insert_pending"],
                {"record_id": plan.record_id, "node_id": node.node_id, "user_id": ref.user_id},
            )
        in_use = vectors is not None and models is not None and models.current == self._embedded.model
        shown = Keywords() if item.private else keywords
        additions.append(Addition(node, shown, vectors.summary if vectors is not None and in_use else None))
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
            author=pipeline_author(self._context.language_model.name),
            operation="create",
            notes=plan.filing.notes,
        )
        return Committed(plan.record_id, ref.trigger_id, path, summary.title, passages, vectors is None, created_at)

    def _insert_record(
        self,
        tx: Transaction,
        schema: sql.Identifier,
        item: _Written,
        summary: Summary,
        keywords: Keywords,
        vectors: Vectors | None,
    ) -> datetime:
        plan, ref = item.plan, item.plan.ref
        embedding = vectors.summary if vectors is not None else np.zeros(RECORD_DIMENSIONS, np.float32)
        row = tx.execute(
            _QUERIES["insert_record"].format(schema=schema),
            {
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
                "content_hash": item.content_hash,
                "language": f"pg_catalog.{self._context.settings.language}",
                "file_pointer": item.main_file.durable.key,
                "occurred_at": item.part.occurred_at,
            },
        ).fetchone()
        assert row is not None
        created_at: datetime = row["created_at"]
        return created_at

    def _insert_passages(self, tx: Transaction, schema: sql.Identifier, item: _Written, vectors: Vectors | None) -> int:
        if not self._context.settings.ingestion.passages:
            return 0
        passages = list(self._writer.passages(item.part))
        counts = [self._lexer.count(f"{passage.message.author or ''} {passage.text}") for passage in passages]
        lengths = window_lengths([total for _, _, total in counts])
        for start in range(0, len(passages), _PASSAGES_AT_ONCE):
            end = start + _PASSAGES_AT_ONCE
            part, counted = passages[start:end], counts[start:end]
            tx.execute(
                _QUERIES["insert_passages"].format(schema=schema),
                {
                    "record_id": item.plan.record_id,
                    "seq": [passage.seq for passage in part],
                    "message": [passage.message.seq for passage in part],
                    "author": [passage.message.author for passage in part],
                    "byte_offset": [passage.byte_offset for passage in part],
                    "byte_length": [passage.byte_length for passage in part],
                    "embedding": [HalfVector(v) for v in vectors.passages[start:end]] if vectors else [],
                    "window_embedding": [HalfVector(v) for v in vectors.windows[start:end]] if vectors else [],
                    "lexemes": [" ".join(lexemes) for lexemes, _, _ in counted],
                    "frequencies": [" ".join(map(str, frequencies)) for _, frequencies, _ in counted],
                    "lexeme_count": [total for _, _, total in counted],
                    "role": [passage.message.role.value for passage in part],
                    "window_length": lengths[start:end],
                },
            )
        return len(passages)

    def _insert_file(
        self, tx: Transaction, schema: sql.Identifier, item: _Written, file: StoredFile, summary: Summary
    ) -> None:
        ref, record_id = item.plan.ref, item.plan.record_id
        file_id = uuid5(record_id, file.kind)
        made_up = f"{item.part.occurred_at:%Y-%m-%d} {summary.title}.jsonl".replace("/", "-")
        tx.execute(
            _QUERIES["insert_file"].format(schema=schema),
            {
                "file_id": file_id,
                "record_id": record_id,
                "file_name": file.name or made_up,
                "file_type": file.file_type,
                "storage_path": file.durable.key,
                "compression_state": CompressionState.ACTIVE.value,
                "compression_format": file.compression,
                "size_bytes": file.size_bytes,
                "stored_bytes": file.durable.size_bytes,
                "stored_sha256": bytes.fromhex(file.durable.sha256),
                "content_sha256": file.content_sha256,
                "member_offsets": file.layout.member_offsets,
                "member_text_offsets": file.layout.member_text_offsets,
            },
        )
        if file.kind == "original":
            tx.execute(_UPLOADS["keep_original"], {"source_id": ref.source_id, "file_id": file_id})


_EMBEDDINGS = statements("embeddings")
