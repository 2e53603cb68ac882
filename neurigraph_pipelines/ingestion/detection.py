"""Finds what is to be stored, and writes it down as segments: one function for each kind of storage trigger.

Where a conversation is cut is for ``clean_breaks`` to decide; what happens to a segment once it is written down is for
``triggers``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from neurigraph_pipelines.context import Context
from neurigraph_pipelines.ingestion.segmentation import Chunk, Sizes, Turn, split_tail
from neurigraph_pipelines.model import Role, SourceKind, TriggerType
from neurigraph_pipelines.ports import Database, Transaction
from neurigraph_pipelines.statements import statements

Detector = Callable[[Context], int]
"""Makes triggers for what it finds, and says for how many segments."""

SOURCES_AT_ONCE = 10_000
TAILS_AT_ONCE = 20
"""Conversations in which one look seeks breaks: one of a thousand messages costs the database about three
milliseconds, and twenty at every tick of five seconds are two million tokens a second."""

UPLOADS_AT_ONCE = 1_000

_QUERIES = statements("triggers")
_UPLOADS = statements("uploads")


def detect(context: Context) -> int:
    """Everything that is to be stored now.

    Returns:
        For how many segments triggers were made.
    """
    return sum(detector(context) for detector in DETECTORS.values())


def detect_conversation_ends(context: Context) -> int:
    """Conversations that ended with something unstored; one longer than a segment may be is cut like an open one."""
    found = 0
    for _ in range(TAILS_AT_ONCE):
        with context.database.pipeline() as tx:
            source = tx.execute(
                _QUERIES["lock_ended_tail"], {"most_tokens": context.settings.ingestion.chunk_limit_tokens}
            ).fetchone()
            if source is None:
                break
            found += _cut(tx, source, Sizes.of(context.settings), ended=True)
    return found + _detect_ends(
        context.database,
        SourceKind.CONVERSATION,
        TriggerType.CONVERSATION_END,
        context.settings.ingestion.chunk_limit_tokens,
    )


def detect_chunks(context: Context) -> int:
    """Conversations that go on, with an unstored tail that is long enough to be cut at a clean break."""
    found = 0
    for _ in range(TAILS_AT_ONCE):
        with context.database.pipeline() as tx:
            source = tx.execute(
                _QUERIES["lock_open_tail"], {"least_tokens": context.settings.ingestion.chunk_watch_tokens}
            ).fetchone()
            if source is None:
                break
            found += _cut(tx, source, Sizes.of(context.settings), ended=False)
    return found


def detect_event_ends(context: Context) -> int:
    """Events that ended with something unstored, each of which is one segment, however long; and uploads."""
    events = _detect_ends(context.database, SourceKind.EVENT, TriggerType.EVENT_BOUNDARY, None)
    return events + detect_uploads(context)


def detect_uploads(context: Context) -> int:
    """Uploads whose text was read; a long document becomes several segments.

    An upload is over the moment it has arrived, whatever its size, as a meeting is that ends: of the three reasons to
    store something, that is ``event_boundary``.
    """
    with context.database.pipeline() as tx:
        row = tx.execute(
            _UPLOADS["trigger_extracted"],
            {
                "trigger_type": TriggerType.EVENT_BOUNDARY.value,
                "target_tokens": context.settings.ingestion.chunk_target_tokens,
                "limit": UPLOADS_AT_ONCE,
            },
        ).fetchone()
    assert row is not None
    segments: int = row["segments"]
    return segments


DETECTORS: dict[TriggerType, Detector] = {
    TriggerType.CONVERSATION_END: detect_conversation_ends,
    TriggerType.CHUNK_THRESHOLD: detect_chunks,
    TriggerType.EVENT_BOUNDARY: detect_event_ends,
}


def _detect_ends(database: Database, kind: SourceKind, trigger_type: TriggerType, most_tokens: int | None) -> int:
    with database.pipeline() as tx:
        return tx.execute(
            _QUERIES["trigger_ended"],
            {
                "kind": kind.value,
                "trigger_type": trigger_type.value,
                "most_tokens": most_tokens,
                "limit": SOURCES_AT_ONCE,
            },
        ).rowcount


def _cut(tx: Transaction, source: dict[str, Any], sizes: Sizes, *, ended: bool) -> int:
    """Cut the tail of a source that is locked; of one that ended, the rest is a segment as well."""
    tail = [
        Turn(row["seq"], Role(row["role"]), row["token_count"], row["complete"], row["calls"], row["author"])
        for row in tx.execute(_QUERIES["tail"], source)
    ]
    segments = [(TriggerType.CHUNK_THRESHOLD, chunk) for chunk in split_tail(tail, sizes, ended=ended).chunks]
    through: int = segments[-1][1].last_message if segments else source["triggered_through"]
    left: int = source["untriggered_tokens"] - sum(chunk.tokens for _, chunk in segments)
    if ended:
        segments.append((TriggerType.CONVERSATION_END, Chunk(through + 1, source["last_message"], left)))
        through, left = source["last_message"], 0
    if segments:
        tx.execute(
            _QUERIES["trigger_segments"],
            {
                "user_id": source["user_id"],
                "source_id": source["source_id"],
                "trigger_types": [trigger_type.value for trigger_type, _ in segments],
                "first_messages": [chunk.first_message for _, chunk in segments],
                "last_messages": [chunk.last_message for _, chunk in segments],
                "token_counts": [chunk.tokens for _, chunk in segments],
            },
        )
    tx.execute(
        _QUERIES["settle_tail"],
        {"source_id": source["source_id"], "triggered_through": through, "untriggered_tokens": left},
    )
    return len(segments)
