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

-- The vectors of passages of packed layers, for layers that still have the version that the caller read. `passages` has
-- one text of row numbers a layer, separated by spaces, and null for all passages. `widths` is the number of bytes a
-- passage.
CREATE OR REPLACE FUNCTION neurigraph.packed_vectors(
    nodes uuid [], versions text [], widths integer [], passages text [], wanted_format integer
)
RETURNS TABLE (node_id uuid, vectors bytea)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = 'force_generic_plan' AS $$
DECLARE
    asking jsonb := neurigraph.claims();
BEGIN
    IF neurigraph_private.hidden_sources(asking) <> '{}' THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT p.node_id, CASE WHEN a.passages IS NULL THEN p.vectors ELSE (
        SELECT string_agg(substr(p.vectors, 1 + a.width * w.passage::integer, a.width), '' ORDER BY w.place)
        FROM unnest(string_to_array(a.passages, ' ')) WITH ORDINALITY AS w (passage, place)
    ) END
    FROM unnest(nodes, versions, widths, passages) AS a (node_id, version, width, passages)
    INNER JOIN neurigraph.visible_nodes(asking) AS g ON a.node_id = g.node_id
    INNER JOIN neurigraph.layer_packs AS p
        ON g.node_id = p.node_id AND p.format = wanted_format AND a.version = p.version;
END
$$;

REVOKE ALL ON FUNCTION neurigraph.packed_vectors(uuid [], text [], integer [], text [], integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.packed_vectors(uuid [], text [], integer [], text [], integer) TO neurigraph_agent;
