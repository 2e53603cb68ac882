-- Whether anything changed in one node, so that what a process keeps of it is never stale, and a write to one node
-- leaves all others as they are.

-- As user_changes, for each node: the rows that a reader sees are the version.
CREATE TABLE neurigraph.node_changes (
    node_id uuid NOT NULL,
    user_id uuid NOT NULL,
    change xid8 NOT NULL,
    PRIMARY KEY (node_id, change),
    FOREIGN KEY (node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE
);
ALTER TABLE neurigraph.node_changes ENABLE ROW LEVEL SECURITY;
CREATE POLICY pipeline_all ON neurigraph.node_changes TO neurigraph_pipeline USING (true);
CREATE POLICY own_rows ON neurigraph.node_changes TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()));
