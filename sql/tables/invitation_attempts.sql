-- The number of wrong codes that a user tried in the current hour.
CREATE TABLE neurigraph.invitation_attempts (
    user_id uuid PRIMARY KEY REFERENCES neurigraph.users ON DELETE CASCADE,
    since timestamptz NOT NULL,
    attempts integer NOT NULL CHECK (attempts > 0)
);

ALTER TABLE neurigraph.invitation_attempts ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON neurigraph.invitation_attempts TO neurigraph_pipeline;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.invitation_attempts TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.invitation_attempts TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));
