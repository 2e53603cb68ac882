-- Traces of erased rows in the files of the database.

-- name: limit_waits
-- Limit the wait for a table lock, because a waiting lock makes all later users of the table wait, too.
SET lock_timeout = '2s';

-- name: tables
-- All shared tables, and the tables of nodes.
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
-- Rewrite a table, build its indexes again, and sample its remaining rows.
VACUUM (FULL, ANALYZE) {table};

-- name: has_stale_samples
-- Whether an empty table has old samples. Postgres does not sample empty tables, so old samples stay; Postgres 18 and
-- newer can delete them.
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
