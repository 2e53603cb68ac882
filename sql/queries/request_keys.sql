-- Answers to requests that may be repeated.

-- name: try_lock
-- Whether no other transaction is working on a request with this key.
SELECT pg_try_advisory_xact_lock(
    hashtextextended('neurigraph.request:' || %(user_id)s::text || %(caller)s || encode(%(key_hash)s, 'hex'), 0)
) AS is_free;

-- name: find
SELECT
    k.fingerprint,
    k.status,
    k.answer
FROM neurigraph.request_keys AS k
WHERE k.user_id = %(user_id)s AND k.caller = %(caller)s AND k.key_hash = %(key_hash)s
    AND k.created_at > clock_timestamp() - make_interval(secs => %(seconds)s);

-- name: keep
-- Store an answer, in place of an expired entry that is not swept yet.
INSERT INTO neurigraph.request_keys AS k (user_id, caller, key_hash, fingerprint, status, answer, object_ids)
VALUES (%(user_id)s, %(caller)s, %(key_hash)s, %(fingerprint)s, %(status)s, %(answer)s, %(object_ids)s)
ON CONFLICT (user_id, caller, key_hash) DO UPDATE SET
    fingerprint = excluded.fingerprint,
    status = excluded.status,
    answer = excluded.answer,
    object_ids = excluded.object_ids,
    created_at = excluded.created_at;

-- name: trim
-- Remove the oldest entries of a caller beyond the limit. Counting takes time, so only some requests run the query.
DELETE FROM neurigraph.request_keys AS k
USING (
    SELECT
        o.user_id,
        o.caller,
        o.key_hash
    FROM neurigraph.request_keys AS o
    WHERE o.user_id = %(user_id)s AND o.caller = %(caller)s
    ORDER BY o.created_at DESC
    LIMIT 1000 OFFSET %(most)s
) AS old
WHERE k.user_id = old.user_id AND k.caller = old.caller AND k.key_hash = old.key_hash;

-- name: sweep
DELETE FROM neurigraph.request_keys AS k
USING (
    SELECT
        o.user_id,
        o.caller,
        o.key_hash
    FROM neurigraph.request_keys AS o
    WHERE o.created_at <= clock_timestamp() - make_interval(secs => %(seconds)s)
    LIMIT %(limit)s
) AS old
WHERE k.user_id = old.user_id AND k.caller = old.caller AND k.key_hash = old.key_hash;
