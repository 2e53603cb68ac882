-- Dagster's database, on the same server beside that of the memories.

-- name: lock
-- Let concurrent programs take turns, until the session ends.
SELECT pg_advisory_lock(hashtext('neurigraph.dagster_database'));

-- name: found
-- Its owner, and whether roles of others may connect to it, as they may to every new one.
SELECT
    pg_catalog.pg_get_userbyid(d.datdba) AS owner,
    has_database_privilege('public', d.oid, 'CONNECT') AS is_open
FROM pg_catalog.pg_database AS d
WHERE d.datname = %(name)s;

-- name: create
CREATE DATABASE {name} OWNER neurigraph_dagster;

-- name: become_dagster
SET LOCAL ROLE neurigraph_dagster;

-- name: close
REVOKE ALL ON DATABASE {name} FROM PUBLIC;

-- name: show_size
-- Only roles that may connect see the size of a database; nobody logs in as the owner of the memories.
GRANT CONNECT ON DATABASE {name} TO neurigraph_owner;
