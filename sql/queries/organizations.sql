-- Organizations, their members and invitations. The functions check who asks; most queries run as the caller.

-- name: insert_organization
INSERT INTO neurigraph.organizations (user_id, name, metadata)
VALUES (%(organization_id)s, %(name)s, %(metadata)s);

-- name: insert_member
INSERT INTO neurigraph.organization_members (user_id, member_id, role)
VALUES (%(organization_id)s, %(member_id)s, %(role)s)
ON CONFLICT (user_id, member_id) DO UPDATE SET
role = excluded.role,
ended_at = NULL,
settled_at = NULL,
forgets_all = false;

-- name: adopt
-- Make a user an owner of an organization without owner; no row otherwise. Runs as the owner of the tables.
INSERT INTO neurigraph.organization_members (user_id, member_id, role)
SELECT
    o.user_id,
    %(member_id)s,
    'owner'
FROM neurigraph.organizations AS o
WHERE o.user_id = %(organization_id)s AND NOT EXISTS (
    SELECT FROM neurigraph.organization_members AS m
    WHERE m.user_id = o.user_id AND m.role = 'owner' AND m.ended_at IS NULL
) AND NOT EXISTS (SELECT FROM neurigraph.organizations AS p WHERE p.user_id = %(member_id)s)
ON CONFLICT (user_id, member_id) DO UPDATE SET
role = 'owner',
ended_at = NULL,
settled_at = NULL,
forgets_all = false
RETURNING member_id;

-- name: owned
-- The organizations that a user owns. The user's row is locked, so that creations of one user take turns.
WITH locked AS MATERIALIZED (
    SELECT u.user_id FROM neurigraph.users AS u
    WHERE u.user_id = %(member_id)s
    FOR NO KEY UPDATE
)

SELECT
    (
        SELECT count(*) FROM neurigraph.organization_members AS m
        WHERE m.member_id = l.user_id AND m.role = 'owner' AND m.ended_at IS NULL
    ) AS organizations
FROM locked AS l;

-- name: list_organizations
SELECT
    o.organization_id,
    o.slug,
    o.name,
    o.metadata,
    o.created_at,
    o.role,
    o.members AS member_count
FROM neurigraph.list_organizations() AS o
WHERE %(organization_id)s::uuid IS NULL OR o.organization_id = %(organization_id)s;

-- name: list_members
SELECT m.* FROM neurigraph.list_members(%(organization_id)s) AS m;

-- name: change_organization
SELECT neurigraph.change_organization(%(organization_id)s, %(name)s, %(metadata)s) AS outcome;

-- name: change_role
SELECT neurigraph.change_role(%(organization_id)s, %(member_id)s, %(role)s) AS outcome;

-- name: end_membership
SELECT neurigraph.end_membership(%(organization_id)s, %(member_id)s, %(forget_all)s) AS outcome;

-- name: invite
SELECT
    i.outcome,
    i.invitation AS invitation_id
FROM neurigraph.invite(
    %(organization_id)s, %(code_hash)s, %(role)s, %(label)s, %(invitee_id)s, make_interval(secs => %(seconds)s)
) AS i;

-- name: invitations
SELECT
    i.invitation_id,
    i.role,
    i.label,
    i.created_by,
    i.created_at,
    i.expires_at,
    i.used_at,
    i.used_by,
    i.revoked_at
FROM neurigraph.organization_invitations AS i
WHERE i.user_id = %(organization_id)s
    AND CASE
        WHEN %(invitation_id)s::uuid IS NOT NULL THEN i.invitation_id = %(invitation_id)s
        ELSE %(with_ended)s OR (i.used_at IS NULL AND i.revoked_at IS NULL AND i.expires_at > now())
    END
ORDER BY i.created_at DESC, i.invitation_id
LIMIT 1000;

-- name: revoke_invitation
SELECT neurigraph.revoke_invitation(%(organization_id)s, %(invitation_id)s) AS outcome;

-- name: accept_invitation
SELECT
    a.outcome,
    a.organization AS organization_id,
    a.joined_role AS role
FROM neurigraph.accept_invitation(%(code_hash)s) AS a;

-- name: issue_member_key
SELECT neurigraph.issue_member_key(%(organization_id)s, %(key_hash)s, %(label)s) AS key_id;
