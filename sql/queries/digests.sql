-- Digests: finding the windows that need one, the records for it, and writing and reading digests.

-- name: due
-- Windows of nodes without a digest of their present records: windows that ended and have two records or more, and
-- windows with 50 facts more than their digest has. Windows that failed least often come first.
WITH current_records AS (
    SELECT
        i.record_id,
        i.node_id,
        i.user_id,
        coalesce(i.occurred_at, i.created_at) AS at,
        coalesce(s.privacy = 'private', false) AS is_private,
        (
            SELECT count(*) FROM neurigraph.facts AS f
            WHERE f.record_id = i.record_id AND f.status <> 'archived' AND f.forgotten_at IS NULL
        ) AS facts
    FROM neurigraph.record_index AS i
    LEFT JOIN neurigraph.sources AS s ON i.source_id = s.source_id
    WHERE NOT i.quarantined AND i.superseded IS NOT TRUE
        AND (%(user_id)s::uuid IS NULL OR i.user_id = %(user_id)s)
),

windows AS (
    SELECT
        r.node_id,
        r.user_id,
        d.days,
        c.covers,
        b.starts_at,
        count(*) AS records,
        sum(r.facts) AS facts,
        bool_or(r.is_private) AS has_private
    FROM current_records AS r
    CROSS JOIN (VALUES (7), (30), (90)) AS d (days)
    INNER JOIN (VALUES ('shared'), ('all')) AS c (covers) ON c.covers = 'all' OR NOT r.is_private
    CROSS JOIN LATERAL (
        SELECT to_timestamp(floor(extract(EPOCH FROM r.at) / (d.days * 86400)) * d.days * 86400) AS starts_at
    ) AS b
    GROUP BY r.node_id, r.user_id, d.days, c.covers, b.starts_at
)

SELECT
    w.node_id,
    w.user_id,
    w.days,
    w.covers,
    w.starts_at,
    w.starts_at + w.days * interval '1 day' AS ends_at,
    w.records,
    w.facts
FROM windows AS w
LEFT JOIN neurigraph.digests AS d
    ON w.node_id = d.node_id AND w.days = d.days AND w.starts_at = d.starts_at AND w.covers = d.covers
LEFT JOIN neurigraph.digest_failures AS f
    ON w.node_id = f.node_id AND w.days = f.days AND w.starts_at = f.starts_at AND w.covers = f.covers
WHERE w.records >= 2 AND (w.covers = 'shared' OR w.has_private)
    AND (f.next_attempt_at IS NULL OR f.next_attempt_at <= now())
    AND CASE
        WHEN w.starts_at + w.days * interval '1 day' <= now() THEN d.records IS DISTINCT FROM w.records
        ELSE w.facts >= coalesce(d.facts, 0) + %(facts)s
    END
ORDER BY coalesce(f.attempts, 0), w.starts_at, w.node_id, w.days, w.covers
LIMIT %(limit)s;

-- name: window_records
-- The most important current records of a window, in the order in which they occurred, and the number of all its
-- records.
SELECT
    n.record_id,
    n.title,
    n.summary,
    n.at,
    n.records,
    n.facts
FROM (
    SELECT
        r.record_id,
        r.title,
        r.summary,
        coalesce(i.occurred_at, i.created_at) AS at,
        count(*) OVER () AS records,
        coalesce(sum(f.facts) OVER (), 0)::integer AS facts,
        row_number() OVER (ORDER BY coalesce(r.importance, 0.5) DESC, r.record_id) AS number
    FROM neurigraph.record_index AS i
    INNER JOIN {schema}.metadata_records AS r ON i.record_id = r.record_id
    LEFT JOIN neurigraph.sources AS s ON i.source_id = s.source_id
    CROSS JOIN LATERAL (
        SELECT count(*) AS facts FROM neurigraph.facts AS f
        WHERE f.record_id = i.record_id AND f.status <> 'archived' AND f.forgotten_at IS NULL
    ) AS f
    WHERE i.node_id = %(node_id)s AND NOT i.quarantined AND i.superseded IS NOT TRUE
        AND coalesce(i.occurred_at, i.created_at) >= %(starts_at)s
        AND coalesce(i.occurred_at, i.created_at) < %(ends_at)s
        AND (%(covers)s = 'all' OR coalesce(s.privacy, 'shared') <> 'private')
) AS n
WHERE n.number <= %(most)s
ORDER BY n.at, n.record_id;

-- name: places
-- The nodes of some current records of a user.
SELECT
    i.record_id,
    i.node_id,
    g.schema_name
FROM neurigraph.record_index AS i
INNER JOIN neurigraph.graph_index AS g ON i.node_id = g.node_id
WHERE i.record_id = ANY(%(record_ids)s) AND i.user_id = %(user_id)s AND NOT i.quarantined
    AND i.superseded IS NOT TRUE
ORDER BY g.schema_name, i.record_id;

-- name: named_records
-- Return titles, summaries, times and numbers of facts of some records of a node.
SELECT
    r.record_id,
    r.title,
    r.summary,
    coalesce(i.occurred_at, i.created_at) AS at,
    1 AS records,
    (
        SELECT count(*) FROM neurigraph.facts AS f
        WHERE f.record_id = i.record_id AND f.status <> 'archived' AND f.forgotten_at IS NULL
    ) AS facts
FROM {schema}.metadata_records AS r
INNER JOIN neurigraph.record_index AS i ON r.record_id = i.record_id
WHERE r.record_id = ANY(%(record_ids)s);

