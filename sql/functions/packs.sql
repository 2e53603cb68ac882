-- Packed layers, which processes read instead of a node's tables as long as the node does not change.

-- The packed layers of some nodes that equal the present tables of the nodes. Pass only the result of claims(), of a
-- caller from whom no source is hidden.
CREATE OR REPLACE FUNCTION neurigraph_private.packs_in_force(asking jsonb, nodes uuid [], wanted_format integer)
RETURNS SETOF neurigraph.layer_packs
LANGUAGE sql STABLE AS $$
    SELECT p.*
    FROM neurigraph.layer_packs AS p
    INNER JOIN neurigraph.visible_nodes(asking) AS g ON p.node_id = g.node_id
    INNER JOIN neurigraph.users AS u ON g.user_id = u.user_id
    WHERE p.node_id = ANY(nodes) AND p.format = wanted_format AND p.model IS NOT DISTINCT FROM u.embedding_model
        AND p.version = (SELECT v.version FROM neurigraph_private.node_version(p.node_id) AS v)
$$;

-- The packed layer of a node with the records that changed since the layer was packed; no layer if the changed records
-- are not known. Pass only a node that the caller sees, and only a caller from whom no source is hidden.
CREATE OR REPLACE FUNCTION neurigraph_private.pack_before(
    node uuid, model_in_use text, wanted_format integer, OUT pack bytea, OUT pack_version text, OUT changed uuid []
)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    till bigint;
BEGIN
    SELECT p.horizon, p.version INTO till, pack_version
    FROM neurigraph.layer_packs AS p
    WHERE p.node_id = node AND p.format = wanted_format AND p.model IS NOT DISTINCT FROM model_in_use;
    changed := CASE WHEN pack_version = (SELECT v.version FROM neurigraph_private.node_version(node) AS v)
        THEN '{}' ELSE neurigraph_private.changed_since(node, till) END;
    IF changed IS NOT NULL THEN
        SELECT p.layer INTO pack FROM neurigraph.layer_packs AS p WHERE p.node_id = node;
    END IF;
END
$$;

-- The vectors of records' passages in the model, for records that the caller sees; null for a record whose vectors are
-- pending. `passages` has one text of numbers a record, separated by spaces, and null for all passages.
CREATE OR REPLACE FUNCTION neurigraph.vectors(records uuid [], passages text [], wanted_model text)
RETURNS TABLE (record_id uuid, vectors bytea)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = 'force_generic_plan' AS $$
DECLARE
    asking jsonb := neurigraph.claims();
    hidden uuid [] := neurigraph_private.hidden_sources(asking);
    visible uuid [] := neurigraph_private.visible_node_ids(asking);
BEGIN
    RETURN QUERY
    SELECT s.record_id, CASE WHEN a.passages IS NULL THEN v.vectors ELSE (
        SELECT string_agg(substr(v.vectors, 1 + v.size * (w.passage::integer - 1), v.size), '' ORDER BY w.place)
        FROM unnest(string_to_array(a.passages, ' ')) WITH ORDINALITY AS w (passage, place)
    ) END
    FROM unnest(records, passages) AS a (record_id, passages)
    -- OFFSET 0 keeps the planner from reading all segments of the user and comparing each with all wanted records.
    CROSS JOIN LATERAL (SELECT g.* FROM neurigraph.segments AS g WHERE g.record_id = a.record_id OFFSET 0) AS s
    INNER JOIN neurigraph.record_index AS r ON s.record_id = r.record_id
    CROSS JOIN LATERAL (
        SELECT c.vectors, octet_length(c.vectors) / s.passages AS size
        FROM (SELECT CASE WHEN s.model = wanted_model THEN s.vectors WHEN s.next_model = wanted_model THEN s.next_vectors END)
            AS c (vectors)
    ) AS v
    WHERE s.user_id = (asking ->> 'user_id')::uuid AND NOT r.quarantined AND r.source_id <> ALL(hidden)
        AND (visible IS NULL OR s.node_id = ANY(visible)) AND (v.vectors IS NOT NULL OR s.model IS NULL);
END
$$;

-- The words in the passages of nodes, for a caller who sees the nodes as a whole, and a process that counts the words:
-- those of a pack, and those of the records that changed since, which count twice until the node is packed again.
CREATE OR REPLACE FUNCTION neurigraph.node_words(nodes uuid [], wanted_format integer)
RETURNS TABLE (node_id uuid, version text, packed bytea, added bytea [])
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = 'force_generic_plan' AS $$
DECLARE
    asking jsonb := neurigraph.claims();
BEGIN
    IF asking IS NULL OR NOT neurigraph_private.counts_are_visible(asking) THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT g.node_id, v.version, p.words, ARRAY(
        SELECT substr(s.content, 17, 8 * s.words) FROM neurigraph.segments AS s
        WHERE s.node_id = g.node_id AND s.is_counted AND (p.words IS NULL OR s.record_id = ANY(p.changed))
    )
    FROM neurigraph.visible_nodes(asking) AS g
    CROSS JOIN LATERAL neurigraph_private.node_version(g.node_id) AS v
    LEFT JOIN LATERAL (
        SELECT
            k.words,
            CASE WHEN k.version = v.version THEN '{}' ELSE neurigraph_private.changed_since(g.node_id, k.horizon) END AS changed
        FROM neurigraph.layer_packs AS k
        WHERE k.node_id = g.node_id AND k.format = wanted_format
    ) AS p ON p.changed IS NOT NULL
    WHERE g.node_id = ANY(nodes);
END
$$;

REVOKE ALL ON FUNCTION neurigraph.vectors(uuid [], text [], text), neurigraph.node_words(uuid [], integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.vectors(uuid [], text [], text), neurigraph.node_words(uuid [], integer)
TO neurigraph_agent;
