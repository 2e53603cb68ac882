-- One row for each transaction that changed a node. Versions of single nodes keep cached copies of other nodes current
-- when one node changes.
CREATE TABLE neurigraph.node_changes (
    node_id uuid NOT NULL,
    user_id uuid NOT NULL,
    change xid8 NOT NULL,
    PRIMARY KEY (node_id, change),
    FOREIGN KEY (node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE
);

ALTER TABLE neurigraph.node_changes ENABLE ROW LEVEL SECURITY;
-- The pipeline finds nodes to pack by their versions.
GRANT SELECT ON neurigraph.node_changes TO neurigraph_pipeline;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.node_changes TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.node_changes TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));
