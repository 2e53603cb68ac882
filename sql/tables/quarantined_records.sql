-- The records that a quarantine in force holds. A record is visible again when no quarantine holds it.
CREATE TABLE neurigraph.quarantined_records (
    quarantine_id uuid NOT NULL REFERENCES neurigraph.quarantines ON DELETE CASCADE,
    record_id uuid NOT NULL REFERENCES neurigraph.record_index ON DELETE CASCADE,
    user_id uuid NOT NULL,
    PRIMARY KEY (quarantine_id, record_id)
);
CREATE INDEX quarantined_records_record_id ON neurigraph.quarantined_records (record_id);

ALTER TABLE neurigraph.quarantined_records ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON neurigraph.quarantined_records TO neurigraph_pipeline, neurigraph_agent;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.quarantined_records TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.quarantined_records TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));
