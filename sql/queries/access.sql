-- API keys, grants and personas. Most queries run as the caller, and policies admit the owner of a graph.

-- name: insert_api_key
INSERT INTO neurigraph.api_keys (user_id, key_hash, label)
VALUES (%(user_id)s, %(key_hash)s, %(label)s);

-- name: holder_of_key
-- The holder of a key. Runs without claims: no other function tells an interface the holder.
SELECT
    h.key_id,
    h.user_id,
    h.role,
    h.subject_id,
    h.container_tags
FROM neurigraph.holder_of_key(%(key_hash)s) AS h;

-- name: sees
SELECT neurigraph.sees(%(payload)s, %(signature)s, %(kind)s, %(wanted)s) AS is_visible;

-- name: may_write
-- Whether the caller is a persona that may write to any node, or a member of an organization.
SELECT coalesce(neurigraph.writing_persona(), neurigraph.asking_member()) IS NOT NULL AS may;

-- name: asking_member
SELECT neurigraph.asking_member() AS member_id;

-- name: is_organization
-- Whether a graph belongs to an organization. Runs without claims, because an interface asks before it makes claims
-- from a token.
SELECT neurigraph.is_organization(%(user_id)s) AS is_one;

-- name: may_write_node
SELECT neurigraph.may_write_node(%(node_id)s) AS may;

-- name: may_hand_in
SELECT neurigraph.may_hand_in(%(node_id)s) AS may;

-- name: insert_key
INSERT INTO neurigraph.api_keys (user_id, key_hash, role, subject_id, label, expires_at, container_tags)
VALUES (
    %(user_id)s, %(key_hash)s, %(role)s, %(subject_id)s, %(label)s, %(expires_at)s, %(container_tags)s::text []
)
RETURNING key_id, role, subject_id, label, created_at, expires_at, revoked_at, last_used_at, container_tags;

-- name: list_keys
SELECT
    k.key_id,
    k.role,
    k.subject_id,
    k.label,
    k.created_at,
    k.expires_at,
    k.revoked_at,
    k.last_used_at,
    k.container_tags
FROM neurigraph.api_keys AS k
WHERE k.user_id = %(user_id)s
    AND (%(with_ended)s OR (k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())))
    AND (k.created_at, k.key_id) < (%(at)s::timestamptz, %(id)s::uuid)
ORDER BY k.created_at DESC, k.key_id DESC
LIMIT %(limit)s;

-- name: retire_key
-- Retire a key, and return the fields that the new key inherits. The expiry of the old key never gets later.
WITH old AS (
    SELECT
        k.key_id,
        k.expires_at
    FROM neurigraph.api_keys AS k
    WHERE k.key_id = %(key_id)s AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())
    FOR NO KEY UPDATE
)

UPDATE neurigraph.api_keys AS k SET expires_at = least(o.expires_at, now() + make_interval(secs => %(seconds)s))
FROM old AS o
WHERE k.key_id = o.key_id
RETURNING k.role, k.subject_id, k.label, k.container_tags, o.expires_at AS expired_at;

-- name: revoke_key
UPDATE neurigraph.api_keys SET revoked_at = coalesce(revoked_at, now())
WHERE key_id = %(key_id)s
RETURNING key_id, role, subject_id, label, created_at, expires_at, revoked_at, last_used_at, container_tags;

-- name: find_grant
-- A grant in force with the same right and the same expiry.
SELECT t.grant_id
FROM neurigraph.permission_grants AS t
WHERE t.user_id = %(user_id)s AND t.subject_id = %(subject_id)s AND t.subject_type = %(subject_type)s
    AND t.target_node_id = %(node_id)s AND t.grant_type = %(grant_type)s
    AND t.revoked_at IS NULL AND t.expires_at IS NOT DISTINCT FROM %(expires_at)s::timestamptz;

-- name: insert_grant
INSERT INTO neurigraph.permission_grants (
    user_id, subject_id, subject_type, target_node_id, grant_type, grantor_user_id, expires_at
)
VALUES (
    %(user_id)s, %(subject_id)s, %(subject_type)s, %(node_id)s, %(grant_type)s, %(user_id)s, %(expires_at)s
)
RETURNING grant_id;

-- name: list_grants
SELECT
    t.grant_id,
    t.subject_type,
    t.subject_id,
    t.target_node_id AS node_id,
    t.grant_type,
    t.granted_at,
    t.expires_at,
    t.revoked_at,
    array_to_string(n.names, '/') AS node_path
FROM neurigraph.permission_grants AS t
INNER JOIN neurigraph.graph_index AS g ON t.target_node_id = g.node_id
CROSS JOIN LATERAL neurigraph.names_along(g.path) AS n
WHERE t.user_id = %(user_id)s
    AND (%(node_id)s::uuid IS NULL OR t.target_node_id = %(node_id)s)
    AND CASE
        WHEN %(grant_id)s::uuid IS NOT NULL THEN t.grant_id = %(grant_id)s
        ELSE %(with_ended)s OR (t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now()))
    END
    AND (t.granted_at, t.grant_id) < (%(at)s::timestamptz, %(id)s::uuid)
ORDER BY t.granted_at DESC, t.grant_id DESC
LIMIT %(limit)s;

