-- Reading a record for facts: windows that were already read, and statements that somebody took back before the record
-- was read.

-- name: read_windows
-- The windows of a waiting record that were already read.
SELECT
    w.digest,
    w.facts
FROM neurigraph.read_windows AS w
WHERE w.record_id = %(record_id)s;

-- name: keep_window
-- Store the facts of a window, if its record still waits and no other run has taken it over.
INSERT INTO neurigraph.read_windows (record_id, digest, user_id, facts)
SELECT
    p.record_id,
    %(window_digest)s AS digest,
    p.user_id,
    %(facts)s::jsonb AS facts
FROM neurigraph.pending_facts AS p
WHERE p.record_id = %(record_id)s AND p.attempts = %(attempts)s
FOR KEY SHARE
ON CONFLICT DO NOTHING;

-- name: retract_said_before
-- Archive the facts of a record that were said before somebody took back the same statement. A person who may change
-- only a part of the graph takes back only shared statements at that node. Facts that the pipeline archived do not
-- count as taken back.
UPDATE neurigraph.facts AS f SET status = 'archived'
FROM neurigraph.record_index AS i
LEFT JOIN neurigraph.sources AS p ON i.source_id = p.source_id
WHERE f.record_id = %(record_id)s AND i.record_id = f.record_id AND f.status <> 'archived' AND f.confirmed_at IS NULL
    AND EXISTS (
        SELECT FROM neurigraph.facts AS o
        INNER JOIN neurigraph.record_index AS r ON o.record_id = r.record_id
        INNER JOIN neurigraph.fact_deltas AS d ON o.fact_id = d.fact_id
        WHERE
            o.user_id = f.user_id
            AND o.statement_key = f.statement_key
            AND o.root_id <> f.root_id
            AND o.status = 'archived'
            AND d.operation = 'retract' AND d.authored_by NOT LIKE 'pipeline:%%'
            AND (
                d.authored_by LIKE 'user:%%'
                OR (r.node_id = i.node_id AND coalesce(p.privacy <> 'private', true))
            )
            AND d.w_coordinate > coalesce(
                (
                    SELECT m.occurred_at FROM neurigraph.messages AS m
                    WHERE m.source_id = p.source_id AND m.seq = f.last_message
                ),
                i.occurred_at,
                i.created_at
            )
    )
RETURNING f.fact_id;
