-- Vectors of summaries that are hidden while a quarantine is in force, so that a release needs no embedder.
CREATE TABLE neurigraph.quarantined_vectors (
    record_id uuid NOT NULL REFERENCES neurigraph.record_index ON DELETE CASCADE,
    summary_digest text NOT NULL,
    user_id uuid NOT NULL,
    embedding text NOT NULL,
    embedding_model text NOT NULL,
    embedding_next text,
    embedding_next_model text,
    PRIMARY KEY (record_id, summary_digest)
);

ALTER TABLE neurigraph.quarantined_vectors ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON neurigraph.quarantined_vectors TO neurigraph_pipeline;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.quarantined_vectors TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.quarantined_vectors TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));
