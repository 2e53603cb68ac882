"""Re-embedding: compute vectors of the configured model for stored records that lack them.

Reads the texts from the stored objects, with the stored passage boundaries. ``embed`` computes vectors and
``embedding_models`` decides which model's vectors may be written. Each record is written in its own transaction, which
checks the record again, because runs can be killed anywhere and can overlap. ``reembed`` covers the records of some
days; ``healing`` covers pending records.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from uuid import UUID

from pgvector import Vector
from psycopg import OperationalError, sql

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.history import authored, pipeline_author
from neurigraph_pipelines.graph.provisioning import require_node
from neurigraph_pipelines.graph.shell import replace_vector
from neurigraph_pipelines.ingestion.embed import TextsToEmbed, embed_texts
from neurigraph_pipelines.ingestion.embedding_models import ModelMove, begin_moves, finish_moves, lock_models
from neurigraph_pipelines.ingestion.record_locations import RecordLocation, lock_record, pages_of_days
from neurigraph_pipelines.ingestion.records import Progress, Vectors
from neurigraph_pipelines.lifecycle.stored_bytes import Manifest, durable_content
from neurigraph_pipelines.lifecycle.transitions import transcript_of
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import ConflictError, NotFoundError, TransientError
from neurigraph_pipelines.model.ports import Database, ObjectStore, Transaction
from neurigraph_pipelines.text.search_segments import SearchSegment, pack_vectors
from neurigraph_pipelines.text.stored_text import passage_text
from neurigraph_pipelines.text.transcript import Passage, read_messages

_CHANGED = "the record was revised while it was being embedded: embed it again"
_QUERIES = statements("embeddings")


@dataclass(slots=True)
class Reembedded:
    """The result of a run over days.

    Attributes:
        days: Number of embedded records by the day (UTC) of their storage.
        complete: Records that had vectors of the model already.
        failed: Records that could not be embedded, with the reason.
        moves: Progress of the users who are moving to this model.
    """

    model: str
    records: int = 0
    passages: int = 0
    complete: int = 0
    days: Counter[str] = field(default_factory=Counter)
    failed: list[tuple[UUID, str]] = field(default_factory=list)
    moves: list[ModelMove] = field(default_factory=list)

    def count(self, record_id: UUID, day: str, result: int | Exception) -> None:
        """Add the result of a record: its number of passages, or its failure.

        Raises:
            TransientError: The provider is down.
        """
        if isinstance(result, TransientError):
            raise result
        if isinstance(result, int):
            self.records += 1
            self.passages += result
            self.days[day] += 1
        else:
            self.failed.append((record_id, str(result)))


def reembed(
    context: Context,
    since: datetime | None,
    until: datetime,
    user_id: UUID | None = None,
    on_done: Progress | None = None,
    *,
    again: bool = False,
    dry_run: bool = False,
) -> Reembedded:
    """Embed every record of a period with the configured model, and switch users whose records are all done.

    Args:
        context: With the embedder of the wanted model.
        since: Start of the period; None for the beginning.
        until: End of the period, exclusive.
        user_id: Only this user's records.
        on_done: Called with the number of records checked or embedded.
        again: Also records that have vectors of the model.
        dry_run: Only count the records that would be embedded, by day; no user moves.

    Raises:
        TransientError: The provider is down. Written vectors stay, and the next run continues.
        ConfigurationError: The embedder's files are damaged. No user moves.
    """
    done = Reembedded(context.embedder.model)
    for page in pages_of_days(context.database, since, until, user_id):
        days = {row.record_id: row.created_at.astimezone(UTC).date().isoformat() for row in page}
        lacking = page if again else _lacking(context.database, page, done.model)
        done.complete += len(page) - len(lacking)
        if dry_run:
            done.records += len(lacking)
            done.days.update(days[location.record_id] for location in lacking)
            continue
        if lacking and not done.records:
            with suppress(TransientError):
                context.embedder.embed([done.model], kind="query")  # one that cannot be used moves nobody
        begin_moves(context.database, {location.user_id for location in lacking}, done.model)
        if on_done is not None:
            on_done(len(page) - len(lacking))
        for location, result in embed_records(context, lacking, again=again):
            done.count(location.record_id, days[location.record_id], result)
            if on_done is not None:
                on_done(1)
    if not dry_run:
        done.moves = finish_moves(context.database, done.model, user_id)
    return done


def _lacking(database: Database, page: Sequence[RecordLocation], model: str) -> list[RecordLocation]:
    """Return the records of a page without vectors of a model."""
    locations = sorted(page, key=lambda location: location.schema_name)
    lacking: list[RecordLocation] = []
    for schema_name, group in groupby(locations, key=lambda location: location.schema_name):
        found = {location.record_id: location for location in group}
        # Records of a removed node are skipped here; ``finish_moves`` counts them before it switches a user.
        with suppress(NotFoundError), database.pipeline() as tx:
            require_node(tx, next(iter(found.values())).node_id)
            rows = tx.execute(
                _QUERIES["records_without_vectors"].format(schema=sql.Identifier(schema_name)),
                {"record_ids": list(found), "model": model},
            )
            lacking.extend(found[row["record_id"]] for row in rows)
    return lacking


def embed_records(
    context: Context, locations: Sequence[RecordLocation], *, again: bool = False
) -> Iterator[tuple[RecordLocation, int | Exception]]:
    """Read, embed and write records; yield for each the number of its passages, or the error."""
    by_id = {location.record_id: location for location in locations}
    read: dict[UUID, TextsToEmbed] = {}
    unreadable: list[tuple[RecordLocation, Exception]] = []

    def texts() -> Iterator[TextsToEmbed]:
        for location in locations:
            try:
                summary, passages = read_passages(context, location)
            except OperationalError:
                raise
            except Exception as error:  # one damaged file must not fail the others
                unreadable.append((location, error))
                continue
            read[location.record_id] = TextsToEmbed(location.record_id, summary, passages)
            yield read[location.record_id]

    for group in embed_texts(context.embedder, texts()):
        for record_id, found in group:
            location = by_id[record_id]
            if isinstance(found, Exception):
                yield location, found
                continue
            try:
                with context.database.pipeline() as tx:
                    _write(tx, location.user_id, context.embedder.model, read.pop(record_id), found, again=again)
            except ConflictError as error:
                yield location, error
            else:
                yield location, len(found.passages)
    yield from unreadable


def read_passages(context: Context, location: RecordLocation) -> tuple[str, list[Passage]]:
    """Return the summary of a record, and its passages with their texts.

    Raises:
        ConflictError: The record no longer exists.
    """
    key = {"record_id": location.record_id}
    with context.database.pipeline() as tx:
        found = lock_record(tx, location.user_id, location.record_id)
        if found is None:
            raise ConflictError("the record no longer exists")
        record = tx.execute(_QUERIES["summary_to_embed"].format(schema=found.schema), key).fetchone()
        transcript = transcript_of(tx, found.schema, location.record_id)
        segment = tx.execute(_QUERIES["segment_to_embed"], key).fetchone()
    assert record is not None
    if transcript is None or segment is None:
        return record["summary"], []
    return record["summary"], _passages(context.objects, transcript, SearchSegment.read(segment["content"]))


def _passages(objects: ObjectStore, manifest: Manifest, segment: SearchSegment) -> list[Passage]:
    text = durable_content(objects, manifest).content
    messages = {message.seq: message for message in read_messages(text)}
    places = segment.rows[["seq", "message", "byte_offset", "byte_length"]].tolist()
    return [
        Passage(seq, messages[message], passage_text(text[offset : offset + length]), offset, length)
        for seq, message, offset, length in places
    ]


def _write(tx: Transaction, user_id: UUID, model: str, texts: TextsToEmbed, vectors: Vectors, *, again: bool) -> None:
    """Write the vectors of a record, unless it has some of this model and ``again`` is false.

    They go into the main columns if the record has none or the user's current model is this one, else into the columns
    of the next model.

    Raises:
        ConflictError: The user neither uses this model nor moves to it, or the record was revised meanwhile.
    """
    location = lock_record(tx, user_id, texts.record_id)
    models = lock_models(tx, user_id, model)
    if not models.adopt(model):
        raise ConflictError(
            f"the user's searches use {models.current} and the embedder is {model}: backfill record_embeddings first"
        )
    key = {"record_id": texts.record_id}
    record = tx.execute(_QUERIES["lock_record"].format(schema=location.schema), key).fetchone() if location else None
    has_some = record is not None and model in (record["embedding_model"], record["embedding_next_model"])
    if location is None or record is None or (has_some and not again):
        tx.execute(_QUERIES["delete_pending"], key)
        return
    if record["summary"] != texts.summary:
        raise ConflictError(_CHANGED)
    in_place = record["embedding_pending"] or model in (models.current, record["embedding_model"])
    of_record = _QUERIES["set_vectors"] if in_place else _QUERIES["set_next_vectors"]
    of_segment = _QUERIES["set_segment_vectors"] if in_place else _QUERIES["set_next_segment_vectors"]
    authored(tx, pipeline_author(model))
    tx.execute(of_record.format(schema=location.schema), {**key, "embedding": Vector(vectors.summary), "model": model})
    if texts.passages:
        packed = {"vectors": pack_vectors(vectors.passages), "passages": len(vectors.passages), "model": model}
        if tx.execute(of_segment, {**key, **packed}).rowcount == 0:  # it was split
            raise ConflictError(_CHANGED)
    tx.execute(_QUERIES["delete_pending"], key)
    if models.current == model:
        counted = record["embedding_model"] == model and not record["embedding_pending"]
        lost = record["embedding"].to_numpy() if counted else None
        replace_vector(tx, location.node_id, texts.record_id, lost=lost, gained=vectors.summary)
