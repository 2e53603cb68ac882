"""Suggestions for quarantine: hidden instructions, stuffed keywords, restatements and floods.

Only suggests: a person decides, with `neurigraph memory quarantine add`. A suggestion says what was counted, never
what was said. Text is read from the files of the newest records; everything else is counted in the database.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from uuid import UUID

import numpy as np
from psycopg import sql
from psycopg.rows import DictRow

from neurigraph_pipelines.access.authentication import require_owner
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.lifecycle.stored_bytes import durable_content
from neurigraph_pipelines.lifecycle.transitions import transcript_of
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import StorageError
from neurigraph_pipelines.text.json_fields import JsonObject
from neurigraph_pipelines.text.search_segments import SearchSegment
from neurigraph_pipelines.views.quarantines import Conditions, Suggestion, Suspicion

RECORDS_READ = 200
"""Newest records whose files are read in one check."""

BYTES_READ = 1_000_000
"""Most bytes of one file that are read."""

RESTATED, SHORT = 20, 3
"""So often one statement of one source is a suggestion, if it has more than so many lexemes."""

STUFFED_SHARE, STUFFED_LEXEMES = 0.3, 20
"""A passage of at least so many lexemes, of which one lexeme has this share, is stuffed."""

FLOOD_MESSAGES, FLOOD_FACTOR = 200, 10
"""An hour with so many messages through one key or door, and so many times the median of its hours, is a flood."""

_QUERIES = statements("suggestions")
_INSTRUCTIONS = (
    r"\b(?:ignore|disregard|forget)\s+(?:all\s+|any\s+)?(?:of\s+)?(?:the\s+|your\s+|my\s+)?"
    r"(?:previous|prior|above|earlier|other)\s+(?:instructions|prompts|rules|messages|memories)",
    r"\b(?:do\s+not|don't|never)\s+(?:tell|mention|reveal|show|say)\b.{0,60}\b(?:user|owner|anyone|anybody|human)\b",
    r"\b(?:you\s+are\s+now|act\s+as|pretend\s+to\s+be)\s+(?:an?|the|my)\s+(?:unrestricted|developer|admin|system|root)",
    r"\b(?:from\s+now\s+on|in\s+(?:all\s+)?future\s+(?:answers|conversations|sessions)|whenever\s+(?:the\s+user|"
    r"somebody|anyone)\s+asks?)\b.{0,80}\b(?:always|never|must|answer|say|recommend|send|use)\b",
    r"<\|(?:im_start|im_end|system|endoftext)\|>|\[/?INST\]|<<SYS>>|</?(?:system|instructions?)>",
    r"<!--.{0,200}\b(?:instruction|assistant|agent|prompt|must)\b",
)
_INSTRUCTION = re.compile("|".join(_INSTRUCTIONS), re.IGNORECASE | re.DOTALL)
_INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\U000e0000-\U000e007f]")
_MOST_INVISIBLE = 10


def suggest(context: Context, user_id: UUID | None = None, *, records: int = RECORDS_READ) -> list[Suggestion]:
    """Return suspicious sources and records of a graph that no quarantine holds, the most suspicious kinds first.

    Args:
        context: With the owner as caller, or without a caller for the jobs.
        user_id: The graph, for the jobs.
        records: How many of the newest records are read.

    Raises:
        ForbiddenError: The caller does not own the graph.
    """
    if context.caller is not None:
        require_owner(context.claims)
        user_id = context.claims.user_id
    found = [*_in_texts(context, user_id, records), *_in_counts(context, user_id)]
    order = list(Suspicion)
    return sorted(found, key=lambda one: (order.index(one.suspicion), -one.count))


def looks_like_instruction(text: str) -> int:
    """Return how many passages of a text read like instructions to a model that finds it."""
    return sum(1 for _ in _INSTRUCTION.finditer(_INVISIBLE.sub("", text)))


def _in_texts(context: Context, user_id: UUID | None, most: int) -> Iterator[Suggestion]:
    instructions: Counter[UUID] = Counter()
    invisible: Counter[UUID] = Counter()
    with context.database.owner() as tx:
        newest = tx.execute(_QUERIES["newest"], {"user_id": user_id, "limit": most}).fetchall()
    for row in newest:
        text = _text_of(context, row)
        instructions[row["source_id"]] += looks_like_instruction(text)
        invisible[row["source_id"]] += len(_INVISIBLE.findall(text))
    for source_id, count in instructions.items():
        if count:
            detail = f"{count} passages read like instructions to a model"
            yield _suggestion(Suspicion.HIDDEN_INSTRUCTIONS, count, detail, source_id=source_id)
    for source_id, count in invisible.items():
        if count >= _MOST_INVISIBLE:
            detail = f"{count} invisible characters"
            yield _suggestion(Suspicion.INVISIBLE_TEXT, count, detail, source_id=source_id)


def _text_of(context: Context, row: DictRow) -> str:
    """Return the beginning of a transcript; nothing if it cannot be read, which `verify` reports."""
    with context.database.owner() as tx:
        manifest = transcript_of(tx, sql.Identifier(row["schema_name"]), row["record_id"])
    if manifest is None:
        return ""
    read = bytearray()
    try:
        for chunk in durable_content(context.objects, manifest).chunks():
            read += chunk
            if len(read) >= BYTES_READ:
                break
    except StorageError:
        return ""
    return "\n".join(str(line["content"]) for line in _lines(bytes(read)))


def _lines(content: bytes) -> Iterator[JsonObject]:
    """Yield the whole lines of the beginning of a transcript."""
    for line in content.split(b"\n"):
        with suppress(ValueError):  # the last line is cut off
            yield json.loads(line)


def _in_counts(context: Context, user_id: UUID | None) -> Iterator[Suggestion]:
    with context.database.owner() as tx:
        nodes = tx.execute(_QUERIES["nodes"], {"user_id": user_id}).fetchall()
        floods = tx.execute(
            _QUERIES["floods"], {"user_id": user_id, "messages": FLOOD_MESSAGES, "factor": FLOOD_FACTOR}
        ).fetchall()
        stuffed: Counter[UUID] = Counter()
        restated: Counter[UUID] = Counter()
        for node in nodes:
            said: defaultdict[UUID, Counter[int]] = defaultdict(Counter)
            for row in tx.execute(_QUERIES["segments"], {"node_id": node["node_id"]}):
                segment = SearchSegment.read(row["content"])
                stuffed[row["source_id"]] += _stuffed(segment)
                said[row["source_id"]].update(_statements(segment))
            for source_id, times in said.items():
                most = max(times.values(), default=0)
                if most >= RESTATED:
                    restated[source_id] = max(restated[source_id], most)
    for source_id, count in (+stuffed).items():
        detail = f"{count} passages repeat one word in more than {STUFFED_SHARE:.0%} of their words"
        yield _suggestion(Suspicion.KEYWORD_STUFFING, count, detail, source_id=source_id)
    for source_id, count in restated.items():
        detail = f"one statement is said {count} times"
        yield _suggestion(Suspicion.RESTATEMENT, count, detail, source_id=source_id)
    for row in floods:
        met = {"key_id": row["key_id"], "received_after": row["hour"], "received_before": row["until"]}
        detail = f"{row['messages']} messages in an hour through {row['received_through']}, usually {row['usual']:.0f}"
        yield _suggestion(Suspicion.FLOOD, row["messages"], detail, **met)


def _stuffed(segment: SearchSegment) -> int:
    """Return the number of passages in which one lexeme takes more than its share of all lexemes."""
    rows = segment.rows
    most = np.zeros(len(rows))
    np.maximum.at(most, np.repeat(np.arange(len(rows)), rows["lexemes"]), segment.frequencies)
    is_stuffed = (rows["lexeme_count"] >= STUFFED_LEXEMES) & (most > STUFFED_SHARE * rows["lexeme_count"])
    return int(np.count_nonzero(is_stuffed))


def _statements(segment: SearchSegment) -> list[int]:
    """Return the keys of the statements in the passages of some length."""
    rows = segment.rows
    keys: list[int] = rows["statement"][(rows["statement"] != 0) & (rows["lexeme_count"] > SHORT)].tolist()
    return keys


def _suggestion(suspicion: Suspicion, count: int, detail: str, **met: UUID | datetime | None) -> Suggestion:
    rule = Conditions.model_validate(dict.fromkeys(Conditions.model_fields) | met)
    return Suggestion(suspicion=suspicion, rule=rule, count=count, detail=detail)
