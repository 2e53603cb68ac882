-- Backup and restore of a whole installation.

-- name: export_snapshot
SELECT pg_export_snapshot() AS name;

-- name: roles
-- The roles of Neurigraph, and the roles of which each is a member.
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
WHERE a.datname = ANY(%(names)s) AND a.pid <> pg_backend_pid();

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
