-- Finding nodes: by their names as they are, begun or nearly right; by the words of their shells; by their centroids.

-- Who may see which nodes: the one place that says so, for the policies of node tables (may_read_node) and for
-- everything that runs with the owner's rights. What it is asked with must come from claims().
CREATE FUNCTION neurigraph.visible_nodes(asking jsonb) RETURNS SETOF neurigraph.graph_index
LANGUAGE sql STABLE AS $$
    SELECT g.* FROM neurigraph.graph_index AS g
    WHERE g.user_id = (asking ->> 'user_id')::uuid AND asking ->> 'role' = 'user'
$$;

CREATE OR REPLACE FUNCTION neurigraph.may_read_node(wanted uuid) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM (SELECT neurigraph.claims() AS asking OFFSET 0) AS c
        CROSS JOIN LATERAL neurigraph.visible_nodes(c.asking) AS g
        WHERE g.node_id = wanted
    )
$$;

-- The words of a text as names are compared: without case, width and punctuation.
CREATE FUNCTION neurigraph_private.name_words(said text) RETURNS text []
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT array_remove(regexp_split_to_array(lower(normalize(said, NFKC)), '[[:space:][:punct:]]+'), '')
$$;

-- Every name and alias of every node below the roots, and each with one letter left out, so that a name with one letter
-- wrong, missing, added or swapped is found by looking it up (deletion neighbourhoods: Garbe's SymSpell, 2012).
CREATE TABLE neurigraph.node_names (
    user_id uuid NOT NULL,
    node_id uuid NOT NULL,
    -- The first six words, or these without one letter.
    key text COLLATE "C" NOT NULL,
    -- Which letter is left out; 0 is none.
    gap smallint NOT NULL,
    -- All words.
    name text NOT NULL,
    PRIMARY KEY (user_id, key, node_id, gap, name),
    FOREIGN KEY (node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE
);
CREATE INDEX node_names_node_id ON neurigraph.node_names (node_id);
ALTER TABLE neurigraph.node_names ENABLE ROW LEVEL SECURITY;
CREATE POLICY pipeline_all ON neurigraph.node_names TO neurigraph_pipeline USING (true);
CREATE POLICY own_rows ON neurigraph.node_names TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()));
GRANT SELECT ON neurigraph.node_names TO neurigraph_pipeline;

-- A key without each of its letters in turn; words too short or too long to be misspelt have none.
CREATE FUNCTION neurigraph_private.gaps(key text) RETURNS TABLE (variant text, gap smallint)
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT DISTINCT ON (v.variant) v.variant, v.place::smallint
    FROM (
        SELECT overlay(key PLACING '' FROM p.place FOR 1) AS variant, p.place
        FROM generate_series(1, char_length(key)) AS p (place)
        WHERE char_length(key) BETWEEN 5 AND 40
    ) AS v
    ORDER BY v.variant, v.place
$$;

CREATE FUNCTION neurigraph_private.index_names(node neurigraph.graph_index) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    DELETE FROM neurigraph.node_names AS n WHERE n.node_id = node.node_id;
    INSERT INTO neurigraph.node_names (user_id, node_id, key, gap, name)
    SELECT node.user_id, node.node_id, v.key, v.gap, k.name
    FROM (
        -- Some characters grow when they are folded, and an index takes 2,704 bytes.
        SELECT DISTINCT
            left(array_to_string(w.words[1:6], ' '), 100) AS key, left(array_to_string(w.words, ' '), 300) AS name
        FROM unnest(node.node_name || node.aliases) AS a (alias)
        CROSS JOIN LATERAL neurigraph_private.name_words(a.alias) AS w (words)
        WHERE node.layer_depth > 0 AND cardinality(w.words) > 0
    ) AS k
    CROSS JOIN LATERAL (
        SELECT k.key, 0::smallint
        UNION ALL
        SELECT g.variant, g.gap FROM neurigraph_private.gaps(k.key) AS g
    ) AS v (key, gap)
$$;

CREATE FUNCTION neurigraph.keep_names() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM neurigraph_private.index_names(NEW);
    RETURN NULL;
END
$$;
CREATE TRIGGER index_names AFTER INSERT ON neurigraph.graph_index
FOR EACH ROW EXECUTE FUNCTION neurigraph.keep_names();
CREATE TRIGGER keep_names AFTER UPDATE OF node_name, aliases, layer_depth ON neurigraph.graph_index
FOR EACH ROW WHEN (
    (old.node_name, old.aliases, old.layer_depth) IS DISTINCT FROM (new.node_name, new.aliases, new.layer_depth)
) EXECUTE FUNCTION neurigraph.keep_names();
SELECT count(neurigraph_private.index_names(g)) FROM neurigraph.graph_index AS g;

-- What the shell says in words; and the first part of the centroid, small enough to be read for every node.
ALTER TABLE neurigraph.graph_index
ADD COLUMN language regconfig NOT NULL DEFAULT 'pg_catalog.english',
ADD COLUMN tsv tsvector GENERATED ALWAYS AS (
    neurigraph.record_tsv(
        language, node_name, coalesce(node_summary, ''), VARIADIC aliases || coalesce(node_keywords, '{}')
    )
) STORED,
ADD COLUMN routing_centroid halfvec(512) GENERATED ALWAYS AS (
    subvector(centroid, 1, 512)::halfvec(512)
) STORED;
CREATE INDEX graph_index_tsv ON neurigraph.graph_index USING gin (tsv);

REVOKE ALL ON FUNCTION neurigraph.visible_nodes(jsonb), neurigraph.keep_names() FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA neurigraph_private FROM PUBLIC;
