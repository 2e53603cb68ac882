-- Organizations: the parts that callers see, and every change of members and invitations. Callers change these tables
-- by functions alone, which take the caller from the signed claims. For a caller who is no member, an organization does
-- not exist: functions return null or no row.

-- The person behind the caller: the owner of a graph with a key of that graph, or a member with a key of the
-- organization.
CREATE OR REPLACE FUNCTION neurigraph_private.person_of(asking jsonb) RETURNS uuid
LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN asking ->> 'role' = 'user' THEN (asking ->> 'user_id')::uuid
        ELSE neurigraph_private.member_of(asking) END
$$;

-- The role of the caller in an organization, or null. A key of an organization gives no role in another one.
CREATE OR REPLACE FUNCTION neurigraph_private.role_in(asking jsonb, organization uuid) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT m.role FROM neurigraph.organization_members AS m
    WHERE m.user_id = organization AND m.member_id = neurigraph_private.person_of(asking) AND m.ended_at IS NULL
        AND (asking ->> 'role' = 'user' OR (asking ->> 'user_id')::uuid = organization)
$$;

-- The organizations of which the caller is a member, or, for admins and owners, in which the caller manages members.
-- Policies use this function.
CREATE OR REPLACE FUNCTION neurigraph.organizations_of_caller(least_role text) RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT m.user_id
    FROM (SELECT neurigraph.claims() AS asking OFFSET 0) AS c
    INNER JOIN neurigraph.organization_members AS m ON m.member_id = neurigraph_private.person_of(c.asking)
    WHERE m.ended_at IS NULL
        AND (c.asking ->> 'role' = 'user' OR (c.asking ->> 'user_id')::uuid = m.user_id)
        AND (least_role = 'member' OR m.role IN ('owner', 'admin'))
$$;

-- The organizations of the caller, with the caller's role and the number of members, by slug.
CREATE OR REPLACE FUNCTION neurigraph.list_organizations()
RETURNS TABLE (
    organization_id uuid, slug text, name text, metadata jsonb, created_at timestamptz, role text, members bigint
)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT
        o.user_id, u.slug, o.name, o.metadata, o.created_at,
        neurigraph_private.role_in((SELECT neurigraph.claims()), o.user_id),
        (SELECT count(*) FROM neurigraph.organization_members AS m WHERE m.user_id = o.user_id AND m.ended_at IS NULL)
    FROM neurigraph.organizations AS o
    INNER JOIN neurigraph.users AS u ON o.user_id = u.user_id
    WHERE o.user_id IN (SELECT c.id FROM neurigraph.organizations_of_caller('member') AS c (id))
    ORDER BY u.slug
$$;

-- The members of an organization of the caller, the first to join first.
CREATE OR REPLACE FUNCTION neurigraph.list_members(organization uuid)
RETURNS TABLE (member_id uuid, slug text, role text, joined_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT m.member_id, u.slug, m.role, m.joined_at
    FROM neurigraph.organization_members AS m
    INNER JOIN neurigraph.users AS u ON m.member_id = u.user_id
    WHERE m.user_id = organization AND m.ended_at IS NULL
        AND neurigraph_private.role_in((SELECT neurigraph.claims()), organization) IS NOT NULL
    ORDER BY m.joined_at, m.member_id
$$;

-- Change the name or the metadata; null leaves either as it is. Returns done, or forbidden for members; null if the
-- organization is absent.
CREATE OR REPLACE FUNCTION neurigraph.change_organization(organization uuid, new_name text, new_metadata jsonb)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    own_role text;
BEGIN
    PERFORM FROM neurigraph.organizations AS o WHERE o.user_id = organization FOR UPDATE;
    own_role := neurigraph_private.role_in(neurigraph.claims(), organization);
    IF own_role IS NULL THEN
        RETURN NULL;
    ELSIF own_role = 'member' THEN
        RETURN 'forbidden';
    END IF;
    UPDATE neurigraph.organizations AS o SET
        name = coalesce(new_name, o.name), metadata = coalesce(new_metadata, o.metadata)
    WHERE o.user_id = organization;
    RETURN 'done';
END
$$;

-- Whether a member is the only owner of an organization. The caller has locked the organization's row.
CREATE OR REPLACE FUNCTION neurigraph_private.is_last_owner(organization uuid, member uuid) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM neurigraph.organization_members AS m
        WHERE m.user_id = organization AND m.member_id = member AND m.role = 'owner' AND m.ended_at IS NULL
    ) AND NOT EXISTS (
        SELECT FROM neurigraph.organization_members AS m
        WHERE m.user_id = organization AND m.member_id <> member AND m.role = 'owner' AND m.ended_at IS NULL
    )
