"""Vectors that come after the commit: given to records that lack those of the configured model.

Texts are read from the stored objects and cut as they were cut when they were stored; how texts become vectors is in
``embed``, and which model's vectors are wanted in ``embedding_models``. Every record is written in one transaction of
its own, which looks again at what the record has: runs may be killed anywhere, and two may meet. Here are the records
of some days; those that wait for a provider are for ``healing``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from typing import Any
from uuid import UUID

from pgvector import HalfVector, Vector
from psycopg import OperationalError, sql

from neurigraph_pipelines.context import Context
from neurigraph_pipelines.errors import ConflictError, NotFoundError, TransientError
from neurigraph_pipelines.graph.provisioning import upgrade_node
from neurigraph_pipelines.graph.shell import replace_vector
from neurigraph_pipelines.history import authored, pipeline_author
from neurigraph_pipelines.ingestion.embed import RecordTexts, embed_texts
from neurigraph_pipelines.ingestion.embedding_models import Move, begin_moves, finish_moves, lock_models
from neurigraph_pipelines.ingestion.record_locations import RecordLocation, lock_record, pages_of_days
from neurigraph_pipelines.ingestion.records import Progress, Vectors
from neurigraph_pipelines.lifecycle.stored_bytes import durable_content
from neurigraph_pipelines.ports import Database, ObjectStore, Transaction
from neurigraph_pipelines.statements import statements
from neurigraph_pipelines.text.stored_text import passage_text
from neurigraph_pipelines.text.transcript import Passage, read_messages

_QUERIES = statements("embeddings")


@dataclass(slots=True)
class Reembedded:
    """What a run over days did.

    Attributes:
        days: Records that were given vectors, by the day (UTC) they were stored on.
        complete: Records that had them already.
        failed: Records that could not be given vectors, and why.
        moves: Users on the way to this model, and how far they are.
    """

    model: str
    records: int = 0
    passages: int = 0
    complete: int = 0
    days: Counter[str] = field(default_factory=Counter)
    failed: list[tuple[UUID, str]] = field(default_factory=list)
    moves: list[Move] = field(default_factory=list)


def reembed(
    context: Context,
    since: datetime | None,
    until: datetime,
    user_id: UUID | None = None,
    on_done: Progress | None = None,
) -> Reembedded:
    """Give every record stored within a time vectors of the configured model, and switch users who are done.

    Args:
        context: Whose embedder is the model wanted.
        since: First moment; None for the beginning.
        until: First moment that is not within.
        user_id: Only this user's.
        on_done: Told of each record looked at.

    Raises:
        TransientError: The provider is down; what was written stays, and another run goes on from there.
    """
    done = Reembedded(context.embedder.model)
    for page in pages_of_days(context.database, since, until, user_id):
        days = {row["record_id"]: row["created_at"].astimezone(UTC).date().isoformat() for row in page}
        lacking = _lacking(context.database, page, done.model)
        done.complete += len(page) - len(lacking)
        begin_moves(context.database, {place.user_id for place in lacking}, done.model)
        if on_done is not None:
            on_done(len(page) - len(lacking))
        for place, result in fill(context, lacking):
            if isinstance(result, TransientError):
                raise result
            if isinstance(result, int):
                done.records += 1
                done.passages += result
                done.days[days[place.record_id]] += 1
            else:
                done.failed.append((place.record_id, str(result)))
            if on_done is not None:
                on_done(1)
    done.moves = finish_moves(context.database, done.model, user_id)
    return done


def _lacking(database: Database, page: Sequence[dict[str, Any]], model: str) -> list[RecordLocation]:
    """Those of a page that have no vectors of a model; their nodes are brought to the current DDL on the way."""
    places = sorted(map(RecordLocation.of_row, page), key=lambda place: place.schema_name)
    lacking: list[RecordLocation] = []
    for schema_name, group in groupby(places, key=lambda place: place.schema_name):
        found = {place.record_id: place for place in group}
        # What a node held that was removed meanwhile is missed here, and counted before anybody switches.
        with suppress(NotFoundError), database.pipeline() as tx:
            upgrade_node(tx, next(iter(found.values())).node_id, schema_name)
            rows = tx.execute(
                _QUERIES["lacking"].format(schema=sql.Identifier(schema_name)),
                {"record_ids": list(found), "model": model},
            )
            lacking.extend(found[row["record_id"]] for row in rows)
    return lacking


def fill(context: Context, places: Sequence[RecordLocation]) -> Iterator[tuple[RecordLocation, int | Exception]]:
    """Read, embed and write records; says of each how many passages it has, or why it has no vectors yet."""
    by_id = {place.record_id: place for place in places}
    read: dict[UUID, RecordTexts] = {}
    unreadable: list[tuple[RecordLocation, Exception]] = []

    def texts() -> Iterator[RecordTexts]:
        for place in places:
            try:
                summary, passages = _read(context, place)
            except OperationalError:
                raise
            except Exception as error:  # one damaged file must not take its neighbours down
                unreadable.append((place, error))
                continue
            read[place.record_id] = RecordTexts(place.record_id, summary, passages)
            yield read[place.record_id]

    for group in embed_texts(context.embedder, texts()):
        for record_id, found in group:
            place = by_id[record_id]
            if isinstance(found, Exception):
                yield place, found
                continue
            try:
                with context.database.pipeline() as tx:
                    _write(tx, place.user_id, context.embedder.model, read.pop(record_id), found)
            except ConflictError as error:
                yield place, error
            else:
                yield place, len(found.passages)
    yield from unreadable


def _read(context: Context, place: RecordLocation) -> tuple[str, list[Passage]]:
    """The summary of a record, and its passages with their texts."""
    key = {"record_id": place.record_id}
    with context.database.pipeline() as tx:
        found = lock_record(tx, place.user_id, place.record_id)
        if found is None:
            raise ConflictError("the record is gone")
        record = tx.execute(_QUERIES["record_to_embed"].format(schema=found.schema), key).fetchone()
        ranges = tx.execute(_QUERIES["passages_to_embed"].format(schema=found.schema), key).fetchall()
    assert record is not None
    if not ranges:
        return record["summary"], []
    return record["summary"], _passages(context.objects, record, ranges)


def _passages(objects: ObjectStore, manifest: dict[str, Any], ranges: Sequence[dict[str, Any]]) -> list[Passage]:
    text = durable_content(objects, manifest).content
    messages = {message.seq: message for message in read_messages(text)}
    return [
        Passage(
            row["seq"],
            messages[row["first_message"]],
            passage_text(text[row["byte_offset"] : row["byte_offset"] + row["byte_length"]]),
            row["byte_offset"],
            row["byte_length"],
        )
        for row in ranges
    ]


def _write(tx: Transaction, user_id: UUID, model: str, texts: RecordTexts, vectors: Vectors) -> None:
    """Give a record its vectors: in place when it has none or searches want this model, else beside those in use.

    Raises:
        ConflictError: The user neither uses this model nor moves to it, or the record was revised meanwhile.
    """
    place = lock_record(tx, user_id, texts.record_id)
    models = lock_models(tx, user_id, model)
    if not models.adopt(model):
        raise ConflictError(
            f"the user's searches use {models.current} and the embedder is {model}: backfill record_embeddings first"
        )
    key = {"record_id": texts.record_id}
    record = tx.execute(_QUERIES["lock_record"].format(schema=place.schema), key).fetchone() if place else None
    if place is None or record is None or model in (record["embedding_model"], record["embedding_next_model"]):
        tx.execute(_QUERIES["delete_pending"], key)
        return
    if record["summary"] != texts.summary:
        raise ConflictError("the record was revised while it was embedded: embed it again")
    in_place = record["embedding_pending"] or models.current == model
    of_record = _QUERIES["set_vectors"] if in_place else _QUERIES["set_next_vectors"]
    of_passage = _QUERIES["set_passage_vectors"] if in_place else _QUERIES["set_next_passage_vectors"]
    authored(tx, pipeline_author(model))
    tx.execute(of_record.format(schema=place.schema), {**key, "embedding": Vector(vectors.summary), "model": model})
    with tx.cursor() as cursor:
        cursor.executemany(
            of_passage.format(schema=place.schema),
            [
                {
                    **key,
                    "seq": passage.seq,
                    "embedding": HalfVector(vector),
                    "window_embedding": HalfVector(window),
                }
                for passage, vector, window in zip(texts.passages, vectors.passages, vectors.windows, strict=True)
            ],
        )
    tx.execute(_QUERIES["delete_pending"], key)
    if models.current == model:
        replace_vector(tx, place.node_id, gained=vectors.summary)
