-- Where a question is searched. Everything from here to the search itself runs with the owner's rights behind one door
-- that checks the claims, on nodes that told_nodes() allows, and on nothing else: only so do operators that are not
-- leakproof keep their indexes. The policies of the tables stay as they are, a wall of their own.

-- Rarity of each lexeme of a question in all that whoever asks may search (Robertson and Zaragoza, 2009).
DROP FUNCTION IF EXISTS neurigraph.anchors(jsonb, halfvec);
DROP FUNCTION IF EXISTS neurigraph_private.anchors_of(jsonb, jsonb, vector);
DROP FUNCTION IF EXISTS neurigraph_private.anchors_of(jsonb, uuid [], jsonb, halfvec);
DROP FUNCTION IF EXISTS neurigraph_private.rarities(uuid, text []);
CREATE OR REPLACE FUNCTION neurigraph_private.rarities(asking jsonb, told uuid [], question jsonb)
RETURNS TABLE (place integer, lexeme text, passages bigint, weight double precision)
LANGUAGE sql STABLE ROWS 8 AS $$
    SELECT
        l.place::integer,
        l.lexeme,
        coalesce(o.passages, 0),
        ln(1 + (c.passages - coalesce(o.passages, 0) + 0.5) / (coalesce(o.passages, 0) + 0.5))
    FROM jsonb_array_elements_text(question -> 'lexemes') WITH ORDINALITY AS l (lexeme, place)
    CROSS JOIN neurigraph_private.corpus(asking, told) AS c
    LEFT JOIN neurigraph_private.occurrences(
        asking, told, ARRAY(SELECT jsonb_array_elements_text(question -> 'lexemes'))
    ) AS o ON l.lexeme = o.lexeme
$$;

-- Whether passages can be looked up by a lexeme: before it come those that are rarer.
CREATE OR REPLACE FUNCTION neurigraph_private.is_rare(passages bigint, before numeric) RETURNS boolean
LANGUAGE sql IMMUTABLE RETURN before < 2000 AND passages < 20000;

-- Those of a question's lexemes by which passages can be looked up: the rarest, as long as few hold them.
CREATE OR REPLACE FUNCTION neurigraph_private.rare_lexemes(asking jsonb, told uuid [], question jsonb)
RETURNS TABLE (place integer, lexeme text, passages bigint, weight double precision)
LANGUAGE sql STABLE ROWS 8 AS $$
    SELECT r.place, r.lexeme, r.passages, r.weight
    FROM (
        SELECT a.*, sum(a.passages) OVER (ORDER BY a.passages, a.place) - a.passages AS before
        FROM neurigraph_private.rarities(asking, told, question) AS a
        WHERE a.passages > 0
    ) AS r
    WHERE neurigraph_private.is_rare(r.passages, r.before)
$$;

