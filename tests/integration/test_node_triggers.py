"""A connection plans what the triggers of nodes do once, not again for each node."""

from __future__ import annotations

from itertools import pairwise
from uuid import uuid4

import psycopg
from psycopg import sql

from neurigraph_pipelines.graph.provisioning import NodeRef, User, resolve_path
from neurigraph_pipelines.model import ConceptKind, PlannedNode
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.memories import new_user

NODES = 6
MOST = 15
"""One for each trigger that runs, one more for that of states, and those of foreign keys."""

SOURCE = """INSERT INTO neurigraph.sources (source_id, user_id, kind, event_kind, external_id)
VALUES (%(id)s, %(user)s, 'event', 'milestone', %(id)s::text)"""
RECORD = """INSERT INTO {}.metadata_records (record_id, title, summary, embedding, embedding_pending, content_type,
trigger_type, source_kind, source_id, first_message, last_message, content_hash, occurred_at)
VALUES (%(id)s, %(id)s::text, 's', array_fill(0, ARRAY[1536])::vector, true, 'other', 'event_boundary', 'event', %(id)s,
1, 1, sha256(%(id)s::text::bytea), now())"""
SEGMENT = """INSERT INTO neurigraph.segments (record_id, user_id, node_id, passages, words, content)
VALUES (%(id)s, %(user)s, %(node)s, 1, 0, '')"""
FILE = """INSERT INTO {}.file_manifest (file_id, record_id, file_name, file_type, storage_path, compression_state,
compression_format, size_bytes, stored_bytes, stored_sha256) VALUES (%(id)s, %(id)s, 'f', 'code', %(id)s::text,
'active', 'gzip', 1, 1, sha256(''))"""

PLANS = "SELECT count(*) AS plans FROM pg_backend_memory_contexts WHERE name = 'CachedPlanSource'"


def node_of(tx: Transaction, user: User, name: str) -> NodeRef:
    return resolve_path(tx, user.user_id, user.slug, (name,), [PlannedNode((name,), ConceptKind.TOPIC, 1.0)])


def plans_of_each_node(tx: Transaction, user: User, nodes: list[NodeRef]) -> list[int]:
    """Store a record in each node; return how many plans the connection keeps more after each."""
    kept = []
    for node in nodes:
        values = {"id": uuid4(), "user": user.user_id, "node": node.node_id}
        for statement in (SOURCE, RECORD, SEGMENT, FILE):
            tx.execute(sql.SQL(statement).format(sql.Identifier(node.schema_name)), values, prepare=False)
        row = tx.execute(PLANS, prepare=False).fetchone()
        assert row is not None
        kept.append(row["plans"])
    return [after - before for before, after in pairwise(kept)]


def test_nodes_share_the_plans_of_their_triggers(installation: Installation) -> None:
    user, _ = new_user(installation)
    with psycopg.connect(installation.administrator_url, autocommit=True) as administrator:
        administrator.execute("GRANT SELECT ON pg_backend_memory_contexts TO neurigraph_pipeline")
        administrator.execute("GRANT EXECUTE ON FUNCTION pg_get_backend_memory_contexts() TO neurigraph_pipeline")
    with installation.database.pipeline() as tx:
        nodes = [node_of(tx, user, f"Topic {number}") for number in range(NODES)]
    with installation.database.pipeline() as tx:
        kept = plans_of_each_node(tx, user, nodes)
    assert max(kept) <= MOST
    assert min(kept) > 0  # the view shows them
