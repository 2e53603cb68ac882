-- Vectors written after the commit: of pending records, and of another model besides the one in use.

-- name: adopt_model
-- Set the model that the user's searches compare, with the first vectors of the user.
UPDATE neurigraph.users AS u SET embedding_model = %(model)s
WHERE u.user_id = %(user_id)s AND u.embedding_model IS NULL;

-- name: models
-- The models of a user. The row is locked until the end of the transaction, so that the user does not switch models
-- before the write.
SELECT
    u.embedding_model,
    u.embedding_next_model
FROM neurigraph.users AS u
WHERE u.user_id = %(user_id)s
FOR SHARE;

-- name: insert_pending
INSERT INTO neurigraph.pending_embeddings (record_id, node_id, user_id)
VALUES (%(record_id)s, %(node_id)s, %(user_id)s);

-- name: has_due
SELECT EXISTS (
    SELECT FROM neurigraph.pending_embeddings AS p
    INNER JOIN neurigraph.users AS u ON p.user_id = u.user_id
    WHERE p.next_attempt_at <= now()
        AND (u.embedding_model IS NULL OR %(model)s IN (u.embedding_model, u.embedding_next_model))
) OR EXISTS (
    SELECT FROM neurigraph.users AS u
    WHERE u.embedding_next_model = %(model)s AND u.embedding_model = %(model)s
) AS due;

-- name: lease_pending
-- Lease pending records that this model may fill, oldest first.
WITH due AS (
    SELECT p.record_id
    FROM neurigraph.pending_embeddings AS p
    INNER JOIN neurigraph.users AS u ON p.user_id = u.user_id
    WHERE p.next_attempt_at <= now()
        AND (u.embedding_model IS NULL OR %(model)s IN (u.embedding_model, u.embedding_next_model))
        AND (%(user_id)s::uuid IS NULL OR p.user_id = %(user_id)s::uuid)
    ORDER BY p.next_attempt_at, p.record_id
    LIMIT %(limit)s
    FOR UPDATE OF p SKIP LOCKED
)

UPDATE neurigraph.pending_embeddings AS p SET
    attempts = p.attempts + 1, next_attempt_at = now() + make_interval(secs => %(lease_seconds)s)
FROM due AS d, neurigraph.graph_index AS g, neurigraph.record_index AS i
WHERE p.record_id = d.record_id AND p.node_id = g.node_id AND i.record_id = d.record_id
RETURNING p.record_id, p.node_id, p.user_id, g.schema_name, i.created_at, p.attempts;

-- name: delete_pending
DELETE FROM neurigraph.pending_embeddings
WHERE record_id = %(record_id)s;

-- name: count_pending
-- The number of pending records that this model may fill, and of records that it may fill only after a move of their
-- user.
SELECT
    count(*) FILTER (WHERE p.fits) AS records,
    count(*) FILTER (WHERE p.fits AND p.since < now() - make_interval(secs => %(overdue_seconds)s)) AS overdue,
    min(p.since) FILTER (WHERE p.fits) AS since,
    count(*) FILTER (WHERE NOT p.fits) AS of_other_models
FROM (
    SELECT
        e.since,
        u.embedding_model IS NULL OR coalesce(%(model)s IN (u.embedding_model, u.embedding_next_model), false) AS fits
    FROM neurigraph.pending_embeddings AS e
    INNER JOIN neurigraph.users AS u ON e.user_id = u.user_id
    WHERE %(user_id)s::uuid IS NULL OR e.user_id = %(user_id)s::uuid
) AS p;

-- name: overdue_pending
-- The overdue records, the longest waiting first.
SELECT
    p.record_id,
    p.user_id,
    p.since,
    p.attempts
FROM neurigraph.pending_embeddings AS p
INNER JOIN neurigraph.users AS u ON p.user_id = u.user_id
WHERE p.since < now() - make_interval(secs => %(overdue_seconds)s)
    AND (u.embedding_model IS NULL OR %(model)s IN (u.embedding_model, u.embedding_next_model))
ORDER BY p.since, p.record_id
LIMIT %(limit)s;

-- name: records_of_days
-- A page of the records stored within a range of days, in order.
SELECT
    i.record_id,
    i.node_id,
    i.user_id,
    i.created_at,
    g.schema_name
FROM neurigraph.record_index AS i
INNER JOIN neurigraph.graph_index AS g ON i.node_id = g.node_id
WHERE (i.created_at >= %(since)s::timestamptz OR %(since)s::timestamptz IS NULL) AND i.created_at < %(until)s
    AND (%(user_id)s::uuid IS NULL OR i.user_id = %(user_id)s::uuid)
    AND (%(record_ids)s::uuid [] IS NULL OR i.record_id = ANY(%(record_ids)s::uuid []))
    AND (
        %(after_time)s::timestamptz IS NULL
        OR (i.created_at, i.record_id) > (%(after_time)s::timestamptz, %(after_id)s::uuid)
    )
ORDER BY i.created_at, i.record_id
LIMIT %(limit)s;

-- name: storage_times
SELECT i.created_at FROM neurigraph.record_index AS i
WHERE i.record_id = ANY(%(record_ids)s::uuid []);

-- name: records_without_vectors
-- The given records of one node that have no vectors of this model, neither in use nor in the columns of the next
-- model.
SELECT r.record_id
FROM {schema}.metadata_records AS r
WHERE r.record_id = ANY(%(record_ids)s)
    AND r.embedding_model IS DISTINCT FROM %(model)s AND r.embedding_next_model IS DISTINCT FROM %(model)s;

