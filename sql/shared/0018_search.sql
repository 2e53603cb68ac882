-- Phase one: what the arms found, ranked, and the one call that a face makes.

-- BM25 (Robertson and Zaragoza, 2009; k1 = 1.2, b = 0.75) of each passage, of its window (itself and its neighbours,
-- credited to the passage) and of its record, with the statistics of the user's whole corpus; cosine of passage and
-- window. Signals are scaled to 0..1 over what is ranked and mixed with the weights that the question brings. What has
-- no vector has no part in the scale of those that have one, and counts as the farthest.
CREATE FUNCTION neurigraph_private.rank(
    owner uuid, anchors neurigraph_private.anchor [], question jsonb, embedding vector, passage_embedding halfvec
) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
DECLARE
    lexemes text [] := ARRAY(SELECT jsonb_array_elements_text(question -> 'lexemes'));
    weights jsonb := question -> 'weights';
    lexical_weight double precision := weights ->> 'lexical';
    window_lexical_weight double precision := weights ->> 'window_lexical';
    session_lexical_weight double precision := weights ->> 'session_lexical';
    dense_weight double precision := weights ->> 'dense';
    window_dense_weight double precision := weights ->> 'window_dense';
    best_passage_weight double precision := weights ->> 'best_passage';
    summary_dense_weight double precision := weights ->> 'summary_dense';
    summary_lexical_weight double precision := weights ->> 'summary_lexical';
    name_boost double precision := weights ->> 'name';
    period_factor double precision := weights ->> 'period';
    wanted integer := question ->> 'limit';
    wanted_messages integer := question ->> 'message_limit';
    by_speaker boolean := question ->> 'speaker' IS NOT NULL;
    rare text [];
    at_anchors integer [];
    at_records uuid [];
    at_seqs integer [];
    are_eligible boolean [];
    answer jsonb;
