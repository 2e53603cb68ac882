-- Statements that were forgotten without their record, by their keys, so that reading the record again does not restore
-- them.
CREATE TABLE neurigraph.forgotten_facts (
    record_id uuid NOT NULL REFERENCES neurigraph.record_index ON DELETE CASCADE,
    statement_key bigint NOT NULL,
    user_id uuid NOT NULL,
    PRIMARY KEY (record_id, statement_key)
);
CREATE INDEX forgotten_facts_user_id ON neurigraph.forgotten_facts (user_id);

ALTER TABLE neurigraph.forgotten_facts ENABLE ROW LEVEL SECURITY;
GRANT SELECT, INSERT ON neurigraph.forgotten_facts TO neurigraph_pipeline;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.forgotten_facts TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.forgotten_facts TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));
