-- API keys.

-- name: insert_api_key
INSERT INTO neurigraph.api_keys (user_id, key_hash, label)
VALUES (%(user_id)s, %(key_hash)s, %(label)s);

-- name: owner_of_key
-- Runs without claims: the function is the only way for a face to learn whose key it was handed.
SELECT neurigraph.owner_of_key(%(key_hash)s) AS user_id;
