-- One listing of the nodes that a third party may read.
CREATE TABLE neurigraph.peer_horizons (
    horizon_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    subject_id text NOT NULL CHECK (char_length(subject_id) BETWEEN 1 AND 300),
    -- Every transaction before this one had ended when the listing began, so the next listing starts at this one.
    change xid8 NOT NULL,
    -- For each node a digest of the ids of its visible records, and a digest of their contents.
    digests jsonb NOT NULL DEFAULT '{}',
    noted_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX peer_horizons_subject ON neurigraph.peer_horizons (user_id, subject_id, noted_at);

ALTER TABLE neurigraph.peer_horizons ENABLE ROW LEVEL SECURITY;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.peer_horizons TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.peer_horizons TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));
