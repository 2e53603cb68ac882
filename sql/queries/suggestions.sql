-- Suspicious memories, for quarantine. Runs as neurigraph_owner, for one user or for all, and changes nothing.

-- name: newest
-- The newest records that are in no quarantine.
SELECT
    i.record_id,
    i.node_id,
    i.source_id,
    g.schema_name
FROM neurigraph.record_index AS i
INNER JOIN neurigraph.graph_index AS g ON i.node_id = g.node_id
WHERE NOT i.quarantined AND (%(user_id)s::uuid IS NULL OR i.user_id = %(user_id)s)
ORDER BY i.created_at DESC, i.record_id
LIMIT %(limit)s;

-- name: nodes
SELECT g.node_id
FROM neurigraph.graph_index AS g
WHERE g.record_count > 0 AND (%(user_id)s::uuid IS NULL OR g.user_id = %(user_id)s)
ORDER BY g.node_id;

-- name: segments
-- The segments of a node's records that are not in quarantine.
SELECT
    i.source_id,
    s.content
FROM neurigraph.segments AS s
INNER JOIN neurigraph.record_index AS i ON s.record_id = i.record_id
WHERE s.node_id = %(node_id)s AND s.is_counted;

-- name: floods
-- Hours with far more messages through a key or door than usual, unless a quarantine covers them. Imports are left out,
-- because they always come as floods.
WITH hours AS (
    SELECT
        m.user_id,
        m.key_id,
        m.received_through,
        date_trunc('hour', m.received_at) AS hour,
        count(*) AS messages
    FROM neurigraph.messages AS m
    WHERE m.received_through IS NOT NULL AND m.received_through NOT IN ('import', 'drop')
        AND (%(user_id)s::uuid IS NULL OR m.user_id = %(user_id)s)
    GROUP BY m.user_id, m.key_id, m.received_through, date_trunc('hour', m.received_at)
),

usual AS (
    SELECT
        h.user_id,
        h.key_id,
        h.received_through,
        percentile_cont(0.5) WITHIN GROUP (ORDER BY h.messages) AS messages,
        count(*) AS hours
    FROM hours AS h
    GROUP BY h.user_id, h.key_id, h.received_through
)

SELECT
    h.key_id,
    h.received_through::text AS received_through,
    h.hour,
    h.hour + interval '1 hour' AS until,
    h.messages,
    u.messages AS usual
FROM hours AS h
INNER JOIN usual AS u
    ON h.user_id = u.user_id AND h.key_id IS NOT DISTINCT FROM u.key_id AND h.received_through = u.received_through
WHERE h.messages >= %(messages)s AND u.hours > 2 AND h.messages >= %(factor)s * u.messages
    AND NOT EXISTS (
        SELECT FROM neurigraph.quarantines AS q
        WHERE q.user_id = h.user_id AND q.released_at IS NULL AND q.source_id IS NULL
            AND (q.key_id IS NULL OR q.key_id = h.key_id)
            AND (q.received_from IS NULL OR q.received_from <= h.hour)
            AND (q.received_until IS NULL OR q.received_until >= h.hour + interval '1 hour')
    )
ORDER BY h.messages DESC, h.hour;
