-- Changes of the positions of nodes and records.

-- name: lock_graph_shared
-- Keep the user's graph unchanged until the transaction ends. Many transactions may hold this lock.
SELECT pg_advisory_xact_lock_shared(hashtextextended('neurigraph.graph:' || %(user_id)s::text, 0));

-- name: lock_graph_exclusive
-- Keep other transactions from changing the user's graph, or from holding it unchanged, until this transaction ends.
SELECT pg_advisory_xact_lock(hashtextextended('neurigraph.graph:' || %(user_id)s::text, 0));

-- name: lock_locations
-- Keep the audit from taking objects of moving records for orphans: while records move, the registry and the nodes
-- disagree.
SELECT pg_advisory_xact_lock_shared(hashtextextended('neurigraph.places', 0));

-- name: lock_user
-- Keep the user's models unchanged: a centroid is a mean of vectors of the model in use.
SELECT u.slug
FROM neurigraph.users AS u
WHERE u.user_id = %(user_id)s
FOR SHARE;

-- name: limit_waits
SELECT set_config('lock_timeout', %(milliseconds)s::text, true);

-- name: lock_tables
LOCK TABLE {schema}.metadata_records, {schema}.file_manifest IN ACCESS EXCLUSIVE MODE;

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

-- name: lock_keys_of_nodes
SELECT g.node_id
FROM neurigraph.graph_index AS g
WHERE g.node_id = ANY(%(node_ids)s)
ORDER BY g.node_id
FOR UPDATE;

-- name: delete_warm_nodes
DELETE FROM neurigraph.warm_nodes AS w
WHERE w.node_id = ANY(%(node_ids)s);

-- name: node_is_visible
SELECT neurigraph.may_write_node(g.node_id) AS may_write
FROM neurigraph.graph_index AS g
WHERE g.node_id = %(node_id)s;

-- name: records_are_visible
SELECT
    i.record_id,
    neurigraph.may_write_node(i.node_id) AS may_write
FROM neurigraph.record_index AS i
WHERE i.record_id = ANY(%(record_ids)s);

-- name: node_and_below
-- A node of a user and all nodes below it, shallowest first, with their names from the root down.
SELECT
    g.node_id,
    g.parent_node_id,
    g.node_name AS name,
    g.name_key,
    g.node_type,
    g.layer_depth,
    g.schema_name,
    coalesce(g.node_summary, '') AS summary,
    n.names
FROM neurigraph.graph_index AS g
CROSS JOIN LATERAL neurigraph.names_along(g.path) AS n
WHERE g.user_id = %(user_id)s AND g.path @> ARRAY[%(node_id)s::uuid]
ORDER BY g.layer_depth, g.node_id;

-- name: nodes_of_records
SELECT
    i.node_id,
    array_agg(i.record_id) AS record_ids
FROM neurigraph.record_index AS i
WHERE i.user_id = %(user_id)s AND i.record_id = ANY(%(record_ids)s)
GROUP BY i.node_id;

-- name: chosen_records
SELECT r.record_id
FROM {schema}.metadata_records AS r
WHERE (%(record_ids)s::uuid [] IS NULL OR r.record_id = ANY(%(record_ids)s::uuid []))
    AND (
        %(keyword)s::text IS NULL
        OR lower(%(keyword)s::text) IN (
            SELECT lower(k.word)
            FROM unnest(r.kw_entities || r.kw_topics || r.kw_dates || r.kw_relationships) AS k (word)
        )
    )
    AND (r.occurred_at >= %(occurred_after)s::timestamptz OR %(occurred_after)s::timestamptz IS NULL)
    AND (r.occurred_at < %(occurred_before)s::timestamptz OR %(occurred_before)s::timestamptz IS NULL);

-- name: move_records
SELECT neurigraph_private.move_records(%(record_ids)s, %(from_node)s, %(to_node)s);

-- name: append_moves
-- Append the delta of each moved record: the row of a record does not contain its node, so no trigger does it.
SELECT
    neurigraph.append_delta(
        r.record_id,
        'move',
        jsonb_build_object('node_id', %(from_node)s::uuid, 'node_path', %(from_path)s::text),
        jsonb_build_object('node_id', %(to_node)s::uuid, 'node_path', %(to_path)s::text),
        %(author)s
    )
FROM unnest(%(record_ids)s::uuid []) AS r (record_id);

-- name: rename
UPDATE neurigraph.graph_index SET
    node_name = %(node_name)s, name_key = %(name_key)s, node_summary = %(node_summary)s
WHERE node_id = %(node_id)s;

-- name: set_parent
UPDATE neurigraph.graph_index SET parent_node_id = %(parent_node_id)s, layer_depth = %(layer_depth)s
WHERE node_id = %(node_id)s;

-- name: release_names
-- Release the name of a node that is about to be deleted, for a child that takes its place.
UPDATE neurigraph.graph_index SET name_key = node_id::text
WHERE node_id = ANY(%(node_ids)s);

-- name: redirect_nodes
-- Pass mentions, aliases, evidence and edges of nodes that are about to be deleted to their successors.
SELECT neurigraph_private.redirect_nodes(%(node_ids)s::uuid [], %(successors)s::uuid []);

-- name: redirect_notes
-- Pin unstored notes of nodes that are about to be deleted to the nodes' successors.
UPDATE neurigraph.notes AS n SET node_id = s.successor
FROM unnest(%(node_ids)s::uuid [], %(successors)s::uuid []) AS s (node_id, successor)
WHERE n.node_id = s.node_id;

-- name: redirect_actions
-- Pass actions about nodes that are about to be deleted to the nodes' successors, or delete them.
SELECT neurigraph_private.redirect_actions(%(node_ids)s::uuid [], %(successors)s::uuid []);

-- name: count_grants
SELECT count(*) AS grants
FROM neurigraph.permission_grants AS p
WHERE p.target_node_id = ANY(%(node_ids)s) AND p.revoked_at IS NULL AND (p.expires_at IS NULL OR p.expires_at > now());

-- name: delete_nodes
DELETE FROM neurigraph.graph_index AS g
WHERE g.node_id = ANY(%(node_ids)s);

-- name: drop_schema
DROP SCHEMA {schema} CASCADE;
