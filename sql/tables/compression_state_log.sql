-- The state log of files. Only a function of the owner writes it.
CREATE TABLE neurigraph.compression_state_log (
    log_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    file_id uuid NOT NULL REFERENCES neurigraph.file_index ON DELETE CASCADE,
    -- The node that has the file now.
    node_id uuid NOT NULL REFERENCES neurigraph.graph_index ON DELETE CASCADE,
    event_type neurigraph.compression_event NOT NULL,
    triggered_by neurigraph.compression_cause NOT NULL,
    occurred_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    error_detail text,
    -- The order of a file's entries, even if the clock is set back: the file is locked while its entries are numbered.
    entry bigint GENERATED ALWAYS AS IDENTITY,
    CHECK ((error_detail IS NOT NULL) = (event_type = 'failed'))
);
CREATE INDEX compression_state_log_file_id ON neurigraph.compression_state_log (file_id);
CREATE INDEX compression_state_log_node_id ON neurigraph.compression_state_log (node_id);
CREATE INDEX compression_state_log_user_id ON neurigraph.compression_state_log (user_id);
CREATE INDEX compression_state_log_event_type ON neurigraph.compression_state_log (event_type);
CREATE INDEX compression_state_log_occurred_at ON neurigraph.compression_state_log (occurred_at);

ALTER TABLE neurigraph.compression_state_log ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON neurigraph.compression_state_log TO neurigraph_pipeline, neurigraph_agent;

-- Replaced when it changes: functions, triggers, policies.

-- A write sets off nothing; changes and removals are refused.

CREATE OR REPLACE TRIGGER append_only BEFORE UPDATE OR DELETE ON neurigraph.compression_state_log
FOR EACH ROW EXECUTE FUNCTION neurigraph.refuse_change();

CREATE OR REPLACE TRIGGER append_only_truncate BEFORE TRUNCATE ON neurigraph.compression_state_log
FOR EACH STATEMENT EXECUTE FUNCTION neurigraph.refuse_change();

CREATE POLICY pipeline_all ON neurigraph.compression_state_log TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.compression_state_log TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));

-- Log entries are visible with their file, whichever node the file was in before.
CREATE POLICY granted ON neurigraph.compression_state_log FOR SELECT TO neurigraph_agent
USING (EXISTS (SELECT FROM neurigraph.file_index AS f WHERE f.file_id = compression_state_log.file_id));

CREATE POLICY not_hidden ON neurigraph.compression_state_log AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (
    (SELECT neurigraph.sees_all_records())
    OR file_id IN (SELECT f.file_id FROM neurigraph.file_index AS f)
);