-- name: summary_to_embed
SELECT r.summary
FROM {schema}.metadata_records AS r
WHERE r.record_id = %(record_id)s;

-- name: segment_to_embed
SELECT s.content
FROM neurigraph.segments AS s
WHERE s.record_id = %(record_id)s;

-- name: lock_record
SELECT
    r.summary,
    r.embedding_pending,
    r.embedding,
    r.embedding_model,
    r.embedding_next_model
FROM {schema}.metadata_records AS r
WHERE r.record_id = %(record_id)s
FOR UPDATE;

-- name: set_vectors
UPDATE {schema}.metadata_records SET
    embedding = %(embedding)s,
    embedding_model = %(model)s,
    embedding_pending = false,
    embedding_next = NULL,
    embedding_next_model = NULL
WHERE record_id = %(record_id)s;

-- name: set_segment_vectors
-- Write the vectors of a segment, unless it has other passages by now.
UPDATE neurigraph.segments SET
    vectors = %(vectors)s,
    model = %(model)s,
    next_vectors = NULL,
    next_model = NULL
WHERE record_id = %(record_id)s AND passages = %(passages)s;

-- name: set_next_vectors
UPDATE {schema}.metadata_records SET embedding_next = %(embedding)s, embedding_next_model = %(model)s
WHERE record_id = %(record_id)s;

-- name: set_next_segment_vectors
UPDATE neurigraph.segments SET next_vectors = %(vectors)s, next_model = %(model)s
WHERE record_id = %(record_id)s AND passages = %(passages)s;

-- name: begin_move
-- Start the move to this model, for users whose searches compare another model or who are moving to another model.
UPDATE neurigraph.users AS u SET embedding_next_model = %(model)s
WHERE u.user_id = ANY(%(user_ids)s) AND u.embedding_next_model IS DISTINCT FROM %(model)s
    AND (u.embedding_model <> %(model)s OR u.embedding_next_model IS NOT NULL);

-- name: moving_users
SELECT
    u.user_id,
    u.embedding_model
FROM neurigraph.users AS u
WHERE u.embedding_next_model = %(model)s
    AND (%(user_id)s::uuid IS NULL OR u.user_id = %(user_id)s::uuid)
ORDER BY u.user_id;

-- name: lock_models
SELECT
    u.embedding_model,
    u.embedding_next_model
FROM neurigraph.users AS u
WHERE u.user_id = %(user_id)s
FOR NO KEY UPDATE;

-- name: switch_model
UPDATE neurigraph.users SET embedding_model = embedding_next_model
WHERE user_id = %(user_id)s;

-- name: end_move
UPDATE neurigraph.users SET embedding_next_model = NULL
WHERE user_id = %(user_id)s AND embedding_model = embedding_next_model;

-- name: nodes_with_records
SELECT
    g.node_id,
    g.schema_name
FROM neurigraph.graph_index AS g
WHERE g.user_id = %(user_id)s AND g.record_count > 0
ORDER BY g.node_id;

-- name: readiness
-- The number of a node's records that have vectors but not of this model, and the mean of this model's vectors.
SELECT
    count(*) FILTER (
        WHERE NOT r.embedding_pending AND r.embedding_model <> %(model)s
            AND r.embedding_next_model IS DISTINCT FROM %(model)s
    ) AS missing,
    count(*) FILTER (WHERE r.embedding_model = %(model)s OR r.embedding_next_model = %(model)s) AS embedded,
    avg(
        CASE
            WHEN r.embedding_model = %(model)s THEN r.embedding
            WHEN r.embedding_next_model = %(model)s THEN r.embedding_next
        END
    ) AS centroid
FROM {schema}.metadata_records AS r;

-- name: missing
SELECT count(*) AS missing
FROM {schema}.metadata_records AS r
WHERE NOT r.embedding_pending AND r.embedding_model <> %(model)s
    AND r.embedding_next_model IS DISTINCT FROM %(model)s;

-- name: with_next
SELECT r.record_id
FROM {schema}.metadata_records AS r
WHERE r.embedding_next_model IS NOT NULL
LIMIT %(limit)s;

-- name: finish_record
-- Put the next model's vector into use if it is of this model, and delete it otherwise.
WITH record AS (
    SELECT
        r.record_id,
        coalesce(r.embedding_next_model = %(model)s AND r.embedding_model <> %(model)s, false) AS moves
    FROM {schema}.metadata_records AS r
    WHERE r.record_id = %(record_id)s AND r.embedding_next_model IS NOT NULL
    FOR UPDATE
),

segment AS (
    UPDATE neurigraph.segments AS s SET
        vectors = CASE WHEN r.moves THEN s.next_vectors ELSE s.vectors END,
        model = CASE WHEN r.moves THEN s.next_model ELSE s.model END,
        next_vectors = NULL,
        next_model = NULL
    FROM record AS r
    WHERE s.record_id = r.record_id
)

UPDATE {schema}.metadata_records AS m SET
    embedding = CASE WHEN r.moves THEN m.embedding_next ELSE m.embedding END,
    embedding_model = CASE WHEN r.moves THEN m.embedding_next_model ELSE m.embedding_model END,
    embedding_next = NULL,
    embedding_next_model = NULL
FROM record AS r
WHERE m.record_id = r.record_id;
