-- The search gate: it returns the shells of nodes and counts of words, by which a process chooses the nodes to search.
-- It runs with the owner's rights behind one function that checks the claims, and only on nodes of visible_node_ids().
-- With the caller's rights, operators that are not leakproof could not use their indexes. The policies of the tables
-- stay in force as a second barrier.

-- The shells of all nodes that the caller may see, in the order of their ids, with the edges between them, packed for a
-- process that caches them. Centroids are cut to the given number of dimensions.
CREATE OR REPLACE FUNCTION neurigraph_private.shells(
    asking jsonb, visible uuid [], dimensions integer,
    OUT node_ids bytea, OUT parents bytea, OUT node_names text [], OUT aliases text [], OUT counts bytea,
    OUT versions text [], OUT centroids bytea, OUT edges bytea, OUT shell_stems text []
)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    owner uuid := asking ->> 'user_id';
    hidden uuid [] := neurigraph_private.hidden_sources(asking);
    are_visible boolean := neurigraph_private.counts_are_visible(asking);
    -- Within spaces the shell of a node has only its name and the count of its records in the spaces: all other values
    -- of the node come from all spaces.
    is_limited boolean NOT NULL := coalesce(asking ? 'container_tags', false);
    -- For up to 100 nodes, the process also caches the words of the shells and compares a question with them itself.
    are_few boolean := neurigraph_private.seen_version(asking) IS NOT NULL
        AND (SELECT count(*) <= 100 FROM (SELECT FROM neurigraph_private.nodes_of(owner, visible) LIMIT 101) AS n);
    width integer := least(dimensions, 512);
    none bytea := decode(repeat('00', 4 + 2 * width), 'hex');
BEGIN
    SELECT
        string_agg(uuid_send(s.node_id), ''),
        string_agg(uuid_send(s.parent_id), ''),
        array_agg(s.node_name),
        array_agg(s.aliases),
        string_agg(int4send(s.record_count) || int4send(s.passages), ''),
        array_agg(s.version),
        -- A mean vector reveals something about the averaged vectors.
        string_agg(coalesce(neurigraph_private.bytes_of(s.routing_centroid, width), none), '') FILTER (WHERE are_visible),
        array_agg(CASE WHEN is_limited THEN '' ELSE array_to_string(tsvector_to_array(s.tsv), ' ') END)
            FILTER (WHERE are_few)
    INTO node_ids, parents, node_names, aliases, counts, versions, centroids, shell_stems
    FROM (
        SELECT
            g.node_id,
            g.node_name,
            -- No search looks for a root by name.
            CASE WHEN g.layer_depth > 0 THEN CASE WHEN is_limited THEN '' ELSE array_to_string(g.aliases, E'\n') END END
                AS aliases,
            CASE WHEN is_limited THEN coalesce(l.records, 0) ELSE g.record_count END AS record_count,
            g.routing_centroid,
            g.tsv,
            -- Within spaces passages are not counted: 20 a record is an estimate.
            CASE WHEN is_limited THEN 20 * coalesce(l.records, 0) ELSE coalesce(t.passages, 0)::integer END AS passages,
            coalesce(q.version, c.version, '') AS version,
            -- The parent is the nearest visible node above; a root is its own parent.
            coalesce(
                CASE WHEN visible IS NULL THEN g.parent_node_id ELSE (
                    SELECT a.node_id FROM unnest(g.path) WITH ORDINALITY AS a (node_id, depth)
                    WHERE a.node_id = ANY(visible) AND a.node_id <> g.node_id
                    ORDER BY a.depth DESC LIMIT 1
                ) END, g.node_id
            ) AS parent_id
        FROM neurigraph_private.nodes_of(owner, visible) AS g
        LEFT JOIN neurigraph.node_statistics AS t ON g.node_id = t.node_id
        LEFT JOIN neurigraph_private.node_versions(owner) AS c ON g.node_id = c.node_id
        LEFT JOIN neurigraph_private.seen_parts(asking, hidden, CASE WHEN hidden <> '{}' THEN visible END) AS q
            ON g.node_id = q.node_id
        LEFT JOIN neurigraph_private.records_in_spaces(CASE WHEN is_limited THEN asking END) AS l ON g.node_id = l.node_id
        ORDER BY g.node_id
    ) AS s;
    SELECT string_agg(uuid_send(e.from_node_id) || uuid_send(e.to_node_id), '') INTO edges
    FROM neurigraph_private.edges_of(owner, visible) AS e;
