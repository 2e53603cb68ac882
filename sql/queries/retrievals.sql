-- The log of retrievals, and canaries.

-- name: note
SELECT
    n.is_watched,
    n.expires,
    n.canary
FROM neurigraph.note_retrieval(%(operation)s, %(record_ids)s, %(question)s, %(is_logged)s) AS n;

-- name: note_open
-- The record of a file is found under the same policies as the file.
SELECT
    n.is_watched,
    n.expires,
    n.canary
FROM neurigraph.note_retrieval(
    'open',
    ARRAY(SELECT f.record_id FROM neurigraph.file_index AS f WHERE f.file_id = %(file_id)s),
    NULL,
    %(is_logged)s
) AS n;

-- name: list
-- The log, newest first: entries of one record, or all entries.
SELECT
    r.asked_at,
    r.operation,
    r.role,
    r.subject_id,
    r.record_ids,
    r.question
FROM neurigraph.retrievals AS r
WHERE r.user_id = %(user_id)s
    AND (%(record_id)s::uuid IS NULL OR r.record_ids @> ARRAY[%(record_id)s::uuid])
    AND (%(since)s::timestamptz IS NULL OR r.asked_at >= %(since)s)
ORDER BY r.asked_at DESC, r.retrieval_id DESC
LIMIT %(limit)s;

-- name: purge
-- Delete in batches, so that no lock is held for long.
DELETE FROM neurigraph.retrievals AS r
WHERE r.retrieval_id IN (
    SELECT o.retrieval_id FROM neurigraph.retrievals AS o
    WHERE o.asked_at <= now() - make_interval(secs => %(seconds)s)
    LIMIT %(limit)s
);

-- name: plant
INSERT INTO neurigraph.canaries (source_id, user_id) VALUES (%(source_id)s, %(user_id)s)
ON CONFLICT (source_id) DO NOTHING;

-- name: canaries
SELECT
    c.source_id,
    s.external_id,
    c.planted_at,
    ARRAY(
        SELECT r.record_id FROM neurigraph.record_index AS r
        WHERE r.user_id = c.user_id AND r.source_id = c.source_id
    ) AS record_ids,
    c.retrieved_at,
    c.operation,
    c.role,
    c.subject_id
FROM neurigraph.canaries AS c
INNER JOIN neurigraph.sources AS s ON c.source_id = s.source_id
WHERE c.user_id = %(user_id)s
ORDER BY c.planted_at, c.source_id;

-- name: retrieved_canaries
-- Return the canaries of all users that were retrieved.
SELECT
    c.source_id,
    c.retrieved_at,
    c.operation,
    c.role
FROM neurigraph.canaries AS c
WHERE c.retrieved_at IS NOT NULL
ORDER BY c.retrieved_at DESC
LIMIT %(limit)s;
