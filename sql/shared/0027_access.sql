-- Access of callers: grants, API keys, and the key that signs claims.

-- The rights of personas and third parties on single nodes. A grant opens the node that it names and no other.
CREATE TABLE neurigraph.permission_grants (
    grant_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    -- The node of a persona, or the name that the user gave a third party.
    subject_id text NOT NULL CHECK (subject_id <> '') CHECK (char_length(subject_id) <= 300),
    subject_type neurigraph.subject_type NOT NULL,
    target_node_id uuid NOT NULL,
    grant_type neurigraph.grant_type NOT NULL,
    grantor_user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    granted_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    revoked_at timestamptz,
    CONSTRAINT the_grantor_owns_the_graph CHECK (grantor_user_id = user_id),
    CONSTRAINT third_parties_only_read CHECK (subject_type <> 'third_party' OR grant_type = 'read'),
    FOREIGN KEY (target_node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE
);
CREATE INDEX permission_grants_subject_id ON neurigraph.permission_grants (subject_id);
CREATE INDEX permission_grants_target_node_id ON neurigraph.permission_grants (target_node_id);
CREATE INDEX permission_grants_subject_type ON neurigraph.permission_grants (subject_type);
CREATE INDEX permission_grants_revoked_at ON neurigraph.permission_grants (revoked_at);

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
    role text NOT NULL DEFAULT 'user' CHECK (role IN ('user', 'persona', 'third_party')),
    subject_id text CHECK (char_length(subject_id) BETWEEN 1 AND 300),
    -- Updated at most once an hour.
    last_used_at timestamptz,
    CHECK ((role = 'user') = (subject_id IS NULL))
);
CREATE INDEX api_keys_user_id ON neurigraph.api_keys (user_id);

-- The two padded keys of HMAC (RFC 2104), so that the built-in sha256 suffices and no extension is needed. An interface
-- sets two parameters for its transaction: the claims, and their HMAC-SHA256. Every role that runs SQL can set a
-- parameter, so claims without a valid signature, or after they expire, are no claims.
CREATE TABLE neurigraph_private.claims_key (
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    inner_pad bytea NOT NULL CHECK (octet_length(inner_pad) = 64),
    outer_pad bytea NOT NULL CHECK (octet_length(outer_pad) = 64)
);

ALTER TABLE neurigraph.permission_grants ENABLE ROW LEVEL SECURITY;
ALTER TABLE neurigraph.api_keys ENABLE ROW LEVEL SECURITY;

GRANT SELECT ON neurigraph.permission_grants TO neurigraph_pipeline, neurigraph_agent;
-- The owner of a graph manages keys and grants through an interface. No role reads the hashes.
GRANT INSERT (user_id, subject_id, subject_type, target_node_id, grant_type, grantor_user_id, expires_at),
UPDATE (revoked_at) ON neurigraph.permission_grants TO neurigraph_agent;
GRANT SELECT (key_id, user_id, role, subject_id, label, created_at, expires_at, revoked_at, last_used_at)
ON neurigraph.api_keys TO neurigraph_agent;
GRANT INSERT (user_id, key_hash, role, subject_id, label, expires_at), UPDATE (expires_at, revoked_at)
ON neurigraph.api_keys TO neurigraph_agent;
