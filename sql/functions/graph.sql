-- Paths of nodes, as readers see them. These functions have no settings of their own, so that Postgres inlines them.

-- The names along a path of ids, from the root down, and the same names with slashes between them.
CREATE OR REPLACE FUNCTION neurigraph.names_along(ids uuid []) RETURNS TABLE (names text [], node_path text)
LANGUAGE sql STABLE AS $$
    SELECT array_agg(a.node_name ORDER BY a.layer_depth), string_agg(a.node_name, '/' ORDER BY a.layer_depth)
    FROM neurigraph.graph_index AS a
    WHERE a.node_id = ANY(ids)
$$;

-- The names along the path of a node; null for a node that the caller does not see.
CREATE OR REPLACE FUNCTION neurigraph.path_of(wanted uuid) RETURNS TABLE (names text [], node_path text)
LANGUAGE sql STABLE AS $$
    SELECT array_agg(a.node_name ORDER BY a.layer_depth), string_agg(a.node_name, '/' ORDER BY a.layer_depth)
    FROM neurigraph.graph_index AS g
    INNER JOIN neurigraph.graph_index AS a ON a.node_id = ANY(g.path)
    WHERE g.node_id = wanted
$$;

REVOKE ALL ON FUNCTION neurigraph.names_along(uuid []), neurigraph.path_of(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.names_along(uuid []), neurigraph.path_of(uuid)
TO neurigraph_agent, neurigraph_pipeline;
