-- Who is asking, and what they may see and write.

CREATE OR REPLACE FUNCTION neurigraph.claims() RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    payload text := current_setting('request.jwt.claims', true);
    signature text := current_setting('neurigraph.claims_signature', true);
    expected bytea;
    stated jsonb;
BEGIN
    IF coalesce(payload, '') = '' OR coalesce(signature, '') = '' THEN
        RETURN NULL;
    END IF;
    SELECT sha256(k.outer_pad || sha256(k.inner_pad || convert_to(payload, 'UTF8'))) INTO expected
    FROM neurigraph_private.claims_key AS k;
    IF expected IS NULL OR encode(expected, 'hex') <> signature THEN
        RETURN NULL;
    END IF;
    stated := payload::jsonb;
    IF NOT coalesce((stated ->> 'exp')::numeric > extract(EPOCH FROM clock_timestamp()), false) THEN
        RETURN NULL;
    END IF;
    RETURN stated;
END
$$;

-- The owner of a graph, when the owner is asking.
CREATE OR REPLACE FUNCTION neurigraph.asking_user_id() RETURNS uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN c.stated ->> 'role' = 'user' THEN (c.stated ->> 'user_id')::uuid END
    FROM (SELECT neurigraph.claims() AS stated) AS c
$$;

-- The node of the persona that is asking, if it is one and still there.
CREATE OR REPLACE FUNCTION neurigraph_private.persona_of(asking jsonb) RETURNS uuid
LANGUAGE sql STABLE AS $$
    SELECT g.node_id FROM neurigraph.graph_index AS g
    WHERE g.node_id = CASE
        WHEN asking ->> 'role' = 'persona' AND asking ->> 'sub' ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
            THEN (asking ->> 'sub')::uuid
    END
        AND g.user_id = (asking ->> 'user_id')::uuid AND g.node_type = 'persona'
$$;

-- How far others than the owner reach. To read, a persona has its own node and what lies below it. All else is granted
-- node by node: a grant opens the node that it names, nothing above, beside or below it; to write, nothing else counts.
CREATE OR REPLACE FUNCTION neurigraph_private.reach(asking jsonb, wanted neurigraph.grant_type) RETURNS SETOF uuid
LANGUAGE sql STABLE AS $$
    SELECT g.node_id FROM neurigraph.graph_index AS g
    WHERE wanted = 'read' AND g.path @> ARRAY[neurigraph_private.persona_of(asking)]
    UNION ALL
    SELECT t.target_node_id FROM neurigraph.permission_grants AS t
    WHERE t.user_id = (asking ->> 'user_id')::uuid
        AND t.subject_id = asking ->> 'sub' AND t.subject_type::text = asking ->> 'role'
        AND (t.subject_type = 'third_party' OR neurigraph_private.persona_of(asking) IS NOT NULL)
        AND (wanted = 'read' OR t.grant_type = wanted)
        AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > statement_timestamp())
$$;

-- Who may see which nodes: the one place that says so, for the policies of node tables (may_read_node) and for
-- everything that runs with the owner's rights. What it is asked with must come from claims().
CREATE OR REPLACE FUNCTION neurigraph.visible_nodes(asking jsonb) RETURNS SETOF neurigraph.graph_index
LANGUAGE sql STABLE AS $$
    SELECT g.* FROM neurigraph.graph_index AS g
    WHERE g.user_id = (asking ->> 'user_id')::uuid
        AND (
            (SELECT asking ->> 'role' = 'user')
            OR g.node_id IN (SELECT r.node_id FROM neurigraph_private.reach(asking, 'read') AS r (node_id))
        )
$$;

-- The private sources of the graph that is asked about; none are hidden from its owner. What it is asked with must come
-- from claims().
CREATE OR REPLACE FUNCTION neurigraph_private.hidden_sources(asking jsonb) RETURNS uuid []
LANGUAGE sql STABLE AS $$
    SELECT ARRAY(
        SELECT s.source_id FROM neurigraph.sources AS s
        WHERE s.user_id = (asking ->> 'user_id')::uuid AND s.privacy = 'private' AND asking ->> 'role' <> 'user'
    )
$$;

