-- Each anchor searched in isolation: statements with one arm for each node, whose schema is quoted and whose id the
-- asker may see. What is compared is bound, never part of the text.

-- The conditions on a record that the question states, as text, for a node of that DDL. What they leave out has no part
-- in the ranking at all.
DROP FUNCTION IF EXISTS neurigraph_private.record_filter(jsonb);
CREATE OR REPLACE FUNCTION neurigraph_private.record_filter(question jsonb, ddl_version integer) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT concat_ws(
        ' AND ',
        'true',
        CASE WHEN question ->> 'at' IS NOT NULL
            THEN format('r.created_at <= %L::timestamptz', question ->> 'at') END,
        CASE WHEN question ->> 'occurred_after' IS NOT NULL
            THEN format('r.occurred_at >= %L::timestamptz', question ->> 'occurred_after') END,
        CASE WHEN question ->> 'occurred_before' IS NOT NULL
            THEN format('r.occurred_at < %L::timestamptz', question ->> 'occurred_before') END,
        CASE WHEN jsonb_array_length(question -> 'source_kinds') > 0
            THEN format('r.source_kind = ANY(%L::neurigraph.source_kind [])',
                ARRAY(SELECT jsonb_array_elements_text(question -> 'source_kinds'))) END,
        CASE WHEN jsonb_array_length(question -> 'hidden_sources') > 0
            THEN format('r.source_id <> ALL(%L::uuid [])',
                ARRAY(SELECT jsonb_array_elements_text(question -> 'hidden_sources'))) END
    )
$$;

-- The conditions on a record that is shown, as text, for a node of that DDL: what they leave out is ranked beside the
-- rest, so nothing belongs here that whoever asks may not know of, and nothing that leaves out much.
CREATE OR REPLACE FUNCTION neurigraph_private.shown_filter(question jsonb, ddl_version integer) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    -- Records that others took the place of; a node of an older DDL has none.
    SELECT CASE
        WHEN ddl_version < 6 OR question ->> 'include_superseded' = 'true' THEN 'true'
        WHEN question ->> 'at' IS NOT NULL THEN format('NOT r.superseded @> %L::timestamptz', question ->> 'at')
        ELSE 'r.superseded_by IS NULL'
    END
$$;

-- Of nodes whose vectors have an index: the passages that are nearest by either vector, and where the rare lexemes of
-- the question occur, with their places in it and how often.
CREATE OR REPLACE FUNCTION neurigraph_private.candidates_in(
    anchors neurigraph_private.anchor [], question jsonb, rare text [], passage_embedding halfvec
) RETURNS TABLE (anchor integer, record_id uuid, seq integer, place integer, frequency real)
LANGUAGE plpgsql STABLE ROWS 500 AS $$
DECLARE
    arms text;
BEGIN
    SELECT string_agg(format(
        'SELECT %1$s, p.record_id, p.seq, l.place::integer, p.frequencies[array_position(p.lexemes, l.lexeme)]::real'
        ' FROM unnest($2) WITH ORDINALITY AS l (lexeme, place)'
        ' INNER JOIN %2$I.passages AS p ON p.lexemes @> ARRAY[l.lexeme] %3$s'
        || CASE WHEN passage_embedding IS NOT NULL THEN
            ' UNION ALL (SELECT %1$s, p.record_id, p.seq, NULL, NULL FROM %2$I.passages AS p %3$s'
            ' WHERE $4 IS NULL OR lower(p.author) = $4'
            ' ORDER BY neurigraph_private.distance(p.embedding, $1) LIMIT $3)'
            ' UNION ALL (SELECT %1$s, p.record_id, p.seq, NULL, NULL FROM %2$I.passages AS p %3$s'
            ' WHERE $4 IS NULL OR lower(p.author) = $4'
            ' ORDER BY neurigraph_private.distance(p.window_embedding, $1) LIMIT $3)'
        ELSE '' END,
        a.place, a.schema_name,
        CASE w.filter WHEN 'true' THEN '' ELSE format(
            'INNER JOIN %I.metadata_records AS r ON p.record_id = r.record_id AND %s', a.schema_name, w.filter
        ) END
    ), ' UNION ALL ') INTO arms
    FROM unnest(anchors) WITH ORDINALITY
        AS a (node_id, schema_name, reason, score, boost, passages, is_indexed, ddl_version, place)
    CROSS JOIN LATERAL neurigraph_private.record_filter(question, a.ddl_version) AS w (filter)
    WHERE a.is_indexed;
    IF arms IS NOT NULL THEN
        RETURN QUERY EXECUTE arms
        USING passage_embedding, rare, (question ->> 'candidates')::integer, lower(question ->> 'speaker');
    END IF;
