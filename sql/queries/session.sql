-- The start of a transaction, and new servers.

-- name: become_owner
SET LOCAL ROLE neurigraph_owner;

-- name: set_session_owner
SET ROLE neurigraph_owner;

-- name: set_claims
SELECT
    set_config('request.jwt.claims', %(payload)s, true),
    set_config('neurigraph.claims_signature', %(signature)s, true);

-- name: plan_once
-- The plan of a prepared statement is made once, without its values, and kept as long as the connection.
SELECT set_config('plan_cache_mode', 'force_generic_plan', true);

-- name: database_exists
SELECT EXISTS (SELECT FROM pg_catalog.pg_database AS d WHERE d.datname = %(name)s) AS present;

-- name: create_database
CREATE DATABASE {name};

-- name: written_position
-- The position up to which a primary has written, in bytes since the beginning of its log.
SELECT (pg_current_wal_lsn() - '0/0')::bigint AS position;

-- name: replayed_position
-- The position up to which a standby has replayed; null if the server is no standby.
SELECT CASE WHEN pg_is_in_recovery() THEN (pg_last_wal_replay_lsn() - '0/0')::bigint END AS position;

-- name: data_folder
-- The folder of the answering server: another server may have taken the port.
SELECT current_setting('data_directory') AS folder;
