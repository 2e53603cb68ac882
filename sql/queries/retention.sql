-- Retention: tiers, accesses, promotion, and the archive.

-- name: of_records
-- The retention of some records. Runs as the caller.
SELECT
    t.record_id,
    t.tier,
    t.expires_at,
    t.expiry_reason,
    t.access_count,
    t.access_days
FROM neurigraph.retention_of(%(record_ids)s) AS t;

-- name: lock
SELECT
    t.tier,
    t.expires_at
FROM neurigraph.record_retention AS t
WHERE t.record_id = %(record_id)s
FOR UPDATE;

-- name: set_tier
-- Set the tier of records. The counting of accesses begins again with each tier.
INSERT INTO neurigraph.record_retention AS t (
    record_id, user_id, tier, lifetime, granted_until, expires_at, reason
)
SELECT
    i.record_id,
    i.user_id,
    %(tier)s,
    l.lifetime,
    l.until AS granted_until,
    l.until AS expires_at,
    %(reason)s
FROM neurigraph.record_index AS i
CROSS JOIN (
    SELECT
        make_interval(secs => %(seconds)s) AS lifetime,
        coalesce(%(expires_at)s::timestamptz, now() + make_interval(secs => %(seconds)s)) AS until
) AS l
WHERE i.record_id = %(record_id)s
ON CONFLICT (record_id) DO UPDATE SET
    tier = excluded.tier,
    lifetime = excluded.lifetime,
    granted_until = excluded.granted_until,
    expires_at = excluded.expires_at,
    reason = excluded.reason,
    access_count = 0,
    access_days = 0,
    last_access_at = NULL,
    hour_askers = DEFAULT
RETURNING
    t.tier,
    t.expires_at;

-- name: standards_for
-- The tier and the seconds that standards set for some records; no rows in most graphs.
SELECT
    i.record_id,
    s.tier,
    s.ttl_seconds
FROM neurigraph.record_index AS i
CROSS JOIN LATERAL (
    SELECT
        max(f.value) FILTER (WHERE f.field = 'tier') AS tier,
        (max(f.value) FILTER (WHERE f.field = 'ttl_seconds'))::bigint AS ttl_seconds
    FROM neurigraph.standard_for_jobs(i.node_id) AS f
) AS s
WHERE i.record_id = ANY(%(record_ids)s) AND num_nonnulls(s.tier, s.ttl_seconds) > 0
    AND EXISTS (
        SELECT FROM neurigraph.node_standards AS n
        WHERE n.user_id = %(user_id)s AND num_nonnulls(n.default_tier, n.default_ttl_seconds) > 0
    );

-- name: due
-- Records that have expired, the longest expired first. A record in quarantine waits until it is released.
SELECT
    t.record_id,
    t.user_id
FROM neurigraph.record_retention AS t
INNER JOIN neurigraph.record_index AS i ON t.record_id = i.record_id AND NOT i.quarantined
WHERE t.archived_at IS NULL AND t.expires_at <= now() - make_interval(secs => %(overdue_seconds)s)
    AND (%(user_id)s::uuid IS NULL OR t.user_id = %(user_id)s)
ORDER BY t.expires_at, t.record_id
LIMIT %(limit)s;

-- name: promotable
-- Records that were read often enough in their tier, even if they have expired.
SELECT
    t.record_id,
    t.user_id,
    t.tier
FROM neurigraph.record_retention AS t
INNER JOIN neurigraph.record_index AS i ON t.record_id = i.record_id AND NOT i.quarantined
WHERE t.tier <> 'long' AND t.archived_at IS NULL AND t.access_count >= 5 AND t.access_days >= 2
    AND (%(user_id)s::uuid IS NULL OR t.user_id = %(user_id)s)
ORDER BY t.record_id
LIMIT %(limit)s;

