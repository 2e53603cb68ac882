-- Queries of the migration runner.

-- name: lock
-- Take an advisory lock of the session, so that concurrent runs take turns.
SELECT pg_advisory_lock(hashtext('neurigraph.migrations'));

-- name: unlock
SELECT pg_advisory_unlock(hashtext('neurigraph.migrations'));

-- name: server
SELECT
    current_setting('server_version_num')::integer AS version,
    current_setting('server_version') AS version_text,
    (SELECT e.default_version FROM pg_catalog.pg_available_extensions AS e WHERE e.name = 'vector') AS vector_available,
    (SELECT e.extversion FROM pg_catalog.pg_extension AS e WHERE e.extname = 'vector') AS vector_installed;

-- name: has_journal
SELECT to_regclass('neurigraph.schema_migrations') IS NOT NULL AS present;

-- name: create_journal
CREATE TABLE IF NOT EXISTS neurigraph.schema_migrations (
    number integer PRIMARY KEY,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
);

-- name: applied
SELECT
    m.number,
    m.name,
    m.checksum
FROM neurigraph.schema_migrations AS m
ORDER BY m.number;

-- name: note_applied
INSERT INTO neurigraph.schema_migrations (number, name, checksum)
VALUES (%(number)s, %(name)s, %(checksum)s);

-- name: create_routines_journal
CREATE TABLE IF NOT EXISTS neurigraph.schema_routines (
    name text PRIMARY KEY,
    checksum text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
);

-- name: routines
SELECT
    r.name,
    r.checksum
FROM neurigraph.schema_routines AS r;

-- name: note_routine
INSERT INTO neurigraph.schema_routines (name, checksum)
VALUES (%(name)s, %(checksum)s)
ON CONFLICT (name) DO UPDATE SET checksum = excluded.checksum, applied_at = now();

-- name: policies
SELECT
    p.policyname AS policy,
    p.tablename AS table_name
FROM pg_catalog.pg_policies AS p
WHERE p.schemaname = 'neurigraph' AND p.tablename = %(table)s;

-- name: drop_policy
DROP POLICY {policy} ON neurigraph.{table_name};

-- name: close_private_functions
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA neurigraph_private FROM PUBLIC;

-- name: node_before
-- A node whose tables a migration has still to change, the most recently used node first.
SELECT
    g.node_id,
    g.user_id,
    g.schema_name
FROM neurigraph.graph_index AS g
WHERE g.node_ddl_version < %(number)s
ORDER BY g.last_accessed_at DESC
LIMIT 1
FOR NO KEY UPDATE;

-- name: set_node_version
UPDATE neurigraph.graph_index SET node_ddl_version = %(number)s
WHERE node_id = %(node_id)s;

-- name: become_owner
SET LOCAL ROLE neurigraph_owner;

-- name: hash_passwords_once
-- The passwords of roles have 256 bits that nobody guesses: to hash them thousands of times protects nothing, and takes
-- half of the time of a connection. Servers before Postgres 16 have no such setting.
SELECT set_config(s.name, '1', true) AS iterations
FROM pg_catalog.pg_settings AS s
WHERE s.name = 'scram_iterations';

-- name: set_login
ALTER ROLE {role} LOGIN PASSWORD {password};

-- name: roles_fingerprint
SELECT shobj_description(r.oid, 'pg_authid') AS description
FROM pg_catalog.pg_roles AS r
WHERE r.rolname = 'neurigraph_pipeline';

-- name: note_roles_fingerprint
COMMENT ON ROLE neurigraph_pipeline IS {fingerprint};

-- name: has_claims_key
SELECT to_regclass('neurigraph_private.claims_key') IS NOT NULL AS present;

-- name: claims_key
SELECT k.inner_pad
FROM neurigraph_private.claims_key AS k;

-- name: reset_role
-- Reset the defaults of the role. Every role may change its own defaults, so one client that runs SQL as the interfaces
-- or an analyst do could change them for all.
ALTER ROLE {role} RESET ALL;

-- name: reset_role_here
ALTER ROLE {role} IN DATABASE {database} RESET ALL;

-- name: store_claims_key
INSERT INTO neurigraph_private.claims_key (only_one, inner_pad, outer_pad)
VALUES (true, %(inner_pad)s, %(outer_pad)s)
ON CONFLICT (only_one) DO UPDATE SET inner_pad = excluded.inner_pad, outer_pad = excluded.outer_pad;
