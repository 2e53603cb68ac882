-- Copies of users whose move is not complete: the old database still has the user, or has just erased the user. The
-- next run of the move completes the copy or removes it.
CREATE TABLE neurigraph.arrivals (
    user_id uuid PRIMARY KEY REFERENCES neurigraph.users ON DELETE CASCADE,
    began_at timestamptz NOT NULL DEFAULT now(),
    -- Rows of tables that an export leaves out, such as keys, by table. The end of the move writes them, so until then
    -- nobody reaches the copy.
    kept jsonb NOT NULL
);

ALTER TABLE neurigraph.arrivals ENABLE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, DELETE ON neurigraph.arrivals TO neurigraph_pipeline;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.arrivals TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.arrivals TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));
