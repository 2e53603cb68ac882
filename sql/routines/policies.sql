-- What others than the owner of a graph see of the shared tables: rows of nodes that are open to them. The owner's rows
-- have policies of their own (own_rows). Postgres asks the policies of a table from the last name to the first, so the
-- names here come before that one, and are asked for nothing that the owner sees. What has none here, such as the
-- statistics of the whole graph, the queue, keys and grants, is the owner's alone.

DROP POLICY IF EXISTS granted ON neurigraph.graph_index;
CREATE POLICY granted ON neurigraph.graph_index FOR SELECT TO neurigraph_agent
USING (node_id IN (SELECT neurigraph.readable_nodes()));

-- An edge tells of both its ends.
DROP POLICY IF EXISTS granted ON neurigraph.node_edges;
CREATE POLICY granted ON neurigraph.node_edges FOR SELECT TO neurigraph_agent
USING (
    from_node_id IN (SELECT neurigraph.readable_nodes()) AND to_node_id IN (SELECT neurigraph.readable_nodes())
);

DROP POLICY IF EXISTS granted ON neurigraph.record_index;
CREATE POLICY granted ON neurigraph.record_index FOR SELECT TO neurigraph_agent
USING (node_id IN (SELECT neurigraph.readable_nodes()));

DROP POLICY IF EXISTS granted ON neurigraph.file_index;
CREATE POLICY granted ON neurigraph.file_index FOR SELECT TO neurigraph_agent
USING (node_id IN (SELECT neurigraph.readable_nodes()));

-- Both logs tell of what the registries show, wherever it was before.
DROP POLICY IF EXISTS granted ON neurigraph.compression_state_log;
CREATE POLICY granted ON neurigraph.compression_state_log FOR SELECT TO neurigraph_agent
USING (EXISTS (SELECT FROM neurigraph.file_index AS f WHERE f.file_id = compression_state_log.file_id));

DROP POLICY IF EXISTS granted ON neurigraph.delta_log;
CREATE POLICY granted ON neurigraph.delta_log FOR SELECT TO neurigraph_agent
-- What was taken out of a memory before it was shared stays out: a third party sees memories as they are.
USING (
    (SELECT neurigraph.claims() ->> 'role') <> 'third_party'
    AND EXISTS (SELECT FROM neurigraph.record_index AS r WHERE r.record_id = delta_log.record_id)
);

-- Sources of records that are visible; never their messages.
DROP POLICY IF EXISTS granted ON neurigraph.sources;
CREATE POLICY granted ON neurigraph.sources FOR SELECT TO neurigraph_agent
USING (
    EXISTS (
        SELECT FROM neurigraph.record_index AS r
        WHERE r.user_id = sources.user_id AND r.source = sources.kind || ':' || sources.source_id
    )
);

-- A persona that may write hands in conversations and events; with its last grant to write they are closed to it.
ALTER TABLE neurigraph.sources ALTER COLUMN persona_id SET DEFAULT neurigraph.writing_persona();
DROP POLICY IF EXISTS handed_in ON neurigraph.sources;
CREATE POLICY handed_in ON neurigraph.sources TO neurigraph_agent
USING (persona_id = (SELECT neurigraph.writing_persona()))
WITH CHECK (
    persona_id = (SELECT neurigraph.writing_persona()) AND kind <> 'upload'
    AND EXISTS (
        SELECT FROM neurigraph.graph_index AS g WHERE g.node_id = sources.persona_id AND g.user_id = sources.user_id
    )
);

DROP POLICY IF EXISTS handed_in ON neurigraph.messages;
CREATE POLICY handed_in ON neurigraph.messages TO neurigraph_agent
USING (
    EXISTS (
        SELECT FROM neurigraph.sources AS s
        WHERE s.source_id = messages.source_id AND s.persona_id = (SELECT neurigraph.writing_persona())
    )
);
