-- Users, nodes and edges.

-- name: insert_user
INSERT INTO neurigraph.users (user_id, slug, opaque_schema_names)
VALUES (%(user_id)s, %(slug)s, %(opaque_schema_names)s)
ON CONFLICT DO NOTHING
RETURNING user_id;

-- name: find_user
SELECT
    u.user_id,
    u.slug,
    g.node_id AS root_node_id
FROM neurigraph.users AS u
LEFT JOIN neurigraph.graph_index AS g ON u.user_id = g.user_id AND g.layer_depth = 0
WHERE u.slug = %(slug)s;

-- name: list_users
SELECT
    u.user_id,
    u.slug,
    g.node_id AS root_node_id
FROM neurigraph.users AS u
INNER JOIN neurigraph.graph_index AS g ON u.user_id = g.user_id AND g.layer_depth = 0
WHERE u.slug > %(after)s
ORDER BY u.slug
LIMIT %(limit)s;

-- name: schema_name_taken
-- Whether a schema name is taken, and whether the schema names of the user are opaque.
SELECT
    EXISTS (SELECT FROM neurigraph.graph_index AS g WHERE g.schema_name = %(schema_name)s) AS taken,
    EXISTS (SELECT FROM neurigraph.users AS u WHERE u.slug = %(user_slug)s AND u.opaque_schema_names) AS opaque;

-- name: insert_node
-- Insert a node. The statement waits for a concurrent insert of the same name, and then does nothing: one name is one
-- node. ON CONFLICT names no index, because the name and the schema name may conflict in either order.
INSERT INTO neurigraph.graph_index (
    node_id, user_id, node_name, name_key, node_type, concept_kind, layer_depth, parent_node_id, schema_name,
    node_keywords, node_summary, node_ddl_version
)
VALUES (
    %(node_id)s, %(user_id)s, %(node_name)s, %(name_key)s, %(node_type)s, %(concept_kind)s, %(layer_depth)s,
    %(parent_node_id)s, %(schema_name)s, %(node_keywords)s, %(node_summary)s, %(node_ddl_version)s
)
ON CONFLICT DO NOTHING
RETURNING node_id;

-- name: child_by_key
SELECT
    g.node_id,
    g.node_name,
    g.layer_depth,
    g.schema_name,
    g.node_type = 'persona' AS is_persona,
    EXISTS (SELECT FROM neurigraph.peers AS p WHERE p.mount_node_id = g.node_id) AS is_mount
FROM neurigraph.graph_index AS g
WHERE g.user_id = %(user_id)s AND g.parent_node_id = %(parent_node_id)s AND g.name_key = %(name_key)s;

-- name: walk_by_keys
-- The nodes from the root down along a path of name keys, as far as they exist. A mirror ends the walk, and so does a
-- persona unless %(personas)s.
WITH RECURSIVE walk AS (
    SELECT
        g.node_id,
        g.node_name,
        g.layer_depth,
        g.schema_name
    FROM neurigraph.graph_index AS g
    WHERE g.user_id = %(user_id)s AND g.layer_depth = 0
    UNION ALL
    SELECT
        g.node_id,
        g.node_name,
        g.layer_depth,
        g.schema_name
    FROM walk AS w
    INNER JOIN neurigraph.graph_index AS g
        ON w.node_id = g.parent_node_id AND g.name_key = (%(name_keys)s::text [])[w.layer_depth + 1]
    WHERE g.user_id = %(user_id)s
        AND NOT EXISTS (SELECT FROM neurigraph.peers AS p WHERE p.mount_node_id = g.node_id)
        AND (%(personas)s OR g.node_type <> 'persona')
)

SELECT w.* FROM walk AS w
ORDER BY w.layer_depth;

-- name: child_by_alias
-- Find a child by a former name or another alias.
SELECT
    g.node_id,
    g.node_name,
    g.layer_depth,
    g.schema_name
FROM neurigraph.graph_index AS g
WHERE g.user_id = %(user_id)s AND g.parent_node_id = %(parent_node_id)s AND %(name)s = ANY(g.aliases)
    AND (%(personas)s OR g.node_type <> 'persona')
ORDER BY g.node_id
LIMIT 1;

