-- What lexical search must know of the whole corpus of a user: how many passages there are, how long, and in how many
-- of them, and in which nodes, each lexeme occurs. Kept by triggers of the nodes' passages, so that every writer, mover
-- and eraser keeps it right. It says what was talked about: no face may read it but through the search itself.

-- The row is also what writers of one user's statistics take turns by; taken before any lexeme's row.
CREATE TABLE neurigraph.user_statistics (
    user_id uuid PRIMARY KEY REFERENCES neurigraph.users ON DELETE CASCADE,
    records bigint NOT NULL CHECK (records >= 0),
    passages bigint NOT NULL CHECK (passages >= 0),
    lexemes bigint NOT NULL CHECK (lexemes >= 0)
);

CREATE TABLE neurigraph.node_statistics (
    node_id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    passages bigint NOT NULL DEFAULT 0 CHECK (passages >= 0),
    lexemes bigint NOT NULL DEFAULT 0 CHECK (lexemes >= 0),
    -- How its vectors are searched: null exactly, else the method of the index that maintenance built.
    vector_index text CHECK (vector_index IN ('hnsw', 'ivfflat')),
    FOREIGN KEY (node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE
);
CREATE INDEX node_statistics_user_id ON neurigraph.node_statistics (user_id);

-- In how many passages of a user a lexeme occurs. A speaker counts as one: `@` and the name in lower case, which no
-- lexeme of a text can be.
CREATE TABLE neurigraph.user_lexemes (
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    lexeme text COLLATE "C" NOT NULL,
    passages bigint NOT NULL CHECK (passages >= 0),
    PRIMARY KEY (user_id, lexeme)
);

-- The same of each node. No foreign key, for the price of each row; the rows go with those of node_statistics.
CREATE TABLE neurigraph.node_lexemes (
    user_id uuid NOT NULL,
    lexeme text COLLATE "C" NOT NULL,
    node_id uuid NOT NULL,
    passages integer NOT NULL CHECK (passages >= 0),
    PRIMARY KEY (user_id, lexeme, node_id)
);
CREATE INDEX node_lexemes_node_id ON neurigraph.node_lexemes (node_id);

DO $$
DECLARE
    guarded text;
BEGIN
    FOREACH guarded IN ARRAY ARRAY['user_statistics', 'node_statistics', 'user_lexemes', 'node_lexemes'] LOOP
        EXECUTE format('ALTER TABLE neurigraph.%I ENABLE ROW LEVEL SECURITY', guarded);
        EXECUTE format('CREATE POLICY pipeline_all ON neurigraph.%I TO neurigraph_pipeline USING (true)', guarded);
        EXECUTE format(
            'CREATE POLICY own_rows ON neurigraph.%I TO neurigraph_agent '
            'USING (user_id = (SELECT neurigraph.asking_user_id()))', guarded
        );
        EXECUTE format('GRANT SELECT ON neurigraph.%I TO neurigraph_pipeline', guarded);
    END LOOP;
END
$$;

CREATE FUNCTION neurigraph_private.speaker_lexeme(author text) RETURNS text []
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN author IS NULL THEN '{}' ELSE ARRAY['@' || lower(author)] END
$$;

-- Add a node's passages to the statistics, or take them away. Each lexeme comes once, with its number of passages.
CREATE FUNCTION neurigraph_private.add_to_statistics(
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

CREATE FUNCTION neurigraph_private.take_from_lexemes(owner uuid, words text [], counts bigint []) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    UPDATE neurigraph.user_lexemes AS u SET passages = u.passages + c.passages
    FROM unnest(words, counts) AS c (lexeme, passages)
    WHERE u.user_id = owner AND u.lexeme = c.lexeme;
    DELETE FROM neurigraph.user_lexemes AS u
    WHERE u.user_id = owner AND u.lexeme = ANY(words) AND u.passages = 0;
$$;

-- On every node's passages, once a statement. Arguments of the trigger: node_id and user_id.
CREATE FUNCTION neurigraph.count_passages() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    sign integer := CASE TG_OP WHEN 'DELETE' THEN -1 ELSE 1 END;
    totals record;
    words text [];
    counts integer [];
BEGIN
    SELECT count(*) AS passages, coalesce(sum(c.lexeme_count), 0)::bigint AS lexemes INTO totals FROM changed AS c;
    IF totals.passages = 0 THEN
        RETURN NULL;
    END IF;
    SELECT array_agg(n.lexeme), array_agg(n.passages) INTO words, counts
    FROM (
        SELECT l.lexeme, (sign * count(*))::integer AS passages
        FROM changed AS c
        CROSS JOIN LATERAL unnest(c.lexemes || neurigraph_private.speaker_lexeme(c.author)) AS l (lexeme)
        GROUP BY l.lexeme
    ) AS n;
    PERFORM neurigraph_private.add_to_statistics(
        TG_ARGV[0]::uuid, TG_ARGV[1]::uuid, sign * totals.passages, sign * totals.lexemes, words, counts
    );
    RETURN NULL;
END
$$;

-- What is counted does not change under the counter: whoever tokenises anew deletes the passages and inserts others.
CREATE FUNCTION neurigraph.refuse_recount() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE object_not_in_prerequisite_state
    USING MESSAGE = 'the lexemes of a passage do not change: delete the passage and insert another';
END
$$;

-- Passages of a node that was made before it counted, when it is brought up to date; nothing is counted twice.
CREATE FUNCTION neurigraph_private.recount_node(node uuid) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    counted neurigraph.graph_index;
    found record;
BEGIN
    SELECT * INTO STRICT counted FROM neurigraph.graph_index AS g WHERE g.node_id = node;
    DELETE FROM neurigraph.node_statistics AS s WHERE s.node_id = node;
    EXECUTE format(
        'SELECT'
        '    (SELECT count(*) FROM %1$I.passages AS p) AS passages,'
        '    (SELECT coalesce(sum(p.lexeme_count), 0)::bigint FROM %1$I.passages AS p) AS lexemes,'
        '    array_agg(n.lexeme) AS words, array_agg(n.passages) AS counts '
        'FROM ('
        '    SELECT l.lexeme, count(*)::integer AS passages FROM %1$I.passages AS p'
        '    CROSS JOIN LATERAL unnest(p.lexemes || neurigraph_private.speaker_lexeme(p.author)) AS l (lexeme)'
        '    GROUP BY l.lexeme'
        ') AS n', counted.schema_name
    ) INTO found;
    PERFORM neurigraph_private.add_to_statistics(
        node, counted.user_id, found.passages, found.lexemes, found.words, found.counts
    );
END
$$;

-- A node's share goes when its row goes, whether a node, a user or a count was dropped.
CREATE FUNCTION neurigraph_private.forget_statistics() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    gone record;
    words text [];
    counts bigint [];
BEGIN
    FOR gone IN SELECT d.user_id, sum(d.passages) AS passages, sum(d.lexemes) AS lexemes, array_agg(d.node_id) AS nodes
        FROM dropped AS d GROUP BY d.user_id
    LOOP
        UPDATE neurigraph.user_statistics AS s SET
            passages = s.passages - gone.passages, lexemes = s.lexemes - gone.lexemes
        WHERE s.user_id = gone.user_id;
        WITH taken AS (
            DELETE FROM neurigraph.node_lexemes AS n WHERE n.node_id = ANY(gone.nodes)
            RETURNING n.lexeme, n.passages
        )

        SELECT array_agg(t.lexeme), array_agg(t.passages) INTO words, counts
        FROM (SELECT n.lexeme, -sum(n.passages) AS passages FROM taken AS n GROUP BY n.lexeme) AS t;
        PERFORM neurigraph_private.take_from_lexemes(gone.user_id, words, counts);
    END LOOP;
    RETURN NULL;
END
$$;
CREATE TRIGGER forget_statistics AFTER DELETE ON neurigraph.node_statistics
REFERENCING OLD TABLE AS dropped FOR EACH STATEMENT EXECUTE FUNCTION neurigraph_private.forget_statistics();

CREATE FUNCTION neurigraph.count_records() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO neurigraph.user_statistics AS s (user_id, records, passages, lexemes)
    SELECT c.user_id, count(*), 0, 0 FROM changed AS c
    INNER JOIN neurigraph.users AS u ON c.user_id = u.user_id
    GROUP BY c.user_id
    ON CONFLICT (user_id) DO UPDATE SET
        records = s.records + CASE TG_OP WHEN 'DELETE' THEN -excluded.records ELSE excluded.records END;
    RETURN NULL;
END
$$;
CREATE TRIGGER count_added AFTER INSERT ON neurigraph.record_index
REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION neurigraph.count_records();
CREATE TRIGGER count_removed AFTER DELETE ON neurigraph.record_index
REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION neurigraph.count_records();

INSERT INTO neurigraph.user_statistics (user_id, records, passages, lexemes)
SELECT r.user_id, count(*), 0, 0 FROM neurigraph.record_index AS r GROUP BY r.user_id;

REVOKE ALL ON FUNCTION neurigraph.count_passages(), neurigraph.refuse_recount(), neurigraph.count_records() FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA neurigraph_private FROM PUBLIC;
