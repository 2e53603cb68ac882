-- API keys.

-- name: insert_api_key
INSERT INTO neurigraph.api_keys (user_id, key_hash, label)
VALUES (%(user_id)s, %(key_hash)s, %(label)s);

-- name: holder_of_key
-- Runs without claims: the function is the only way for a face to learn whose key it was handed.
SELECT
    h.user_id,
    h.role,
    h.subject_id
FROM neurigraph.holder_of_key(%(key_hash)s) AS h;