-- name: is_of_persona
-- One row if a node is a persona or lies below one.
SELECT g.node_id
FROM neurigraph.graph_index AS g
INNER JOIN neurigraph.graph_index AS p ON p.node_id = ANY(g.path)
WHERE g.node_id = %(node_id)s AND p.node_type = 'persona'
LIMIT 1;

-- name: root_of_user
SELECT
    g.node_id,
    g.node_name,
    g.layer_depth,
    g.schema_name
FROM neurigraph.graph_index AS g
WHERE g.user_id = %(user_id)s AND g.layer_depth = 0;

-- name: node_by_id
-- A node by id. It counts only records that the caller may see. Within spaces, values that describe the whole node are
-- empty.
SELECT
    g.*,
    n.names,
    CASE WHEN (SELECT neurigraph.asking_tags() IS NULL) THEN g.node_keywords ELSE ARRAY[]::text [] END AS node_keywords,
    CASE WHEN (SELECT neurigraph.asking_tags() IS NULL) THEN g.aliases ELSE ARRAY[]::text [] END AS aliases,
    neurigraph.summary_for(
        g.concept_kind, g.node_summary,
        (SELECT neurigraph.asking_tags() IS NOT NULL), (SELECT neurigraph.sees_all_sources())
    ) AS node_summary,
    CASE WHEN (SELECT neurigraph.asking_tags() IS NULL) THEN g.language END AS language,
    CASE WHEN (SELECT neurigraph.asking_tags() IS NULL) THEN g.centroid END AS centroid,
    CASE
        WHEN (SELECT neurigraph.sees_all_sources()) THEN g.record_count
        ELSE (SELECT count(*) FROM neurigraph.record_index AS i WHERE i.node_id = g.node_id)
    END AS record_count
FROM neurigraph.graph_index AS g
CROSS JOIN LATERAL neurigraph.names_along(g.path) AS n
WHERE g.node_id = %(node_id)s;

-- name: node_by_path
-- One node by its lower-case names from layer 1 down; an empty list is the root.
WITH RECURSIVE walk AS (
    SELECT
        g.node_id,
        0 AS depth
    FROM neurigraph.graph_index AS g
    WHERE g.user_id = %(user_id)s AND g.layer_depth = 0
    UNION ALL
    SELECT
        c.node_id,
        w.depth + 1
    FROM walk AS w
    INNER JOIN neurigraph.graph_index AS c
        ON w.node_id = c.parent_node_id AND c.name_key = (%(name_keys)s::text [])[w.depth + 1]
    WHERE w.depth < cardinality(%(name_keys)s::text [])
)

SELECT w.node_id
FROM walk AS w
WHERE w.depth = cardinality(%(name_keys)s::text []);

-- name: node_by_path_view
-- One node by its lower-case names in one text, with or without the name of the root.
SELECT g.node_id
FROM neurigraph.graph_index AS g
CROSS JOIN LATERAL (
    SELECT
        string_agg(a.name_key, '/' ORDER BY a.layer_depth) AS whole,
        string_agg(a.name_key, '/' ORDER BY a.layer_depth) FILTER (WHERE a.layer_depth > 0) AS below
    FROM neurigraph.graph_index AS a
    WHERE a.node_id = ANY(g.path)
) AS n
WHERE g.user_id = %(user_id)s
    AND %(path)s IN (regexp_replace(n.whole, '[ /]*/[ /]*', '/', 'g'), regexp_replace(n.below, '[ /]*/[ /]*', '/', 'g'))
ORDER BY g.node_id
LIMIT 1;

-- name: outline
-- All nodes of a user or some of them, shallowest first, with their names from the root down.
SELECT
    g.node_id,
    g.parent_node_id,
    g.node_name AS name,
    g.node_type,
    g.concept_kind AS kind,
    g.layer_depth AS depth,
    g.compression_state AS state,
    -- Keywords, aliases and summary describe the whole node, and so all spaces.
    CASE WHEN (SELECT neurigraph.asking_tags() IS NULL) THEN g.node_keywords ELSE ARRAY[]::text [] END AS keywords,
    CASE WHEN (SELECT neurigraph.asking_tags() IS NULL) THEN g.aliases ELSE ARRAY[]::text [] END AS aliases,
    coalesce(neurigraph.summary_for(
        g.concept_kind, g.node_summary,
        (SELECT neurigraph.asking_tags() IS NOT NULL), (SELECT neurigraph.sees_all_sources())
    ), '') AS summary,
    CASE
        WHEN (SELECT neurigraph.sees_all_sources()) THEN g.record_count
        ELSE (SELECT count(*) FROM neurigraph.record_index AS i WHERE i.node_id = g.node_id)
    END AS record_count,
    CASE WHEN (SELECT neurigraph.asking_tags() IS NULL) THEN g.centroid END AS centroid,
    u.embedding_model,
    n.names,
    n.of_persona
