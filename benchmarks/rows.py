"""Nodes, minimal records and their search segments, for benchmarks that need many of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from uuid import UUID, uuid4

from pgvector import Vector
from psycopg import sql

from neurigraph_pipelines.graph.provisioning import NodeRef, User, resolve_path
from neurigraph_pipelines.ingestion.passage_words import columns_of
from neurigraph_pipelines.ingestion.record_rows import insert_record
from neurigraph_pipelines.model import KEYWORD_COLUMNS, RECORD_DIMENSIONS, ConceptKind, PlannedNode, Role, Voice
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.text.search_segments import SearchSegment, Spoken, Words
from neurigraph_pipelines.wiring.installation import Installation

_SEGMENTS = """
INSERT INTO neurigraph.segments (record_id, user_id, node_id, passages, words, content)
SELECT r.record_id, i.user_id, i.node_id, s.passages, s.words, s.content
FROM (SELECT t.record_id, row_number() OVER () AS number FROM {schema}.metadata_records AS t) AS r
INNER JOIN neurigraph.record_index AS i ON r.record_id = i.record_id
INNER JOIN unnest(%(passages)s::integer [], %(words)s::integer [], %(content)s::bytea [])
WITH ORDINALITY AS s (passages, words, content, number) ON s.number = 1 + r.number %% %(segments)s
"""
_SOURCE = """
INSERT INTO neurigraph.sources (source_id, user_id, kind, external_id)
VALUES (%(source_id)s, %(user_id)s, 'conversation', %(source_id)s)
"""


def provision(installation: Installation, user: User, name: str) -> NodeRef:
    """Create a topic directly below the root."""
    plan = PlannedNode(path=(name,), kind=ConceptKind.TOPIC, confidence=1.0)
    with installation.database.pipeline() as tx:
        return resolve_path(tx, user.user_id, user.slug, (name,), [plan])


def store_record(tx: Transaction, user: User, schema: sql.Identifier, record_id: UUID, file_pointer: str) -> None:
    """Insert a record that is never searched, and its source."""
    columns = _record(record_id, file_pointer)
    tx.execute(_SOURCE, {"source_id": columns["source_id"], "user_id": user.user_id})
    insert_record(tx, schema, columns)


def _record(record_id: UUID, file_pointer: str) -> dict[str, object]:
    return {
        "record_id": record_id,
        "title": "A benchmark",
        "summary": "Nothing.",
        "embedding": Vector([0.0] * RECORD_DIMENSIONS),
        "embedding_pending": True,
        "embedding_model": None,
        **{column: [] for column in KEYWORD_COLUMNS.values()},
        "content_type": "conversation",
        "trigger_type": "conversation_end",
        "source_kind": "conversation",
        "source_id": uuid4(),
        "first_message": 1,
        "last_message": 1,
        "content_hash": sha256(record_id.bytes).digest(),
        "language": "pg_catalog.english",
        "file_pointer": file_pointer,
        "occurred_at": datetime.now(UTC),
    }


def segment(messages: Sequence[Sequence[str]]) -> dict[str, object]:
    """Return the columns of a search segment without vectors, whose messages have the given words, each once."""
    spoken = [
        Spoken(
            *(number, number, None, None, str(number), Role.USER, Voice.OWNER),
            *(Words(words, [1] * len(words), len(words)), 0, float(len(words))),
        )
        for number, words in enumerate(messages, start=1)
    ]
    return columns_of(SearchSegment.of(spoken), (), "english")


def insert_segments(tx: Transaction, schema: sql.Identifier, segments: Sequence[dict[str, object]]) -> None:
    """Give each record of a node one of some segments, in turn."""
    values = {name: [one[name] for one in segments] for name in ("passages", "words", "content")}
    tx.execute(sql.SQL(_SEGMENTS).format(schema=schema), {**values, "segments": len(segments)})
