"""Nodes of earlier versions: undo the steps of ``sql/node``."""

from __future__ import annotations

from uuid import UUID

from psycopg import sql

from neurigraph_pipelines.ports import Transaction

_LIFECYCLE = (
    "DROP TRIGGER state_guarded ON {schema}.file_manifest",
    "DROP TRIGGER state_logged ON {schema}.file_manifest",
    "DROP TRIGGER states_summed ON {schema}.file_manifest",
    "ALTER TABLE {schema}.file_manifest DROP COLUMN content_sha256, DROP COLUMN lease, DROP COLUMN lease_holder, "
    "DROP COLUMN last_failure",
    "DROP INDEX {schema}.passages_record_id_first_message_idx",
)
_SEARCH = (
    "DROP TRIGGER count_added ON {schema}.passages",
    "DROP TRIGGER count_removed ON {schema}.passages",
    "DROP TRIGGER refuse_recount ON {schema}.passages",
    "DROP TRIGGER note_change ON {schema}.passages",
    "DROP TRIGGER note_change ON {schema}.metadata_records",
    "DROP TRIGGER note_change ON {schema}.file_manifest",
    "ALTER TABLE {schema}.passages DROP COLUMN role, DROP COLUMN window_length",
)
_PRIVACY = (
    "ALTER POLICY agent_node ON {schema}.metadata_records USING ((SELECT neurigraph.may_read_node({node_id})))",
    "ALTER POLICY agent_node ON {schema}.file_manifest USING ((SELECT neurigraph.may_read_node({node_id})))",
    "ALTER POLICY agent_node ON {schema}.passages USING ((SELECT neurigraph.may_read_node({node_id})))",
    "GRANT UPDATE (last_accessed_at) ON {schema}.metadata_records, {schema}.file_manifest TO neurigraph_agent",
)
_HISTORY = (
    "DROP TRIGGER log_change ON {schema}.metadata_records",
    "DROP TRIGGER note_supersession ON {schema}.metadata_records",
    "ALTER TABLE {schema}.metadata_records DROP COLUMN superseded_by, DROP COLUMN superseded",
)
_UNDO = {3: _LIFECYCLE, 4: _SEARCH, 5: _PRIVACY, 6: _HISTORY}


def take_back(tx: Transaction, node_id: UUID, schema_name: str, version: int) -> None:
    """Turn a current node into one of ``version``, keeping its rows; runs as the owner."""
    for number in sorted(_UNDO, reverse=True):
        if number > version:
            for statement in _UNDO[number]:
                names = {"schema": sql.Identifier(schema_name), "node_id": sql.Literal(str(node_id))}
                tx.execute(sql.SQL(statement).format(**names))
    tx.execute(
        "UPDATE neurigraph.graph_index SET node_ddl_version = %s WHERE node_id = %s",
        [version, node_id],
    )