-- Nodes that the question names: as they are (1), nearly (0.8), or by how they begin (0.6).
DROP FUNCTION IF EXISTS neurigraph_private.named_nodes(uuid, text, text []);
CREATE OR REPLACE FUNCTION neurigraph_private.named_nodes(owner uuid, told uuid [], query text, lexemes text [])
RETURNS TABLE (node_id uuid, score real)
LANGUAGE sql STABLE ROWS 10 AS $$
    WITH said AS MATERIALIZED (
        SELECT w.word, w.place
        FROM unnest(neurigraph_private.name_words(query)) WITH ORDINALITY AS w (word, place)
    ),

    phrases AS MATERIALIZED (
        SELECT p.key, min(p.words) AS words, min(r.place) AS place
        FROM (
            SELECT
                s.place,
                s.word AS one,
                s.word || ' ' || lead(s.word, 1) OVER o AS two,
                s.word || ' ' || lead(s.word, 1) OVER o || ' ' || lead(s.word, 2) OVER o AS three,
                s.word || ' ' || lead(s.word, 1) OVER o || ' ' || lead(s.word, 2) OVER o || ' '
                || lead(s.word, 3) OVER o AS four,
                s.word || ' ' || lead(s.word, 1) OVER o || ' ' || lead(s.word, 2) OVER o || ' '
                || lead(s.word, 3) OVER o || ' ' || lead(s.word, 4) OVER o AS five,
                s.word || ' ' || lead(s.word, 1) OVER o || ' ' || lead(s.word, 2) OVER o || ' '
                || lead(s.word, 3) OVER o || ' ' || lead(s.word, 4) OVER o || ' ' || lead(s.word, 5) OVER o AS six
            FROM said AS s
            WINDOW o AS (ORDER BY s.place)
        ) AS r
        CROSS JOIN LATERAL (
            VALUES (1, r.one), (2, r.two), (3, r.three), (4, r.four), (5, r.five), (6, r.six)
        ) AS p (words, key)
        WHERE p.key IS NOT NULL
        GROUP BY p.key
    ),

    -- What gaps() gives, which is called once a name; here it would be once a phrase.
    variants AS MATERIALIZED (
        SELECT p.key AS variant, 0 AS gap FROM phrases AS p
        WHERE p.words <= 2 AND p.place <= 40 AND char_length(p.key) BETWEEN 4 AND 40
        UNION ALL
        SELECT overlay(p.key PLACING '' FROM s.gap FOR 1), s.gap
        FROM phrases AS p CROSS JOIN LATERAL generate_series(1, char_length(p.key)) AS s (gap)
        WHERE p.words <= 2 AND p.place <= 40 AND char_length(p.key) BETWEEN 5 AND 40
            -- Of equal letters in a row the first.
            AND (s.gap = 1 OR substr(p.key, s.gap, 1) <> substr(p.key, s.gap - 1, 1))
    ),

    -- All that may be meant, looked up at once.
    known AS MATERIALIZED (
        SELECT n.node_id, n.key, n.gap, n.name FROM neurigraph_private.names_of(owner, told) AS n
        WHERE n.key = ANY(ARRAY(
            SELECT v.variant FROM variants AS v
            UNION ALL
            SELECT left(p.key, 100) FROM phrases AS p
        ))
    ),

    found AS (
        SELECT n.node_id, 1.0 AS score
        FROM known AS n
        INNER JOIN phrases AS p ON n.key = left(p.key, 100)
        WHERE n.gap = 0
            AND (
                n.name = p.key
                OR position(' ' || n.name || ' ' IN (SELECT ' ' || string_agg(s.word, ' ' ORDER BY s.place) || ' '
                    FROM said AS s)) > 0
            )
        UNION ALL
        SELECT n.node_id, 0.8
        FROM known AS n
        INNER JOIN variants AS v ON n.key = v.variant
        WHERE (v.gap = 0) <> (n.gap = 0) OR (v.gap > 0 AND n.gap > 0 AND abs(v.gap - n.gap) <= 1)
        UNION ALL
        SELECT b.node_id, 0.6
        FROM unnest(lexemes) AS l (lexeme)
        CROSS JOIN LATERAL (
            SELECT n.node_id FROM neurigraph_private.names_of(owner, told) AS n
            WHERE n.gap = 0 AND char_length(l.lexeme) >= 4
                AND n.key >= l.lexeme AND n.key < l.lexeme || U&'\+10FFFF'
            ORDER BY n.key
            LIMIT 16
        ) AS b
    )

    SELECT f.node_id, max(f.score)::real FROM found AS f GROUP BY f.node_id
$$;

-- The shells of all nodes of which whoever asks is told, in the order of their ids, as a process holds them; of
-- centroids the first so many dimensions.
CREATE OR REPLACE FUNCTION neurigraph_private.shells(
    asking jsonb, told uuid [], dimensions integer,
    OUT node_ids bytea, OUT parents bytea, OUT node_names text [], OUT counts bytea, OUT versions text [],
    OUT centroids bytea
)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    owner uuid := asking ->> 'user_id';
    -- While a user moves to another model, an index holds vectors of both.
    is_moving boolean := (SELECT u.embedding_next_model IS NOT NULL FROM neurigraph.users AS u WHERE u.user_id = owner);
    can_be_kept boolean := neurigraph_private.hidden_sources(asking) = '{}';
    are_told boolean := neurigraph_private.counts_are_told(asking);
    width integer := least(dimensions, 512);
    none bytea := decode(repeat('00', 4 + 2 * width), 'hex');
BEGIN
    SELECT
        string_agg(uuid_send(s.node_id), ''),
        string_agg(uuid_send(s.parent_id), ''),
        array_agg(s.node_name),
        string_agg(int4send(s.record_count) || int4send(s.passages) || int4send(s.is_indexed::integer), ''),
        array_agg(CASE WHEN can_be_kept AND NOT s.is_indexed THEN s.version END),
        -- A mean tells of what it is the mean of.
        string_agg(coalesce(neurigraph_private.bytes_of(s.routing_centroid, width), none), '') FILTER (WHERE are_told)
    INTO node_ids, parents, node_names, counts, versions, centroids
    FROM (
        SELECT
            g.node_id,
            g.node_name,
            g.record_count,
            g.routing_centroid,
            coalesce(t.passages, 0)::integer AS passages,
            t.vector_index IS NOT NULL AND NOT is_moving AS is_indexed,
            coalesce(c.version, '') AS version,
            -- Of those above it, the nearest that is told of; of a root itself.
            coalesce(
                CASE WHEN told IS NULL THEN g.parent_node_id ELSE (
                    SELECT a.node_id FROM unnest(g.path) WITH ORDINALITY AS a (node_id, depth)
                    WHERE a.node_id = ANY(told) AND a.node_id <> g.node_id
                    ORDER BY a.depth DESC LIMIT 1
                ) END, g.node_id
            ) AS parent_id
        FROM neurigraph_private.nodes_of(owner, told) AS g
        LEFT JOIN neurigraph.node_statistics AS t ON g.node_id = t.node_id
        LEFT JOIN neurigraph_private.node_versions(owner) AS c ON g.node_id = c.node_id
        ORDER BY g.node_id
    ) AS s;
END
$$;