BEGIN
    IF true = ANY(ARRAY(SELECT a.is_indexed FROM unnest(anchors) AS a)) THEN
        SELECT array_agg(r.lexeme) INTO rare
        FROM (
            SELECT a.lexeme, sum(a.passages) OVER (ORDER BY a.passages, a.place) - a.passages AS before
            FROM neurigraph_private.rarities(owner, lexemes) AS a
        ) AS r
        WHERE r.before < 1000;
        SELECT array_agg(k.anchor), array_agg(k.record_id), array_agg(k.seq), array_agg(k.is_eligible)
        INTO at_anchors, at_records, at_seqs, are_eligible
        FROM (
            SELECT c.anchor, c.record_id, c.seq + d.step AS seq, bool_or(d.step = 0) AS is_eligible
            FROM neurigraph_private.candidates_in(anchors, question, rare, passage_embedding) AS c
            CROSS JOIN (VALUES (-1), (0), (1)) AS d (step)
            GROUP BY c.anchor, c.record_id, c.seq + d.step
        ) AS k;
    END IF;

    WITH occurrences AS MATERIALIZED (
        SELECT o.* FROM neurigraph_private.occurrences_in(anchors, lexemes, at_anchors, at_records, at_seqs) AS o
    ),

    passages AS MATERIALIZED (
        SELECT p.* FROM neurigraph_private.passages_in(
            anchors, question, passage_embedding, at_anchors, at_records, at_seqs, are_eligible
        ) AS p
    ),

    records AS MATERIALIZED (
        SELECT
            r.*,
            a.node_id,
            a.boost * name_boost AS boost,
            CASE
                WHEN EXISTS (
                    SELECT FROM jsonb_array_elements(question -> 'periods') AS t (period)
                    WHERE r.occurred_at >= (t.period ->> 0)::timestamptz
                        AND r.occurred_at < (t.period ->> 1)::timestamptz
                ) THEN period_factor ELSE 1
            END AS factor
        FROM neurigraph_private.records_in(anchors, question, embedding, at_records) AS r
        INNER JOIN unnest(anchors) WITH ORDINALITY
            AS a (node_id, schema_name, reason, score, boost, is_indexed, has_next, place) ON r.anchor = a.place
    ),

    rarity AS MATERIALIZED (
        SELECT a.place, a.weight FROM neurigraph_private.rarities(owner, lexemes) AS a
    ),

    corpus AS MATERIALIZED (
        SELECT
            greatest(s.lexemes::double precision / greatest(s.passages, 1), 1) AS mean_length,
            greatest(s.lexemes::double precision / greatest(s.records, 1), 1) AS mean_record_length
        FROM neurigraph.user_statistics AS s
        WHERE s.user_id = owner
    ),

    neighbourhoods AS (
        SELECT
            o.record_id,
            o.seq + d.step AS seq,
            o.place,
            sum(o.frequency) AS window_frequency,
            coalesce(sum(o.frequency) FILTER (WHERE d.step = 0), 0) AS frequency
        FROM occurrences AS o
        CROSS JOIN (VALUES (-1), (0), (1)) AS d (step)
        GROUP BY o.record_id, o.seq + d.step, o.place
    ),

    lengths AS (
        SELECT
            p.record_id,
            p.seq,
            p.lexeme_count AS own,
            p.lexeme_count
            + coalesce(lag(p.lexeme_count) OVER in_record, 0)
            + coalesce(lead(p.lexeme_count) OVER in_record, 0) AS around
        FROM passages AS p
        WINDOW in_record AS (PARTITION BY p.record_id ORDER BY p.seq)
    ),

    lexical AS (
        SELECT
            n.record_id,
            n.seq,
            sum(
                w.weight * n.frequency * 2.2 / (n.frequency + 1.2 * (0.25 + 0.75 * l.own / c.mean_length))
            ) AS own,
            sum(
                w.weight * n.window_frequency * 2.2
                / (n.window_frequency + 1.2 * (0.25 + 0.75 * l.around / (3 * c.mean_length)))
            ) AS around
        FROM neighbourhoods AS n
        INNER JOIN rarity AS w ON n.place = w.place
        INNER JOIN lengths AS l ON n.record_id = l.record_id AND n.seq = l.seq
        CROSS JOIN corpus AS c
        GROUP BY n.record_id, n.seq
    ),

    session_lexical AS (
        SELECT
            s.record_id,
            sum(
                w.weight * s.frequency * 2.2
                / (s.frequency + 1.2 * (0.25 + 0.75 * i.lexeme_count / c.mean_record_length))
            ) AS score
        FROM (
            SELECT o.record_id, o.place, sum(o.frequency) AS frequency
            FROM occurrences AS o GROUP BY o.record_id, o.place
        ) AS s
        INNER JOIN rarity AS w ON s.place = w.place
        INNER JOIN neurigraph.record_index AS i ON s.record_id = i.record_id
        CROSS JOIN corpus AS c
        GROUP BY s.record_id
    ),

    signals AS MATERIALIZED (
        SELECT
            p.record_id,
            p.seq,
            p.first_message,
            coalesce(l.own, 0) AS lexical,
            coalesce(l.around, 0) AS window_lexical,
            coalesce(s.score, 0) AS session_lexical,
            p.dense,
            p.window_dense
        FROM passages AS p
        LEFT JOIN lexical AS l ON p.record_id = l.record_id AND p.seq = l.seq
        LEFT JOIN session_lexical AS s ON p.record_id = s.record_id
        WHERE p.is_eligible
    ),

    scale AS MATERIALIZED (
        SELECT
            nullif(max(g.lexical), 0) AS lexical,
            nullif(max(g.window_lexical), 0) AS window_lexical,
            nullif(max(g.session_lexical), 0) AS session_lexical,
            min(g.dense) AS dense_floor,
            nullif(max(g.dense) - min(g.dense), 0) AS dense,
            min(g.window_dense) AS window_dense_floor,
            nullif(max(g.window_dense) - min(g.window_dense), 0) AS window_dense
        FROM signals AS g
    ),

    scaled AS MATERIALIZED (
        SELECT
            g.*,
            r.factor * (
                lexical_weight * g.lexical + window_lexical_weight * g.window_lexical
                + session_lexical_weight * g.session_lexical + dense_weight * g.dense
                + window_dense_weight * g.window_dense
            ) AS score
        FROM (
            SELECT
                i.record_id,
                i.seq,
                i.first_message,
                coalesce(i.lexical / x.lexical, 0) AS lexical,
                coalesce(i.window_lexical / x.window_lexical, 0) AS window_lexical,
                coalesce(i.session_lexical / x.session_lexical, 0) AS session_lexical,
                coalesce((i.dense - x.dense_floor) / x.dense, 0) AS dense,
                coalesce((i.window_dense - x.window_dense_floor) / x.window_dense, 0) AS window_dense
            FROM signals AS i CROSS JOIN scale AS x
        ) AS g
        INNER JOIN records AS r ON g.record_id = r.record_id
    ),

    -- The best passage of each message; of equals the first.
    best_messages AS MATERIALIZED (
        SELECT m.record_id, m.first_message, -(m.best[2])::integer AS seq
        FROM (
            SELECT s.record_id, s.first_message, max(ARRAY[s.score, -s.seq]) AS best
            FROM scaled AS s
            GROUP BY s.record_id, s.first_message
        ) AS m
        ORDER BY m.best[1] DESC, m.record_id, m.first_message
        LIMIT wanted_messages
    ),

    ranked_records AS (
        SELECT
            r.*,
            b.best,
            best_passage_weight * coalesce(b.best, 0)
            + r.factor * (
                summary_dense_weight * coalesce(
                    (r.dense - min(r.dense) OVER ()) / nullif(max(r.dense) OVER () - min(r.dense) OVER (), 0), 0
                )
                + summary_lexical_weight * coalesce(r.lexical / nullif(max(r.lexical) OVER (), 0), 0)
            )
            + r.boost AS score
        FROM records AS r
        LEFT JOIN (
            SELECT s.record_id, max(s.score) AS best FROM scaled AS s GROUP BY s.record_id
        ) AS b ON r.record_id = b.record_id
        WHERE NOT by_speaker OR b.best IS NOT NULL
    ),

    best_records AS MATERIALIZED (
        SELECT k.* FROM ranked_records AS k
        ORDER BY k.score DESC, k.occurred_at DESC, k.record_id
        LIMIT wanted
    )

    SELECT jsonb_build_object(
        'hits', (
            SELECT jsonb_agg(d.detail || jsonb_build_object(
                'record_id', k.record_id,
                'node_id', k.node_id,
                'occurred_at', k.occurred_at,
                'source_id', k.source_id,
                'source_external_id', s.external_id,
                'score', k.score,
                'passage', k.best,
                'boost', k.boost,
                'summary_dense', k.dense,
                'summary_lexical', k.lexical
            ) ORDER BY k.score DESC, k.occurred_at DESC, k.record_id)
            FROM best_records AS k
            INNER JOIN neurigraph_private.details_of(
                anchors, ARRAY(SELECT b.anchor FROM best_records AS b), ARRAY(SELECT b.record_id FROM best_records AS b)
            ) AS d ON k.record_id = d.record_id
            LEFT JOIN neurigraph.sources AS s ON k.source_id = s.source_id
        ),
        'messages', (
            SELECT jsonb_agg(jsonb_build_object(
                'record_id', b.record_id,
                'external_id', i.external_id,
                'seq', b.first_message,
                'passage', b.seq,
                'score', s.score,
                'lexical', s.lexical,
                'window_lexical', s.window_lexical,
                'session_lexical', s.session_lexical,
                'dense', s.dense,
                'window_dense', s.window_dense
            ) ORDER BY s.score DESC, b.record_id, b.first_message)
            FROM best_messages AS b
            INNER JOIN scaled AS s ON b.record_id = s.record_id AND b.seq = s.seq
            INNER JOIN records AS r ON b.record_id = r.record_id
            LEFT JOIN neurigraph.messages AS i ON r.source_id = i.source_id AND b.first_message = i.seq
        )
    ) INTO answer;
    RETURN answer;
