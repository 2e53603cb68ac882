-- The candidates of a node with vector indexes for one question. Candidates are not cached, and only passages that a
-- search may return are read.

-- The question's conditions on records, as text. Excluded records take no part in the ranking.
CREATE OR REPLACE FUNCTION neurigraph_private.record_filter(question jsonb) RETURNS text
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
                ARRAY(SELECT jsonb_array_elements_text(question -> 'source_kinds'))) END
    )
$$;

-- The passages that are nearest by either vector, and the passages whose windows have the greatest weight of the
-- question's rare lexemes, with the neighbours in their windows.
CREATE OR REPLACE FUNCTION neurigraph_private.candidates_of(
    schema_name text, shown text, question jsonb, rare text [], weights double precision [], embedding halfvec,
    OUT records uuid [], OUT seqs integer [], OUT are_eligible boolean []
)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    -- Iterative scans make a limit of k return k rows, however many rows the filters exclude (pgvector 0.8 and newer).
    PERFORM set_config('hnsw.ef_search', least((question ->> 'candidates')::integer, 1000)::text, true);
    IF current_setting('hnsw.iterative_scan', true) IS NOT NULL THEN
        PERFORM
            set_config('hnsw.iterative_scan', 'strict_order', true),
            set_config('ivfflat.iterative_scan', 'relaxed_order', true);
    END IF;
    EXECUTE format(
        $found$WITH occurrences AS MATERIALIZED (
            SELECT p.record_id, p.seq, l.place, p.frequencies[array_position(p.lexemes, l.lexeme)]::real AS frequency
            FROM unnest($2) WITH ORDINALITY AS l (lexeme, place)
            INNER JOIN %1$I.passages AS p ON p.lexemes @> ARRAY[l.lexeme] %2$s
        ),

        windows AS (
            SELECT o.record_id, o.seq - d.step AS seq, o.place, sum(d.weight * o.frequency) AS frequency
            FROM occurrences AS o CROSS JOIN unnest($6, $7) AS d (step, weight)
            GROUP BY o.record_id, o.seq - d.step, o.place
        ),

        eligible AS MATERIALIZED (
            (
                SELECT w.record_id, w.seq FROM windows AS w
                GROUP BY w.record_id, w.seq
                ORDER BY sum($3[w.place] * w.frequency / (w.frequency + 0.9)) DESC
                LIMIT 5 * $4
            )
            UNION
            (
                SELECT p.record_id, p.seq FROM %1$I.passages AS p %2$s
                WHERE $1 IS NOT NULL AND ($5 IS NULL OR lower(p.author) = $5)
                ORDER BY neurigraph_private.distance(p.embedding, $1) LIMIT $4
            )
            UNION
            (
                SELECT p.record_id, p.seq FROM %1$I.passages AS p %2$s
                WHERE $1 IS NOT NULL AND ($5 IS NULL OR lower(p.author) = $5)
                ORDER BY neurigraph_private.distance(p.window_embedding, $1) LIMIT $4
            )
        )

        SELECT array_agg(k.record_id), array_agg(k.seq), array_agg(k.is_eligible)
        FROM (
            SELECT e.record_id, e.seq + d.step AS seq, bool_or(d.step = 0) AS is_eligible
            FROM eligible AS e CROSS JOIN unnest($6, $7) AS d (step, weight)
            GROUP BY e.record_id, e.seq + d.step
        ) AS k$found$,
        schema_name,
        CASE shown WHEN 'true' THEN '' ELSE format(
            'INNER JOIN %I.metadata_records AS r ON p.record_id = r.record_id AND %s', schema_name, shown
        ) END
    ) INTO records, seqs, are_eligible
    USING
        embedding, rare, weights, (question ->> 'candidates')::integer, lower(question ->> 'speaker'),
        ARRAY(SELECT s.step::integer FROM jsonb_array_elements_text(question -> 'window_steps') AS s (step)),
        ARRAY(SELECT w.weight::double precision FROM jsonb_array_elements_text(question -> 'window_weights') AS w (weight));
END
$$;