-- name: promote
-- Promote records. The new expiry is never earlier than the old one.
WITH chosen AS MATERIALIZED (
    SELECT
        t.record_id,
        t.tier AS old_tier,
        t.expires_at AS old_expires_at,
        CASE t.tier WHEN 'short' THEN 'mid' ELSE 'long' END::neurigraph.retention_tier AS new_tier,
        CASE t.tier WHEN 'short' THEN make_interval(secs => %(mid_seconds)s) END AS lifetime,
        CASE t.tier
            WHEN 'short' THEN greatest(t.expires_at, now() + make_interval(secs => %(mid_seconds)s))
        END AS until
    FROM neurigraph.record_retention AS t
    WHERE t.record_id = ANY(%(record_ids)s) AND t.tier <> 'long' AND t.archived_at IS NULL
        AND (%(is_by_hand)s OR (t.access_count >= 5 AND t.access_days >= 2))
    ORDER BY t.record_id
    FOR UPDATE
),

promoted AS (
    UPDATE neurigraph.record_retention AS t SET
        tier = c.new_tier,
        lifetime = c.lifetime,
        granted_until = c.until,
        expires_at = c.until,
        reason = %(reason)s,
        access_count = 0,
        access_days = 0,
        last_access_at = NULL,
        hour_askers = DEFAULT
    FROM chosen AS c
    WHERE t.record_id = c.record_id
    RETURNING
        t.record_id,
        c.old_tier,
        c.old_expires_at,
        t.tier,
        t.expires_at
)

SELECT
    p.record_id,
    d.delta_id
FROM promoted AS p
CROSS JOIN LATERAL neurigraph.append_delta(
    p.record_id,
    'promote',
    jsonb_build_object('tier', p.old_tier, 'expires_at', p.old_expires_at),
    jsonb_build_object('tier', p.tier, 'expires_at', p.expires_at),
    %(author)s
) AS d;

-- name: lock_for_archive
-- Lock records of a user that can be archived, and return their nodes. A sweep archives only records that are still
-- due, because an access may have come in between. Accesses wait for the locked rows from now on.
SELECT
    i.record_id,
    i.node_id,
    g.schema_name
FROM neurigraph.record_index AS i
INNER JOIN neurigraph.graph_index AS g ON i.node_id = g.node_id
WHERE i.record_id = ANY(%(record_ids)s) AND i.user_id = %(user_id)s AND NOT i.quarantined
    AND (NOT %(only_due)s OR EXISTS (
        SELECT FROM neurigraph.record_retention AS t
        WHERE t.record_id = i.record_id AND t.expires_at <= now() AND t.archived_at IS NULL
    ))
ORDER BY i.record_id;

-- name: lock_retention
SELECT t.record_id
FROM neurigraph.record_retention AS t
WHERE t.record_id = ANY(%(record_ids)s)
ORDER BY t.record_id
FOR UPDATE;

-- name: archive
WITH archived AS (
    INSERT INTO neurigraph.record_retention AS t (
        record_id, user_id, tier, reason, archived_at, archived_by, archived_reason, archived
    )
    SELECT
        r.record_id,
        %(user_id)s,
        'long',
        'kept for good until it was archived',
        now(),
        %(author)s,
        %(reason)s,
        tstzmultirange(tstzrange(now(), NULL))
    FROM unnest(%(record_ids)s::uuid []) AS r (record_id)
    ON CONFLICT (record_id) DO UPDATE SET
        archived_at = excluded.archived_at,
        archived_by = excluded.archived_by,
        archived_reason = excluded.archived_reason,
        archived = t.archived + excluded.archived
    RETURNING
        t.record_id,
        t.archived_at,
        t.archived_reason
)

SELECT
    a.record_id,
    d.delta_id
FROM archived AS a
CROSS JOIN LATERAL neurigraph.append_delta(
    a.record_id,
    'archive',
    jsonb_build_object('archived_at', NULL),
    jsonb_build_object('archived_at', a.archived_at, 'archived_reason', a.archived_reason),
    %(author)s
) AS d;

