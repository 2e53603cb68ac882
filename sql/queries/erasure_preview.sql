-- The rows that an erasure would remove.

-- name: preview
-- Count the rows of a record or of nodes in the shared tables. Runs as the caller.
WITH records AS MATERIALIZED (
    SELECT
        r.record_id,
        r.source_id
    FROM neurigraph.record_index AS r
    WHERE CASE
        WHEN %(record_id)s::uuid IS NOT NULL THEN r.record_id = %(record_id)s
        ELSE r.node_id = ANY(%(node_ids)s)
    END
),

sources AS (
    SELECT
        s.source_id,
        s.ended_at IS NULL OR s.stored_through < s.last_message OR EXISTS (
            SELECT FROM neurigraph.record_index AS o
            WHERE o.user_id = s.user_id AND o.source_id = s.source_id
                AND o.record_id NOT IN (SELECT r.record_id FROM records AS r)
        ) AS is_shared
    FROM neurigraph.sources AS s
    WHERE s.user_id = %(user_id)s AND s.source_id IN (SELECT r.source_id FROM records AS r)
)

SELECT
    (SELECT count(*) FROM records) AS record_count,
    (
        SELECT count(*) FROM neurigraph.delta_log AS d INNER JOIN records AS r ON d.record_id = r.record_id
    ) AS delta_count,
    CASE
        WHEN %(is_user)s THEN (SELECT count(*) FROM neurigraph.sources AS s WHERE s.user_id = %(user_id)s)
        ELSE (SELECT count(*) FROM sources AS s WHERE NOT s.is_shared)
    END AS source_count,
    (SELECT count(*) FROM sources AS s WHERE s.is_shared) AS shared_sources,
    (
        SELECT count(*) FROM neurigraph.waiting_messages(
            %(user_id)s, CASE WHEN NOT %(is_user)s THEN coalesce(%(node_ids)s, ARRAY[]::uuid []) END
        )
    ) AS waiting_messages;
