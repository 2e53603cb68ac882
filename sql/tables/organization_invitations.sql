-- Invitations: codes that make a user a member, once.
CREATE TABLE neurigraph.organization_invitations (
    invitation_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL REFERENCES neurigraph.organizations ON DELETE CASCADE,
    -- SHA-256 of a code with 256 random bits.
    code_hash bytea NOT NULL UNIQUE CHECK (octet_length(code_hash) = 32),
    role text NOT NULL CHECK (role IN ('owner', 'admin', 'member')),
    -- The name of the invited person, for callers who list invitations.
    label text NOT NULL DEFAULT '' CHECK (char_length(label) <= 300),
    -- The only user who may use the code; null lets anybody use it.
    invitee_id uuid REFERENCES neurigraph.users ON DELETE CASCADE,
    created_by uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    used_at timestamptz,
    used_by uuid REFERENCES neurigraph.users ON DELETE SET NULL,
    revoked_at timestamptz
);
CREATE INDEX organization_invitations_user_id
ON neurigraph.organization_invitations (user_id, created_at);

ALTER TABLE neurigraph.organization_invitations ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON neurigraph.organization_invitations TO neurigraph_pipeline;
-- No role reads the hashes, and rows change by functions alone, which check the claims.
GRANT SELECT (
    invitation_id, user_id, role, label, invitee_id, created_by, created_at, expires_at, used_at, used_by, revoked_at
)
ON neurigraph.organization_invitations TO neurigraph_agent;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.organization_invitations TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.organization_invitations TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));

CREATE POLICY by_managers ON neurigraph.organization_invitations FOR SELECT TO neurigraph_agent
USING (user_id IN (SELECT neurigraph.organizations_of_caller('admin')));
