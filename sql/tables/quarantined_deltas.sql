-- The deltas that a quarantine in force hides. A record shows the state that its visible deltas give. Deltas that a
-- quarantine appended to restore this state are hidden with the others.
CREATE TABLE neurigraph.quarantined_deltas (
    quarantine_id uuid NOT NULL REFERENCES neurigraph.quarantines ON DELETE CASCADE,
    delta_id uuid NOT NULL REFERENCES neurigraph.delta_log ON DELETE CASCADE,
    record_id uuid NOT NULL REFERENCES neurigraph.record_index ON DELETE CASCADE,
    user_id uuid NOT NULL,
    reverts boolean NOT NULL DEFAULT false,
    PRIMARY KEY (quarantine_id, delta_id)
);
CREATE INDEX quarantined_deltas_delta_id ON neurigraph.quarantined_deltas (delta_id);
CREATE INDEX quarantined_deltas_record_id ON neurigraph.quarantined_deltas (record_id);
CREATE INDEX quarantined_deltas_user_id ON neurigraph.quarantined_deltas (user_id);

ALTER TABLE neurigraph.quarantined_deltas ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON neurigraph.quarantined_deltas TO neurigraph_pipeline, neurigraph_agent;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.quarantined_deltas TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.quarantined_deltas TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));
