"""Places of messages in transcripts, and who speaks, as the search segments of their records say it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple
from uuid import UUID

import numpy as np

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.lifecycle.stored_bytes import damaged
from neurigraph_pipelines.model import Voice
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.text.search_segments import VOICES, DamagedSegmentError, SearchSegment
from neurigraph_pipelines.views.scalars import Row

_QUERIES = statements("open")


class Place(NamedTuple):
    """Where a message of a transcript is, and who speaks.

    Attributes:
        line_after: The byte after which its line begins.
        content_end: The byte after its content.
    """

    asked_file: UUID
    node_id: UUID
    schema_name: str
    file_id: UUID
    storage_path: str
    stored_bytes: int
    member_offsets: list[int]
    member_text_offsets: list[int]
    message: int
    line_after: int
    content_end: int
    voice: Voice
    persona: str | None


_OF_TRANSCRIPT = Place._fields[: Place._fields.index("message")]


def transcripts(context: Context, file_ids: Sequence[UUID]) -> dict[UUID, Row]:
    """Return rows of ``neurigraph.open_transcripts`` by file; none for a file that the caller does not see."""
    if not file_ids:
        return {}
    seconds = context.settings.lifecycle.recompress_ttl_minutes * 60 if context.is_noted else None
    values = {"wanted": file_ids, "ttl_seconds": seconds}
    rows = context.database.ask(context.claims, _QUERIES["open_transcripts"], values, binary=True)
    return {row["asked_file"]: row for row in rows}


def places_in(row: Row | None, wanted: Sequence[int] | None) -> Iterator[Place]:
    """Yield where messages of a transcript are. A line begins after the content before it.

    Args:
        wanted: The numbers of the messages; None for all.

    Raises:
        LostObjectError: The search segment is damaged.
    """
    if row is None:
        return
    try:
        rows = SearchSegment.read(row["segment"]).rows
    except DamagedSegmentError as error:
        raise damaged(row["asked_file"]) from error
    messages, ends = rows["message"], rows["byte_offset"] + rows["byte_length"]
    first = np.flatnonzero(np.diff(messages, prepend=-1))
    last = np.append(first[1:], len(rows)) - 1
    if wanted is not None:
        is_wanted = np.isin(messages[first], wanted)
        first, last = first[is_wanted], last[is_wanted]
    transcript = [row[name] for name in _OF_TRANSCRIPT]
    columns = (messages[first], np.where(first > 0, ends[first - 1], 0), ends[last], rows["voice"][first])
    for message, line_after, content_end, voice in zip(*(column.tolist() for column in columns), strict=True):
        yield Place._make((*transcript, message, line_after, content_end, VOICES[voice] or Voice.OWNER, row["persona"]))
