-- Counts for reports of the pipeline: numbers, and no text of users.

-- name: backlog
-- Count the segments that wait to be stored. Partial indexes make the query cheap enough for every run.
SELECT
    (SELECT count(*) FROM neurigraph.storage_triggers AS t WHERE t.state = 'pending') AS waiting,
    (SELECT count(*) FROM neurigraph.storage_triggers AS t WHERE t.state = 'claimed') AS leased,
    (SELECT count(*) FROM neurigraph.pipeline_failures AS f WHERE f.replayed_at IS NULL) AS failed,
    coalesce(extract(EPOCH FROM now() - least(
        (
            SELECT min(t.next_attempt_at) FROM neurigraph.storage_triggers AS t
            WHERE t.state = 'pending' AND t.next_attempt_at <= now()
        ),
        (SELECT min(t.next_attempt_at) FROM neurigraph.storage_triggers AS t WHERE t.state = 'claimed')
    )), 0)::double precision AS age_seconds;

-- name: late_bodies
-- The number of stored segments whose messages should have left the inbox.
SELECT count(*) AS segments FROM neurigraph.storage_triggers AS t
WHERE t.bodies_kept AND t.stored_at < now() - make_interval(secs => %(age_seconds)s);

-- name: period
-- Count segments, records and facts stored within a period, and facts that repeat an earlier fact of the same user.
SELECT
    s.segments,
    s.tokens,
    (
        SELECT count(*) FROM neurigraph.record_index AS r
        WHERE r.created_at >= %(since)s AND r.created_at < %(until)s
    ) AS records,
    f.facts,
    f.restated
FROM (
    SELECT
        count(*) AS segments,
        coalesce(sum(t.token_count), 0)::bigint AS tokens
    FROM neurigraph.storage_triggers AS t
    WHERE t.stored_at >= %(since)s AND t.stored_at < %(until)s
) AS s
CROSS JOIN (
    SELECT
        count(*) AS facts,
        count(*) FILTER (WHERE EXISTS (
            SELECT FROM neurigraph.facts AS e
            WHERE e.user_id = n.user_id AND e.statement_key = n.statement_key AND e.recorded_at < n.recorded_at
        )) AS restated
    FROM neurigraph.facts AS n
    WHERE n.recorded_at >= %(since)s AND n.recorded_at < %(until)s
) AS f;

-- name: bytes
SELECT
    t.label AS state,
    t.total
FROM neurigraph.pipeline_totals AS t
WHERE t.name = 'object_bytes';

-- name: first_day
-- The day (UTC) on which the database was made, or on which the oldest memory was stored if that came from elsewhere.
SELECT (least(min(m.applied_at), (SELECT min(r.created_at) FROM neurigraph.record_index AS r)) AT TIME ZONE 'UTC')::date
FROM neurigraph.schema_migrations AS m;

-- name: stored_days
-- Records stored on each day (UTC) of a period that are still there. The first day has everything older, too.
SELECT
    greatest((r.created_at AT TIME ZONE 'UTC')::date, %(first_day)s::date) AS day,
    count(*) AS records,
    count(DISTINCT r.node_id) AS nodes,
    count(p.record_id) AS without_vectors
FROM neurigraph.record_index AS r
LEFT JOIN neurigraph.pending_embeddings AS p ON r.record_id = p.record_id
WHERE r.created_at >= coalesce(%(since)s::timestamptz, '-infinity')
    AND r.created_at < coalesce(%(until)s::timestamptz, 'infinity')
GROUP BY day;

-- name: counts
-- Count stored records and failures, by day (UTC), user or node. Segments and failures have no node.
SELECT
    e.{grouping},
    count(*) FILTER (WHERE e.kind = 'memory') AS memories,
    count(*) FILTER (WHERE e.kind = 'segment') AS segments,
    sum(e.tokens)::bigint AS tokens,
    count(*) FILTER (WHERE e.kind = 'fact') AS facts,
    count(*) FILTER (WHERE e.kind = 'failure') AS failures
FROM (
    SELECT
        o.*,
        (o.happened_at AT TIME ZONE 'UTC')::date AS by_day,
        u.slug AS by_user
    FROM (
        SELECT 'memory' AS kind, r.created_at AS happened_at, r.user_id, r.node_id AS by_node, 0 AS tokens
        FROM neurigraph.record_index AS r
        UNION ALL
        SELECT 'segment', t.stored_at, t.user_id, null, t.token_count
        FROM neurigraph.storage_triggers AS t
        UNION ALL
        SELECT 'fact', f.recorded_at, f.user_id, r.node_id, 0
        FROM neurigraph.facts AS f
        INNER JOIN neurigraph.record_index AS r ON f.record_id = r.record_id
        UNION ALL
        SELECT 'failure', p.occurred_at, p.user_id, null, 0
        FROM neurigraph.pipeline_failures AS p
    ) AS o
    INNER JOIN neurigraph.users AS u ON o.user_id = u.user_id
) AS e
WHERE e.happened_at >= coalesce(%(since)s::date, '-infinity')::timestamp AT TIME ZONE 'UTC'
    AND e.happened_at < coalesce(%(until)s::date + 1, 'infinity')::timestamp AT TIME ZONE 'UTC'
    AND (%(user_id)s::uuid IS NULL OR e.user_id = %(user_id)s)
    AND e.{grouping} IS NOT NULL
GROUP BY e.{grouping};

-- name: stored_bytes_arm
-- The bytes of one node's files in the object store, by the day (UTC) on which their record was stored.
SELECT
    {node_id}::uuid AS by_node,
    {user_slug} AS by_user,
    (r.created_at AT TIME ZONE 'UTC')::date AS by_day,
    sum(f.stored_bytes)::bigint AS stored_bytes
FROM {schema}.file_manifest AS f
INNER JOIN neurigraph.record_index AS r ON f.record_id = r.record_id
WHERE r.created_at >= coalesce(%(since)s::date, '-infinity')::timestamp AT TIME ZONE 'UTC'
    AND r.created_at < coalesce(%(until)s::date + 1, 'infinity')::timestamp AT TIME ZONE 'UTC'
GROUP BY by_day;
