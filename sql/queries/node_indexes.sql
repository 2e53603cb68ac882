-- Indexes of large nodes. A small table is read as fast without indexes, and every write pays for each. Runs as the
-- owner, outside of transactions.

-- name: due
-- Nodes of so many records that lack an index: the last one of this file is made last.
SELECT
    g.node_id,
    g.schema_name,
    g.record_count AS records
FROM neurigraph.graph_index AS g
WHERE g.record_count >= %(records)s
    AND NOT EXISTS (
        SELECT FROM pg_catalog.pg_class AS c
        INNER JOIN pg_catalog.pg_namespace AS n ON c.relnamespace = n.oid
        INNER JOIN pg_catalog.pg_index AS i ON c.oid = i.indexrelid
        WHERE n.nspname = g.schema_name AND c.relname = 'metadata_records_embedding' AND i.indisvalid
    )
ORDER BY g.record_count DESC, g.node_id
LIMIT %(limit)s;

-- name: is_valid
SELECT i.indisvalid AS is_valid
FROM pg_catalog.pg_index AS i
INNER JOIN pg_catalog.pg_class AS c ON i.indexrelid = c.oid
INNER JOIN pg_catalog.pg_namespace AS n ON c.relnamespace = n.oid
WHERE n.nspname = %(schema_name)s AND c.relname = %(index_name)s;

-- name: drop_index
DROP INDEX CONCURRENTLY IF EXISTS {schema}.{name};

-- name: metadata_records_keywords
CREATE INDEX CONCURRENTLY IF NOT EXISTS metadata_records_keywords ON {schema}.metadata_records
USING gin (kw_entities, kw_topics, kw_dates, kw_relationships);

-- name: metadata_records_tsv
-- Without fastupdate, a question never scans a pending list of the index.
CREATE INDEX CONCURRENTLY IF NOT EXISTS metadata_records_tsv ON {schema}.metadata_records
USING gin (tsv) WITH (fastupdate = false);

-- name: metadata_records_created_at
CREATE INDEX CONCURRENTLY IF NOT EXISTS metadata_records_created_at ON {schema}.metadata_records (created_at);

-- name: metadata_records_content_type
CREATE INDEX CONCURRENTLY IF NOT EXISTS metadata_records_content_type ON {schema}.metadata_records (content_type);

-- name: metadata_records_occurred_at
CREATE INDEX CONCURRENTLY IF NOT EXISTS metadata_records_occurred_at ON {schema}.metadata_records (occurred_at);

-- name: metadata_records_title
CREATE INDEX CONCURRENTLY IF NOT EXISTS metadata_records_title ON {schema}.metadata_records (title)
WHERE source_kind = 'note';

-- name: file_manifest_record_id
CREATE INDEX CONCURRENTLY IF NOT EXISTS file_manifest_record_id ON {schema}.file_manifest (record_id);

-- name: file_manifest_compression_state
CREATE INDEX CONCURRENTLY IF NOT EXISTS file_manifest_compression_state ON {schema}.file_manifest (compression_state);

-- name: file_manifest_last_accessed_at
CREATE INDEX CONCURRENTLY IF NOT EXISTS file_manifest_last_accessed_at ON {schema}.file_manifest (last_accessed_at);

-- name: file_manifest_recompress_after
CREATE INDEX CONCURRENTLY IF NOT EXISTS file_manifest_recompress_after ON {schema}.file_manifest (recompress_after);

-- name: metadata_records_embedding
-- The nearest records; a search of the whole node compares all of them in memory.
CREATE INDEX CONCURRENTLY IF NOT EXISTS metadata_records_embedding ON {schema}.metadata_records
USING hnsw (embedding vector_cosine_ops);