END
$$;

-- The likeness of a vector to the one bound to $1, as text. While a user moves from one model to another, a vector is
-- compared only with one of its own model, bound to $3, and may lie in place or beside.
CREATE OR REPLACE FUNCTION neurigraph_private.likeness(column_name text, is_moving boolean, ddl_version integer)
RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN NOT is_moving THEN format('-neurigraph_private.distance(%s, $1)', column_name)
        ELSE format('CASE WHEN r.embedding_model = $3 THEN -neurigraph_private.distance(%s, $1)', column_name)
            || CASE WHEN ddl_version >= 2 THEN format(
                ' WHEN r.embedding_next_model = $3 THEN -neurigraph_private.distance(%s_next, $1)', column_name
            ) ELSE '' END
            || ' END'
    END
$$;

-- The passages that are ranked, with their own and their window's likeness to the question, and with their lexemes
-- where one of the question's is among them: all of a node that is searched exactly, else the candidates. Neighbours
-- of candidates come with them, for what their windows say, and are not eligible. Of many, those are left out early
-- that can not come to the top: without a word of the question in their window, and not among the best by all else.
CREATE OR REPLACE FUNCTION neurigraph_private.passages_in(
    anchors neurigraph_private.anchor [], question jsonb, asked_lexemes text [], passage_embedding halfvec,
    at_anchors integer [], at_records uuid [], at_seqs integer [], are_eligible boolean []
) RETURNS TABLE (
    record_id uuid, seq integer, first_message integer, window_length real, lexemes text [], frequencies smallint [],
    is_eligible boolean, is_asked boolean, is_user boolean, dense double precision, window_dense double precision
)
LANGUAGE plpgsql STABLE ROWS 2000 AS $$
DECLARE
    arms text;
    weights jsonb := question -> 'weights';
    is_moving boolean := question ->> 'is_moving';
BEGIN
    SELECT string_agg(format(
        'SELECT p.record_id, p.seq, p.first_message, %3$s,'
        ' CASE WHEN p.lexemes && $4 THEN p.lexemes END, p.frequencies,'
        ' %4$s ($2 IS NULL OR lower(p.author) = $2),'
        ' coalesce(lower(p.author) = ANY($5) OR %5$s = $6, false), coalesce(%5$s = ''user'', false), %6$s, %7$s'
        ' FROM %2$I.passages AS p %8$s %9$s',
        a.place,
        a.schema_name,
        CASE WHEN a.ddl_version >= 4 THEN 'coalesce(p.window_length, 3.25 * p.lexeme_count)::real'
            ELSE '(3.25 * p.lexeme_count)::real' END,
        CASE WHEN a.is_indexed THEN 'k.is_eligible AND' END,
        CASE WHEN a.ddl_version >= 4 THEN 'p.role' ELSE 'NULL::neurigraph.message_role' END,
        neurigraph_private.likeness('p.embedding', is_moving, a.ddl_version),
        neurigraph_private.likeness('p.window_embedding', is_moving, a.ddl_version),
        CASE WHEN is_moving OR w.filter <> 'true' THEN format(
            'INNER JOIN %I.metadata_records AS r ON p.record_id = r.record_id AND %s', a.schema_name, w.filter
        ) END,
        CASE WHEN a.is_indexed THEN format(
            'INNER JOIN unnest($7, $8, $9, $10) AS k (anchor, record_id, seq, is_eligible)'
            ' ON k.anchor = %s AND p.record_id = k.record_id AND p.seq = k.seq', a.place
        ) END
    ), ' UNION ALL ') INTO arms
    FROM unnest(anchors) WITH ORDINALITY
        AS a (node_id, schema_name, reason, score, boost, passages, is_indexed, ddl_version, place)
    CROSS JOIN LATERAL neurigraph_private.record_filter(question, a.ddl_version) AS w (filter);
    IF (SELECT sum(a.passages) FROM unnest(anchors) AS a WHERE NOT a.is_indexed) > 1500 THEN
        arms := format(
            'WITH p (record_id, seq, first_message, window_length, lexemes, frequencies, is_eligible, is_asked,'
            ' is_user, dense, window_dense) AS MATERIALIZED (%s), '
            'x AS MATERIALIZED (SELECT greatest(max(p.dense), 0.3) AS dense,'
            ' greatest(max(p.window_dense), 0.3) AS window_dense FROM p WHERE p.is_eligible) '
            'SELECT p.* FROM p WHERE (p.record_id, p.seq) IN ('
            '    SELECT o.record_id, o.seq + d.step FROM p AS o CROSS JOIN generate_series(-2, 3) AS d (step)'
            '    WHERE o.lexemes IS NOT NULL'
            '    UNION ALL'
            '    (SELECT b.record_id, b.seq FROM p AS b CROSS JOIN x WHERE b.is_eligible ORDER BY'
            '    coalesce($11 * b.dense / x.dense, 0) + coalesce($12 * b.window_dense / x.window_dense, 0)'
            '    + CASE WHEN b.is_asked THEN $13 ELSE 0 END + CASE WHEN b.is_user THEN $14 ELSE 0 END DESC LIMIT $15)'
            ')', arms
        );
    END IF;
    RETURN QUERY EXECUTE arms USING
        passage_embedding, lower(question ->> 'speaker'), question ->> 'model', asked_lexemes,
        ARRAY(SELECT jsonb_array_elements_text(question -> 'asked_speakers')),
        (question ->> 'asked_role')::neurigraph.message_role, at_anchors, at_records, at_seqs, are_eligible,
        (weights ->> 'dense')::double precision, (weights ->> 'window_dense')::double precision,
        (weights ->> 'speaker')::double precision, (weights ->> 'user')::double precision,
        -- A time that is named lifts whole records, whatever they say.
        (question ->> 'message_limit')::integer
        + (question ->> 'candidates')::integer
        * CASE jsonb_array_length(question -> 'periods') WHEN 0 THEN 1 ELSE 5 END;
