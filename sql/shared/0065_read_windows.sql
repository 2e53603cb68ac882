-- Parts of waiting records that a language model has read already, so that a reader that ends early loses no answer.

-- The facts of a window of a record that is still being read. They are checked, but nobody sees them: they become facts
-- with those of the other windows, or go with the wait of their record.
CREATE TABLE IF NOT EXISTS neurigraph.read_windows (
    record_id uuid NOT NULL REFERENCES neurigraph.pending_facts ON DELETE CASCADE,
    -- SHA-256 of the model, the instructions and the text of the window.
    digest bytea NOT NULL CHECK (octet_length(digest) = 32),
    user_id uuid NOT NULL,
    facts jsonb NOT NULL CHECK (jsonb_typeof(facts) = 'array'),
    read_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (record_id, digest)
);
CREATE INDEX IF NOT EXISTS read_windows_user_id ON neurigraph.read_windows (user_id);

ALTER TABLE neurigraph.read_windows ENABLE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, DELETE ON neurigraph.read_windows TO neurigraph_pipeline;
DROP POLICY IF EXISTS pipeline_all ON neurigraph.read_windows;
CREATE POLICY pipeline_all ON neurigraph.read_windows TO neurigraph_pipeline USING (true) WITH CHECK (true);
