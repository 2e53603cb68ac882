-- Default deny. The pipeline works for all users; a face sees what its signed claims allow, and nothing else.

DO $$
DECLARE
    guarded text;
BEGIN
    FOREACH guarded IN ARRAY ARRAY[
        'users', 'graph_index', 'node_edges', 'record_index', 'file_index', 'warm_nodes', 'compression_state_log',
        'delta_log', 'permission_grants', 'api_keys', 'sources', 'messages', 'storage_triggers', 'pipeline_failures'
    ] LOOP
        EXECUTE format('ALTER TABLE neurigraph.%I ENABLE ROW LEVEL SECURITY', guarded);
        EXECUTE format(
            'CREATE POLICY pipeline_all ON neurigraph.%I TO neurigraph_pipeline USING (true) WITH CHECK (true)', guarded
        );
        EXECUTE format(
            'CREATE POLICY own_rows ON neurigraph.%I TO neurigraph_agent '
            'USING (user_id = (SELECT neurigraph.asking_user_id())) '
            'WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()))', guarded
        );
    END LOOP;
END
$$;

GRANT SELECT, INSERT, UPDATE ON
neurigraph.graph_index, neurigraph.node_edges, neurigraph.warm_nodes, neurigraph.sources, neurigraph.messages,
neurigraph.storage_triggers, neurigraph.pipeline_failures
TO neurigraph_pipeline;
GRANT DELETE ON neurigraph.warm_nodes TO neurigraph_pipeline;
GRANT SELECT, INSERT ON neurigraph.compression_state_log, neurigraph.delta_log TO neurigraph_pipeline;
GRANT SELECT ON neurigraph.users, neurigraph.record_index, neurigraph.file_index, neurigraph.permission_grants
TO neurigraph_pipeline;

GRANT SELECT ON
neurigraph.users, neurigraph.graph_index, neurigraph.node_edges, neurigraph.record_index, neurigraph.file_index,
neurigraph.warm_nodes, neurigraph.compression_state_log, neurigraph.delta_log, neurigraph.permission_grants,
neurigraph.sources, neurigraph.messages, neurigraph.storage_triggers, neurigraph.pipeline_failures
TO neurigraph_agent;
GRANT UPDATE (last_accessed_at) ON neurigraph.graph_index TO neurigraph_agent;
GRANT INSERT ON neurigraph.sources, neurigraph.messages, neurigraph.warm_nodes TO neurigraph_agent;
GRANT UPDATE (expires_at) ON neurigraph.warm_nodes TO neurigraph_agent;
GRANT UPDATE (title, started_at, ended_at, last_message, untriggered_tokens) ON neurigraph.sources
TO neurigraph_agent;
