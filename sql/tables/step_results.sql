-- The result of a step for one segment of a batch that is being stored, as JSON. Only the pipeline reads the row. The
-- transaction in which the segment leaves its batch (stored, given back, or taken over) deletes the row.
CREATE TABLE neurigraph.step_results (
    trigger_id uuid NOT NULL REFERENCES neurigraph.storage_triggers ON DELETE CASCADE,
    step text NOT NULL CHECK (step IN ('assign_nodes', 'summarize', 'extract_keywords')),
    batch_id uuid NOT NULL,
    user_id uuid NOT NULL,
    result bytea NOT NULL,
    PRIMARY KEY (trigger_id, step)
);
CREATE INDEX step_results_user_id ON neurigraph.step_results (user_id);

ALTER TABLE neurigraph.step_results ENABLE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON neurigraph.step_results TO neurigraph_pipeline;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.step_results TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.step_results TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));