$$;

-- Change the role of a member, which only owners do. Returns done, forbidden, last_owner, or null if the organization
-- or the member is absent. Changes of one organization take turns, so that the organization always has an owner.
CREATE OR REPLACE FUNCTION neurigraph.change_role(organization uuid, member uuid, new_role text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    own_role text;
BEGIN
    PERFORM FROM neurigraph.organizations AS o WHERE o.user_id = organization FOR UPDATE;
    own_role := neurigraph_private.role_in(neurigraph.claims(), organization);
    IF own_role IS NULL OR NOT EXISTS (
        SELECT FROM neurigraph.organization_members AS m
        WHERE m.user_id = organization AND m.member_id = member AND m.ended_at IS NULL
    ) THEN
        RETURN NULL;
    ELSIF own_role <> 'owner' THEN
        RETURN 'forbidden';
    ELSIF new_role <> 'owner' AND neurigraph_private.is_last_owner(organization, member) THEN
        RETURN 'last_owner';
    END IF;
    UPDATE neurigraph.organization_members AS m SET role = new_role
    WHERE m.user_id = organization AND m.member_id = member;
    RETURN 'done';
END
$$;

-- End a membership: from the next statement on the member sees nothing of the organization. A member may leave, an
-- admin may remove members, and an owner may remove anybody. Private sources of the member are forgotten later; shared
-- sources only if the member decides so. Returns done, forbidden, last_owner, or null if the organization or the member
-- is absent.
CREATE OR REPLACE FUNCTION neurigraph.end_membership(organization uuid, member uuid, forget_all boolean) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    asking jsonb := neurigraph.claims();
    is_self boolean;
    own_role text;
    ending text;
BEGIN
    PERFORM FROM neurigraph.organizations AS o WHERE o.user_id = organization FOR UPDATE;
    own_role := neurigraph_private.role_in(asking, organization);
    is_self := neurigraph_private.person_of(asking) = member;
    SELECT m.role INTO ending FROM neurigraph.organization_members AS m
    WHERE m.user_id = organization AND m.member_id = member AND m.ended_at IS NULL;
    IF own_role IS NULL OR ending IS NULL THEN
        RETURN NULL;
    ELSIF NOT is_self AND (forget_all OR own_role = 'member' OR (own_role = 'admin' AND ending <> 'member')) THEN
        RETURN 'forbidden';
    ELSIF neurigraph_private.is_last_owner(organization, member) THEN
        RETURN 'last_owner';
    END IF;
    PERFORM neurigraph_private.close_membership(organization, member, forget_all);
    RETURN 'done';
END
$$;

-- End a membership without checks. Remaining messages keep their author, who is the member again after coming back.
CREATE OR REPLACE FUNCTION neurigraph_private.close_membership(organization uuid, member uuid, forget_all boolean)
RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE neurigraph.organization_members AS m SET
        ended_at = clock_timestamp(), forgets_all = forget_all, settled_at = NULL
    WHERE m.user_id = organization AND m.member_id = member;
    UPDATE neurigraph.api_keys AS k SET revoked_at = coalesce(k.revoked_at, now())
    WHERE k.user_id = organization AND k.role = 'member' AND k.subject_id = member::text;
    PERFORM neurigraph_private.note_change(organization);
END
$$;

-- End all memberships of a user who is to be forgotten. Stops at an organization that has no other owner, and returns
-- its slug.
CREATE OR REPLACE FUNCTION neurigraph_private.close_memberships(person uuid) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    organization uuid;
BEGIN
    FOR organization IN
        SELECT o.user_id
        FROM neurigraph.organizations AS o
        INNER JOIN neurigraph.organization_members AS m ON o.user_id = m.user_id
        WHERE m.member_id = person AND m.ended_at IS NULL
        ORDER BY o.user_id
        FOR UPDATE OF o
    LOOP
        IF neurigraph_private.is_last_owner(organization, person) THEN
            RETURN (SELECT u.slug FROM neurigraph.users AS u WHERE u.user_id = organization);
        END IF;
        PERFORM neurigraph_private.close_membership(organization, person, false);
    END LOOP;
    RETURN NULL;
END
$$;

-- Create an invitation. An admin may invite members, an owner may invite to any role. Returns the outcome, and the id.
CREATE OR REPLACE FUNCTION neurigraph.invite(
    organization uuid, hash bytea, invited_role text, invited text, invitee uuid, lifetime interval,
    OUT outcome text, OUT invitation uuid
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    asking jsonb := neurigraph.claims();
    own_role text;
BEGIN
    PERFORM FROM neurigraph.organizations AS o WHERE o.user_id = organization FOR UPDATE;
    own_role := neurigraph_private.role_in(asking, organization);
    IF own_role IS NULL THEN
        RETURN;
    ELSIF own_role = 'member' OR (own_role = 'admin' AND invited_role <> 'member') THEN
        outcome := 'forbidden';
        RETURN;
    ELSIF 100 <= (
        SELECT count(*) FROM neurigraph.organization_invitations AS i
        WHERE i.user_id = organization AND i.used_at IS NULL AND i.revoked_at IS NULL AND i.expires_at > now()
    ) THEN
        outcome := 'too_many';
        RETURN;
    END IF;
    INSERT INTO neurigraph.organization_invitations AS i (
        user_id, code_hash, role, label, invitee_id, created_by, expires_at
    )
    VALUES (
        organization, hash, invited_role, invited, invitee, neurigraph_private.person_of(asking), now() + lifetime
    )
    RETURNING i.invitation_id INTO invitation;
    outcome := 'done';
END
$$;

-- Revoke an invitation. Returns done, forbidden, or null if the organization or the invitation is absent.
CREATE OR REPLACE FUNCTION neurigraph.revoke_invitation(organization uuid, invitation uuid) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    own_role text := neurigraph_private.role_in(neurigraph.claims(), organization);
BEGIN
    IF own_role = 'member' THEN
        RETURN 'forbidden';
    END IF;
    UPDATE neurigraph.organization_invitations AS i SET revoked_at = coalesce(i.revoked_at, now())
    WHERE i.invitation_id = invitation AND i.user_id = organization AND own_role IS NOT NULL;
    RETURN CASE WHEN FOUND THEN 'done' END;
END
$$;

-- Accept an invitation by its code, as the owner of a graph. Returns joined, too_often, or null. Null stands for a code
-- that is wrong, used, expired, revoked or for somebody else, and for a code whose inviter may no longer give the role.
-- A caller who already is a member keeps the role, and the code stays unused.
CREATE OR REPLACE FUNCTION neurigraph.accept_invitation(
    hash bytea, OUT outcome text, OUT organization uuid, OUT joined_role text
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    person uuid := neurigraph.asking_user_id();
    offer neurigraph.organization_invitations;
BEGIN
    -- Attempts of one user take turns.
    PERFORM FROM neurigraph.users AS u WHERE u.user_id = person FOR NO KEY UPDATE;
    IF NOT FOUND OR EXISTS (SELECT FROM neurigraph.organizations AS o WHERE o.user_id = person) THEN
        RETURN;
    ELSIF EXISTS (
        SELECT FROM neurigraph.invitation_attempts AS a
        WHERE a.user_id = person AND a.attempts >= 20 AND a.since > now() - interval '1 hour'
    ) THEN
        outcome := 'too_often';
        RETURN;
    END IF;
    SELECT i.* INTO offer
    FROM neurigraph.organization_invitations AS i
    WHERE i.code_hash = hash AND i.used_at IS NULL AND i.revoked_at IS NULL AND i.expires_at > clock_timestamp()
        AND coalesce(i.invitee_id, person) = person;
    -- Every change of members locks the organization first.
    PERFORM FROM neurigraph.organizations AS o WHERE o.user_id = offer.user_id FOR UPDATE;
    SELECT i.* INTO offer
    FROM neurigraph.organization_invitations AS i
    INNER JOIN neurigraph.organization_members AS m ON i.user_id = m.user_id AND i.created_by = m.member_id
    WHERE i.invitation_id = offer.invitation_id AND i.used_at IS NULL AND i.revoked_at IS NULL
        AND m.ended_at IS NULL AND (m.role = 'owner' OR (m.role = 'admin' AND i.role = 'member'))
        AND NOT EXISTS (
            -- Rows of a member who left must be erased before the member comes back.
            SELECT FROM neurigraph.organization_members AS e
            WHERE e.user_id = i.user_id AND e.member_id = person AND (e.ended_at IS NULL OR e.settled_at IS NULL)
        );
    IF NOT FOUND THEN
        INSERT INTO neurigraph.invitation_attempts AS a (user_id, since, attempts) VALUES (person, now(), 1)
        ON CONFLICT (user_id) DO UPDATE SET
            attempts = CASE WHEN a.since > now() - interval '1 hour' THEN a.attempts + 1 ELSE 1 END,
            since = CASE WHEN a.since > now() - interval '1 hour' THEN a.since ELSE now() END;
        RETURN;
    END IF;
    UPDATE neurigraph.organization_invitations AS i SET used_at = now(), used_by = person
    WHERE i.invitation_id = offer.invitation_id;
    INSERT INTO neurigraph.organization_members AS m (user_id, member_id, role) VALUES (offer.user_id, person, offer.role)
    ON CONFLICT (user_id, member_id) DO UPDATE SET
        role = excluded.role, joined_at = now(), ended_at = NULL, forgets_all = false, settled_at = NULL;
    outcome := 'joined';
    organization := offer.user_id;
    joined_role := offer.role;
END
$$;

-- Issue a key of the caller's own membership. Returns its id, or null if the caller is no member.
CREATE OR REPLACE FUNCTION neurigraph.issue_member_key(organization uuid, hash bytea, key_label text) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    asking jsonb := neurigraph.claims();
    issued uuid;
BEGIN
    -- The lock waits for a membership that is being ended.
    PERFORM FROM neurigraph.organizations AS o WHERE o.user_id = organization FOR NO KEY UPDATE;
    INSERT INTO neurigraph.api_keys AS k (user_id, key_hash, role, subject_id, label)
    SELECT organization, hash, 'member', neurigraph_private.person_of(asking)::text, key_label
    WHERE neurigraph_private.role_in(asking, organization) IS NOT NULL
    RETURNING k.key_id INTO issued;
    RETURN issued;
END
$$;

-- Whether a graph belongs to an organization. The function needs no claims, because interfaces ask it before they make
-- claims from a token.
CREATE OR REPLACE FUNCTION neurigraph.is_organization(graph uuid) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (SELECT FROM neurigraph.organizations AS o WHERE o.user_id = graph)
$$;

REVOKE ALL ON FUNCTION neurigraph.organizations_of_caller(text), neurigraph.list_organizations(),
neurigraph.list_members(uuid), neurigraph.change_organization(uuid, text, jsonb),
neurigraph.change_role(uuid, uuid, text), neurigraph.end_membership(uuid, uuid, boolean),
neurigraph.invite(uuid, bytea, text, text, uuid, interval), neurigraph.revoke_invitation(uuid, uuid),
neurigraph.accept_invitation(bytea), neurigraph.issue_member_key(uuid, bytea, text), neurigraph.is_organization(uuid)
FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.organizations_of_caller(text), neurigraph.list_organizations(),
neurigraph.list_members(uuid), neurigraph.change_organization(uuid, text, jsonb),
neurigraph.change_role(uuid, uuid, text), neurigraph.end_membership(uuid, uuid, boolean),
neurigraph.invite(uuid, bytea, text, text, uuid, interval), neurigraph.revoke_invitation(uuid, uuid),
neurigraph.accept_invitation(bytea), neurigraph.issue_member_key(uuid, bytea, text), neurigraph.is_organization(uuid)
TO neurigraph_agent;
