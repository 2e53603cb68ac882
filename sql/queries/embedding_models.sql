-- The registry of embedding models, and the questions on which they are compared.

-- name: describe
INSERT INTO neurigraph.embedding_models AS k (model, provider, dimensions)
VALUES (%(model)s, %(provider)s, %(dimensions)s)
ON CONFLICT (model) DO UPDATE SET provider = excluded.provider, dimensions = excluded.dimensions
WHERE (k.provider, k.dimensions) IS DISTINCT FROM (excluded.provider, excluded.dimensions);

-- name: note_comparison
UPDATE neurigraph.embedding_models SET compared_at = now(), comparison = %(comparison)s
WHERE model = %(model)s;

-- name: list
-- The models with their states. A model is active if a user's searches compare its vectors; a canary if a user moves to
-- it or if it was compared since its last use; and archived otherwise.
SELECT
    k.model,
    k.provider,
    k.dimensions,
    k.stored_as,
    k.created_at,
    CASE
        WHEN u.users > 0 THEN 'active'
        WHEN u.moving > 0 OR k.compared_at > coalesce(k.last_used_at, '-infinity') THEN 'canary'
        ELSE 'archived'
    END AS status,
    u.users,
    u.moving,
    k.compared_at,
    k.comparison
FROM neurigraph.embedding_models AS k
CROSS JOIN LATERAL (
    SELECT
        count(*) FILTER (WHERE o.embedding_model = k.model) AS users,
        count(*) FILTER (WHERE o.embedding_next_model = k.model AND o.embedding_model <> k.model) AS moving
    FROM neurigraph.users AS o
) AS u
ORDER BY k.created_at, k.model;

-- name: kept_questions
-- The owner's newest questions in the log of retrievals after which, within ten minutes, the owner opened records that
-- the question had found. A model should find these records for the question.
SELECT
    q.question,
    array_agg(DISTINCT w.record_id) AS record_ids
FROM neurigraph.retrievals AS q
INNER JOIN neurigraph.retrievals AS o
    ON q.user_id = o.user_id AND q.subject_id = o.subject_id AND o.operation = 'open'
    AND q.asked_at <= o.asked_at AND q.asked_at > o.asked_at - interval '10 minutes'
CROSS JOIN LATERAL unnest(o.record_ids) AS w (record_id)
INNER JOIN neurigraph.record_index AS i ON w.record_id = i.record_id AND q.user_id = i.user_id
WHERE q.user_id = %(user_id)s AND q.role = 'user' AND q.question IS NOT NULL AND w.record_id = ANY(q.record_ids)
    AND NOT i.quarantined AND i.superseded IS NOT TRUE
GROUP BY q.question
ORDER BY max(q.asked_at) DESC, q.question
LIMIT %(limit)s;

-- name: records_to_compare
-- The records that the questions should find, and a sample of other records, by the schema of their node.
SELECT
    g.schema_name,
    array_agg(i.record_id) AS record_ids
FROM (
    SELECT o.*
    FROM neurigraph.record_index AS o
    WHERE o.user_id = %(user_id)s AND NOT o.quarantined AND o.superseded IS NOT TRUE
    ORDER BY o.record_id <> ALL(%(record_ids)s::uuid []), hashtextextended(o.record_id::text, 0)
    LIMIT %(limit)s
) AS i
INNER JOIN neurigraph.graph_index AS g ON i.node_id = g.node_id
GROUP BY g.schema_name
ORDER BY g.schema_name;

-- name: summaries
SELECT
    r.record_id,
    r.summary
FROM {schema}.metadata_records AS r
WHERE r.record_id = ANY(%(record_ids)s)
ORDER BY r.record_id;
