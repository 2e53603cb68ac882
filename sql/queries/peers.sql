-- Peers: the publishers that a user pulls, and their mirrored nodes and records.

-- name: add
INSERT INTO neurigraph.peers (peer_id, user_id, peer_name, url, publisher_key, mount_node_id)
VALUES (%(peer_id)s, %(user_id)s, %(peer_name)s, %(url)s, %(publisher_key)s, %(mount_node_id)s)
ON CONFLICT DO NOTHING
RETURNING peer_id;

-- name: put_key
INSERT INTO neurigraph.peer_keys (peer_id, user_id, sealed)
VALUES (%(peer_id)s, %(user_id)s, %(sealed)s)
ON CONFLICT (peer_id) DO UPDATE SET sealed = excluded.sealed;

-- name: sealed_key
SELECT k.sealed
FROM neurigraph.peer_keys AS k
WHERE k.peer_id = %(peer_id)s;

-- name: peers
-- Return the peers of one user, or of all users, by name.
SELECT
    p.peer_id,
    p.user_id,
    u.slug,
    p.peer_name AS name,
    p.url,
    p.publisher_key,
    p.mount_node_id,
    p.horizon,
    p.tried_at,
    p.pulled_at,
    p.last_error,
    p.created_at,
    (SELECT count(*) FROM neurigraph.mirrored_nodes AS m WHERE m.peer_id = p.peer_id) AS nodes,
    (SELECT count(*) FROM neurigraph.mirrored_records AS m WHERE m.peer_id = p.peer_id) AS records,
    EXTRACT(EPOCH FROM now() - coalesce(p.pulled_at, p.created_at))::double precision AS lag_seconds
FROM neurigraph.peers AS p
INNER JOIN neurigraph.users AS u ON p.user_id = u.user_id
WHERE (%(user_id)s::uuid IS NULL OR p.user_id = %(user_id)s)
    AND (%(peer_id)s::uuid IS NULL OR p.peer_id = %(peer_id)s)
    AND (%(name)s::text IS NULL OR p.peer_name = %(name)s)
ORDER BY p.created_at, p.peer_id;

-- name: lock_pull
-- Lock a peer, so that one pull runs at a time. The lock ends with the connection.
SELECT pg_try_advisory_lock(hashtextextended('neurigraph.pull:' || %(peer_id)s, 0)) AS locked;

-- name: tried
UPDATE neurigraph.peers SET last_error = %(error)s
WHERE peer_id = %(peer_id)s;

-- name: begun
-- An attempt counts from its beginning: whatever ends the process, the other peers come first then.
UPDATE neurigraph.peers SET tried_at = clock_timestamp()
WHERE peer_id = %(peer_id)s
RETURNING tried_at;

-- name: finished
UPDATE neurigraph.peers SET
    pulled_at = %(began_at)s,
    horizon = %(horizon)s,
    last_error = NULL
WHERE peer_id = %(peer_id)s;

-- name: begin_mirroring
SELECT set_config('neurigraph.mirroring', %(peer_id)s, true);

-- name: model_of_user
SELECT u.embedding_model
FROM neurigraph.users AS u
WHERE u.user_id = %(user_id)s;

-- name: mirrored_nodes
-- Return mirrored nodes, each with a digest of its records as publishers compute it.
SELECT
    m.node_id,
    m.publisher_node_id,
    g.node_name,
    g.schema_name,
    d.digest
FROM neurigraph.mirrored_nodes AS m
INNER JOIN neurigraph.graph_index AS g ON m.node_id = g.node_id
CROSS JOIN LATERAL (
    SELECT
        md5(
            coalesce(string_agg(r.publisher_record_id || ':' || r.version, ',' ORDER BY r.publisher_record_id), '')
        ) AS digest
    FROM neurigraph.mirrored_records AS r
    WHERE r.node_id = m.node_id
) AS d
WHERE m.peer_id = %(peer_id)s
ORDER BY m.publisher_node_id;

-- name: versions
SELECT
    r.publisher_record_id,
    r.record_id,
    r.version
FROM neurigraph.mirrored_records AS r
WHERE r.node_id = %(node_id)s AND r.publisher_record_id::text LIKE %(prefix)s || '%%'
ORDER BY r.publisher_record_id;

-- name: digests
SELECT
    left(r.publisher_record_id::text, %(digits)s) AS prefix,
    md5(string_agg(r.publisher_record_id || ':' || r.version, ',' ORDER BY r.publisher_record_id)) AS digest
FROM neurigraph.mirrored_records AS r
WHERE r.node_id = %(node_id)s AND r.publisher_record_id::text LIKE %(prefix)s || '%%'
GROUP BY left(r.publisher_record_id::text, %(digits)s);

-- name: add_node
INSERT INTO neurigraph.mirrored_nodes (node_id, user_id, peer_id, publisher_node_id)
VALUES (%(node_id)s, %(user_id)s, %(peer_id)s, %(publisher_node_id)s);

-- name: rename_node
UPDATE neurigraph.graph_index SET
    node_name = %(name)s,
    name_key = %(name_key)s
WHERE node_id = %(node_id)s;

-- name: name_is_taken
SELECT EXISTS (
    SELECT FROM neurigraph.graph_index AS g
    WHERE g.parent_node_id = %(parent_node_id)s AND g.name_key = %(name_key)s
        AND g.node_id IS DISTINCT FROM %(node_id)s
) AS taken;

-- name: files_of_records
SELECT f.*
FROM {schema}.file_manifest AS f
WHERE f.record_id = ANY(%(record_ids)s);

-- name: keyed
SELECT k.peer_id
FROM neurigraph.peer_keys AS k;

-- name: unlock_pull
SELECT pg_advisory_unlock(hashtextextended('neurigraph.pull:' || %(peer_id)s, 0)) AS unlocked;
