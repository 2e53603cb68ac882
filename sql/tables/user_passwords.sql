-- Passwords, as SHA-256 of their scrypt keys. Functions alone read and write them.
CREATE TABLE neurigraph.user_passwords (
    user_id uuid PRIMARY KEY REFERENCES neurigraph.users ON DELETE CASCADE,
    salt bytea NOT NULL CHECK (octet_length(salt) = 16),
    hash bytea NOT NULL CHECK (octet_length(hash) = 32),
    set_at timestamptz NOT NULL DEFAULT now()
);

ALTER TABLE neurigraph.user_passwords ENABLE ROW LEVEL SECURITY;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.user_passwords TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.user_passwords TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));
