-- The users who share a graph. The row of a member who has left stays, without access, so that nobody else becomes the
-- author of the member's messages.
CREATE TABLE neurigraph.organization_members (
    user_id uuid NOT NULL REFERENCES neurigraph.organizations ON DELETE CASCADE,
    member_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    role text NOT NULL CHECK (role IN ('owner', 'admin', 'member')),
    joined_at timestamptz NOT NULL DEFAULT now(),
    ended_at timestamptz,
    -- Whether shared sources of a member who has left are forgotten, too; private sources always are.
    forgets_all boolean NOT NULL DEFAULT false,
    -- The time at which the member's rows were forgotten.
    settled_at timestamptz,
    PRIMARY KEY (user_id, member_id),
    CHECK (member_id <> user_id),
    CHECK (settled_at IS NULL OR ended_at IS NOT NULL)
);
CREATE INDEX organization_members_member_id ON neurigraph.organization_members (member_id);
CREATE INDEX organization_members_unsettled ON neurigraph.organization_members (ended_at)
WHERE ended_at IS NOT NULL AND settled_at IS NULL;

ALTER TABLE neurigraph.organization_members ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON neurigraph.organization_members TO neurigraph_pipeline;
GRANT SELECT ON neurigraph.organization_members TO neurigraph_agent;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.organization_members TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.organization_members TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));

CREATE POLICY by_members ON neurigraph.organization_members FOR SELECT TO neurigraph_agent
USING (ended_at IS NULL AND user_id IN (SELECT neurigraph.organizations_of_caller('member')));