-- What speaks for which nodes: the names that a question says, edges to the nodes so named, the rare words of the
-- content, and the words of the shells; with what the ranking must know of all that may be searched. No row where the
-- claims open nothing. Shells and speakers come along unless those of the version that is known are in force. Each id
-- is followed by a score.
DROP FUNCTION IF EXISTS neurigraph.evidence(jsonb);
CREATE OR REPLACE FUNCTION neurigraph.evidence(question jsonb, known_version text DEFAULT NULL)
RETURNS TABLE (
    model text, data_version text, speaker text, rarities double precision [], mean_length double precision,
    corpus_passages bigint, named bytea, linked bytea, content bytea, shells bytea, speakers text [],
    node_ids bytea, parents bytea, node_names text [], counts bytea, versions text [], centroids bytea
)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = 'force_generic_plan' AS $$
DECLARE
    asking jsonb := neurigraph.claims();
    owner uuid := asking ->> 'user_id';
    told uuid [] := neurigraph_private.told_nodes(asking);
    lexemes text [] := ARRAY(SELECT jsonb_array_elements_text(question -> 'lexemes'));
    stems text [] := ARRAY(SELECT jsonb_array_elements_text(question -> 'stems'));
    are_told boolean := neurigraph_private.counts_are_told(asking);
    certain uuid [];
BEGIN
    IF asking IS NULL OR told = '{}' THEN
        RETURN;
    END IF;
    SELECT u.embedding_model INTO model FROM neurigraph.users AS u WHERE u.user_id = owner;
    speaker := lower(question ->> 'speaker');
    SELECT c.passages, 3.25 * c.lexemes / greatest(c.passages, 1) INTO corpus_passages, mean_length
    FROM neurigraph_private.corpus(asking, told) AS c;

    SELECT
        string_agg(uuid_send(n.node_id) || float4send(n.score), ''),
        array_agg(n.node_id) FILTER (WHERE n.score >= 0.8)
    INTO named, certain
    FROM neurigraph_private.named_nodes(owner, told, question ->> 'query', lexemes) AS n;
    IF certain IS NOT NULL THEN
        SELECT string_agg(uuid_send(e.node_id) || float4send(0.6), '') INTO linked
        FROM (
            SELECT o.to_node_id AS node_id FROM neurigraph_private.edges_of(owner, told) AS o
            WHERE o.from_node_id = ANY(certain)
            UNION
            SELECT i.from_node_id FROM neurigraph_private.edges_of(owner, told) AS i WHERE i.to_node_id = ANY(certain)
        ) AS e;
    END IF;

    WITH known AS MATERIALIZED (
        SELECT r.* FROM neurigraph_private.rarities(asking, told, question) AS r
    ),

    rare AS (
        SELECT r.lexeme, r.weight / nullif(sum(r.weight) OVER (), 0) AS share
        FROM (
            SELECT k.*, sum(k.passages) OVER (ORDER BY k.passages, k.place) - k.passages AS before
            FROM known AS k
            WHERE k.passages > 0
        ) AS r
        -- A word that stands almost everywhere speaks for no node, and its nodes are many.
        WHERE r.before + r.passages < 4000
    ),

    found AS (
        SELECT n.node_id, sum(r.share * n.passages / (n.passages + 1.0)) AS score
        FROM rare AS r
        INNER JOIN neurigraph.node_lexemes AS n ON n.user_id = owner AND r.lexeme = n.lexeme
        WHERE are_told
        GROUP BY n.node_id
    )

    SELECT
        (SELECT array_agg(k.weight ORDER BY k.place) FROM known AS k),
        (SELECT string_agg(uuid_send(f.node_id) || float4send(f.score::real), '') FROM found AS f)
    INTO rarities, content;

    SELECT string_agg(uuid_send(s.node_id) || float4send(s.score), '') INTO shells
    FROM (
        SELECT g.node_id, (count(*) / greatest(cardinality(stems), 1)::double precision)::real AS score
        FROM unnest(stems) AS l (stem)
        -- Not planned as one join: all shells would be compared with each word.
        CROSS JOIN LATERAL (
            SELECT i.node_id FROM neurigraph.graph_index AS i
            WHERE i.tsv @@ plainto_tsquery('simple', l.stem) AND i.user_id = owner
            OFFSET 0
        ) AS g
        WHERE told IS NULL OR g.node_id = ANY(told)
        GROUP BY g.node_id
    ) AS s;

    data_version := CASE WHEN asking ->> 'role' = 'user' THEN neurigraph_private.data_version(owner) END;
    IF data_version IS NULL OR data_version IS DISTINCT FROM known_version THEN
        speakers := neurigraph_private.speakers(asking);
        SELECT h.* INTO node_ids, parents, node_names, counts, versions, centroids
        FROM neurigraph_private.shells(asking, told, (question ->> 'dimensions')::integer) AS h;
    END IF;
    RETURN NEXT;
END
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA neurigraph_private FROM PUBLIC;
REVOKE ALL ON FUNCTION neurigraph.evidence(jsonb, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.evidence(jsonb, text) TO neurigraph_agent;
