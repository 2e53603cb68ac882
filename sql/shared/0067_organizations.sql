-- Organizations: graphs that several users share, their members, and invitations.

-- Graphs that belong to an organization instead of a person. The row of users is the graph; its slug is the
-- organization's.
CREATE TABLE IF NOT EXISTS neurigraph.organizations (
    user_id uuid PRIMARY KEY REFERENCES neurigraph.users ON DELETE CASCADE,
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 300),
    -- Texts, numbers and booleans by name.
    metadata jsonb NOT NULL DEFAULT '{}' CHECK (
        jsonb_typeof(metadata) = 'object' AND octet_length(metadata::text) <= 32768
    ),
    created_at timestamptz NOT NULL DEFAULT now()
);

-- The users who share a graph. The row of a member who has left stays, without access, so that nobody else becomes the
-- author of what the member wrote.
CREATE TABLE IF NOT EXISTS neurigraph.organization_members (
    user_id uuid NOT NULL REFERENCES neurigraph.organizations ON DELETE CASCADE,
    member_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    role text NOT NULL CHECK (role IN ('owner', 'admin', 'member')),
    joined_at timestamptz NOT NULL DEFAULT now(),
    ended_at timestamptz,
    -- Whether shared sources of a member who has left go, too; private ones always do.
    forgets_all boolean NOT NULL DEFAULT false,
    -- When what goes with the member was forgotten.
    settled_at timestamptz,
    PRIMARY KEY (user_id, member_id),
    CHECK (member_id <> user_id),
    CHECK (settled_at IS NULL OR ended_at IS NOT NULL)
);
CREATE INDEX IF NOT EXISTS organization_members_member_id ON neurigraph.organization_members (member_id);
CREATE INDEX IF NOT EXISTS organization_members_unsettled ON neurigraph.organization_members (ended_at)
WHERE ended_at IS NOT NULL AND settled_at IS NULL;

-- Codes that make their users members, once.
CREATE TABLE IF NOT EXISTS neurigraph.organization_invitations (
    invitation_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL REFERENCES neurigraph.organizations ON DELETE CASCADE,
    -- SHA-256 of a code with 256 random bits.
    code_hash bytea NOT NULL UNIQUE CHECK (octet_length(code_hash) = 32),
    role text NOT NULL CHECK (role IN ('owner', 'admin', 'member')),
    -- Whom it is for, for those who list invitations.
    label text NOT NULL DEFAULT '' CHECK (char_length(label) <= 300),
    -- The only user who may use it; null for anybody who has the code.
    invitee_id uuid REFERENCES neurigraph.users ON DELETE CASCADE,
    created_by uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    used_at timestamptz,
    used_by uuid REFERENCES neurigraph.users ON DELETE SET NULL,
    revoked_at timestamptz
);
CREATE INDEX IF NOT EXISTS organization_invitations_user_id
ON neurigraph.organization_invitations (user_id, created_at);

-- Codes that a user tried in vain in the current hour.
CREATE TABLE IF NOT EXISTS neurigraph.invitation_attempts (
    user_id uuid PRIMARY KEY REFERENCES neurigraph.users ON DELETE CASCADE,
    since timestamptz NOT NULL,
    attempts integer NOT NULL CHECK (attempts > 0)
);

-- The member of an organization that handed a source in; null elsewhere. There is no foreign key: what a member wrote
-- must not become somebody else's.
ALTER TABLE neurigraph.sources ADD COLUMN IF NOT EXISTS member_id uuid;
CREATE INDEX IF NOT EXISTS sources_member_id ON neurigraph.sources (user_id, member_id) WHERE member_id IS NOT NULL;
ALTER TABLE neurigraph.sources DROP CONSTRAINT IF EXISTS sources_external_id;
ALTER TABLE neurigraph.sources ADD CONSTRAINT sources_external_id
UNIQUE NULLS NOT DISTINCT (user_id, kind, external_id, persona_id, version, binding, member_id);

ALTER TABLE neurigraph.api_keys DROP CONSTRAINT IF EXISTS api_keys_role_check;
ALTER TABLE neurigraph.api_keys ADD CONSTRAINT api_keys_role_check
CHECK (role IN ('user', 'persona', 'third_party', 'member'));

ALTER TABLE neurigraph.organizations ENABLE ROW LEVEL SECURITY;
ALTER TABLE neurigraph.organization_members ENABLE ROW LEVEL SECURITY;
ALTER TABLE neurigraph.organization_invitations ENABLE ROW LEVEL SECURITY;
ALTER TABLE neurigraph.invitation_attempts ENABLE ROW LEVEL SECURITY;

GRANT SELECT ON neurigraph.organizations, neurigraph.organization_members, neurigraph.organization_invitations,
neurigraph.invitation_attempts TO neurigraph_pipeline;
GRANT SELECT ON neurigraph.organizations, neurigraph.organization_members TO neurigraph_agent;
-- No role reads the hashes, and rows change by functions alone, which check the claims.
GRANT SELECT (
    invitation_id, user_id, role, label, invitee_id, created_by, created_at, expires_at, used_at, used_by, revoked_at
) ON neurigraph.organization_invitations TO neurigraph_agent;
