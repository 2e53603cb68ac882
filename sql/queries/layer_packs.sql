-- Packed layers: finding nodes without a current pack, and writing packs.

-- name: due
-- Nodes whose packed layer is missing, or is of an older version, model or format; smallest first.
SELECT
    g.node_id,
    g.user_id
FROM neurigraph.graph_index AS g
INNER JOIN neurigraph.users AS u ON g.user_id = u.user_id
LEFT JOIN neurigraph.node_statistics AS s ON g.node_id = s.node_id
LEFT JOIN neurigraph.layer_packs AS p ON g.node_id = p.node_id AND p.format = %(format)s
LEFT JOIN LATERAL (
    SELECT string_agg(c.change::text, ',' ORDER BY c.change) AS version
    FROM neurigraph.node_changes AS c
    WHERE c.node_id = g.node_id
) AS c ON true
WHERE
    g.record_count > 0 AND NOT g.quarantined AND coalesce(s.passages, 0) <= %(passages)s
    AND (%(user_ids)s::uuid [] IS NULL OR g.user_id = ANY(%(user_ids)s))
    AND (
        p.node_id IS NULL OR p.version <> coalesce(c.version, '') OR p.model IS DISTINCT FROM u.embedding_model
    )
ORDER BY s.passages, g.node_id
LIMIT %(limit)s;

-- name: limit_waits
SELECT set_config('lock_timeout', %(milliseconds)s::text, true);

-- name: forget_changes
-- Remove the changes that the packed layer, which is about to be replaced, already has: a process with an older state
-- reads the new pack. A row without a record says until when changes are not listed, also after a restore.
WITH removed AS (
    DELETE FROM neurigraph.record_changes AS c
    USING neurigraph.layer_packs AS p
    WHERE c.node_id = %(node_id)s AND p.node_id = c.node_id AND c.change < p.horizon::text::xid8
    RETURNING c.change
)

INSERT INTO neurigraph.record_changes (node_id, user_id, change)
SELECT
    g.node_id,
    g.user_id,
    coalesce(max(r.change::text::bigint), %(horizon)s - 1)::text::xid8
FROM neurigraph.graph_index AS g
LEFT JOIN removed AS r ON true
WHERE g.node_id = %(node_id)s
GROUP BY g.node_id, g.user_id, g.schema_name
HAVING
    count(r.change) > 0
    OR NOT EXISTS (
        SELECT FROM neurigraph.record_changes AS c WHERE c.node_id = g.node_id AND c.record_id IS NULL
    );

-- name: write
INSERT INTO neurigraph.layer_packs AS p (node_id, user_id, version, model, format, horizon, layer, words)
VALUES (
    %(node_id)s, %(user_id)s, %(version)s, %(model)s, %(format)s, %(horizon)s, %(layer)s, %(words)s
)
ON CONFLICT (node_id) DO UPDATE SET
    version = excluded.version,
    model = excluded.model,
    format = excluded.format,
    horizon = excluded.horizon,
    layer = excluded.layer,
    words = excluded.words;
