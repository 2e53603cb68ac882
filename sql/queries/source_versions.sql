-- Versions of sources.

-- name: lock_replaced
-- Lock a source that the caller handed in. Runs as the caller.
SELECT s.external_id
FROM neurigraph.sources AS s
WHERE s.source_id = %(source_id)s AND s.user_id = %(user_id)s AND s.kind = %(kind)s::neurigraph.source_kind
    AND s.persona_id IS NOT DISTINCT FROM (SELECT neurigraph.writing_persona())
    AND s.member_id IS NOT DISTINCT FROM (SELECT neurigraph.asking_member())
    AND s.binding IS NOT DISTINCT FROM (SELECT neurigraph.asking_binding())
FOR NO KEY UPDATE;

-- name: version_after
SELECT s.source_id
FROM neurigraph.sources AS s
WHERE s.replaces = %(source_id)s;

-- name: lock_versions
SELECT s.source_id
FROM neurigraph.sources AS s
INNER JOIN neurigraph.sources AS v
    ON s.user_id = v.user_id AND s.kind = v.kind AND s.external_id = v.external_id
        AND s.persona_id IS NOT DISTINCT FROM v.persona_id AND s.binding IS NOT DISTINCT FROM v.binding
        AND s.member_id IS NOT DISTINCT FROM v.member_id
WHERE s.source_id = ANY(%(source_ids)s)
ORDER BY s.source_id, v.version
FOR NO KEY UPDATE OF v;

-- name: versions
-- The versions of a source, newest first, and whether each is stored completely.
SELECT
    v.source_id,
    v.version,
    v.ended_at IS NOT NULL AND v.last_message > 0 AND v.stored_through = v.last_message AS is_whole
FROM neurigraph.sources AS s
INNER JOIN neurigraph.sources AS v
    ON s.user_id = v.user_id AND s.kind = v.kind AND s.external_id = v.external_id
        AND s.persona_id IS NOT DISTINCT FROM v.persona_id AND s.binding IS NOT DISTINCT FROM v.binding
        AND s.member_id IS NOT DISTINCT FROM v.member_id
WHERE s.source_id = %(source_id)s
ORDER BY v.version DESC;

-- name: nodes_of_versions
-- The current records of some sources that are not in quarantine, by node.
SELECT
    i.node_id,
    g.schema_name,
    array_agg(i.record_id) AS record_ids
FROM neurigraph.record_index AS i
INNER JOIN neurigraph.graph_index AS g ON i.node_id = g.node_id
WHERE i.user_id = %(user_id)s AND i.source_id = ANY(%(source_ids)s)
    AND i.superseded IS NOT TRUE AND NOT i.quarantined
GROUP BY i.node_id, g.schema_name
ORDER BY i.node_id;

-- name: statements
-- The segments of records.
SELECT
    r.record_id,
    r.first_message,
    s.content
FROM {schema}.metadata_records AS r
LEFT JOIN neurigraph.segments AS s ON r.record_id = s.record_id
WHERE r.record_id = ANY(%(record_ids)s);
