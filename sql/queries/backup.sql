-- Backup and restore of a whole installation.

-- name: export_snapshot
SELECT pg_export_snapshot() AS name;

-- name: nodes
SELECT g.schema_name
FROM neurigraph.graph_index AS g
ORDER BY g.schema_name;

-- name: files
SELECT
    f.storage_path AS object_key,
    encode(f.stored_sha256, 'hex') AS sha256,
    f.stored_bytes AS size_bytes
FROM {schema}.file_manifest AS f;

-- name: staged_uploads
-- Those whose bytes no record has yet.
SELECT
    u.staging_key AS object_key,
    encode(u.sha256, 'hex') AS sha256,
    u.size_bytes
FROM neurigraph.uploads AS u
WHERE u.staging_key IS NOT NULL AND u.file_id IS NULL;

-- name: active_files
SELECT f.*
FROM {schema}.file_manifest AS f
WHERE f.compression_state = 'active' AND f.compression_format = 'gzip'
ORDER BY f.file_id;

-- name: roles
-- The roles of Neurigraph, and which of them each is a member of.
SELECT
    r.rolname AS name,
    r.rolinherit AS inherits,
    coalesce(array_agg(g.rolname) FILTER (WHERE g.rolname IS NOT NULL), '{{}}') AS member_of
FROM pg_catalog.pg_roles AS r
LEFT JOIN pg_catalog.pg_auth_members AS m ON r.oid = m.member
LEFT JOIN pg_catalog.pg_roles AS g ON m.roleid = g.oid AND starts_with(g.rolname, 'neurigraph_')
WHERE starts_with(r.rolname, 'neurigraph_') AND NOT r.rolsuper
GROUP BY r.rolname, r.rolinherit
ORDER BY r.rolname;

-- name: role_exists
SELECT EXISTS (SELECT FROM pg_catalog.pg_roles AS r WHERE r.rolname = %(name)s) AS present;

-- name: create_role
CREATE ROLE {role} NOINHERIT;

-- name: create_inheriting_role
CREATE ROLE {role};

-- name: grant_role
GRANT {role} TO {member};

-- name: grant_create
GRANT CREATE ON DATABASE {database} TO neurigraph_owner;

-- name: database_exists
SELECT EXISTS (SELECT FROM pg_catalog.pg_database AS d WHERE d.datname = %(name)s) AS present;

-- name: connections
SELECT count(*) AS others
FROM pg_catalog.pg_stat_activity AS a
WHERE a.datname = %(name)s AND a.pid <> pg_backend_pid();

-- name: has_users
SELECT to_regclass('neurigraph.users') IS NOT NULL AS present;

-- name: count_users
SELECT count(*) AS users
FROM neurigraph.users;

-- name: create_database
CREATE DATABASE {database};

-- name: drop_database
DROP DATABASE IF EXISTS {database} WITH (FORCE);

-- name: rename_database
ALTER DATABASE {database} RENAME TO {new_name};

-- name: become_owner
SET ROLE neurigraph_owner;
