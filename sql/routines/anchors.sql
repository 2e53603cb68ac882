-- Where a question is searched. Everything from here to the search itself runs with the owner's rights behind one door
-- that checks the claims, on nodes that told_nodes() allows, and on nothing else: only so do operators that are not
-- leakproof keep their indexes. The policies of the tables stay as they are, a wall of their own.

-- Rarity of each lexeme of a question in all that whoever asks may search (Robertson and Zaragoza, 2009).
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
    WHERE r.before < 2000 AND r.passages < 20000
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

    -- Written out what gaps() gives, which is called once a name; here it would be once a phrase.
    variants AS MATERIALIZED (
        SELECT p.key AS variant, 0 AS gap FROM phrases AS p
        WHERE p.words <= 2 AND p.place <= 40 AND char_length(p.key) BETWEEN 4 AND 40
        UNION ALL
        SELECT g.variant, g.gap FROM (
            SELECT p.key, overlay(p.key PLACING '' FROM s.gap FOR 1) AS variant, min(s.gap) AS gap
            FROM phrases AS p CROSS JOIN LATERAL generate_series(1, char_length(p.key)) AS s (gap)
            WHERE p.words <= 2 AND p.place <= 40 AND char_length(p.key) BETWEEN 5 AND 40
            GROUP BY 1, 2
        ) AS g
    ),

    -- All that may be meant, looked up at once.
    known AS MATERIALIZED (
        SELECT n.node_id, n.key, n.gap, n.name FROM neurigraph_private.names_of(owner, told) AS n
        WHERE n.key = ANY(ARRAY(
            SELECT v.variant FROM variants AS v
            UNION
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

-- Which nodes to search, best first. All of them where there are few; else those for which something speaks: a name, an
-- edge to a named one, the words of the shell, the rare words of the content, and, when no name leads, the centroid.
DROP FUNCTION IF EXISTS neurigraph_private.anchors_of(jsonb, jsonb, vector);
CREATE OR REPLACE FUNCTION neurigraph_private.anchors_of(
    asking jsonb, told uuid [], question jsonb, route halfvec,
    OUT chosen neurigraph_private.anchor [], OUT visible bigint
)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    owner uuid := asking ->> 'user_id';
    lexemes text [] := ARRAY(SELECT jsonb_array_elements_text(question -> 'lexemes'));
    within uuid := question ->> 'node_id';
    most integer := question ->> 'max_anchors';
    budget bigint := question ->> 'max_passages';
    wanted integer := question ->> 'limit';
    counts_are_told boolean := neurigraph_private.counts_are_told(asking);
    few boolean;
BEGIN
    -- A node that is hidden is not there to be searched below, whatever of it is open.
    SELECT count(*) INTO visible
    FROM neurigraph_private.nodes_of(owner, told) AS g
    WHERE within IS NULL OR (
        g.path @> ARRAY[within] AND EXISTS (SELECT FROM neurigraph_private.nodes_of(owner, told) AS w WHERE w.node_id = within)
    );
    few := visible <= 2 * most;
    -- What fits is searched as a whole; of what does not, half as much: there is no whole to miss.
    IF budget < (neurigraph_private.corpus(asking, told)).passages THEN
        budget := budget / 2;
    END IF;
    WITH names AS MATERIALIZED (
        SELECT n.node_id, n.score FROM neurigraph_private.named_nodes(owner, told, question ->> 'query', lexemes) AS n
    ),

    linked AS MATERIALIZED (
        SELECT e.to_node_id AS node_id FROM names AS n
        INNER JOIN neurigraph_private.edges_of(owner, told) AS e ON n.node_id = e.from_node_id WHERE n.score >= 0.8
        UNION
        SELECT e.from_node_id FROM names AS n
        INNER JOIN neurigraph_private.edges_of(owner, told) AS e ON n.node_id = e.to_node_id WHERE n.score >= 0.8
    ),

    rare AS MATERIALIZED (
        SELECT r.lexeme, r.weight / nullif(sum(r.weight) OVER (), 0) AS share
        FROM neurigraph_private.rare_lexemes(asking, told, question) AS r
    ),

    content AS (
        SELECT n.node_id, sum(r.share * n.passages / (n.passages + 1.0)) AS score
        FROM rare AS r
        INNER JOIN neurigraph.node_lexemes AS n ON n.user_id = owner AND r.lexeme = n.lexeme
        WHERE counts_are_told
        GROUP BY n.node_id
    ),

    shells AS (
        SELECT g.node_id, count(*) / greatest(cardinality(lexemes), 1)::real AS score
        FROM unnest(lexemes) AS l (lexeme)
        INNER JOIN neurigraph.graph_index AS g
            ON g.tsv @@ plainto_tsquery('simple', l.lexeme) AND g.user_id = owner
        GROUP BY g.node_id
    ),

    near AS (
        SELECT g.node_id, neurigraph_private.cosine(g.routing_centroid, route) AS score
        FROM neurigraph_private.nodes_of(owner, told) AS g
        WHERE route IS NOT NULL AND counts_are_told AND (few OR NOT EXISTS (SELECT FROM names AS n WHERE n.score = 1))
        ORDER BY score DESC NULLS LAST
        LIMIT 2 * most
    ),

    pointed_out AS MATERIALIZED (
        SELECT n.node_id FROM names AS n
        UNION
        SELECT i.node_id FROM linked AS i
        UNION
        SELECT c.node_id FROM content AS c
        UNION
        SELECT s.node_id FROM shells AS s
        UNION
        SELECT a.node_id FROM near AS a
    ),

    -- A bound on nodes must not become a bound on hits.
    candidates AS (
        SELECT p.node_id FROM pointed_out AS p
        UNION
        SELECT b.node_id FROM (
            SELECT g.node_id FROM neurigraph_private.nodes_of(owner, told) AS g
            WHERE g.record_count > 0 AND (within IS NULL OR g.path @> ARRAY[within])
                AND wanted > (
                    SELECT coalesce(sum(i.record_count), 0) FROM neurigraph_private.nodes_of(owner, told) AS i
                    WHERE i.node_id IN (SELECT p.node_id FROM pointed_out AS p)
                        AND (within IS NULL OR i.path @> ARRAY[within])
                )
            ORDER BY g.record_count DESC
            LIMIT wanted
        ) AS b
    ),

    evidence AS (
        SELECT
            g.node_id,
            g.schema_name,
            g.node_ddl_version,
            g.record_count,
            -- While a user moves to another model, the index holds vectors of both.
            CASE WHEN NOT (question ->> 'is_moving')::boolean THEN t.vector_index END AS vector_index,
            coalesce(t.passages, 0) AS passages,
            coalesce(n.score, 0) AS name_score,
            i.node_id IS NOT NULL AS is_linked,
            coalesce(c.score, 0) + 0.5 * coalesce(s.score, 0) AS word_score,
            greatest(coalesce(a.score, 0), 0) AS near_score
        FROM neurigraph_private.nodes_of(owner, told) AS g
        LEFT JOIN neurigraph.node_statistics AS t ON g.node_id = t.node_id
        LEFT JOIN names AS n ON g.node_id = n.node_id
        LEFT JOIN linked AS i ON g.node_id = i.node_id
        LEFT JOIN content AS c ON g.node_id = c.node_id
        LEFT JOIN shells AS s ON g.node_id = s.node_id
        LEFT JOIN near AS a ON g.node_id = a.node_id
        WHERE (few OR g.node_id IN (SELECT d.node_id FROM candidates AS d))
            AND g.record_count > 0
            AND (within IS NULL OR g.path @> ARRAY[within])
    ),

    scored AS (
        SELECT
            e.*,
            least(greatest(e.name_score, CASE WHEN e.is_linked THEN 0.6 ELSE 0 END,
                0.5 * least(e.word_score, 1) + 0.5 * e.near_score), 1) AS score,
            CASE
                WHEN e.name_score > 0 THEN 'name'
                WHEN e.is_linked THEN 'edge'
                WHEN e.word_score >= e.near_score THEN 'words'
                ELSE 'centroid'
            END AS reason
        FROM evidence AS e
    ),

    -- A node that is searched by its indexes costs about as much as 1,500 passages that are compared one by one.
    lined_up AS (
        SELECT
            s.*,
            row_number() OVER o AS place,
            sum(s.record_count) OVER o - s.record_count AS records_before,
            sum(CASE WHEN s.vector_index IS NULL THEN s.passages ELSE 1500 END) OVER o
            - CASE WHEN s.vector_index IS NULL THEN s.passages ELSE 1500 END AS passages_before
        FROM scored AS s
        WINDOW o AS (ORDER BY s.score DESC, s.record_count DESC, s.node_id)
    )

    SELECT array_agg(ROW(
        u.node_id, u.schema_name, u.reason, u.score, CASE WHEN u.name_score >= 0.8 THEN u.name_score ELSE 0 END,
        u.passages, u.vector_index IS NOT NULL, u.node_ddl_version
    )::neurigraph_private.anchor ORDER BY u.place) INTO chosen
    FROM lined_up AS u
    WHERE (u.place <= most AND u.passages_before < budget) OR u.records_before < wanted;
END
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA neurigraph_private FROM PUBLIC;
