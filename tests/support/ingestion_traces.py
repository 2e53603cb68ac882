"""What the storage of segments leaves behind: rows, objects and the state of the queue."""

from __future__ import annotations

from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.memories import node_rows, rows, schemas_of


def triggers_of(here: Installation, user: User) -> list[dict[str, object]]:
    return rows(
        here,
        """SELECT state::text, attempts, last_error, next_attempt_at > now() AS later,
        extract(epoch FROM next_attempt_at - now())::float AS seconds
        FROM neurigraph.storage_triggers AS t JOIN neurigraph.sources AS s USING (source_id)
        WHERE t.user_id = %s ORDER BY s.created_at, first_message""",
        user.user_id,
    )


def traces(here: Installation, user: User) -> dict[str, int]:
    """Return everything stored for a record."""
    counts = {
        table: rows(
            here,
            f"SELECT count(*) AS n FROM neurigraph.{table} WHERE user_id = %s",
            user.user_id,
        )[0]["n"]
        for table in ("record_index", "file_index", "delta_log", "compression_state_log", "node_edges", "segments")
    }
    for table in ("metadata_records", "file_manifest"):
        counts[table] = sum(
            node_rows(here, schema, f"SELECT count(*) AS n FROM {{schema}}.{table}")[0]["n"]
            for schema in schemas_of(here, user).values()
        )
    counts["nodes"] = len(schemas_of(here, user)) - 1
    for tier in ("durable", "active"):
        counts[tier] = len(list(here.objects.keys(f"{tier}/{user.slug}/")))
    return counts
