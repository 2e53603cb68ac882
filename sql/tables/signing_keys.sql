-- Public keys for signatures of links. A rotated key no longer signs, and its links still count. Links of a revoked key
-- no longer count.
CREATE TABLE neurigraph.signing_keys (
    key_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    -- The holder of the key: a persona, another installation, or else the user. Keys have no foreign key to a persona,
    -- because keys of a deleted persona must not become the owner's.
    persona_id uuid,
    peer_name text CHECK (peer_name ~ '^[A-Za-z0-9_.:-]{1,100}$'),
    -- The holder as links name and sign their observer.
    holder text NOT NULL GENERATED ALWAYS AS (
        coalesce('persona:' || persona_id::text, 'peer:' || peer_name, 'user:' || user_id::text)
    ) STORED,
    public_key bytea NOT NULL CHECK (octet_length(public_key) = 32),
    registered_at timestamptz NOT NULL DEFAULT now(),
    registered_by text NOT NULL,
    rotated_at timestamptz,
    revoked_at timestamptz,
    UNIQUE (user_id, public_key),
    CHECK (num_nonnulls(persona_id, peer_name) <= 1)
);

ALTER TABLE neurigraph.signing_keys ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON neurigraph.signing_keys TO neurigraph_agent;
GRANT SELECT, INSERT, UPDATE, DELETE ON neurigraph.signing_keys TO neurigraph_pipeline;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.signing_keys TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.signing_keys TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));

CREATE POLICY granted ON neurigraph.signing_keys FOR SELECT TO neurigraph_agent
USING (
    EXISTS (SELECT FROM neurigraph.links AS l WHERE signing_keys.key_id IN (l.key_id, l.end_key_id))
    OR persona_id = (SELECT neurigraph.writing_persona())
);
