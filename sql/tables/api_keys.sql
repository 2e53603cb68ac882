-- API keys of a user, of a persona (its node) or of a third party (a name that the user gave it).
CREATE TABLE neurigraph.api_keys (
    key_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    -- SHA-256 of a key with 256 random bits, which cannot be guessed, so no slow hash is needed.
    key_hash bytea NOT NULL UNIQUE CHECK (octet_length(key_hash) = 32),
    label text NOT NULL DEFAULT '' CHECK (char_length(label) <= 300),
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    revoked_at timestamptz,
    role text NOT NULL DEFAULT 'user' CHECK (role IN ('user', 'persona', 'third_party', 'member')),
    subject_id text CHECK (char_length(subject_id) BETWEEN 1 AND 300),
    -- Updated at most once an hour.
    last_used_at timestamptz,
    -- The container tags that a key is limited to; null means no limit. The tags stay when a space is removed, so that
    -- the key never sees more than before.
    container_tags text [] CHECK (cardinality(container_tags) BETWEEN 1 AND 100),
    -- Whether a key was issued for a password; such keys end when the password changes.
    by_password boolean NOT NULL DEFAULT false,
    CHECK ((role = 'user') = (subject_id IS NULL))
);
CREATE INDEX api_keys_user_id ON neurigraph.api_keys (user_id);

ALTER TABLE neurigraph.api_keys ENABLE ROW LEVEL SECURITY;
GRANT SELECT (key_id, user_id, role, subject_id, label, created_at, expires_at, revoked_at, last_used_at)
ON neurigraph.api_keys TO neurigraph_agent;
GRANT INSERT (user_id, key_hash, role, subject_id, label, expires_at), UPDATE (expires_at, revoked_at)
ON neurigraph.api_keys TO neurigraph_agent;
GRANT SELECT (container_tags), INSERT (container_tags) ON neurigraph.api_keys TO neurigraph_agent;

-- Replaced when it changes: functions, triggers, policies.

-- A write sets off the refusal of a key for a graph that is being forgotten, and of an owner key for an organization.

-- Trigger on api_keys: refuse a key that opens all of an organization's graph, private sources included, and a key for
-- a graph that is being forgotten.
CREATE OR REPLACE FUNCTION neurigraph.guard_key() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        PERFORM neurigraph_private.refuse_while_forgotten(NEW.user_id);
    END IF;
    IF NEW.role = 'user' AND EXISTS (SELECT FROM neurigraph.organizations AS o WHERE o.user_id = NEW.user_id) THEN
        RAISE insufficient_privilege USING MESSAGE = 'an organization has no key of its own: its members have keys';
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER guarded AFTER INSERT OR UPDATE OF role, user_id ON neurigraph.api_keys
FOR EACH ROW EXECUTE FUNCTION neurigraph.guard_key();

REVOKE ALL ON FUNCTION neurigraph.guard_key() FROM PUBLIC;

CREATE POLICY pipeline_all ON neurigraph.api_keys TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.api_keys TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));
