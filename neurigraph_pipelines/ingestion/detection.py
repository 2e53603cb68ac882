"""Detection of segments to store: one function for each storage trigger.

``segmentation`` decides where to split a conversation; ``triggers`` has the queue of stored segments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple
from uuid import UUID

from psycopg import sql

from neurigraph_pipelines.database.asking import row_of, value_of
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.ingestion.segmentation import Chunk, Sizes, Turn, split_tail
from neurigraph_pipelines.model import Role, SourceKind, TriggerType
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.enriching import enriched
from neurigraph_pipelines.model.ports import Database, Transaction

Detector = Callable[[Context], int]
"""Inserts triggers for the segments it finds, and returns their number."""

SOURCES_AT_ONCE = 10_000
TAILS_AT_ONCE = 20
"""Conversations that one detection splits. One of a thousand messages costs the database about three milliseconds, and
twenty at every look of a minute are more than 150,000 tokens a second."""

UPLOADS_AT_ONCE = 1_000

_QUERIES = statements("segmentation")
_UPLOADS = statements("uploads")


def detect(context: Context) -> int:
    """Run all detectors.

    Returns:
        The number of new segments.
    """
    return sum(detector(context) for detector in DETECTORS.values())


def detect_conversation_ends(context: Context) -> int:
    """Detect ended conversations with unstored messages; split those longer than a segment like open ones."""
    most = context.settings.ingestion.chunk_limit_tokens
    found = _cut_tails(context, _QUERIES["lock_ended_tail"], {"most_tokens": most}, ended=True)
    return found + _detect_ends(context.database, SourceKind.CONVERSATION, TriggerType.CONVERSATION_END, most)


def detect_chunks(context: Context) -> int:
    """Detect open conversations whose unstored tail is long enough to be split at a boundary."""
    least = context.settings.ingestion.chunk_watch_tokens
    return _cut_tails(context, _QUERIES["lock_open_tail"], {"least_tokens": least}, ended=False)


def _cut_tails(context: Context, lock: sql.SQL, values: Mapping[str, int], *, ended: bool) -> int:
    """Cut the tails of conversations that a statement locks one by one; return how many segments that makes."""
    found = 0
    for _ in range(TAILS_AT_ONCE):
        with context.database.pipeline() as tx:
            source = row_of(tx, lock, _Tail, values)
            if source is None:
                break
            found += _cut(tx, source, Sizes.of(context.settings), ended=ended)
    return found


def detect_event_ends(context: Context) -> int:
    """Detect ended events with unstored messages, each one segment of any length; notes; and uploads."""
    events = _detect_ends(context.database, SourceKind.EVENT, TriggerType.EVENT_BOUNDARY, None)
    return events + detect_notes(context) + detect_uploads(context)


def detect_notes(context: Context) -> int:
    """Detect notes; each version is a segment.

    Their trigger is ``event_boundary``, because a note is complete when it arrives.
    """
    return _detect_ends(context.database, SourceKind.NOTE, TriggerType.EVENT_BOUNDARY, None)


def detect_uploads(context: Context) -> int:
    """Detect uploads whose text was extracted; a long document becomes several segments.

    Their trigger is ``event_boundary``, because an upload is complete when it arrives, like a meeting that ends.
    """
    with context.database.pipeline() as tx:
        return value_of(
            int,
            tx.execute(
                _UPLOADS["trigger_extracted"],
                {
                    "trigger_type": TriggerType.EVENT_BOUNDARY.value,
                    "target_tokens": context.settings.ingestion.chunk_target_tokens,
                    "limit": UPLOADS_AT_ONCE,
                },
            ),
        )


DETECTORS: dict[TriggerType, Detector] = {
    TriggerType.CONVERSATION_END: detect_conversation_ends,
    TriggerType.CHUNK_THRESHOLD: detect_chunks,
    TriggerType.EVENT_BOUNDARY: detect_event_ends,
}


def _detect_ends(database: Database, kind: SourceKind, trigger_type: TriggerType, most_tokens: int | None) -> int:
    with database.pipeline() as tx:
        found = tx.execute(
            _QUERIES["trigger_ended"],
            {
                "kind": kind.value,
                "trigger_type": trigger_type.value,
                "most_tokens": most_tokens,
                "limit": SOURCES_AT_ONCE,
            },
        ).rowcount
        return found + _cut_at_voices(tx) if found else 0


def _cut_at_voices(tx: Transaction) -> int:
    """Cut the new segments of personas where somebody else speaks, and return the number of further segments."""
    return tx.execute(_QUERIES["cut_at_voices"]).rowcount


class _Tail(NamedTuple):
    """The messages of a conversation that are in no segment yet."""

    source_id: UUID
    user_id: UUID
    triggered_through: int
    last_message: int
    untriggered_tokens: int


def _cut(tx: Transaction, source: _Tail, sizes: Sizes, *, ended: bool) -> int:
    """Split the tail of a locked source; if it ended, the rest is a segment too."""
    tail = [
        Turn(row["seq"], Role(row["role"]), row["token_count"], row["complete"], row["calls"], row["author"])
        for row in tx.execute(_QUERIES["tail"], source._asdict())
    ]
    # Unsplit, a conversation is one segment once it has ended.
    chunks: tuple[Chunk, ...] = enriched(
        "boundaries of segments", lambda: split_tail(tail, sizes, ended=ended).chunks, lambda: ()
    )
    segments = [(TriggerType.CHUNK_THRESHOLD, chunk) for chunk in chunks]
    through: int = segments[-1][1].last_message if segments else source.triggered_through
    left: int = source.untriggered_tokens - sum(chunk.tokens for _, chunk in segments)
    if ended:
        segments.append((TriggerType.CONVERSATION_END, Chunk(through + 1, source.last_message, left)))
        through, left = source.last_message, 0
    if segments:
        tx.execute(
            _QUERIES["trigger_segments"],
            {
                "user_id": source.user_id,
                "source_id": source.source_id,
                "trigger_types": [trigger_type.value for trigger_type, _ in segments],
                "first_messages": [chunk.first_message for _, chunk in segments],
                "last_messages": [chunk.last_message for _, chunk in segments],
                "token_counts": [chunk.tokens for _, chunk in segments],
            },
        )
    tx.execute(
        _QUERIES["set_triggered"],
        {"source_id": source.source_id, "triggered_through": through, "untriggered_tokens": left},
    )
    return len(segments) + (_cut_at_voices(tx) if segments else 0)
