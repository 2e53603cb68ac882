-- Accounts: what users state about themselves, and the passwords that open the page.

-- What a user states about themselves. Only that user sees it.
CREATE TABLE IF NOT EXISTS neurigraph.user_accounts (
    user_id uuid PRIMARY KEY REFERENCES neurigraph.users ON DELETE CASCADE,
    display_name text CHECK (char_length(display_name) BETWEEN 1 AND 300),
    email text CHECK (char_length(email) BETWEEN 3 AND 320),
    -- Texts, numbers and booleans by name.
    metadata jsonb NOT NULL DEFAULT '{}' CHECK (
        jsonb_typeof(metadata) = 'object' AND octet_length(metadata::text) <= 32768
    ),
    updated_at timestamptz NOT NULL DEFAULT now()
);

-- Passwords, as SHA-256 of what scrypt derives from them. Functions alone read and write them.
CREATE TABLE IF NOT EXISTS neurigraph.user_passwords (
    user_id uuid PRIMARY KEY REFERENCES neurigraph.users ON DELETE CASCADE,
    salt bytea NOT NULL CHECK (octet_length(salt) = 16),
    hash bytea NOT NULL CHECK (octet_length(hash) = 32),
    set_at timestamptz NOT NULL DEFAULT now()
);

-- Wrong passwords in the current quarter of an hour, by SHA-256 of the name that was given, known or not. No role may
-- read it.
CREATE TABLE IF NOT EXISTS neurigraph.sign_in_attempts (
    name_hash bytea PRIMARY KEY CHECK (octet_length(name_hash) = 32),
    since timestamptz NOT NULL,
    attempts integer NOT NULL CHECK (attempts > 0)
);
CREATE INDEX IF NOT EXISTS sign_in_attempts_since ON neurigraph.sign_in_attempts (since);

-- Whether a key was issued for a password; such keys end when the password changes.
ALTER TABLE neurigraph.api_keys ADD COLUMN IF NOT EXISTS by_password boolean NOT NULL DEFAULT false;

ALTER TABLE neurigraph.user_accounts ENABLE ROW LEVEL SECURITY;
ALTER TABLE neurigraph.user_passwords ENABLE ROW LEVEL SECURITY;

GRANT SELECT ON neurigraph.user_accounts TO neurigraph_pipeline;
GRANT SELECT, INSERT, UPDATE ON neurigraph.user_accounts TO neurigraph_agent;

-- The routines add the policies for the owners of graphs; until then these see nothing.
DROP POLICY IF EXISTS pipeline_all ON neurigraph.user_accounts;
CREATE POLICY pipeline_all ON neurigraph.user_accounts TO neurigraph_pipeline USING (true) WITH CHECK (true);
