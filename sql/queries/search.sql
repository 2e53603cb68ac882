-- Phase one: which nodes a question touches, and what their metadata layers hold about it.

-- name: anchors
-- Every node of the asking user with what a name search needs; the root is searched last.
-- The distance of the centroid routes questions that name nothing; it says nothing about vectors of another model.
SELECT
    g.node_id,
    g.node_name,
    g.schema_name,
    g.layer_depth,
    g.concept_kind,
    g.compression_state,
    g.aliases,
    g.node_keywords,
    g.record_count,
    g.path,
    n.names,
    u.embedding_model,
    u.embedding_next_model,
    CASE
        WHEN g.centroid IS NOT NULL AND u.embedding_model = %(model)s THEN 1 - (g.centroid <=> %(embedding)s)
    END AS centroid_similarity
FROM neurigraph.graph_index AS g
LEFT JOIN neurigraph.users AS u ON g.user_id = u.user_id
CROSS JOIN LATERAL (
    SELECT array_agg(a.node_name ORDER BY a.layer_depth) AS names
    FROM neurigraph.graph_index AS a
    WHERE a.node_id = ANY(g.path)
) AS n
WHERE g.user_id = %(user_id)s
    AND (%(node_id)s::uuid IS NULL OR g.path @> ARRAY[%(node_id)s::uuid]);

-- name: neighbours
-- Nodes that share an edge with one of the given.
SELECT DISTINCT ON (n.node_id)
    n.node_id,
    n.relation,
    n.strength
FROM (
    SELECT
        e.to_node_id AS node_id,
        e.relation,
        e.strength
    FROM neurigraph.node_edges AS e
    WHERE e.from_node_id = ANY(%(node_ids)s)
    UNION ALL
    SELECT
        e.from_node_id,
        e.relation,
        e.strength
    FROM neurigraph.node_edges AS e
    WHERE e.to_node_id = ANY(%(node_ids)s)
) AS n
WHERE n.node_id <> ALL(%(node_ids)s)
ORDER BY n.node_id, n.strength DESC;

-- name: warm
-- The target's neighbours and their neighbours, then stop: nothing beyond two edges is staged. Opens no file, and
-- expires by itself.
WITH RECURSIVE reach AS (
    SELECT
        g.node_id,
        0 AS edges
    FROM neurigraph.graph_index AS g
    WHERE g.node_id = ANY(%(node_ids)s)
    UNION
    SELECT
        CASE WHEN e.from_node_id = r.node_id THEN e.to_node_id ELSE e.from_node_id END,
        r.edges + 1
    FROM reach AS r
    INNER JOIN neurigraph.node_edges AS e ON r.node_id IN (e.from_node_id, e.to_node_id)
    WHERE r.edges < 2
)

INSERT INTO neurigraph.warm_nodes (user_id, node_id, expires_at)
SELECT DISTINCT
    g.user_id,
    g.node_id,
    now() + make_interval(secs => %(ttl_seconds)s)
FROM reach AS r
INNER JOIN neurigraph.graph_index AS g ON r.node_id = g.node_id
ORDER BY g.node_id
ON CONFLICT (user_id, node_id) DO UPDATE SET expires_at = excluded.expires_at;

-- name: passage_arm
-- One anchor's passages, searched in isolation; their vectors are of the model that their record's are of. Where a user
-- was switched to another model a moment ago, its vectors may still lie beside the old ones, in the "next" columns.
SELECT
    {node_id}::uuid AS node_id,
    p.record_id,
    p.seq,
    p.first_message,
    p.lexeme_count,
    p.lexemes,
    p.frequencies,
    CASE
        WHEN r.in_use THEN (1 - (p.embedding <=> q.passage_embedding))::real
        WHEN r.is_beside THEN (1 - (p.{next_embedding} <=> q.passage_embedding))::real
    END AS dense,
    CASE
        WHEN r.in_use THEN (1 - (p.window_embedding <=> q.passage_embedding))::real
        WHEN r.is_beside THEN (1 - (p.{next_window} <=> q.passage_embedding))::real
    END AS window_dense
FROM {schema}.passages AS p
INNER JOIN records AS r ON p.record_id = r.record_id
CROSS JOIN question AS q;

-- name: record_arm
-- One anchor's records, searched in isolation; a vector is compared only with one of its own model.
SELECT
    {node_id}::uuid AS node_id,
    {boost}::real AS boost,
    r.record_id,
    r.title,
    r.summary,
    r.source_kind,
    r.source_id,
    r.occurred_at,
    r.content_type,
    f.file_id,
    f.compression_state,
    r.embedding_model = q.model AS in_use,
    r.{next_model} = q.model AS is_beside,
    CASE
        WHEN r.embedding_model = q.model THEN (1 - (r.embedding <=> q.embedding))::real
        WHEN r.{next_model} = q.model THEN (1 - (r.{next_embedding} <=> q.embedding))::real
    END AS dense,
    ts_rank(r.tsv, q.words, 1)::real AS lexical