-- Whether whoever asks may be told of what was counted over whole nodes, words, speakers and means: not where something
-- hidden counted. Then all words are as rare as each other.
CREATE OR REPLACE FUNCTION neurigraph_private.counts_are_told(asking jsonb) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN asking ->> 'role' = 'user' OR NOT EXISTS (
        SELECT FROM neurigraph.sources AS s
        INNER JOIN neurigraph.record_index AS r ON s.user_id = r.user_id AND r.source = s.kind || ':' || s.source_id
        WHERE s.user_id = (asking ->> 'user_id')::uuid AND s.privacy = 'private'
            AND r.node_id IN (SELECT v.node_id FROM neurigraph.visible_nodes(asking) AS v)
    );
END
$$;

-- Both are planned once a connection, where SQL alone would be planned for every statement.
CREATE OR REPLACE FUNCTION neurigraph.may_read_node(wanted uuid) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = 'force_generic_plan' AS $$
DECLARE
    asking jsonb := neurigraph.claims();
BEGIN
    RETURN EXISTS (SELECT FROM neurigraph.visible_nodes(asking) AS g WHERE g.node_id = wanted);
END
$$;

CREATE OR REPLACE FUNCTION neurigraph.may_write_node(wanted uuid) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = 'force_generic_plan' AS $$
DECLARE
    asking jsonb := neurigraph.claims();
BEGIN
    RETURN EXISTS (
        SELECT FROM neurigraph.graph_index AS g
        WHERE g.node_id = wanted AND g.user_id = (asking ->> 'user_id')::uuid
            AND (
                asking ->> 'role' = 'user'
                OR g.node_id IN (SELECT r.node_id FROM neurigraph_private.reach(asking, 'read_write') AS r (node_id))
            )
    );
END
$$;

-- What whoever is asking may see without owning the graph; nothing for its owner, whose rows other policies show.
CREATE OR REPLACE FUNCTION neurigraph.readable_nodes() RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT r.node_id
    FROM (SELECT neurigraph.claims() AS asking OFFSET 0) AS c
    CROSS JOIN LATERAL neurigraph_private.reach(c.asking, 'read') AS r (node_id)
$$;

-- The persona that is asking, if there is a node that it may write to.
CREATE OR REPLACE FUNCTION neurigraph.writing_persona() RETURNS uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT neurigraph_private.persona_of(c.asking)
    FROM (SELECT neurigraph.claims() AS asking OFFSET 0) AS c
    WHERE EXISTS (SELECT FROM neurigraph_private.reach(c.asking, 'read_write'))
$$;

-- Where the pipeline may file what a persona handed in.
CREATE OR REPLACE FUNCTION neurigraph.writable_nodes(persona uuid) RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT r.node_id
    FROM neurigraph.graph_index AS g
    CROSS JOIN LATERAL neurigraph_private.reach(
        jsonb_build_object('role', 'persona', 'sub', g.node_id, 'user_id', g.user_id), 'read_write'
    ) AS r (node_id)
    WHERE g.node_id = persona
$$;

-- What others than the owner are told in an answer: nothing that any other node knows, not even by a score. Which nodes
-- are told of is found out once for a question; null for the owner, who is told of all. What it is asked with must come
-- from claims().
DROP FUNCTION IF EXISTS neurigraph_private.told_names(uuid);
DROP FUNCTION IF EXISTS neurigraph_private.told_edges(uuid);
DROP FUNCTION IF EXISTS neurigraph_private.corpus(uuid);
DROP FUNCTION IF EXISTS neurigraph_private.occurrences(uuid, text);
DROP FUNCTION IF EXISTS neurigraph_private.asking();
CREATE OR REPLACE FUNCTION neurigraph_private.told_nodes(asking jsonb) RETURNS uuid []
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF asking ->> 'role' = 'user' THEN
        RETURN NULL;
    END IF;
    RETURN ARRAY(SELECT v.node_id FROM neurigraph.visible_nodes(asking) AS v);
END
$$;

CREATE OR REPLACE FUNCTION neurigraph_private.nodes_of(owner uuid, told uuid []) RETURNS SETOF neurigraph.graph_index
LANGUAGE sql STABLE AS $$
    SELECT g.* FROM neurigraph.graph_index AS g
    -- As a CASE it is planned for half of the nodes, and not for next to none.
    WHERE g.user_id = owner AND CASE WHEN told IS NULL THEN true ELSE g.node_id = ANY(told) END
