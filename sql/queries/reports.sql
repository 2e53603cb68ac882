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

-- name: records_of_days
-- The given days (UTC) on which records were stored.
SELECT
    d.day,
    c.records
FROM unnest(%(days)s::date []) AS d (day)
CROSS JOIN LATERAL (
    SELECT count(*) AS records FROM neurigraph.record_index AS r
    WHERE r.created_at >= d.day::timestamp AT TIME ZONE 'UTC'
        AND r.created_at < (d.day + 1)::timestamp AT TIME ZONE 'UTC'
) AS c
WHERE c.records > 0;
