-- Corpus statistics: how many records, passages and lexemes there are, and in how many passages a lexeme occurs.
-- Triggers on the passages of nodes count, so that every writer keeps the figures right.

-- A speaker counts as a lexeme: `@` and the name in lower case, which cannot be a lexeme of a text. Likewise a passage
-- in another language than the installation's has `#` and the name of the language's stemmer among its lexemes.
CREATE OR REPLACE FUNCTION neurigraph_private.speaker_lexeme(author text) RETURNS text []
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN author IS NULL THEN '{}' ELSE ARRAY['@' || lower(author)] END
$$;

-- Subtract passages from the lexemes of a user.
CREATE OR REPLACE FUNCTION neurigraph_private.take_from_lexemes(owner uuid, words text [], counts bigint [])
RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    UPDATE neurigraph.user_lexemes AS u SET passages = u.passages + c.passages
    FROM unnest(words, counts) AS c (lexeme, passages)
    WHERE u.user_id = owner AND u.lexeme = c.lexeme;
    DELETE FROM neurigraph.user_lexemes AS u
    WHERE u.user_id = owner AND u.lexeme = ANY(words) AND u.passages = 0;
$$;

-- Add a node's passages to the statistics, or subtract them. Each lexeme comes once, with its number of passages.
CREATE OR REPLACE FUNCTION neurigraph_private.add_to_statistics(
    node uuid, owner uuid, more_passages bigint, more_lexemes bigint, words text [], counts integer []
) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO neurigraph.user_statistics AS s (user_id, records, passages, lexemes)
    VALUES (owner, 0, greatest(more_passages, 0), greatest(more_lexemes, 0))
    ON CONFLICT (user_id) DO UPDATE SET passages = s.passages + more_passages, lexemes = s.lexemes + more_lexemes;
    INSERT INTO neurigraph.node_statistics AS s (node_id, user_id, passages, lexemes)
    VALUES (node, owner, greatest(more_passages, 0), greatest(more_lexemes, 0))
    ON CONFLICT (node_id) DO UPDATE SET passages = s.passages + more_passages, lexemes = s.lexemes + more_lexemes;
    IF more_passages > 0 THEN
        INSERT INTO neurigraph.node_lexemes AS n (user_id, lexeme, node_id, passages)
        SELECT owner, c.lexeme, node, c.passages FROM unnest(words, counts) AS c (lexeme, passages)
        ON CONFLICT (user_id, lexeme, node_id) DO UPDATE SET passages = n.passages + excluded.passages;
        INSERT INTO neurigraph.user_lexemes AS u (user_id, lexeme, passages)
        SELECT owner, c.lexeme, c.passages FROM unnest(words, counts) AS c (lexeme, passages)
        ON CONFLICT (user_id, lexeme) DO UPDATE SET passages = u.passages + excluded.passages;
        RETURN;
    END IF;
    UPDATE neurigraph.node_lexemes AS n SET passages = n.passages + c.passages
    FROM unnest(words, counts) AS c (lexeme, passages)
    WHERE n.user_id = owner AND n.lexeme = c.lexeme AND n.node_id = node;
    DELETE FROM neurigraph.node_lexemes AS n
    WHERE n.user_id = owner AND n.lexeme = ANY(words) AND n.node_id = node AND n.passages = 0;
    PERFORM neurigraph_private.take_from_lexemes(owner, words, counts);
END
$$;

-- The records of a user that are in quarantine.
CREATE OR REPLACE FUNCTION neurigraph_private.records_in_quarantine(owner uuid) RETURNS uuid []
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN ARRAY(SELECT i.record_id FROM neurigraph.record_index AS i WHERE i.user_id = owner AND i.quarantined);
END
$$;

-- Trigger on passages, once a statement. Arguments: node_id and user_id. It counts added and removed passages, and
-- notes the records of added and changed passages. It has only two statements, because a connection plans them for each
-- node. The empty lexeme, which each passage has once, counts the passages as a whole.
CREATE OR REPLACE FUNCTION neurigraph.follow_passages() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM neurigraph_private.note_record_changes(
        TG_ARGV[0]::uuid, TG_ARGV[1]::uuid,
        ARRAY(SELECT DISTINCT c.record_id FROM changed AS c WHERE TG_OP <> 'DELETE')
    );
    PERFORM neurigraph_private.add_to_statistics(
        TG_ARGV[0]::uuid, TG_ARGV[1]::uuid,
        max(n.signed * n.passages) FILTER (WHERE n.lexeme = ''), max(n.signed * n.lexemes) FILTER (WHERE n.lexeme = ''),
        array_agg(n.lexeme) FILTER (WHERE n.lexeme <> ''),
        array_agg((n.signed * n.passages)::integer) FILTER (WHERE n.lexeme <> '')
    )
    FROM (
        SELECT
            l.lexeme,
            count(*) AS passages,
            sum(c.lexeme_count) AS lexemes,
            CASE TG_OP WHEN 'DELETE' THEN -1 ELSE 1 END AS signed
        FROM changed AS c
        CROSS JOIN LATERAL unnest(
            c.lexemes || neurigraph_private.speaker_lexeme(c.author) || ARRAY['']
        ) AS l (lexeme)
        -- Passages in quarantine are not counted, wherever their record moves.
        WHERE TG_OP <> 'UPDATE'
            AND c.record_id NOT IN (SELECT unnest(neurigraph_private.records_in_quarantine(TG_ARGV[1]::uuid)))
        GROUP BY l.lexeme
    ) AS n
    HAVING count(*) > 0;
    RETURN NEW;
