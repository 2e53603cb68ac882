"""Segments that were stored, read again from their transcripts."""

from __future__ import annotations

from uuid import UUID

from neurigraph_pipelines.inbox.triggers import segment_of_record
from neurigraph_pipelines.ingestion.record_locations import lock_record
from neurigraph_pipelines.lifecycle.stored_bytes import durable_content
from neurigraph_pipelines.lifecycle.transitions import transcript_of
from neurigraph_pipelines.model import Segment
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import ConflictError, NotFoundError
from neurigraph_pipelines.text.transcript import read_messages


def read_segment(context: Context, user_id: UUID, record_id: UUID) -> Segment:
    """Return the part of a segment that a record consists of.

    Raises:
        NotFoundError: The record no longer exists.
        ConflictError: It has no transcript.
    """
    with context.database.pipeline() as tx:
        location = lock_record(tx, user_id, record_id)
        if location is None:
            raise NotFoundError
        ref = segment_of_record(tx, location.schema, record_id)
        transcript = transcript_of(tx, location.schema, record_id)
    if ref is None or transcript is None:
        raise ConflictError("the record has no transcript to read")
    content = durable_content(context.objects, transcript).content
    return Segment(ref, tuple(read_messages(content)))
