-- Users who are being moved here from another database.

-- A copy whose move is not complete: the database that it came from still has the user, or has just erased it. The next
-- run of the move completes the copy or removes it.
CREATE TABLE IF NOT EXISTS neurigraph.arrivals (
    user_id uuid PRIMARY KEY REFERENCES neurigraph.users ON DELETE CASCADE,
    began_at timestamptz NOT NULL DEFAULT now(),
    -- Rows of tables that an export leaves out, such as keys, by table. They are written when the move is complete, so
    -- until then nobody reaches the copy.
    kept jsonb NOT NULL
);

ALTER TABLE neurigraph.arrivals ENABLE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, DELETE ON neurigraph.arrivals TO neurigraph_pipeline;
DROP POLICY IF EXISTS pipeline_all ON neurigraph.arrivals;
CREATE POLICY pipeline_all ON neurigraph.arrivals TO neurigraph_pipeline USING (true) WITH CHECK (true);