FROM neurigraph.graph_index AS g
LEFT JOIN neurigraph.users AS u ON g.user_id = u.user_id
CROSS JOIN LATERAL (
    SELECT
        array_agg(a.node_name ORDER BY a.layer_depth) AS names,
        bool_or(a.node_type = 'persona') AS of_persona
    FROM neurigraph.graph_index AS a
    WHERE a.node_id = ANY(g.path)
) AS n
WHERE g.user_id = %(user_id)s AND NOT g.quarantined
    AND (%(nodes)s::uuid [] IS NULL OR g.node_id = ANY(%(nodes)s))
    -- The pipeline files nothing in a mirror.
    AND (
        NOT %(filing)s
        OR NOT EXISTS (
            SELECT FROM neurigraph.peers AS p WHERE p.user_id = g.user_id AND g.path @> ARRAY[p.mount_node_id]
        )
    )
ORDER BY g.layer_depth, n.names;

-- name: page_of_tree
-- A page of the tree, depth first: a node sorts before all nodes below it.
SELECT
    g.node_id,
    g.path
FROM neurigraph.graph_index AS g
WHERE g.user_id = %(user_id)s AND NOT g.quarantined AND g.path > %(after)s::uuid []
ORDER BY g.path
LIMIT %(limit)s;

-- name: edges_of_user
SELECT
    e.from_node_id,
    e.to_node_id,
    e.relation,
    s.strength,
    s.evidence_count
FROM neurigraph.node_edges AS e
CROSS JOIN LATERAL neurigraph.seen_edge(e) AS s
WHERE e.user_id = %(user_id)s AND (%(nodes)s::uuid [] IS NULL OR e.from_node_id = ANY(%(nodes)s))
    AND s.evidence_count > 0
ORDER BY s.evidence_count DESC, e.relation, e.from_node_id, e.to_node_id;

-- name: edges_of_node
-- Edges of a node in both directions, with the node at the other end and its state: an edge to a dormant node is shown,
-- not followed. Strength and counts are over the evidence that the caller sees.
SELECT
    e.edge_id,
    e.relation,
    s.strength,
    s.evidence_count,
    s.unproven AS unproven_count,
    s.valid::text AS valid,
    o.node_id,
    o.node_name,
    o.compression_state AS node_state,
    CASE WHEN e.from_node_id = %(node_id)s THEN 'out' ELSE 'in' END AS direction
FROM neurigraph.edge_sums(
    ARRAY(
        SELECT n.edge_id FROM neurigraph.node_edges AS n
        WHERE n.from_node_id = %(node_id)s OR n.to_node_id = %(node_id)s
    )
) AS s
INNER JOIN neurigraph.node_edges AS e ON s.edge_id = e.edge_id
INNER JOIN neurigraph.graph_index AS o
    ON o.node_id = CASE WHEN e.from_node_id = %(node_id)s THEN e.to_node_id ELSE e.from_node_id END
WHERE s.evidence_count > 0
ORDER BY s.evidence_count DESC, e.relation, o.node_name;

-- name: children_of_node
SELECT
    g.node_id,
    g.node_name AS name,
    g.node_type,
    g.concept_kind AS kind,
    g.compression_state AS state,
    CASE
        WHEN (SELECT neurigraph.sees_all_sources()) THEN g.record_count
        ELSE (SELECT count(*) FROM neurigraph.record_index AS i WHERE i.node_id = g.node_id)
    END AS record_count
FROM neurigraph.graph_index AS g
WHERE g.parent_node_id = %(node_id)s
ORDER BY g.node_name;

