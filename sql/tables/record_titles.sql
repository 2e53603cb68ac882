-- The titles of each graph's records, as digests: no two stored records of a graph get the same title.
CREATE TABLE neurigraph.record_titles (
    record_id uuid PRIMARY KEY REFERENCES neurigraph.record_index ON DELETE CASCADE,
    user_id uuid NOT NULL,
    title_key bigint NOT NULL
);
CREATE INDEX record_titles_title_key ON neurigraph.record_titles (user_id, title_key);

ALTER TABLE neurigraph.record_titles ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON neurigraph.record_titles TO neurigraph_pipeline;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.record_titles TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.record_titles TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));
