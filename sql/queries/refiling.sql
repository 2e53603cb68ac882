-- Filing of stored memories again.

-- name: states
-- Whether a person decided about each of some records, and who filed it again last.
SELECT
    i.record_id,
    i.quarantined
    OR EXISTS (
        SELECT FROM neurigraph.delta_log AS d
        WHERE d.record_id = i.record_id AND d.authored_by NOT LIKE 'pipeline:%%'
            AND d.delta_payload ->> 'operation' IN ('move', 'revise')
    )
    OR EXISTS (SELECT FROM neurigraph.facts AS f WHERE f.record_id = i.record_id AND f.pinned) AS by_hand,
    (
        SELECT d.authored_by FROM neurigraph.delta_log AS d
        WHERE d.record_id = i.record_id AND d.delta_payload ->> 'operation' = %(operation)s
        ORDER BY d.w_coordinate DESC
        LIMIT 1
    ) AS refiled_by
FROM neurigraph.record_index AS i
WHERE i.record_id = ANY(%(record_ids)s);