END
$$;

-- The targets, their neighbours and their neighbours' neighbours, then stop: nothing beyond two edges is staged. Says
-- how many are staged; opens no file, and expires by itself. One that was staged a moment ago is not written again.
CREATE FUNCTION neurigraph_private.stage(asking jsonb, targets uuid [], seconds double precision) RETURNS bigint
LANGUAGE sql AS $$
    WITH first AS (
        SELECT t.node_id FROM unnest(targets) AS t (node_id)
        UNION
        SELECT e.to_node_id FROM neurigraph.node_edges AS e WHERE e.from_node_id = ANY(targets)
        UNION
        SELECT e.from_node_id FROM neurigraph.node_edges AS e WHERE e.to_node_id = ANY(targets)
    ),

    second AS (
        SELECT f.node_id FROM first AS f
        UNION
        SELECT e.to_node_id FROM first AS f INNER JOIN neurigraph.node_edges AS e ON f.node_id = e.from_node_id
        UNION
        SELECT e.from_node_id FROM first AS f INNER JOIN neurigraph.node_edges AS e ON f.node_id = e.to_node_id
    ),

    reached AS MATERIALIZED (
        SELECT g.user_id, g.node_id
        FROM second AS s INNER JOIN neurigraph.visible_nodes(asking) AS g ON s.node_id = g.node_id
    ),

    staged AS (
        INSERT INTO neurigraph.warm_nodes AS w (user_id, node_id, expires_at)
        SELECT r.user_id, r.node_id, now() + make_interval(secs => seconds)
        FROM reached AS r
        WHERE NOT EXISTS (
            SELECT FROM neurigraph.warm_nodes AS k
            WHERE k.user_id = r.user_id AND k.node_id = r.node_id
                AND k.expires_at > now() + make_interval(secs => 0.9 * seconds)
        )
        ORDER BY r.node_id
        ON CONFLICT (user_id, node_id) DO UPDATE SET expires_at = excluded.expires_at
    )

    SELECT count(*) FROM reached
