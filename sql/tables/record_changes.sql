-- Changed records of nodes, each with its transaction, so that a process that has the node in memory reads only the
-- changed records. Triggers of the nodes' tables write the rows. As in node_changes, writers insert their own rows and
-- never wait.
CREATE TABLE neurigraph.record_changes (
    node_id uuid NOT NULL,
    user_id uuid NOT NULL,
    change xid8 NOT NULL,
    -- Null means that anything of the node may have changed in this transaction, and that earlier changes are not
    -- listed.
    record_id uuid,
    UNIQUE (node_id, change, record_id),
    FOREIGN KEY (node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE
);
CREATE INDEX record_changes_whole ON neurigraph.record_changes (node_id, change) WHERE record_id IS NULL;

ALTER TABLE neurigraph.record_changes ENABLE ROW LEVEL SECURITY;
-- Packing a layer removes changes that are older than the pack before.
GRANT SELECT, INSERT, DELETE ON neurigraph.record_changes TO neurigraph_pipeline;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.record_changes TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.record_changes TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));
