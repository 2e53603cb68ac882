-- Spaces: the sources of spaces, and the rights of a caller that is limited to some spaces. hidden_sources() and
-- reach() (sql/functions/access.sql) apply these limits, as they apply privacy.

-- The sources in the spaces that the caller is limited to. Pass only the result of claims().
CREATE OR REPLACE FUNCTION neurigraph_private.sources_in_spaces(asking jsonb) RETURNS SETOF uuid
LANGUAGE sql STABLE AS $$
    SELECT m.source_id
    FROM neurigraph.spaces AS p
    INNER JOIN neurigraph.source_spaces AS m ON p.space_id = m.space_id
    WHERE p.user_id = (asking ->> 'user_id')::uuid
        AND p.container_tag IN (SELECT t.tag FROM jsonb_array_elements_text(asking -> 'container_tags') AS t (tag))
$$;

-- The nodes that lead to a record that the caller sees in its spaces, with the root. A persona still needs its grants.
CREATE OR REPLACE FUNCTION neurigraph_private.nodes_in_spaces(asking jsonb) RETURNS SETOF uuid
LANGUAGE sql STABLE AS $$
    SELECT g.node_id FROM neurigraph.graph_index AS g
    WHERE g.user_id = (asking ->> 'user_id')::uuid AND g.layer_depth = 0
    UNION
    SELECT a.node_id
    FROM (
        SELECT DISTINCT i.node_id
        FROM neurigraph_private.sources_in_spaces(asking) AS m (source_id)
        INNER JOIN neurigraph.sources AS s
            ON m.source_id = s.source_id AND (asking ->> 'role' = 'bound' OR s.privacy <> 'private')
        INNER JOIN neurigraph.record_index AS i
            ON s.user_id = i.user_id AND i.source_id = s.source_id AND NOT i.quarantined
    ) AS n
    INNER JOIN neurigraph.graph_index AS g ON n.node_id = g.node_id
    CROSS JOIN LATERAL unnest(g.path) AS a (node_id)
$$;

-- The number of records that the caller sees in its spaces, by node.
CREATE OR REPLACE FUNCTION neurigraph_private.records_in_spaces(asking jsonb)
RETURNS TABLE (node_id uuid, records integer)
LANGUAGE sql STABLE AS $$
    SELECT i.node_id, count(*)::integer
    FROM neurigraph_private.sources_in_spaces(asking) AS m (source_id)
    INNER JOIN neurigraph.sources AS s
        ON m.source_id = s.source_id AND (asking ->> 'role' = 'bound' OR s.privacy <> 'private')
    INNER JOIN neurigraph.record_index AS i
        ON s.user_id = i.user_id AND i.source_id = s.source_id AND NOT i.quarantined
    GROUP BY i.node_id
$$;
