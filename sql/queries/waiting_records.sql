-- Records that wait in a table for their facts, for verdicts or for vectors, and the leases of their workers.

-- name: has_due
SELECT EXISTS (SELECT FROM {table} AS p WHERE p.next_attempt_at <= now()) AS due;

-- name: lease
-- Lease due records, the longest waiting first.
WITH due AS (
    SELECT p.record_id
    FROM {table} AS p
    WHERE p.next_attempt_at <= now()
        AND (%(user_id)s::uuid IS NULL OR p.user_id = %(user_id)s::uuid)
        AND (%(record_ids)s::uuid [] IS NULL OR p.record_id = ANY(%(record_ids)s))
    ORDER BY p.since, p.record_id
    LIMIT %(limit)s
    FOR UPDATE SKIP LOCKED
)

UPDATE {table} AS p SET
    attempts = p.attempts + 1, next_attempt_at = now() + make_interval(secs => %(lease_seconds)s)
FROM due AS d
WHERE p.record_id = d.record_id
RETURNING p.record_id, p.user_id, p.attempts;

-- name: renew
-- Renew leases that no other run has taken over: each attempt has its own number.
UPDATE {table} AS p SET next_attempt_at = now() + make_interval(secs => %(lease_seconds)s)
FROM unnest(%(record_ids)s::uuid [], %(attempts)s::integer []) AS h (record_id, attempts)
WHERE p.record_id = h.record_id AND p.attempts = h.attempts;

-- name: postpone
-- Let a record wait until its next attempt, if this attempt still holds it.
UPDATE {table} AS p SET
    next_attempt_at = now() + make_interval(secs => %(delay_seconds)s), last_error = %(error)s
WHERE p.record_id = %(record_id)s AND p.attempts = %(attempts)s;

-- name: end_wait
-- End the wait of a record, if this attempt still holds it.
DELETE FROM {table} AS p
WHERE p.record_id = %(record_id)s AND p.attempts = %(attempts)s
RETURNING p.record_id;