END
$$;

-- The records that are ranked, with the likeness of their summaries: those of the candidates and those whose summaries
-- have words of the question; without candidates all, but of a node that is searched by its indexes.
CREATE OR REPLACE FUNCTION neurigraph_private.records_in(
    anchors neurigraph_private.anchor [], question jsonb, embedding vector, candidates uuid []
) RETURNS TABLE (
    anchor integer, record_id uuid, occurred_at timestamptz, source_id uuid, dense double precision, lexical real
)
LANGUAGE plpgsql STABLE ROWS 500 AS $$
DECLARE
    arms text;
    is_moving boolean := question ->> 'is_moving';
    words tsquery;
BEGIN
    SELECT string_agg(w.word::text, ' | ')::tsquery INTO words
    FROM jsonb_array_elements_text(question -> 'lexemes') AS l (lexeme)
    CROSS JOIN LATERAL plainto_tsquery('simple', l.lexeme) AS w (word)
    WHERE numnode(w.word) > 0;
    SELECT string_agg(format(
        'SELECT %1$s, r.record_id, r.occurred_at, r.source_id, '
        '%4$s, ts_rank(r.tsv, $2, 1) FROM %2$I.metadata_records AS r WHERE %3$s AND %5$s'
        || CASE WHEN a.is_indexed OR candidates IS NOT NULL THEN ' AND (r.record_id = ANY($4) OR r.tsv @@ $2)' ELSE '' END,
        a.place, a.schema_name, w.filter, neurigraph_private.likeness('r.embedding', true, a.ddl_version),
        neurigraph_private.shown_filter(question, a.ddl_version)
    ), ' UNION ALL ') INTO arms
    FROM unnest(anchors) WITH ORDINALITY
        AS a (node_id, schema_name, reason, score, boost, passages, is_indexed, ddl_version, place)
    CROSS JOIN LATERAL neurigraph_private.record_filter(question, a.ddl_version) AS w (filter);
    RETURN QUERY EXECUTE arms USING embedding, words, question ->> 'model', candidates;
END
$$;

-- What is shown of the best records.
CREATE OR REPLACE FUNCTION neurigraph_private.details_of(
    anchors neurigraph_private.anchor [], at_anchors integer [], records uuid []
) RETURNS TABLE (record_id uuid, detail jsonb)
LANGUAGE plpgsql STABLE ROWS 10 AS $$
DECLARE
    arms text;
BEGIN
    SELECT string_agg(format(
        $arm$SELECT r.record_id, jsonb_build_object(
            'title', r.title, 'summary', r.summary, 'content_type', r.content_type, 'source_kind', r.source_kind,
            'file_id', f.file_id, 'file_state', f.compression_state
        )
        FROM %1$I.metadata_records AS r
        LEFT JOIN %1$I.file_manifest AS f ON r.record_id = f.record_id AND r.file_pointer = f.storage_path
        WHERE r.record_id = ANY(%2$L::uuid [])$arm$,
        (anchors[n.anchor]).schema_name, n.records
    ), ' UNION ALL ') INTO arms
    FROM (
        SELECT h.anchor, array_agg(h.record_id) AS records
        FROM unnest(at_anchors, records) AS h (anchor, record_id) GROUP BY h.anchor
    ) AS n;
    IF arms IS NOT NULL THEN
        RETURN QUERY EXECUTE arms;
    END IF;
END
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA neurigraph_private FROM PUBLIC;
