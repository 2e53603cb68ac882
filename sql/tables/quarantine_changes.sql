-- The state of rows of the graph before a quarantine changed or deleted them. A release restores rows that have not
-- changed since. Erasures delete these rows, because they may contain erased words.
CREATE TABLE neurigraph.quarantine_changes (
    quarantine_id uuid NOT NULL REFERENCES neurigraph.quarantines ON DELETE CASCADE,
    user_id uuid NOT NULL,
    table_name text NOT NULL CHECK (table_name IN ('graph_index', 'node_edges', 'node_candidates')),
    row_id uuid NOT NULL,
    before jsonb NOT NULL,
    -- A digest of the row right after the quarantine; null if the quarantine deleted the row.
    digest_after text,
    PRIMARY KEY (quarantine_id, table_name, row_id)
);

ALTER TABLE neurigraph.quarantine_changes ENABLE ROW LEVEL SECURITY;
GRANT SELECT, UPDATE ON neurigraph.quarantine_changes TO neurigraph_pipeline;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.quarantine_changes TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.quarantine_changes TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));
