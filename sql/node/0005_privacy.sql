-- What came from a private source is hidden from all but the owner of the graph. A node is brought here before a source
-- of its records becomes private. The owner's list is empty and costs nothing; passages and files ask the policy of
-- their record.

ALTER POLICY agent_node ON {schema}.metadata_records USING (
    (SELECT neurigraph.may_read_node({node_id}))
    AND source_id <> ALL((SELECT neurigraph.hidden_sources())::uuid [])
);
ALTER POLICY agent_node ON {schema}.file_manifest USING (
    (SELECT neurigraph.may_read_node({node_id}))
    AND (
        (SELECT neurigraph.hidden_sources() = '{{}}')
        OR record_id IN (SELECT r.record_id FROM {schema}.metadata_records AS r)
    )
);
ALTER POLICY agent_node ON {schema}.passages USING (
    (SELECT neurigraph.may_read_node({node_id}))
    AND (
        (SELECT neurigraph.hidden_sources() = '{{}}')
        OR record_id IN (SELECT r.record_id FROM {schema}.metadata_records AS r)
    )
);

-- Clocks are set by functions of the owner and by the pipeline alone.
REVOKE UPDATE (last_accessed_at) ON {schema}.metadata_records, {schema}.file_manifest FROM neurigraph_agent;