-- name: lock_shells
-- Lock the rows of nodes, in order, until the commit ends, so that commits to one node take turns.
SELECT
    g.node_id,
    g.node_name,
    g.concept_kind,
    g.schema_name,
    g.record_count,
    g.centroid,
    g.embedded_count,
    g.node_keywords,
    g.keyword_weights,
    g.node_summary,
    g.aliases,
    g.language::text AS language,
    EXISTS (SELECT FROM neurigraph.graph_index AS a WHERE a.node_id = ANY(g.path) AND a.quarantined) AS is_hidden
FROM neurigraph.graph_index AS g
WHERE g.node_id = ANY(%(node_ids)s)
ORDER BY g.node_id
FOR NO KEY UPDATE OF g;

-- name: update_shell
-- Update the shell of a node. The files of a new record are active, and so is the node that gets the record.
UPDATE neurigraph.graph_index AS g SET
    compression_state = CASE
        WHEN g.compression_state = 'dormant' AND g.record_count < %(record_count)s THEN 'active'
        ELSE g.compression_state
    END,
    record_count = %(record_count)s,
    embedded_count = %(embedded_count)s,
    centroid = %(centroid)s,
    node_keywords = %(node_keywords)s,
    keyword_weights = %(keyword_weights)s,
    node_summary = %(node_summary)s,
    language = %(language)s::regconfig,
    last_accessed_at = greatest(g.last_accessed_at, now())
WHERE g.node_id = %(node_id)s;

-- name: show_nodes
-- Show nodes that have evidence outside the quarantine again, with the nodes above them.
UPDATE neurigraph.graph_index AS g SET quarantined = false
WHERE g.quarantined AND g.node_id IN (
    SELECT a.node_id FROM neurigraph.graph_index AS n CROSS JOIN LATERAL unnest(n.path) AS a (node_id)
    WHERE n.node_id = ANY(%(node_ids)s)
);

-- name: set_shell
UPDATE neurigraph.graph_index SET
    record_count = %(record_count)s,
    embedded_count = %(embedded_count)s,
    centroid = %(centroid)s,
    node_keywords = %(node_keywords)s,
    keyword_weights = %(keyword_weights)s,
    node_summary = %(node_summary)s,
    language = %(language)s::regconfig
WHERE node_id = %(node_id)s;

-- name: content_of_shell
-- The centroid is the mean of the vectors that the user's searches compare, of all records that have such vectors by
-- now.
SELECT
    count(r.record_id) AS record_count,
    count(r.record_id) FILTER (
        WHERE u.embedding_model IN (r.embedding_model, r.embedding_next_model)
    ) AS embedded_count,
    avg(
        CASE u.embedding_model
            WHEN r.embedding_model THEN r.embedding
            WHEN r.embedding_next_model THEN r.embedding_next
        END
    ) AS centroid
FROM neurigraph.graph_index AS g
INNER JOIN neurigraph.users AS u ON g.user_id = u.user_id
LEFT JOIN {schema}.metadata_records AS r ON NOT r.quarantined
WHERE g.node_id = %(node_id)s;

-- name: keywords_of_newest
SELECT
    r.kw_entities,
    r.kw_topics,
    r.kw_dates,
    r.kw_relationships
FROM {schema}.metadata_records AS r
LEFT JOIN neurigraph.sources AS s ON r.source_id = s.source_id
WHERE s.privacy IS DISTINCT FROM 'private' AND NOT r.quarantined
ORDER BY r.created_at DESC, r.record_id
LIMIT %(limit)s;

-- name: is_quarantined
SELECT i.quarantined
FROM neurigraph.record_index AS i
WHERE i.record_id = %(record_id)s;

-- name: set_centroid
UPDATE neurigraph.graph_index SET embedded_count = %(embedded_count)s, centroid = %(centroid)s
WHERE node_id = %(node_id)s;

-- name: name_is_used
-- Whether another node uses a name, as its name or as an alias.
SELECT EXISTS (
    SELECT FROM neurigraph.graph_index AS g
    WHERE g.user_id = %(user_id)s AND g.node_id <> %(node_id)s AND g.name_key = %(name_key)s
    UNION ALL
    SELECT FROM neurigraph.node_aliases AS a
    WHERE a.user_id = %(user_id)s AND a.node_id <> %(node_id)s AND a.value_key = %(name_key)s
) AS borne;

