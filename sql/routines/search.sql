-- Phase one: what the arms found, ranked, and the one call that a face makes.

-- How much what is said so many passages from a passage counts in its window; window_length is counted with the same.
CREATE OR REPLACE FUNCTION neurigraph_private.window_weights() RETURNS TABLE (step integer, weight double precision)
LANGUAGE sql IMMUTABLE ROWS 6 AS $$
    VALUES (-3, 0.3::double precision), (-2, 0.5), (-1, 0.7), (0, 1), (1, 0.5), (2, 0.25)
$$;

-- A message's score is a mix of three signals, each scaled to 0..1 by the best of what is ranked: BM25 of its window
-- (Robertson and Zaragoza, 2009; k1 = 0.9, b = 0.75), in which what was said around it counts less with its distance,
-- and what was said before counts more than what came after, because an answer is found by its question; the cosine of
-- the message; and the cosine of its window. Added to that are bounded boosts, never filters: for who the question asks
-- about, for the user's own words, for the time that the question names. A record's score is a mix of its best message
-- and of its summary.
CREATE OR REPLACE FUNCTION neurigraph_private.rank(
    owner uuid, anchors neurigraph_private.anchor [], question jsonb, embedding vector, passage_embedding halfvec
) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
    lexemes text [] := ARRAY(SELECT jsonb_array_elements_text(question -> 'lexemes'));
    weights jsonb := question -> 'weights';
    lexical_weight double precision := weights ->> 'window_lexical';
    dense_weight double precision := weights ->> 'dense';
    window_dense_weight double precision := weights ->> 'window_dense';
    speaker_boost double precision := weights ->> 'speaker';
    user_boost double precision := weights ->> 'user';
    period_boost double precision := weights ->> 'period';
    best_passage_weight double precision := weights ->> 'best_passage';
    summary_dense_weight double precision := weights ->> 'summary_dense';
    summary_lexical_weight double precision := weights ->> 'summary_lexical';
    name_boost double precision := weights ->> 'name';
    wanted integer := question ->> 'limit';
    wanted_messages integer := question ->> 'message_limit';
    by_speaker boolean := question ->> 'speaker' IS NOT NULL;
    rare text [];
    rare_weights double precision [];
    at_anchors integer [];
    at_records uuid [];
    at_seqs integer [];
    are_eligible boolean [];
    answer jsonb;