-- name: opened_by_grant
-- The records that a grant on a node opens, newest first, without private ones: at most `most`, each with the beginning
-- of what it says, the cosine of its vector with the sum of the others, and the number and the times of all.
WITH opened AS MATERIALIZED (
    SELECT
        r.record_id,
        r.title,
        r.occurred_at,
        concat_ws(E'\n', r.title, left(r.summary, %(characters)s)) AS said,
        CASE u.embedding_model
            WHEN r.embedding_model THEN r.embedding
            WHEN r.embedding_next_model THEN r.embedding_next
        END AS vector
    FROM {schema}.metadata_records AS r
    INNER JOIN neurigraph.users AS u ON u.user_id = %(user_id)s
    LEFT JOIN neurigraph.sources AS s ON r.source_id = s.source_id
    WHERE s.privacy IS DISTINCT FROM 'private' AND NOT r.quarantined
)

SELECT
    o.record_id,
    o.title,
    o.occurred_at,
    o.said,
    CASE WHEN t.vectors > 1 THEN 1 - (o.vector <=> (t.total - o.vector)) END AS cosine,
    t.records,
    t.first_at,
    t.last_at
FROM opened AS o
CROSS JOIN (
    SELECT
        count(*) AS records,
        min(a.occurred_at) AS first_at,
        max(a.occurred_at) AS last_at,
        count(a.vector) AS vectors,
        sum(a.vector) AS total
    FROM opened AS a
) AS t
ORDER BY o.occurred_at DESC, o.record_id DESC
LIMIT %(most)s;

-- name: granted_with_news
-- Nodes with a grant in force to somebody but the persona of the node itself, and their records of the last day.
SELECT
    g.node_id,
    g.user_id,
    u.slug,
    g.schema_name,
    (SELECT n.names FROM neurigraph.names_along(g.path) AS n) AS names,
    array_agg(i.record_id) AS new_records
FROM neurigraph.graph_index AS g
INNER JOIN neurigraph.users AS u ON g.user_id = u.user_id
INNER JOIN neurigraph.record_index AS i ON g.node_id = i.node_id
WHERE i.created_at > now() - interval '1 day'
    AND EXISTS (
        SELECT FROM neurigraph.permission_grants AS t
        WHERE t.target_node_id = g.node_id AND t.subject_id <> g.node_id::text
            AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now())
    )
GROUP BY g.node_id, u.slug
ORDER BY g.node_id;

-- name: revoke_grant
UPDATE neurigraph.permission_grants SET revoked_at = coalesce(revoked_at, now())
WHERE grant_id = %(grant_id)s
RETURNING grant_id;

-- name: find_persona
SELECT g.node_id
FROM neurigraph.graph_index AS g
WHERE g.node_id = %(node_id)s AND g.node_type = 'persona';

-- name: list_personas
SELECT
    g.node_id,
    g.node_name AS name,
    array_to_string(n.names, '/') AS path,
    g.record_count
FROM neurigraph.graph_index AS g
CROSS JOIN LATERAL neurigraph.names_along(g.path) AS n
WHERE g.user_id = %(user_id)s AND g.node_type = 'persona'
ORDER BY n.names;

-- name: writable
-- The nodes in which the pipeline files sources of a persona: the persona's own node first, then the shallowest.
SELECT n.names
FROM neurigraph.graph_index AS g
CROSS JOIN LATERAL neurigraph.names_along(g.path) AS n
WHERE g.node_id IN (SELECT neurigraph.writable_nodes(%(persona)s))
    AND EXISTS (
        SELECT FROM neurigraph.standard_for_jobs(g.node_id) AS s
        WHERE s.field = 'write' AND s.value IN ('any', 'registered')
    )
ORDER BY g.node_id <> %(persona)s, g.layer_depth, n.names;

-- name: persona_may_write
SELECT %(node_id)s IN (SELECT neurigraph.writable_nodes(%(persona)s)) AS may;

-- name: unguarded_tables
-- Tables that an interface reads without a policy, or in a node schema without that node's condition; there should be
-- none. The result names a node's tables by the node's id, because schema names contain node names.
SELECT
    coalesce('node ' || g.node_id, n.nspname) AS place,
    c.relname AS table_name
FROM pg_catalog.pg_class AS c
INNER JOIN pg_catalog.pg_namespace AS n ON c.relnamespace = n.oid
LEFT JOIN neurigraph.graph_index AS g ON n.nspname = g.schema_name
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
    AND (
        n.nspname = 'neurigraph' OR g.node_id IS NOT NULL
        OR pg_catalog.has_schema_privilege('neurigraph_agent', n.oid, 'USAGE')
        AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'public') AND n.nspname <> 'extensions'
    )
    AND (
        pg_catalog.has_any_column_privilege('neurigraph_agent', c.oid, 'SELECT, INSERT, UPDATE, REFERENCES')
        OR pg_catalog.has_table_privilege('neurigraph_agent', c.oid, 'DELETE, TRUNCATE, TRIGGER')
    )
    AND (
        NOT c.relrowsecurity
        OR pg_catalog.pg_get_userbyid(c.relowner) <> 'neurigraph_owner'
        OR NOT EXISTS (
            SELECT FROM pg_catalog.pg_policy AS p
            WHERE p.polrelid = c.oid AND p.polpermissive AND 'neurigraph_agent'::regrole = ANY(p.polroles)
        )
        OR EXISTS (
            SELECT FROM pg_catalog.pg_policy AS p
            WHERE p.polrelid = c.oid AND p.polpermissive
                AND p.polroles && ARRAY['neurigraph_agent'::regrole::oid, 0::oid]
                AND n.nspname <> 'neurigraph'
                AND position(
                    'may_read_node(' || quote_literal(g.node_id) || '::uuid)'
                    IN pg_catalog.pg_get_expr(p.polqual, p.polrelid)
                ) = 0
        )
    )
ORDER BY n.nspname, c.relname;