$$;

CREATE OR REPLACE FUNCTION neurigraph_private.edges_of(owner uuid, told uuid []) RETURNS SETOF neurigraph.node_edges
LANGUAGE sql STABLE AS $$
    SELECT e.* FROM neurigraph.node_edges AS e
    WHERE e.user_id = owner AND (told IS NULL OR (e.from_node_id = ANY(told) AND e.to_node_id = ANY(told)))
$$;

-- How much there is to search.
CREATE OR REPLACE FUNCTION neurigraph_private.corpus(
    asking jsonb, told uuid [], OUT passages bigint, OUT lexemes bigint
)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF told IS NULL THEN
        SELECT s.passages, s.lexemes INTO passages, lexemes
        FROM neurigraph.user_statistics AS s WHERE s.user_id = (asking ->> 'user_id')::uuid;
    ELSIF neurigraph_private.counts_are_told(asking) THEN
        SELECT sum(t.passages), sum(t.lexemes) INTO passages, lexemes
        FROM neurigraph.node_statistics AS t WHERE t.node_id = ANY(told);
    ELSE
        -- As it is in a common graph.
        passages := 1000;
        lexemes := 20000;
    END IF;
    passages := coalesce(passages, 0);
    lexemes := coalesce(lexemes, 0);
END
$$;

-- In how many passages of it lexemes occur; no row for one that occurs in none.
CREATE OR REPLACE FUNCTION neurigraph_private.occurrences(asking jsonb, told uuid [], words text [])
RETURNS TABLE (lexeme text, passages bigint)
LANGUAGE plpgsql STABLE ROWS 8 AS $$
BEGIN
    IF told IS NULL THEN
        RETURN QUERY SELECT u.lexeme, u.passages FROM neurigraph.user_lexemes AS u
        WHERE u.user_id = (asking ->> 'user_id')::uuid AND u.lexeme = ANY(words);
    ELSIF neurigraph_private.counts_are_told(asking) THEN
        RETURN QUERY SELECT n.lexeme, sum(n.passages)::bigint FROM neurigraph.node_lexemes AS n
        WHERE n.user_id = (asking ->> 'user_id')::uuid AND n.lexeme = ANY(words) AND n.node_id = ANY(told)
        GROUP BY n.lexeme;
    ELSE
        RETURN QUERY SELECT w.word, 1::bigint FROM unnest(words) AS w (word);
    END IF;
END
$$;

-- Whose key this is; nobody's if it is unknown, expired or revoked. When it was last used is noted once an hour.
CREATE OR REPLACE FUNCTION neurigraph.holder_of_key(hash bytea)
RETURNS TABLE (user_id uuid, role text, subject_id text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    holder neurigraph.api_keys;
BEGIN
    SELECT k.* INTO holder FROM neurigraph.api_keys AS k
    WHERE k.key_hash = hash AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp());
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF holder.last_used_at IS NULL OR holder.last_used_at NOT BETWEEN now() - interval '1 hour' AND now() THEN
        PERFORM set_config('synchronous_commit', 'off', true);
        UPDATE neurigraph.api_keys AS k SET last_used_at = now()
        WHERE k.key_id IN (
            SELECT i.key_id FROM neurigraph.api_keys AS i WHERE i.key_id = holder.key_id FOR NO KEY UPDATE SKIP LOCKED
        );
    END IF;
    RETURN QUERY SELECT holder.user_id, holder.role, holder.subject_id;
END
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA neurigraph_private FROM PUBLIC;
REVOKE ALL ON FUNCTION neurigraph.claims(), neurigraph.asking_user_id(), neurigraph.visible_nodes(jsonb),
neurigraph.may_read_node(uuid), neurigraph.may_write_node(uuid), neurigraph.readable_nodes(),
neurigraph.writing_persona(), neurigraph.writable_nodes(uuid), neurigraph.holder_of_key(bytea) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.claims(), neurigraph.asking_user_id(), neurigraph.may_read_node(uuid),
neurigraph.may_write_node(uuid), neurigraph.readable_nodes(), neurigraph.writing_persona(),
neurigraph.holder_of_key(bytea) TO neurigraph_agent, neurigraph_pipeline;
GRANT EXECUTE ON FUNCTION neurigraph.writable_nodes(uuid) TO neurigraph_pipeline;
