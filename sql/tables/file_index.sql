-- The record and node of each file. Triggers of node tables write the rows.
CREATE TABLE neurigraph.file_index (
    file_id uuid PRIMARY KEY,
    record_id uuid NOT NULL REFERENCES neurigraph.record_index ON DELETE CASCADE,
    node_id uuid NOT NULL,
    user_id uuid NOT NULL,
    FOREIGN KEY (node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE
);
CREATE INDEX file_index_record_id ON neurigraph.file_index (record_id);
CREATE INDEX file_index_node_id ON neurigraph.file_index (node_id);

ALTER TABLE neurigraph.file_index ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON neurigraph.file_index TO neurigraph_pipeline, neurigraph_agent;
GRANT SELECT (file_id, record_id, node_id, user_id)
ON neurigraph.file_index TO neurigraph_analyst;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.file_index TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY analyst_read ON neurigraph.file_index FOR SELECT TO neurigraph_analyst USING (true);
CREATE POLICY own_rows ON neurigraph.file_index TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));

CREATE POLICY granted ON neurigraph.file_index FOR SELECT TO neurigraph_agent
USING (node_id IN (SELECT neurigraph.readable_nodes()));

CREATE POLICY not_hidden ON neurigraph.file_index AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (
    (SELECT neurigraph.sees_all_records())
    OR record_id IN (SELECT r.record_id FROM neurigraph.record_index AS r)
);