-- name: lock_for_restore
-- Lock archived records of a user, and return whether an erasure of the record has begun: such a record cannot be
-- restored.
SELECT
    t.record_id,
    i.node_id,
    g.schema_name,
    EXISTS (
        SELECT FROM neurigraph.erasures AS e
        WHERE e.subject_kind = 'record' AND e.subject_id = t.record_id AND e.finished_at IS NULL
    ) AS is_being_erased,
    EXISTS (
        SELECT FROM neurigraph.quarantined_records AS q WHERE q.record_id = t.record_id
    ) AS is_quarantined
FROM neurigraph.record_retention AS t
INNER JOIN neurigraph.record_index AS i ON t.record_id = i.record_id
INNER JOIN neurigraph.graph_index AS g ON i.node_id = g.node_id
WHERE t.record_id = ANY(%(record_ids)s) AND t.user_id = %(user_id)s AND t.archived_at IS NOT NULL
ORDER BY t.record_id
FOR UPDATE OF t;

-- name: restore
-- Restore a record to its former tier. The time of the tier begins again.
WITH restored AS (
    UPDATE neurigraph.record_retention AS t SET
        archived = t.archived * tstzmultirange(tstzrange(NULL, greatest(now(), t.archived_at))),
        archived_at = NULL,
        archived_by = NULL,
        archived_reason = NULL,
        granted_until = now() + t.lifetime,
        expires_at = CASE WHEN t.lifetime IS NOT NULL THEN greatest(t.expires_at, now() + t.lifetime) END
    FROM neurigraph.record_retention AS w
    WHERE t.record_id = ANY(%(record_ids)s) AND t.record_id = w.record_id
    RETURNING
        t.record_id,
        w.archived_at,
        t.expires_at
)

SELECT
    r.record_id,
    d.delta_id
FROM restored AS r
CROSS JOIN LATERAL neurigraph.append_delta(
    r.record_id,
    'unarchive',
    jsonb_build_object('archived_at', r.archived_at),
    jsonb_build_object('archived_at', NULL),
    %(author)s
) AS d;

-- name: archived
-- The archive of a graph, the latest archived first.
WITH page AS MATERIALIZED (
    SELECT
        t.record_id,
        t.tier,
        t.archived_at,
        t.archived_by,
        t.archived_reason
    FROM neurigraph.record_retention AS t
    WHERE t.user_id = %(user_id)s AND t.archived_at IS NOT NULL
        AND (t.archived_at, t.record_id) < (%(at)s::timestamptz, %(id)s::uuid)
        AND NOT EXISTS (SELECT FROM neurigraph.quarantined_records AS q WHERE q.record_id = t.record_id)
    ORDER BY t.archived_at DESC, t.record_id DESC
    LIMIT %(limit)s
)

SELECT
    p.*,
    n.title,
    i.node_id,
    i.source_kind,
    i.source_id,
    (SELECT w.node_path FROM neurigraph.path_of(i.node_id) AS w) AS node_path
FROM page AS p
INNER JOIN neurigraph.record_index AS i ON p.record_id = i.record_id
INNER JOIN neurigraph.titles_of(ARRAY(SELECT o.record_id FROM page AS o)) AS n ON p.record_id = n.record_id
ORDER BY p.archived_at DESC, p.record_id DESC;

-- name: purgeable
-- Records that have been in the archive for longest, with the moment before which they must have been archived.
SELECT
    t.record_id,
    w.before,
    count(*) OVER () AS counted
FROM neurigraph.record_retention AS t
CROSS JOIN (SELECT now() - make_interval(secs => %(seconds)s) AS before) AS w
WHERE t.user_id = %(user_id)s AND t.archived_at <= w.before
ORDER BY t.archived_at, t.record_id
LIMIT %(limit)s;

-- name: is_purgeable
SELECT t.record_id
FROM neurigraph.record_retention AS t
WHERE t.record_id = %(record_id)s AND t.archived_at <= %(before)s;

-- name: wrongly_shown
-- Records of the archive that are not hidden.
SELECT t.record_id
FROM neurigraph.record_retention AS t
INNER JOIN neurigraph.record_index AS i ON t.record_id = i.record_id
WHERE t.archived_at IS NOT NULL AND NOT i.quarantined
ORDER BY t.record_id
LIMIT %(limit)s;
