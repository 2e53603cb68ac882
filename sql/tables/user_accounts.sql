-- The profiles that users state about themselves. Only its user sees a profile.
CREATE TABLE neurigraph.user_accounts (
    user_id uuid PRIMARY KEY REFERENCES neurigraph.users ON DELETE CASCADE,
    display_name text CHECK (char_length(display_name) BETWEEN 1 AND 300),
    email text CHECK (char_length(email) BETWEEN 3 AND 320),
    -- Texts, numbers and booleans by name.
    metadata jsonb NOT NULL DEFAULT '{}' CHECK (
        jsonb_typeof(metadata) = 'object' AND octet_length(metadata::text) <= 32768
    ),
    updated_at timestamptz NOT NULL DEFAULT now()
);

ALTER TABLE neurigraph.user_accounts ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON neurigraph.user_accounts TO neurigraph_pipeline;
GRANT SELECT, INSERT, UPDATE ON neurigraph.user_accounts TO neurigraph_agent;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.user_accounts TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.user_accounts TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));