END
$$;

-- The shells of the nodes that the caller may see, unless the caller knows the current version, and the unstored
-- messages, in the same snapshot, so that each message is either stored or unstored. `words` is the share of the
-- question's words in the shell of each node. With the shells come the reasons for further statements about an answer:
-- canaries, records that expire, and verdicts that statements disagree, which any caller but the owner has to look up
-- under the policies. The function sets the signed claims, and returns no row if they allow nothing.
CREATE OR REPLACE FUNCTION neurigraph.search_gate(
    payload text, signature text,
    stems text [], speaker text, dimensions integer, known_version text,
    known_unstored text DEFAULT NULL, unstored_since bigint DEFAULT NULL, unstored_most integer DEFAULT 0
)
RETURNS TABLE (
    data_version text, said_by text, words bytea, model text, speakers text [], languages text [],
    is_watched boolean, expires boolean, disagrees boolean,
    node_ids bytea, parents bytea, node_names text [], aliases text [], counts bytea, versions text [],
    centroids bytea, edges bytea, shell_stems text [],
    unstored_version text, unstored_horizon bigint, unstored json
)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = 'force_generic_plan' AS $$
DECLARE
    asking jsonb := neurigraph_private.set_claims(payload, signature);
    owner uuid := asking ->> 'user_id';
    visible uuid [] := neurigraph_private.visible_node_ids(asking);
BEGIN
    IF asking IS NULL OR visible = '{}' THEN
        RETURN;
    END IF;
    said_by := lower(speaker);
    IF stems <> '{}' THEN
        SELECT string_agg(uuid_send(s.node_id) || float4send(s.score), '') INTO words
        FROM (
            SELECT g.node_id, (count(*) / cardinality(stems)::double precision)::real AS score
            FROM unnest(stems) AS l (stem)
            -- OFFSET 0 keeps the planner from one join, which would compare all shells with each word.
            CROSS JOIN LATERAL (
                SELECT i.node_id FROM neurigraph.graph_index AS i
                WHERE i.tsv @@ plainto_tsquery('simple', l.stem) AND i.user_id = owner AND NOT i.quarantined
                OFFSET 0
            ) AS g
            WHERE visible IS NULL OR (g.node_id = ANY(visible) AND NOT asking ? 'container_tags')
            GROUP BY g.node_id
        ) AS s;
    END IF;

    data_version := neurigraph_private.seen_version(asking);
    IF data_version IS NULL OR data_version IS DISTINCT FROM known_version THEN
        SELECT u.embedding_model INTO model FROM neurigraph.users AS u WHERE u.user_id = owner;
        SELECT v.* INTO speakers, languages FROM neurigraph_private.voices_and_languages(asking, visible) AS v;
        SELECT w.* INTO is_watched, expires FROM neurigraph_private.watches(owner) AS w;
        disagrees := asking ->> 'role' <> 'user' OR EXISTS (
            SELECT FROM neurigraph.fact_verdicts AS d
            WHERE d.user_id = owner AND d.verdict IN ('updates', 'contradicts') AND d.undone_at IS NULL
        );
        SELECT h.* INTO node_ids, parents, node_names, aliases, counts, versions, centroids, edges, shell_stems
        FROM neurigraph_private.shells(asking, visible, dimensions) AS h;
    END IF;
    SELECT u.* INTO unstored_version, unstored_horizon, unstored
    FROM neurigraph_private.unstored(asking, known_unstored, unstored_since, unstored_most) AS u;
    RETURN NEXT;
END
$$;

REVOKE ALL ON FUNCTION neurigraph.search_gate(text, text, text [], text, integer, text, text, bigint, integer)
FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.search_gate(text, text, text [], text, integer, text, text, bigint, integer)
TO neurigraph_agent;
