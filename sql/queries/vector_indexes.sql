-- Vector indexes of nodes that are too big for exact search. Runs as the owner, outside of transactions.

-- name: due
SELECT
    s.node_id,
    g.schema_name,
    s.passages
FROM neurigraph.node_statistics AS s
INNER JOIN neurigraph.graph_index AS g ON s.node_id = g.node_id
WHERE s.passages >= %(passages)s AND s.vector_index IS DISTINCT FROM %(method)s
ORDER BY s.passages DESC, s.node_id
LIMIT %(limit)s;

-- name: undersized
SELECT
    s.node_id,
    g.schema_name,
    s.passages
FROM neurigraph.node_statistics AS s
INNER JOIN neurigraph.graph_index AS g ON s.node_id = g.node_id
WHERE s.vector_index IS NOT NULL AND 2 * s.passages < %(passages)s
ORDER BY s.passages, s.node_id
LIMIT %(limit)s;

-- name: count_due
SELECT count(*) AS due
FROM neurigraph.node_statistics AS s
WHERE
    (s.passages >= %(passages)s AND s.vector_index IS DISTINCT FROM %(method)s)
    OR (s.vector_index IS NOT NULL AND 2 * s.passages < %(passages)s);

-- name: is_valid
SELECT i.indisvalid AS is_valid
FROM pg_catalog.pg_index AS i
INNER JOIN pg_catalog.pg_class AS c ON i.indexrelid = c.oid
INNER JOIN pg_catalog.pg_namespace AS n ON c.relnamespace = n.oid
WHERE n.nspname = %(schema_name)s AND c.relname = %(index_name)s;

-- name: drop_index
DROP INDEX CONCURRENTLY IF EXISTS {schema}.{name};

-- name: create_hnsw
CREATE INDEX CONCURRENTLY IF NOT EXISTS {name} ON {schema}.passages USING hnsw ({vector} halfvec_ip_ops);

-- name: create_ivfflat
CREATE INDEX CONCURRENTLY IF NOT EXISTS {name} ON {schema}.passages USING ivfflat ({vector} halfvec_ip_ops)
WITH (lists = {lists});

-- name: note_index
UPDATE neurigraph.node_statistics SET vector_index = %(method)s
WHERE node_id = %(node_id)s;
