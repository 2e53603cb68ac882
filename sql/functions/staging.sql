-- Staging: preparing the nodes near the hits of a question for the next question.

-- Stage the target nodes and the nodes within two edges of them. Returns the staged nodes. The function opens no file.
-- Rows expire by themselves, and a node that was staged a moment ago is not written again.
CREATE OR REPLACE FUNCTION neurigraph.stage(targets uuid [], seconds double precision) RETURNS SETOF uuid
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = 'force_generic_plan' AS $$
DECLARE
    asking jsonb := neurigraph.claims();
    owner uuid := asking ->> 'user_id';
    visible uuid [] := neurigraph_private.visible_node_ids(asking);
BEGIN
    -- A crash of the server may lose rows of staged nodes.
    PERFORM set_config('synchronous_commit', 'off', true);
    -- Access times change at most once a minute. A node that another transaction has locked is skipped: its writer
    -- updates the time itself.
    UPDATE neurigraph.graph_index AS g SET last_accessed_at = now()
    FROM (
        SELECT i.node_id FROM neurigraph.graph_index AS i
        WHERE i.node_id IN (
            SELECT v.node_id FROM neurigraph_private.nodes_of(owner, visible) AS v WHERE v.node_id = ANY(targets)
        )
            AND i.last_accessed_at < now() - interval '1 minute'
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS idle
    WHERE g.node_id = idle.node_id;
    BEGIN
        RETURN QUERY
        WITH RECURSIVE near AS (
            SELECT t.target AS node_id, 0 AS steps FROM unnest(targets) AS t (target)
            UNION
            SELECT p.node_id, n.steps + 1
            FROM near AS n
            CROSS JOIN LATERAL (
                SELECT e.to_node_id AS node_id
                FROM neurigraph_private.edges_of(owner, visible) AS e WHERE e.from_node_id = n.node_id
                UNION ALL
                SELECT e.from_node_id
                FROM neurigraph_private.edges_of(owner, visible) AS e WHERE e.to_node_id = n.node_id
            ) AS p
            WHERE n.steps < 2
        ),

        found AS MATERIALIZED (
            SELECT DISTINCT g.user_id, g.node_id
            FROM near AS n INNER JOIN neurigraph_private.nodes_of(owner, visible) AS g ON n.node_id = g.node_id
        ),

        staged AS (
            INSERT INTO neurigraph.warm_nodes AS w (user_id, node_id, expires_at)
            SELECT r.user_id, r.node_id, now() + make_interval(secs => seconds)
            FROM found AS r
            WHERE NOT EXISTS (
                SELECT FROM neurigraph.warm_nodes AS k
                WHERE k.user_id = r.user_id AND k.node_id = r.node_id
                    AND k.expires_at > now() + make_interval(secs => 0.9 * seconds)
            )
            ORDER BY r.node_id
            ON CONFLICT (user_id, node_id) DO UPDATE SET expires_at = excluded.expires_at
        )

        SELECT f.node_id FROM found AS f;
    EXCEPTION WHEN foreign_key_violation THEN
        NULL; -- A node was deleted in the meantime: nothing is staged this time.
    END;
END
$$;

REVOKE ALL ON FUNCTION neurigraph.stage(uuid [], double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.stage(uuid [], double precision) TO neurigraph_agent;
