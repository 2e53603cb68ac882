-- Planted conversations. A row stores the first retrieval only.
CREATE TABLE neurigraph.canaries (
    source_id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    planted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    retrieved_at timestamptz,
    role text,
    subject_id text,
    operation text,
    FOREIGN KEY (source_id, user_id) REFERENCES neurigraph.sources (source_id, user_id) ON DELETE CASCADE,
    CHECK (num_nulls(retrieved_at, role, subject_id, operation) IN (0, 4))
);
CREATE INDEX canaries_watched ON neurigraph.canaries (user_id) WHERE retrieved_at IS NULL;

ALTER TABLE neurigraph.canaries ENABLE ROW LEVEL SECURITY;
-- Only neurigraph.note_retrieval writes retrievals, so that no caller can state another caller.
GRANT SELECT ON neurigraph.canaries TO neurigraph_pipeline, neurigraph_agent;
GRANT INSERT (source_id, user_id) ON neurigraph.canaries TO neurigraph_agent;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.canaries TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.canaries TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));
