-- Where the records of a node come from, and whether they are in quarantine. Only the commit of a record writes its
-- origin; records from before have none. Runs as neurigraph_owner. {schema} is an identifier; {node_id} and {user_id}
-- are literals.

ALTER TABLE {schema}.metadata_records
-- The persona that handed in the record or a part of it; null is the owner.
ADD COLUMN persona_id uuid,
-- The key and the door that all of its messages came through; null if several, or none.
ADD COLUMN key_id uuid,
ADD COLUMN received_through neurigraph.received_through,
-- When the last of its messages arrived.
ADD COLUMN received_at timestamptz,
-- Hidden from every retrieval. Written by set_quarantined() only, which keeps the statistics right.
ADD COLUMN quarantined boolean NOT NULL DEFAULT false;

ALTER TABLE {schema}.passages
-- Who speaks; null for passages from before, where the role says it.
ADD COLUMN voice neurigraph.voice,
-- A digest of the words of the text, by which the same statement is known again; null if it has none.
ADD COLUMN statement_key bigint;

CREATE TRIGGER note_quarantine AFTER UPDATE OF quarantined ON {schema}.metadata_records
FOR EACH STATEMENT EXECUTE FUNCTION neurigraph.note_node_change({user_id});

-- A record in quarantine, and its parts, are visible to no caller.
ALTER POLICY agent_node ON {schema}.metadata_records USING (
    (SELECT neurigraph.may_read_node({node_id}))
    AND NOT quarantined
    AND source_id <> ALL((SELECT neurigraph.hidden_sources())::uuid [])
);
ALTER POLICY agent_node ON {schema}.file_manifest USING (
    (SELECT neurigraph.may_read_node({node_id}))
    AND (
        (SELECT neurigraph.sees_all_records())
        OR record_id IN (SELECT r.record_id FROM {schema}.metadata_records AS r)
    )
);
ALTER POLICY agent_node ON {schema}.passages USING (
    (SELECT neurigraph.may_read_node({node_id}))
    AND (
        (SELECT neurigraph.sees_all_records())
        OR record_id IN (SELECT r.record_id FROM {schema}.metadata_records AS r)
    )
);