FROM {schema}.metadata_records AS r
CROSS JOIN question AS q
LEFT JOIN {schema}.file_manifest AS f ON r.record_id = f.record_id AND r.file_pointer = f.storage_path
WHERE q.at IS NULL OR r.created_at <= q.at;

-- name: search
-- All arms at once. BM25 (Robertson and Zaragoza, 2009; k1 = 1.2, b = 0.75) of each passage and of its window (itself
-- and its neighbours, credited to the passage), with statistics over the anchors searched; cosine of both. Signals are
-- scaled to 0..1 over the candidates and mixed with fixed weights. What has no vector has no part in the scale of those
-- that have one, and counts as the farthest.
WITH question AS MATERIALIZED (
    SELECT
        %(model)s::text AS model,
        %(embedding)s::vector(1536) AS embedding,
        %(passage_embedding)s::halfvec(512) AS passage_embedding,
        %(lexemes)s::text [] AS lexemes,
        to_tsquery('pg_catalog.simple', %(words)s) AS words,
        %(at)s::timestamptz AS at
),

records AS MATERIALIZED (
    {record_arms}
),

passages AS MATERIALIZED (
    {passage_arms}
),

corpus AS (
    SELECT
        greatest(count(*), 1) AS passages,
        greatest(avg(p.lexeme_count), 1) AS mean_length
    FROM passages AS p
),

occurrences AS MATERIALIZED (
    SELECT
        p.record_id,
        p.seq,
        l.place,
        p.frequencies[array_position(p.lexemes, l.lexeme)]::real AS frequency
    FROM passages AS p
    CROSS JOIN question AS q
    CROSS JOIN LATERAL unnest(q.lexemes) WITH ORDINALITY AS l (lexeme, place)
    WHERE p.lexemes && q.lexemes AND l.lexeme = ANY(p.lexemes)
),

weights AS (
    SELECT
        o.place,
        ln(1 + (c.passages - count(*) + 0.5) / (count(*) + 0.5)) AS weight
    FROM occurrences AS o
    CROSS JOIN corpus AS c
    GROUP BY o.place, c.passages
),

neighbourhoods AS MATERIALIZED (
    SELECT
        o.record_id,
        o.seq + d.step AS seq,
        o.place,
        sum(o.frequency) AS window_frequency,
        sum(o.frequency) FILTER (WHERE d.step = 0) AS frequency
    FROM occurrences AS o
    CROSS JOIN (VALUES (-1), (0), (1)) AS d (step)
    GROUP BY o.record_id, o.seq + d.step, o.place
),

lengths AS MATERIALIZED (
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
            w.weight * coalesce(n.frequency, 0) * 2.2
            / (coalesce(n.frequency, 0) + 1.2 * (0.25 + 0.75 * l.own / c.mean_length))
        ) AS own,
        sum(
            w.weight * n.window_frequency * 2.2
            / (n.window_frequency + 1.2 * (0.25 + 0.75 * l.around / (3 * c.mean_length)))
        ) AS around
    FROM neighbourhoods AS n
    INNER JOIN weights AS w ON n.place = w.place
    INNER JOIN lengths AS l ON n.record_id = l.record_id AND n.seq = l.seq
    CROSS JOIN corpus AS c
    GROUP BY n.record_id, n.seq
),

session_lexical AS (
    SELECT
        s.record_id,
        sum(s.weight * s.frequency * 2.2 / (s.frequency + 1.2 * (0.25 + 0.75 * s.record_length / s.mean_record_length)))
            AS score
    FROM (
        SELECT
            o.record_id,
            w.weight,
            sum(o.frequency) AS frequency,
            t.record_length,
            t.mean_record_length
        FROM occurrences AS o
        INNER JOIN weights AS w ON o.place = w.place
        INNER JOIN (
            SELECT
                p.record_id,
                sum(p.lexeme_count) AS record_length,
                greatest(avg(sum(p.lexeme_count)) OVER (), 1) AS mean_record_length
            FROM passages AS p
            GROUP BY p.record_id
        ) AS t ON o.record_id = t.record_id
        GROUP BY o.record_id, o.place, w.weight, t.record_length, t.mean_record_length
    ) AS s
    GROUP BY s.record_id
),

signals AS (
    SELECT
        p.node_id,
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
),

scaled AS (
    SELECT
        g.node_id,
        g.record_id,
        g.seq,
        g.first_message,
        g.lexical / nullif(max(g.lexical) OVER (), 0) AS lexical,
        g.window_lexical / nullif(max(g.window_lexical) OVER (), 0) AS window_lexical,
        g.session_lexical / nullif(max(g.session_lexical) OVER (), 0) AS session_lexical,
        (g.dense - min(g.dense) OVER ())
        / nullif(max(g.dense) OVER () - min(g.dense) OVER (), 0) AS dense,
        (g.window_dense - min(g.window_dense) OVER ())
        / nullif(max(g.window_dense) OVER () - min(g.window_dense) OVER (), 0) AS window_dense
    FROM signals AS g
),

