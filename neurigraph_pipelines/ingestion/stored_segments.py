"""Segments that were stored, read again from their transcripts."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from neurigraph_pipelines.inbox.triggers import load, segment_of_record
from neurigraph_pipelines.ingestion.record_locations import lock_record
from neurigraph_pipelines.lifecycle.stored_bytes import durable_content
from neurigraph_pipelines.lifecycle.transitions import transcript_of
from neurigraph_pipelines.model import Message, Segment
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import ConflictError, require_found
from neurigraph_pipelines.text.transcript import read_messages


def read_segment(context: Context, user_id: UUID, record_id: UUID) -> Segment:
    """Return the part of a segment that a record consists of.

    Raises:
        NotFoundError: The record no longer exists.
        ConflictError: It has no transcript.
    """
    with context.database.pipeline() as tx:
        location = require_found(lock_record(tx, user_id, record_id))
        ref = segment_of_record(tx, location.schema, record_id)
        transcript = transcript_of(tx, location.schema, record_id)
    if ref is None or transcript is None:
        raise ConflictError("the record has no transcript to read")
    content = durable_content(context.objects, transcript).content
    return Segment(ref, tuple(read_messages(content)))


def with_origins(context: Context, segment: Segment) -> Segment:
    """Return a segment that was read from its transcript with the fields of its messages that only the inbox has."""
    within = (segment.messages[0].seq, segment.messages[-1].seq)
    known = {one.seq: one for one in load(context.database, segment.ref, within).messages}

    def with_origin(message: Message) -> Message:
        row = known.get(message.seq)
        if row is None:
            return replace(message, token_count=context.tokens.count_each([message.content])[0])
        return replace(
            message,
            token_count=row.token_count,
            key_id=row.key_id,
            persona_id=row.persona_id,
            received_through=row.received_through,
            received_at=row.received_at,
            section=row.section,
        )

    return replace(segment, messages=tuple(map(with_origin, segment.messages)))