-- name: node_of_window
SELECT
    g.node_id,
    g.schema_name
FROM neurigraph.graph_index AS g
WHERE g.node_id = %(node_id)s AND g.user_id = %(user_id)s;

-- name: window_of_record
-- The node of a record, and the time at which the record occurred.
SELECT
    i.node_id,
    coalesce(i.occurred_at, i.created_at) AS at
FROM neurigraph.record_index AS i
WHERE i.record_id = %(record_id)s AND i.user_id = %(user_id)s;

-- name: write
INSERT INTO neurigraph.digests (
    digest_id, user_id, node_id, days, starts_at, ends_at, covers, title, text, records, facts, made_by
)
VALUES (
    %(digest_id)s, %(user_id)s, %(node_id)s, %(days)s, %(starts_at)s, %(ends_at)s, %(covers)s, %(title)s, %(text)s,
    %(records)s, %(facts)s, %(made_by)s
);

-- name: cover
INSERT INTO neurigraph.digest_records (digest_id, record_id, user_id)
SELECT
    %(digest_id)s,
    r.record_id,
    %(user_id)s
FROM unnest(%(record_ids)s::uuid []) AS r (record_id);

-- name: remove
DELETE FROM neurigraph.digests AS d
WHERE d.digest_id = %(digest_id)s;

-- name: fail
-- Postpone a failed window: by half an hour after the first failure, then by twice as long each time, up to a day.
INSERT INTO neurigraph.digest_failures AS f (
    node_id, user_id, days, starts_at, covers, attempts, next_attempt_at, error
)
VALUES (
    %(node_id)s, %(user_id)s, %(days)s, %(starts_at)s, %(covers)s, 1, now() + interval '30 minutes', %(error)s
)
ON CONFLICT (node_id, days, starts_at, covers) DO UPDATE SET
    attempts = f.attempts + 1,
    next_attempt_at = now() + least(interval '30 minutes' * power(2, least(f.attempts, 10)), interval '1 day'),
    error = excluded.error;

-- name: end_failure
DELETE FROM neurigraph.digest_failures AS f
WHERE f.node_id = %(node_id)s AND f.days = %(days)s AND f.starts_at = %(starts_at)s AND f.covers = %(covers)s;

-- name: list
-- Digests that the caller sees, the latest made first. For a window with private records the owner sees both digests.
SELECT
    d.digest_id,
    d.node_id,
    d.days,
    d.starts_at,
    d.ends_at,
    d.covers,
    d.title,
    d.text,
    d.records AS record_count,
    d.facts AS fact_count,
    d.made_by,
    d.made_at,
    (
        SELECT array_agg(r.record_id ORDER BY r.record_id) FROM neurigraph.digest_records AS r
        WHERE r.digest_id = d.digest_id
    ) AS derived_from
FROM neurigraph.digests AS d
WHERE d.user_id = %(user_id)s
    AND (%(digest_id)s::uuid IS NULL OR d.digest_id = %(digest_id)s)
    AND (%(node_id)s::uuid IS NULL OR d.node_id = %(node_id)s)
    AND (
        %(record_id)s::uuid IS NULL
        OR d.digest_id IN (SELECT r.digest_id FROM neurigraph.digest_records AS r WHERE r.record_id = %(record_id)s)
    )
    AND (%(days)s::integer IS NULL OR d.days = %(days)s)
    AND (d.made_at, d.digest_id) < (%(at)s::timestamptz, %(id)s::uuid)
ORDER BY d.made_at DESC, d.digest_id DESC
LIMIT %(limit)s;

-- name: delete
-- Delete a digest. Runs as the owner, because policies let nobody else delete digests.
DELETE FROM neurigraph.digests AS d
WHERE d.digest_id = %(digest_id)s;

-- name: faulty
-- Faulty digests: they cover no records, records that are not current, more records than their window had, or, as
-- shared digests, a private source.
SELECT
    d.digest_id AS id,
    'the digest covers records that are not current, or more private than it is' AS fault
FROM neurigraph.digests AS d
LEFT JOIN LATERAL (
    SELECT
        count(*) AS covered,
        bool_and(
            i.user_id = d.user_id AND NOT i.quarantined AND i.superseded IS NOT TRUE
            AND (d.node_id IS NULL OR d.node_id = i.node_id)
            AND NOT (d.covers = 'shared' AND coalesce(s.privacy = 'private', false))
        ) AS is_right
    FROM neurigraph.digest_records AS r
    INNER JOIN neurigraph.record_index AS i ON r.record_id = i.record_id
    LEFT JOIN neurigraph.sources AS s ON i.source_id = s.source_id
    WHERE r.digest_id = d.digest_id
) AS c ON true
WHERE (
        %(node_id)s::uuid IS NULL OR d.node_id = %(node_id)s OR d.digest_id IN (
            SELECT r.digest_id FROM neurigraph.digest_records AS r
            INNER JOIN neurigraph.record_index AS i ON r.record_id = i.record_id
            WHERE i.node_id = %(node_id)s
        )
    )
    AND (c.covered = 0 OR c.covered > d.records OR NOT c.is_right)
ORDER BY d.digest_id;

-- name: waiting
-- The number of windows that failed, and the highest number of attempts among them.
SELECT
    count(*) AS failing,
    coalesce(max(f.attempts), 0) AS attempts
FROM neurigraph.digest_failures AS f;

-- name: exists
SELECT d.digest_id FROM neurigraph.digests AS d
WHERE d.digest_id = %(digest_id)s AND d.user_id = %(user_id)s;