END
$$;

-- Count the passages of one node again, for example after rows were written with triggers off.
CREATE OR REPLACE FUNCTION neurigraph_private.recount_node(node uuid) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    counted neurigraph.graph_index;
    found record;
BEGIN
    SELECT * INTO STRICT counted FROM neurigraph.graph_index AS g WHERE g.node_id = node;
    DELETE FROM neurigraph.node_statistics AS s WHERE s.node_id = node;
    EXECUTE format(
        $counted$WITH chosen AS MATERIALIZED (
            SELECT p.author, p.lexemes, p.lexeme_count FROM %I.passages AS p
            WHERE p.record_id NOT IN (
                SELECT i.record_id FROM neurigraph.record_index AS i WHERE i.user_id = $1 AND i.quarantined
            )
        )

        SELECT
            (SELECT count(*) FROM chosen) AS passages,
            (SELECT coalesce(sum(c.lexeme_count), 0)::bigint FROM chosen AS c) AS lexemes,
            array_agg(n.lexeme) AS words, array_agg(n.passages) AS counts
        FROM (
            SELECT l.lexeme, count(*)::integer AS passages FROM chosen AS c
            CROSS JOIN LATERAL unnest(c.lexemes || neurigraph_private.speaker_lexeme(c.author)) AS l (lexeme)
            GROUP BY l.lexeme
        ) AS n$counted$, counted.schema_name
    ) INTO found USING counted.user_id;
    PERFORM neurigraph_private.add_to_statistics(
        node, counted.user_id, found.passages, found.lexemes, found.words, found.counts
    );
END
$$;

-- The size of the corpus that the caller may search.
CREATE OR REPLACE FUNCTION neurigraph_private.corpus(
    asking jsonb, visible uuid [], OUT passages bigint, OUT lexemes bigint
)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF visible IS NULL THEN
        SELECT s.passages, s.lexemes INTO passages, lexemes
        FROM neurigraph.user_statistics AS s WHERE s.user_id = (asking ->> 'user_id')::uuid;
    ELSIF neurigraph_private.counts_are_visible(asking) THEN
        SELECT sum(t.passages), sum(t.lexemes) INTO passages, lexemes
        FROM neurigraph.node_statistics AS t WHERE t.node_id = ANY(visible);
    ELSE
        -- The assumed size of a graph whose counts the caller may not see.
        passages := 1000;
        lexemes := 20000;
    END IF;
    passages := coalesce(passages, 0);
    lexemes := coalesce(lexemes, 0);
END
$$;

-- The number of passages of the caller's corpus in which each lexeme occurs; no row for a lexeme that occurs in none.
CREATE OR REPLACE FUNCTION neurigraph_private.occurrences(asking jsonb, visible uuid [], words text [])
RETURNS TABLE (lexeme text, passages bigint)
LANGUAGE plpgsql STABLE ROWS 8 AS $$
BEGIN
    IF visible IS NULL THEN
        RETURN QUERY SELECT u.lexeme, u.passages FROM neurigraph.user_lexemes AS u
        WHERE u.user_id = (asking ->> 'user_id')::uuid AND u.lexeme = ANY(words);
    ELSIF neurigraph_private.counts_are_visible(asking) THEN
        RETURN QUERY SELECT n.lexeme, sum(n.passages)::bigint FROM neurigraph.node_lexemes AS n
        WHERE n.user_id = (asking ->> 'user_id')::uuid AND n.lexeme = ANY(words) AND n.node_id = ANY(visible)
        GROUP BY n.lexeme;
    ELSE
        RETURN QUERY SELECT w.word, 1::bigint FROM unnest(words) AS w (word);
    END IF;
END
$$;

-- The marks in the nodes that the caller may read, without their first character: '@' for speakers in lower case, '#'
-- for languages.
CREATE OR REPLACE FUNCTION neurigraph_private.marked(asking jsonb, mark text) RETURNS text []
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF asking ->> 'role' = 'user' THEN
        RETURN ARRAY(
            SELECT substr(u.lexeme, 2) FROM neurigraph.user_lexemes AS u
            WHERE u.user_id = (asking ->> 'user_id')::uuid AND u.lexeme >= mark AND u.lexeme < chr(ascii(mark) + 1)
        );
    END IF;
    RETURN ARRAY(
        SELECT DISTINCT substr(n.lexeme, 2) FROM neurigraph.node_lexemes AS n
        WHERE n.user_id = (asking ->> 'user_id')::uuid AND n.lexeme >= mark AND n.lexeme < chr(ascii(mark) + 1)
            AND n.node_id IN (SELECT v.node_id FROM neurigraph.visible_nodes(asking) AS v)
            AND (SELECT neurigraph_private.counts_are_visible(asking))
    );
END
$$;

REVOKE ALL ON FUNCTION neurigraph.follow_passages() FROM PUBLIC;
