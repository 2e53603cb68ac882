-- The facts of a window of a record that is still being read. Nobody sees them yet: they are checked and stored with
-- the facts of the other windows, or deleted when the record no longer waits.
CREATE TABLE neurigraph.read_windows (
    record_id uuid NOT NULL REFERENCES neurigraph.pending_facts ON DELETE CASCADE,
    -- SHA-256 of the model, the instructions and the text of the window.
    digest bytea NOT NULL CHECK (octet_length(digest) = 32),
    user_id uuid NOT NULL,
    facts jsonb NOT NULL CHECK (jsonb_typeof(facts) = 'array'),
    read_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (record_id, digest)
);
CREATE INDEX read_windows_user_id ON neurigraph.read_windows (user_id);

ALTER TABLE neurigraph.read_windows ENABLE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, DELETE ON neurigraph.read_windows TO neurigraph_pipeline;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.read_windows TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.read_windows TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));
