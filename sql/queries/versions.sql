-- Versions of objects that callers change: a version is the same as long as nobody changes the object. Its owner and
-- the pipeline read the same version.

-- name: record
-- The newest delta of a record; no row for a caller who sees no deltas, such as a third party.
SELECT replace(d.delta_id::text, '-', '') AS version
FROM neurigraph.delta_log AS d
WHERE d.record_id = %(object_id)s
ORDER BY d.w_coordinate DESC
LIMIT 1;

-- name: node
-- The version of a node covers its names, its place, its summary and keywords, and the nodes below it, but neither
-- edges nor file states nor access times.
SELECT
    md5(jsonb_build_array(
        g.node_name,
        g.concept_kind,
        g.aliases,
        g.node_keywords,
        g.node_summary,
        g.record_count,
        (
            SELECT jsonb_agg(a.node_name ORDER BY a.layer_depth)
            FROM neurigraph.graph_index AS a
            WHERE a.node_id = ANY(g.path)
        ),
        (
            SELECT jsonb_agg(jsonb_build_array(c.node_id, c.node_name, c.record_count) ORDER BY c.node_id)
            FROM neurigraph.graph_index AS c
            WHERE c.parent_node_id = g.node_id AND NOT c.quarantined
        )
    )::text) AS version
FROM neurigraph.graph_index AS g
WHERE g.node_id = %(object_id)s;

-- name: source
SELECT md5(jsonb_build_array(s.privacy, s.title, s.ended_at)::text) AS version
FROM neurigraph.sources AS s
WHERE s.source_id = %(object_id)s;
