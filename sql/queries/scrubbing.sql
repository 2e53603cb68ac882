-- What erased rows leave in the files of the database.

-- name: limit_waits
-- Whoever waits for a table keeps all others waiting for it.
SET lock_timeout = '2s';

-- name: tables
-- All shared tables, and those of nodes.
SELECT
    n.nspname AS schema_name,
    c.relname AS table_name
FROM pg_catalog.pg_class AS c
INNER JOIN pg_catalog.pg_namespace AS n ON c.relnamespace = n.oid
LEFT JOIN neurigraph.graph_index AS g ON n.nspname = g.schema_name
WHERE c.relkind = 'r'
    AND (n.nspname = 'neurigraph' OR (g.node_id IS NOT NULL AND (%(user_id)s::uuid IS NULL OR g.user_id = %(user_id)s)))
ORDER BY n.nspname <> 'neurigraph', n.nspname, c.relname;

-- name: rewrite
-- The indexes are made anew with it, and samples are taken of what there is.
VACUUM (FULL, ANALYZE) {table};

-- name: knows_no_rows
-- Of a table without rows no samples are taken, so the old ones stay; Postgres can forget them from version 18 on.
SELECT
    c.reltuples <= 0 AND current_setting('server_version_num')::integer >= 180000 AND EXISTS (
        SELECT FROM pg_catalog.pg_stats AS s
        WHERE s.schemaname = n.nspname AND s.tablename = c.relname
    ) AS stale
FROM pg_catalog.pg_class AS c
INNER JOIN pg_catalog.pg_namespace AS n ON c.relnamespace = n.oid
WHERE n.nspname = %(schema_name)s AND c.relname = %(table_name)s;

-- name: clear_samples
SELECT pg_catalog.pg_clear_attribute_stats(s.schemaname, s.tablename, s.attname, s.inherited)
FROM pg_catalog.pg_stats AS s
WHERE s.schemaname = %(schema_name)s AND s.tablename = %(table_name)s;