$$;

-- Phase one in one call. Null where the claims open nothing, or the node to search below is not there for whoever asks.
CREATE FUNCTION neurigraph.search(question jsonb, embedding vector, passage_embedding halfvec) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
-- The text of the nodes' own statements differs each time; all others are planned once a connection.
SET plan_cache_mode = 'force_generic_plan' AS $$
DECLARE
    asking jsonb := neurigraph.claims();
    owner uuid := asking ->> 'user_id';
    in_use record;
    anchors neurigraph_private.anchor [];
    found bigint;
    targets uuid [];
    answer jsonb := '{"hits": null, "messages": null}';
BEGIN
    SELECT u.embedding_model AS model, u.embedding_next_model AS next INTO in_use
    FROM neurigraph.users AS u WHERE u.user_id = owner;
    -- Vectors of two models are never compared.
    IF in_use.model IS DISTINCT FROM question ->> 'model' THEN
        embedding := NULL;
        passage_embedding := NULL;
    END IF;
    question := question || jsonb_build_object('is_moving', in_use.next IS NOT NULL);
    SELECT a.chosen, a.visible INTO anchors, found
    FROM neurigraph_private.anchors_of(asking, question, embedding) AS a;
    IF found = 0 THEN
        RETURN NULL;
    END IF;
    IF anchors IS NOT NULL THEN
        answer := neurigraph_private.rank(owner, anchors, question, embedding, passage_embedding);
    END IF;
    targets := ARRAY(
        SELECT t.node_id FROM (
            SELECT (h.hit ->> 'node_id')::uuid AS node_id, min(h.place) AS place
            FROM jsonb_array_elements(nullif(answer -> 'hits', 'null')) WITH ORDINALITY AS h (hit, place)
            GROUP BY 1
        ) AS t
        ORDER BY t.place
    );
    answer := answer || jsonb_build_object(
        'model', in_use.model,
        'anchors', (
            SELECT jsonb_agg(
                jsonb_build_object('node_id', a.node_id, 'reason', a.reason, 'score', a.score) ORDER BY a.place
            )
            FROM unnest(anchors) WITH ORDINALITY
                AS a (node_id, schema_name, reason, score, boost, is_indexed, has_next, place)
            WHERE a.place <= (question ->> 'anchors_shown')::integer
        ),
        'paths', (
            SELECT jsonb_object_agg(n.node_id, n.names)
            FROM (
                SELECT g.node_id, jsonb_agg(a.node_name ORDER BY a.layer_depth) AS names
                FROM neurigraph.visible_nodes(asking) AS g
                INNER JOIN neurigraph.graph_index AS a ON a.node_id = ANY(g.path)
                WHERE g.node_id = ANY(targets || ARRAY(
                    SELECT (anchors[i]).node_id
                    FROM generate_series(1, (question ->> 'anchors_shown')::integer) AS s (i)
                ))
                GROUP BY g.node_id
            ) AS n
        ),
        'warmed', neurigraph_private.stage(
            asking, targets[1:(question ->> 'nodes_warmed')::integer], (question ->> 'warm_seconds')::double precision
        )
    );
    -- Once a minute is often enough for a clock of days. A node that is being written to is passed over: its writer
    -- moves the clock itself, and a question neither waits for it nor stands in its way.
    UPDATE neurigraph.graph_index AS g SET last_accessed_at = now()
    FROM (
        SELECT i.node_id FROM neurigraph.graph_index AS i
        WHERE i.node_id = ANY(targets[1:(question ->> 'nodes_warmed')::integer])
            AND i.last_accessed_at < now() - interval '1 minute'
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS idle
    WHERE g.node_id = idle.node_id;
    -- What a question leaves behind may be lost with the power.
    PERFORM set_config('synchronous_commit', 'off', true);
    RETURN answer;
END
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA neurigraph_private FROM PUBLIC;
REVOKE ALL ON FUNCTION neurigraph.search(jsonb, vector, halfvec) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.search(jsonb, vector, halfvec) TO neurigraph_agent;
