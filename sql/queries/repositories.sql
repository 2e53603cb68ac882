-- Repositories that were fetched, and their files.

-- name: newest_commit
-- The newest version of a repository of the owner or a member. A failed version does not count, so the repository is
-- fetched again.
SELECT
    u.source_id,
    u.file_name
FROM neurigraph.sources AS s
INNER JOIN neurigraph.uploads AS u ON s.source_id = u.source_id
WHERE s.user_id = %(user_id)s AND s.member_id IS NOT DISTINCT FROM %(member_id)s::uuid
    AND s.kind = 'upload' AND s.external_id = %(external_id)s
    AND s.received_through = 'web' AND u.state <> 'failed'
    AND NOT EXISTS (SELECT FROM neurigraph.sources AS n WHERE n.replaces = s.source_id);

-- name: repository
-- Return the fields that the owner stated of a repository. They hold for its files, too.
SELECT
    s.user_id,
    s.member_id,
    s.external_id,
    s.url,
    s.origin,
    s.channel::text AS channel,
    s.author,
    s.metadata,
    s.privacy::text AS privacy,
    s.tier::text AS tier,
    s.key_id,
    u.file_name,
    ARRAY(
        SELECT p.container_tag FROM neurigraph.source_spaces AS f
        INNER JOIN neurigraph.spaces AS p ON f.space_id = p.space_id
        WHERE f.source_id = s.source_id
        ORDER BY p.container_tag
    ) AS container_tags
FROM neurigraph.sources AS s
INNER JOIN neurigraph.uploads AS u ON s.source_id = u.source_id
WHERE s.source_id = %(source_id)s;

-- name: files
-- The newest version of each file of a repository. For a deleted file the newest version is the notice of its deletion.
SELECT DISTINCT ON (s.external_id)
    s.source_id,
    s.external_id,
    s.title,
    u.sha256
FROM neurigraph.sources AS s
INNER JOIN neurigraph.uploads AS u ON s.source_id = u.source_id
WHERE s.user_id = %(user_id)s AND s.member_id IS NOT DISTINCT FROM %(member_id)s::uuid
    AND s.kind = 'upload' AND starts_with(s.external_id, %(prefix)s)
ORDER BY s.external_id, s.version DESC;