BEGIN
    IF true = ANY(ARRAY(SELECT a.is_indexed FROM unnest(anchors) AS a)) THEN
        -- Asking for k gives k, whatever the filters leave out (pgvector 0.8 and newer).
        PERFORM set_config('hnsw.ef_search', least((question ->> 'candidates')::integer, 1000)::text, true);
        IF current_setting('hnsw.iterative_scan', true) IS NOT NULL THEN
            PERFORM
                set_config('hnsw.iterative_scan', 'strict_order', true),
                set_config('ivfflat.iterative_scan', 'relaxed_order', true);
        END IF;
        SELECT array_agg(r.lexeme ORDER BY r.place), array_agg(r.weight ORDER BY r.place) INTO rare, rare_weights
        FROM (
            SELECT a.*, sum(a.passages) OVER (ORDER BY a.passages, a.place) - a.passages AS before
            FROM neurigraph_private.rarities(owner, lexemes) AS a
            WHERE a.passages > 0
        ) AS r
        WHERE r.before < 2000;
        WITH found AS MATERIALIZED (
            SELECT c.* FROM neurigraph_private.candidates_in(anchors, question, rare, passage_embedding) AS c
        ),

        windows AS (
            SELECT o.anchor, o.record_id, o.seq - d.step AS seq, o.place, sum(d.weight * o.frequency) AS frequency
            FROM found AS o CROSS JOIN neurigraph_private.window_weights() AS d
            WHERE o.place IS NOT NULL
            GROUP BY o.anchor, o.record_id, o.seq - d.step, o.place
        ),

        eligible AS MATERIALIZED (
            SELECT f.anchor, f.record_id, f.seq FROM found AS f WHERE f.place IS NULL
            UNION
            (
                SELECT w.anchor, w.record_id, w.seq
                FROM windows AS w
                GROUP BY w.anchor, w.record_id, w.seq
                ORDER BY sum(rare_weights[w.place] * w.frequency / (w.frequency + 0.9)) DESC
                LIMIT 2 * (question ->> 'candidates')::integer
            )
        )

        SELECT array_agg(k.anchor), array_agg(k.record_id), array_agg(k.seq), array_agg(k.is_eligible)
        INTO at_anchors, at_records, at_seqs, are_eligible
        FROM (
            SELECT e.anchor, e.record_id, e.seq + d.step AS seq, bool_or(d.step = 0) AS is_eligible
            FROM eligible AS e CROSS JOIN neurigraph_private.window_weights() AS d
            GROUP BY e.anchor, e.record_id, e.seq + d.step
        ) AS k;
    END IF;

    WITH passages AS MATERIALIZED (
        SELECT p.* FROM neurigraph_private.passages_in(
            anchors, question, lexemes, passage_embedding, at_anchors, at_records, at_seqs, are_eligible
        ) AS p
    ),

    records AS MATERIALIZED (
        SELECT
            r.*,
            a.node_id,
            a.boost * name_boost AS boost,
            -- Fades with the days between, sooner for a short period than for a long one; a day does not count.
            period_boost * coalesce((
                SELECT max(exp(
                    -greatest(
                        extract(EPOCH FROM greatest(t.first - r.occurred_at, r.occurred_at - t.next)) / 86400 - 1, 0
                    ) / greatest(7, extract(EPOCH FROM t.next - t.first) / 172800)
                ))
                FROM (
                    SELECT (p.period ->> 0)::timestamptz AS first, (p.period ->> 1)::timestamptz AS next
                    FROM jsonb_array_elements(question -> 'periods') AS p (period)
                ) AS t
            ), 0) AS period
        FROM neurigraph_private.records_in(anchors, question, embedding, (
            -- Of few records all are ranked: who asks for k gets k.
            SELECT CASE WHEN count(*) >= greatest(wanted, 50) THEN array_agg(c.record_id) ELSE at_records END
            FROM (SELECT DISTINCT p.record_id FROM passages AS p) AS c
        )) AS r
        INNER JOIN unnest(anchors) WITH ORDINALITY
            AS a (node_id, schema_name, reason, score, boost, passages, is_indexed, ddl_version, place)
            ON r.anchor = a.place
    ),

    rarity AS MATERIALIZED (
        SELECT a.place, a.lexeme, a.weight FROM neurigraph_private.rarities(owner, lexemes) AS a
    ),

    occurrences AS MATERIALIZED (
        SELECT
            p.record_id,
            p.seq,
            r.place,
            p.frequencies[array_position(p.lexemes, r.lexeme)]::double precision AS frequency
        FROM passages AS p
        INNER JOIN rarity AS r ON r.lexeme = ANY(p.lexemes)
        WHERE p.lexemes IS NOT NULL
    ),

    corpus AS MATERIALIZED (
        SELECT greatest(3.25 * s.lexemes / greatest(s.passages, 1), 1)::double precision AS mean_length
        FROM neurigraph.user_statistics AS s
        WHERE s.user_id = owner
    ),

    -- An occurrence counts in its own passage's window, in that of the two before and of the three after it.
    windows AS (
        SELECT o.record_id, o.seq - d.step AS seq, o.place, sum(d.weight * o.frequency) AS frequency
        FROM occurrences AS o
        CROSS JOIN neurigraph_private.window_weights() AS d
        GROUP BY o.record_id, o.seq - d.step, o.place
    ),

    lexical AS (
        SELECT
            n.record_id,
            n.seq,
            sum(
                w.weight * n.frequency * 1.9
                / (n.frequency + 0.9 * (0.25 + 0.75 * p.window_length / c.mean_length))
            ) AS score
        FROM windows AS n
        INNER JOIN rarity AS w ON n.place = w.place
        INNER JOIN passages AS p ON n.record_id = p.record_id AND n.seq = p.seq
        CROSS JOIN corpus AS c
        WHERE p.is_eligible
        GROUP BY n.record_id, n.seq
    ),

    scale AS MATERIALIZED (
        SELECT
            (SELECT nullif(max(l.score), 0) FROM lexical AS l) AS window_lexical,
            -- Where nothing is near, the nearest is noise and must not count as if it were.
            greatest(max(p.dense), 0.3) AS dense,
            greatest(max(p.window_dense), 0.3) AS window_dense
        FROM passages AS p
        WHERE p.is_eligible
    ),

    scaled AS MATERIALIZED (
        SELECT
            g.*,
            lexical_weight * g.window_lexical + dense_weight * g.dense + window_dense_weight * g.window_dense
            + g.speaker + g.said_by_user + r.period AS score,
            r.period
        FROM (
            SELECT
                p.record_id,
                p.seq,
                p.first_message,
                coalesce(l.score / x.window_lexical, 0) AS window_lexical,
                coalesce(greatest(p.dense, 0) / x.dense, 0) AS dense,
                coalesce(greatest(p.window_dense, 0) / x.window_dense, 0) AS window_dense,
                CASE WHEN p.is_asked THEN speaker_boost ELSE 0 END AS speaker,
                CASE WHEN p.is_user THEN user_boost ELSE 0 END AS said_by_user
            FROM passages AS p
            CROSS JOIN scale AS x
            LEFT JOIN lexical AS l ON p.record_id = l.record_id AND p.seq = l.seq
            WHERE p.is_eligible
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
            + summary_dense_weight * coalesce(greatest(r.dense, 0) / greatest(max(r.dense) OVER (), 0.3), 0)
            + summary_lexical_weight * coalesce(r.lexical / nullif(max(r.lexical) OVER (), 0), 0)
            + (1 - best_passage_weight) * r.period
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
                'period', k.period,
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
                'window_lexical', s.window_lexical,
                'dense', s.dense,
                'window_dense', s.window_dense,
                'speaker', s.speaker,
                'user', s.said_by_user,
                'period', s.period
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
CREATE OR REPLACE FUNCTION neurigraph_private.stage(asking jsonb, targets uuid [], seconds double precision)
RETURNS bigint
LANGUAGE sql AS $$
    WITH edges AS NOT MATERIALIZED (
        SELECT e.* FROM neurigraph_private.told_edges((asking ->> 'user_id')::uuid) AS e
    ),

    first AS (
        SELECT t.node_id FROM unnest(targets) AS t (node_id)
        UNION
        SELECT e.to_node_id FROM edges AS e WHERE e.from_node_id = ANY(targets)
        UNION
        SELECT e.from_node_id FROM edges AS e WHERE e.to_node_id = ANY(targets)
    ),

    second AS (
        SELECT f.node_id FROM first AS f
        UNION
        SELECT e.to_node_id FROM first AS f INNER JOIN edges AS e ON f.node_id = e.from_node_id
        UNION
        SELECT e.from_node_id FROM first AS f INNER JOIN edges AS e ON f.node_id = e.to_node_id
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

-- What is known before a question is embedded: the version of what it would be answered from, and the names of those
-- who speak there, in lower case, which a question is embedded without. Only the owner of a graph learns of a version:
-- it moves with everything in it.
CREATE OR REPLACE FUNCTION neurigraph.before_search() RETURNS TABLE (data_version text, speakers text [])
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT
        CASE WHEN a.is_owner THEN neurigraph_private.data_version(a.user_id) END,
        CASE
            WHEN a.is_owner THEN ARRAY(
                SELECT substr(u.lexeme, 2) FROM neurigraph.user_lexemes AS u
                WHERE u.user_id = a.user_id AND u.lexeme >= '@' AND u.lexeme < 'A'
            )
            ELSE ARRAY(
                SELECT DISTINCT substr(n.lexeme, 2) FROM neurigraph.node_lexemes AS n
                WHERE n.user_id = a.user_id AND n.lexeme >= '@' AND n.lexeme < 'A'
                    AND n.node_id IN (SELECT v.node_id FROM neurigraph.visible_nodes(a.asking) AS v)
            )
        END
    FROM (
        SELECT c.asking, (c.asking ->> 'user_id')::uuid AS user_id, c.asking ->> 'role' = 'user' AS is_owner
        FROM (SELECT neurigraph.claims() AS asking OFFSET 0) AS c
    ) AS a
    WHERE a.user_id IS NOT NULL
$$;

-- Phase one in one call. Null where the claims open nothing, or the node to search below is not there for whoever asks.
CREATE OR REPLACE FUNCTION neurigraph.search(question jsonb, embedding vector, passage_embedding halfvec) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
-- The text of the nodes' own statements differs each time; all others are planned once a connection.
SET plan_cache_mode = 'force_generic_plan' AS $$
DECLARE
    asking jsonb := neurigraph.claims();
    owner uuid := asking ->> 'user_id';
    -- Before anything is read, so that an answer is never kept under a newer version than what it tells.
    seen text := CASE WHEN asking ->> 'role' = 'user' THEN neurigraph_private.data_version(owner) END;
    in_use record;
    anchors neurigraph_private.anchor [];
    found bigint;
    targets uuid [];
    answer jsonb := '{"hits": null, "messages": null}';
BEGIN
    IF asking IS NULL THEN
        RETURN NULL;
    END IF;
    SELECT u.embedding_model AS model, u.embedding_next_model AS next INTO in_use
    FROM neurigraph.users AS u WHERE u.user_id = owner;
    -- Vectors of two models are never compared.
    IF in_use.model IS DISTINCT FROM question ->> 'model' THEN
        embedding := NULL;
        passage_embedding := NULL;
    END IF;
    question := question || jsonb_build_object(
        'is_moving', in_use.next IS NOT NULL, 'hidden_sources', neurigraph.hidden_sources()
    );
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
        'data_version', seen,
        'anchors', (
            SELECT jsonb_agg(
                jsonb_build_object('node_id', a.node_id, 'reason', a.reason, 'score', a.score) ORDER BY a.place
            )
            FROM unnest(anchors) WITH ORDINALITY
                AS a (node_id, schema_name, reason, score, boost, passages, is_indexed, ddl_version, place)
            WHERE a.place <= (question ->> 'anchors_shown')::integer
        ),
        'paths', (
            SELECT jsonb_object_agg(n.node_id, n.names)
            FROM (
                SELECT g.node_id, jsonb_agg(a.node_name ORDER BY a.layer_depth) AS names
                FROM neurigraph.visible_nodes(asking) AS g
                INNER JOIN neurigraph.visible_nodes(asking) AS a ON a.node_id = ANY(g.path)
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
REVOKE ALL ON FUNCTION neurigraph.search(jsonb, vector, halfvec), neurigraph.before_search() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.search(jsonb, vector, halfvec), neurigraph.before_search() TO neurigraph_agent;
