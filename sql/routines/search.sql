-- Beside a question: whether an answer that is kept is still right, who speaks in what is visible, and what a question
-- leaves behind. Where it is searched, and the ranking, are the asking process' own (neurigraph_pipelines/retrieval).

DROP FUNCTION IF EXISTS neurigraph.search(jsonb, vector, halfvec);
DROP FUNCTION IF EXISTS neurigraph_private.rank(
    uuid, neurigraph_private.anchor [], jsonb, vector, halfvec
);
DROP FUNCTION IF EXISTS neurigraph_private.stage(jsonb, uuid [], double precision);
DROP FUNCTION IF EXISTS neurigraph.before_search();
DROP TYPE IF EXISTS neurigraph_private.anchor;

DROP FUNCTION IF EXISTS neurigraph_private.window_weights();

-- The names of those who speak in what is visible, in lower case.
CREATE OR REPLACE FUNCTION neurigraph_private.speakers(asking jsonb) RETURNS text []
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF asking ->> 'role' = 'user' THEN
        RETURN ARRAY(
            SELECT substr(u.lexeme, 2) FROM neurigraph.user_lexemes AS u
            WHERE u.user_id = (asking ->> 'user_id')::uuid AND u.lexeme >= '@' AND u.lexeme < 'A'
        );
    END IF;
    RETURN ARRAY(
        SELECT DISTINCT substr(n.lexeme, 2) FROM neurigraph.node_lexemes AS n
        WHERE n.user_id = (asking ->> 'user_id')::uuid AND n.lexeme >= '@' AND n.lexeme < 'A'
            AND n.node_id IN (SELECT v.node_id FROM neurigraph.visible_nodes(asking) AS v)
            AND (SELECT neurigraph_private.counts_are_told(asking))
    );
END
$$;

-- The version of what whoever asks would be answered from. Only the owner of a graph learns of it: it moves with
-- everything in it.
CREATE OR REPLACE FUNCTION neurigraph.data_version() RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = 'force_generic_plan' AS $$
DECLARE
    asking jsonb := neurigraph.claims();
BEGIN
    RETURN CASE WHEN asking ->> 'role' = 'user'
        THEN neurigraph_private.data_version((asking ->> 'user_id')::uuid) END;
END
$$;

-- The targets, their neighbours and their neighbours' neighbours, then stop: nothing beyond two edges is staged. Gives
-- them; opens no file, and expires by itself. One that was staged a moment ago is not written again.
DROP FUNCTION IF EXISTS neurigraph.stage(uuid [], double precision);
CREATE FUNCTION neurigraph.stage(targets uuid [], seconds double precision) RETURNS SETOF uuid
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = 'force_generic_plan' AS $$
DECLARE
    asking jsonb := neurigraph.claims();
    owner uuid := asking ->> 'user_id';
    told uuid [] := neurigraph_private.told_nodes(asking);
BEGIN
    -- What a question leaves behind may be lost with the power.
    PERFORM set_config('synchronous_commit', 'off', true);
    -- Once a minute is often enough for a clock of days. A node that is being written to is passed over: its writer
    -- moves the clock itself, and a question neither waits for it nor stands in its way.
    UPDATE neurigraph.graph_index AS g SET last_accessed_at = now()
    FROM (
        SELECT i.node_id FROM neurigraph.graph_index AS i
        WHERE i.node_id IN (
            SELECT v.node_id FROM neurigraph_private.nodes_of(owner, told) AS v WHERE v.node_id = ANY(targets)
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
                FROM neurigraph_private.edges_of(owner, told) AS e WHERE e.from_node_id = n.node_id
                UNION ALL
                SELECT e.from_node_id
                FROM neurigraph_private.edges_of(owner, told) AS e WHERE e.to_node_id = n.node_id
            ) AS p
            WHERE n.steps < 2
        ),

        found AS MATERIALIZED (
            SELECT DISTINCT g.user_id, g.node_id
            FROM near AS n INNER JOIN neurigraph_private.nodes_of(owner, told) AS g ON n.node_id = g.node_id
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
        NULL; -- A node has gone meanwhile: this time nothing is staged.
    END;
END
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA neurigraph_private FROM PUBLIC;
REVOKE ALL ON FUNCTION
neurigraph.data_version(), neurigraph.stage(uuid [], double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
neurigraph.data_version(), neurigraph.stage(uuid [], double precision)
TO neurigraph_agent;
