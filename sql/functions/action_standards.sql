-- Standards of nodes, resolved up the path.

-- The standard in force at a node. Each field comes from the nearest node up the path that sets the field; the search
-- ends at a node that does not inherit. Without a standard, everybody who may write to a node writes, and only the
-- owner deletes.
CREATE OR REPLACE FUNCTION neurigraph_private.standard_of(wanted uuid)
RETURNS TABLE (field text, value text, from_node_id uuid)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    WITH above AS MATERIALIZED (
        SELECT s.*, a.layer_depth
        FROM neurigraph.graph_index AS g
        INNER JOIN neurigraph.node_standards AS s ON s.node_id = ANY(g.path)
        INNER JOIN neurigraph.graph_index AS a ON s.node_id = a.node_id
        WHERE g.node_id = wanted
    )
    SELECT DISTINCT ON (f.field) f.field, f.value, f.from_node_id
    FROM (
        SELECT v.field, v.value, a.node_id AS from_node_id, a.layer_depth
        FROM above AS a
        CROSS JOIN LATERAL (
            VALUES
            ('write', a.write_rule),
            ('promote', a.promote_rule),
            ('delete', a.delete_rule),
            (
                'approver',
                CASE a.approver
                    WHEN 'persona' THEN 'persona:' || coalesce(a.approver_persona::text, '')
                    WHEN 'consensus' THEN 'consensus:' || a.approvals
                    ELSE a.approver
                END
            ),
            ('tier', a.default_tier),
            ('ttl_seconds', a.default_ttl_seconds::text),
            ('note_id', a.note_id::text)
        ) AS v (field, value)
        WHERE v.value IS NOT NULL
            AND a.layer_depth >= coalesce((SELECT max(b.layer_depth) FROM above AS b WHERE NOT b.inherit), 0)
        UNION ALL
        VALUES
        ('write', 'any', NULL::uuid, -1), ('promote', 'any', NULL, -1), ('delete', 'owner', NULL, -1),
        ('approver', 'human', NULL, -1), ('tier', NULL, NULL, -1), ('ttl_seconds', NULL, NULL, -1),
        ('note_id', NULL, NULL, -1)
    ) AS f
    ORDER BY f.field, f.layer_depth DESC
$$;

-- The standard in force at a node that the caller may read, for interfaces. The node that sets a field is null if the
-- caller may not read that node. The pipeline has no claims and may ask for every node.
CREATE OR REPLACE FUNCTION neurigraph.standard_of(wanted uuid)
RETURNS TABLE (field text, value text, from_node_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT
        s.field,
        CASE
            WHEN s.field <> 'note_id' OR s.from_node_id IS NULL OR neurigraph.may_read_node(s.from_node_id) THEN s.value
        END,
        CASE WHEN neurigraph.may_read_node(s.from_node_id) THEN s.from_node_id END
    FROM neurigraph_private.standard_of(wanted) AS s
    WHERE neurigraph.may_read_node(wanted)
$$;

CREATE OR REPLACE FUNCTION neurigraph.standard_for_jobs(wanted uuid)
RETURNS TABLE (field text, value text, from_node_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT s.field, s.value, s.from_node_id FROM neurigraph_private.standard_of(wanted) AS s
$$;

REVOKE ALL ON FUNCTION neurigraph.standard_of(uuid), neurigraph.standard_for_jobs(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.standard_of(uuid) TO neurigraph_agent;
GRANT EXECUTE ON FUNCTION neurigraph.standard_for_jobs(uuid) TO neurigraph_pipeline;