-- name: span_of_records
-- Return the number, the times and the usual language of the node's shared records.
SELECT
    count(*) AS records,
    min(r.occurred_at) AS first,
    max(r.occurred_at) AS last,
    mode() WITHIN GROUP (ORDER BY r.language::text) AS language
FROM {schema}.metadata_records AS r
LEFT JOIN neurigraph.sources AS s ON r.source_id = s.source_id
WHERE s.privacy IS DISTINCT FROM 'private' AND NOT r.quarantined;

-- name: relationships_of_records
-- Statements of the node's newest records about people, once a record.
SELECT k.relationship
FROM (
    SELECT r.kw_relationships
    FROM {schema}.metadata_records AS r
    LEFT JOIN neurigraph.sources AS s ON r.source_id = s.source_id
    WHERE s.privacy IS DISTINCT FROM 'private' AND NOT r.quarantined
    ORDER BY r.occurred_at DESC, r.record_id
    LIMIT 256
) AS newest
CROSS JOIN LATERAL unnest(newest.kw_relationships) AS k (relationship);

-- name: edges_to_person
-- Relations to a person that other nodes state in shared records, the most frequent first.
SELECT
    e.relation,
    count(*) AS evidence_count,
    o.node_name,
    o.concept_kind
FROM neurigraph.node_edges AS e
INNER JOIN neurigraph.graph_index AS o ON e.from_node_id = o.node_id
INNER JOIN neurigraph.edge_evidence AS v ON e.edge_id = v.edge_id
LEFT JOIN neurigraph.record_index AS i ON v.record_id = i.record_id
WHERE e.to_node_id = %(node_id)s AND e.relation <> ALL(%(uninformative)s) AND v.stance = 'asserts'
    AND (v.record_id IS NULL OR (i.superseded IS NOT TRUE AND neurigraph.is_shared(v.record_id)))
GROUP BY e.edge_id, o.node_id
ORDER BY count(*) DESC, e.relation, o.node_name
LIMIT 32;

-- name: node_is_there
SELECT
FROM neurigraph.graph_index AS g
WHERE g.node_id = %(node_id)s;

-- name: run_script
-- Run the script of a new node as one statement, as the owner role, to whom all schemas belong and which the pipeline
-- may assume. Its only names are those of the node, which have no dollar. After an ALTER of its own, psycopg would
-- forget all prepared statements of the connection. An error rolls the transaction back, and the role with it.
DO $script$
DECLARE
    caller text := current_user;
BEGIN
    PERFORM set_config('role', 'neurigraph_owner', true);
    {script}
    PERFORM set_config('role', caller, true);
END
$script$;

-- name: totals
-- Totals of a user, for a person to read.
SELECT
    (SELECT count(*) FROM neurigraph.graph_index AS g WHERE g.user_id = %(user_id)s) AS nodes,
    (SELECT count(*) FROM neurigraph.node_edges AS e WHERE e.user_id = %(user_id)s) AS edges,
    (SELECT count(*) FROM neurigraph.record_index AS r WHERE r.user_id = %(user_id)s) AS records,
    (SELECT count(*) FROM neurigraph.file_index AS f WHERE f.user_id = %(user_id)s) AS files,
    (SELECT count(*) FROM neurigraph.sources AS s WHERE s.user_id = %(user_id)s) AS sources,
    (SELECT count(*) FROM neurigraph.messages AS m WHERE m.user_id = %(user_id)s) AS messages,
    (SELECT coalesce(sum(m.token_count), 0) FROM neurigraph.messages AS m WHERE m.user_id = %(user_id)s) AS tokens,
    (
        SELECT count(*) FROM neurigraph.storage_triggers AS t
        WHERE t.user_id = %(user_id)s AND t.state IN ('pending', 'claimed')
    ) + (
        SELECT count(*) FROM neurigraph.sources AS s
        WHERE s.user_id = %(user_id)s AND s.ended_at IS NOT NULL AND s.triggered_through < s.last_message
            AND NOT s.held
    ) AS pending,
    (
        SELECT count(*) FROM neurigraph.storage_triggers AS t
        WHERE t.user_id = %(user_id)s AND t.state = 'failed'
    ) AS failed;
