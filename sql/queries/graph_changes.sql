-- What changes where nodes and records lie.

-- name: hold_graph
-- The graph of a user stays as it is until the transaction ends; many may hold it.
SELECT pg_advisory_xact_lock_shared(hashtextextended('neurigraph.graph:' || %(user_id)s::text, 0));

-- name: take_graph
-- Nobody else holds or changes the graph of a user until the transaction ends.
SELECT pg_advisory_xact_lock(hashtextextended('neurigraph.graph:' || %(user_id)s::text, 0));

-- name: hold_places
-- Whoever moves records keeps their objects from being taken for orphans while the registry and the nodes disagree.
SELECT pg_advisory_xact_lock_shared(hashtextextended('neurigraph.places', 0));

-- name: hold_user
-- The models of a user stay as they are: a centroid is a mean of vectors of the one in use.
SELECT u.slug
FROM neurigraph.users AS u
WHERE u.user_id = %(user_id)s
FOR SHARE;

-- name: limit_waits
SELECT set_config('lock_timeout', %(milliseconds)s::text, true);

-- name: lock_tables
LOCK TABLE {schema}.metadata_records, {schema}.file_manifest, {schema}.passages IN ACCESS EXCLUSIVE MODE;

-- name: lock_files
SELECT
    f.file_id,
    f.compression_state = 'rehydrating' AND f.lease @> clock_timestamp() AS is_being_woken
FROM {schema}.file_manifest AS f
WHERE f.record_id = ANY(%(record_ids)s)
FOR UPDATE;

-- name: lock_records
SELECT r.record_id
FROM {schema}.metadata_records AS r
WHERE r.record_id = ANY(%(record_ids)s)
FOR UPDATE;

-- name: lock_nodes
SELECT g.node_id
FROM neurigraph.graph_index AS g
WHERE g.node_id = ANY(%(node_ids)s)
ORDER BY g.node_id
FOR NO KEY UPDATE;

-- name: lock_doomed_nodes
SELECT g.node_id
FROM neurigraph.graph_index AS g
WHERE g.node_id = ANY(%(node_ids)s)
ORDER BY g.node_id
FOR UPDATE;

-- name: cool_nodes
DELETE FROM neurigraph.warm_nodes AS w
WHERE w.node_id = ANY(%(node_ids)s);
