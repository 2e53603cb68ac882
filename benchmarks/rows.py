"""Nodes and minimal records, for benchmarks that need many of them."""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256
from uuid import UUID, uuid4

from pgvector import Vector

from neurigraph_pipelines.graph.provisioning import NodeRef, User, resolve_path
from neurigraph_pipelines.model import KEYWORD_COLUMNS, RECORD_DIMENSIONS, ConceptKind, PlannedNode
from neurigraph_pipelines.wiring.installation import Installation


def provision(installation: Installation, user: User, name: str) -> NodeRef:
    """Create a topic directly below the root."""
    plan = PlannedNode(path=(name,), kind=ConceptKind.TOPIC, confidence=1.0)
    with installation.database.pipeline() as tx:
        return resolve_path(tx, user.user_id, user.slug, (name,), [plan])


def record(record_id: UUID, file_pointer: str) -> dict[str, object]:
    """Return the columns of a record that is never searched."""
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
