-- Rows that are erased with members who left an organization. Runs as the owner of the tables.

-- name: unsettled
SELECT
    m.user_id AS organization_id,
    m.member_id
FROM neurigraph.organization_members AS m
WHERE m.ended_at IS NOT NULL AND m.settled_at IS NULL AND coalesce(m.member_id = %(member_id)s::uuid, true)
ORDER BY m.ended_at;

-- name: close_memberships
-- End the memberships of a user. Returns the slug of an organization that would be left without an owner; then the
-- caller commits nothing.
SELECT neurigraph_private.close_memberships(%(user_id)s) AS last_owner_of;

-- name: lock_departure
SELECT m.member_id
FROM neurigraph.organization_members AS m
WHERE m.user_id = %(organization_id)s AND m.member_id = %(member_id)s
    AND m.ended_at IS NOT NULL AND m.settled_at IS NULL
FOR UPDATE;

-- name: erase_unstored
-- Erase sources without records. Messages, segments and failures are deleted with their sources.
DELETE FROM neurigraph.sources AS s
USING neurigraph.organization_members AS m
WHERE m.user_id = %(organization_id)s AND m.member_id = %(member_id)s
    AND s.user_id = m.user_id AND s.member_id = m.member_id AND (m.forgets_all OR s.privacy = 'private')
    AND NOT EXISTS (
        SELECT FROM neurigraph.record_index AS r
        WHERE r.user_id = s.user_id AND r.source_id = s.source_id
    );

-- name: records_left
SELECT r.record_id
FROM neurigraph.organization_members AS m
INNER JOIN neurigraph.sources AS s ON m.user_id = s.user_id AND m.member_id = s.member_id
INNER JOIN neurigraph.record_index AS r ON s.user_id = r.user_id AND s.source_id = r.source_id
WHERE m.user_id = %(organization_id)s AND m.member_id = %(member_id)s AND (m.forgets_all OR s.privacy = 'private')
ORDER BY r.record_id
LIMIT 1000;

-- name: settle
UPDATE neurigraph.organization_members AS m SET settled_at = now()
WHERE m.user_id = %(organization_id)s AND m.member_id = %(member_id)s;