messages AS MATERIALIZED (
    SELECT
        s.node_id,
        s.record_id,
        s.first_message,
        max(
            %(lexical_weight)s * coalesce(s.lexical, 0)
            + %(window_lexical_weight)s * coalesce(s.window_lexical, 0)
            + %(session_lexical_weight)s * coalesce(s.session_lexical, 0)
            + %(dense_weight)s * coalesce(s.dense, 0)
            + %(window_dense_weight)s * coalesce(s.window_dense, 0)
        ) AS score,
        (array_agg(s.seq ORDER BY coalesce(s.lexical, 0) + coalesce(s.dense, 0) DESC, s.seq))[1] AS seq,
        max(coalesce(s.lexical, 0)) AS lexical,
        max(coalesce(s.window_lexical, 0)) AS window_lexical,
        max(coalesce(s.session_lexical, 0)) AS session_lexical,
        max(coalesce(s.dense, 0)) AS dense,
        max(coalesce(s.window_dense, 0)) AS window_dense
    FROM scaled AS s
    GROUP BY s.node_id, s.record_id, s.first_message
),

best_passages AS (
    SELECT
        m.record_id,
        max(m.score) AS best
    FROM messages AS m
    GROUP BY m.record_id
),

ranked_records AS (
    SELECT
        r.*,
        b.best,
        (r.dense - min(r.dense) OVER ())
        / nullif(max(r.dense) OVER () - min(r.dense) OVER (), 0) AS scaled_dense,
        r.lexical / nullif(max(r.lexical) OVER (), 0) AS scaled_lexical
    FROM records AS r
    LEFT JOIN best_passages AS b ON r.record_id = b.record_id
),

hits AS (
    SELECT
        jsonb_build_object(
            'record_id', r.record_id,
            'node_id', r.node_id,
            'title', r.title,
            'summary', r.summary,
            'occurred_at', r.occurred_at,
            'content_type', r.content_type,
            'source_kind', r.source_kind,
            'source_id', r.source_id,
            'source_external_id', s.external_id,
            'file_id', r.file_id,
            'file_state', r.compression_state,
            'score', r.score,
            'passage', r.best,
            'boost', r.boost,
            'summary_dense', r.dense,
            'summary_lexical', r.lexical
        ) AS hit,
        r.score,
        r.occurred_at,
        r.record_id
    FROM (
        SELECT
            k.*,
            %(best_passage_weight)s * coalesce(k.best, 0)
            + %(summary_dense_weight)s * coalesce(k.scaled_dense, 0)
            + %(summary_lexical_weight)s * coalesce(k.scaled_lexical, 0)
            + k.boost AS score
        FROM ranked_records AS k
    ) AS r
    LEFT JOIN neurigraph.sources AS s ON r.source_id = s.source_id
    ORDER BY r.score DESC, r.occurred_at DESC, r.record_id
    LIMIT %(limit)s
),

best_messages AS (
    SELECT
        m.*,
        i.external_id,
        r.source_id
    FROM (
        SELECT * FROM messages
        ORDER BY score DESC, record_id, first_message
        LIMIT %(message_limit)s
    ) AS m
    INNER JOIN records AS r ON m.record_id = r.record_id
    LEFT JOIN neurigraph.messages AS i ON r.source_id = i.source_id AND m.first_message = i.seq
)

SELECT
    (
        SELECT jsonb_agg(h.hit ORDER BY h.score DESC, h.occurred_at DESC, h.record_id)
        FROM hits AS h
    ) AS hits,
    (
        SELECT
            jsonb_agg(
                jsonb_build_object(
                    'record_id', b.record_id,
                    'external_id', b.external_id,
                    'seq', b.first_message,
                    'passage', b.seq,
                    'score', b.score,
                    'lexical', b.lexical,
                    'window_lexical', b.window_lexical,
                    'session_lexical', b.session_lexical,
                    'dense', b.dense,
                    'window_dense', b.window_dense
                ) ORDER BY b.score DESC, b.record_id, b.first_message
            )
        FROM best_messages AS b
    ) AS messages;

-- name: touch_nodes
SELECT neurigraph.touch_nodes(%(node_ids)s::uuid []);

-- name: locate_record
SELECT
    i.record_id,
    i.node_id,
    g.schema_name
FROM neurigraph.record_index AS i
INNER JOIN neurigraph.graph_index AS g ON i.node_id = g.node_id
WHERE i.record_id = %(record_id)s;

-- name: open_message
SELECT o.*
FROM neurigraph.open_message(%(file_id)s, %(message)s, %(ttl_seconds)s) AS o;

-- name: transcript_beside
-- The transcript of the record that a file belongs to, which may be that file itself.
SELECT t.*
FROM {schema}.file_manifest AS f
INNER JOIN {schema}.file_manifest AS t ON f.record_id = t.record_id
WHERE f.file_id = %(file_id)s AND t.file_type = 'transcript';

-- name: file_of_record
-- Of a record with several files, the one that it points at.
SELECT f.file_id
FROM {schema}.metadata_records AS r
INNER JOIN {schema}.file_manifest AS f ON r.record_id = f.record_id AND r.file_pointer = f.storage_path
WHERE r.record_id = %(record_id)s;
