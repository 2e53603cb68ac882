-- The stream of a user: written by exports and moves, read by restores and moves. Tables are read from the catalog, so
-- that the stream includes new tables. Backups list the objects that rows name with these queries, too.

-- name: snapshot
-- Begin a snapshot that holds for the whole stream.
SET LOCAL transaction_isolation TO 'repeatable read';

-- name: tables
-- The tables of a schema: the written columns (neither generated nor numbered by the database) with their types,
-- whether rows have a user, the primary key, and the column that orders rows by creation, if there is one.
SELECT
    c.relname AS name,
    array_agg(a.attname ORDER BY a.attnum) FILTER (WHERE a.attgenerated = '' AND a.attidentity = '') AS columns,
    array_agg(format_type(a.atttypid, NULL) ORDER BY a.attnum)
    FILTER (WHERE a.attgenerated = '' AND a.attidentity = '') AS types,
    bool_or(a.attname = 'user_id') AS is_of_users,
    coalesce(
        array_agg(a.attname) FILTER (WHERE a.attname = 'layer_depth'),
        array_agg(a.attname) FILTER (WHERE a.attidentity <> ''),
        ARRAY[]::name []
    ) AS numbered_by,
    coalesce(
        (
            SELECT array_agg(k.attname ORDER BY k.attnum)
            FROM pg_catalog.pg_index AS i
            INNER JOIN pg_catalog.pg_attribute AS k ON i.indrelid = k.attrelid AND k.attnum = ANY(i.indkey)
            WHERE i.indrelid = c.oid AND i.indisprimary
        ),
        ARRAY[]::name []
    ) AS key
FROM pg_catalog.pg_class AS c
INNER JOIN pg_catalog.pg_attribute AS a ON c.oid = a.attrelid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relnamespace = to_regnamespace(%(schema)s) AND c.relkind = 'r'
GROUP BY c.oid, c.relname
ORDER BY c.relname;

-- name: references
-- The foreign keys of a schema, with their columns.
SELECT
    f.relname AS child,
    t.relname AS parent,
    (
        SELECT array_agg(a.attname ORDER BY k.place)
        FROM unnest(o.conkey) WITH ORDINALITY AS k (number, place)
        INNER JOIN pg_catalog.pg_attribute AS a ON a.attrelid = o.conrelid AND k.number = a.attnum
    ) AS child_columns,
    (
        SELECT array_agg(a.attname ORDER BY k.place)
        FROM unnest(o.confkey) WITH ORDINALITY AS k (number, place)
        INNER JOIN pg_catalog.pg_attribute AS a ON a.attrelid = o.confrelid AND k.number = a.attnum
    ) AS parent_columns
FROM pg_catalog.pg_constraint AS o
INNER JOIN pg_catalog.pg_class AS f ON o.conrelid = f.oid
INNER JOIN pg_catalog.pg_class AS t ON o.confrelid = t.oid
WHERE o.contype = 'f' AND o.connamespace = to_regnamespace(%(schema)s) AND f.relnamespace = t.relnamespace
ORDER BY f.relname, o.conname;

-- name: user
SELECT
    u.user_id,
    u.slug
FROM neurigraph.users AS u
WHERE u.user_id = %(user_id)s;

-- name: rows_of_user
SELECT row_to_json(r)::text AS line
FROM (
    SELECT {columns} FROM {table}
    WHERE user_id = %(user_id)s
    ORDER BY {ordered_by}
) AS r;

-- name: rows_of_node
SELECT row_to_json(r)::text AS line
FROM (
    SELECT {columns} FROM {table}
    ORDER BY {ordered_by}
) AS r;

-- name: nodes
-- Return the nodes of a user, or of all users, with their names from the root down.
SELECT
    g.node_id,
    g.schema_name,
    n.names
FROM neurigraph.graph_index AS g
CROSS JOIN LATERAL neurigraph.names_along(g.path) AS n
WHERE %(user_id)s::uuid IS NULL OR g.user_id = %(user_id)s
ORDER BY g.layer_depth, g.node_id;

-- name: set_schema_name
UPDATE neurigraph.graph_index SET schema_name = %(schema_name)s WHERE node_id = %(node_id)s;

-- name: objects_of_node
SELECT f.*
FROM {schema}.file_manifest AS f
ORDER BY f.storage_path;

-- name: staged_objects
-- Staged uploads of a user, or of all users, whose bytes no record has yet.
SELECT
    u.source_id,
    u.staging_key AS storage_path,
    u.sha256 AS stored_sha256,
    u.size_bytes AS stored_bytes
FROM neurigraph.uploads AS u
WHERE u.staging_key IS NOT NULL AND u.file_id IS NULL AND (%(user_id)s::uuid IS NULL OR u.user_id = %(user_id)s)
ORDER BY u.staging_key;

-- name: file_of_upload
-- The file that has an upload's bytes now; no row if the upload is forgotten.
SELECT u.file_id
FROM neurigraph.uploads AS u
WHERE u.source_id = %(source_id)s;

-- name: user_is_there
-- Whether a user exists, and whether the user is still being erased: an object under a key of the erasure journal would
-- be removed again.
SELECT
    EXISTS (SELECT FROM neurigraph.users AS u WHERE u.user_id = %(user_id)s OR u.slug = %(slug)s) AS present,
    EXISTS (
        SELECT FROM neurigraph.erased_objects AS o WHERE o.user_id = %(user_id)s AND o.object_key IS NOT NULL
    ) AS being_erased;

-- name: begin_restoring
-- Permit writing the mirror of a peer, or all, for the rest of the transaction, and keep audits from taking objects
-- without rows for orphans.
SELECT
    set_config('neurigraph.mirroring', %(mirroring)s, true),
    pg_advisory_xact_lock_shared(hashtextextended('neurigraph.restoring', 0));

-- name: create_staging_table
-- Make the staging table, with the rows of a stream by part. One statement later writes all rows of a table, so that
-- the rows may reference each other.
CREATE TEMPORARY TABLE incoming (
    part text NOT NULL, number bigint GENERATED ALWAYS AS IDENTITY, line json NOT NULL
) ON COMMIT DROP;

-- name: copy_rows
COPY pg_temp.incoming (part, line) FROM STDIN;

-- name: index_staging_table
CREATE INDEX ON pg_temp.incoming (part, number);

-- name: taken_ids
-- The ids of a part of an export that the table already has.
SELECT t.{key} AS id
FROM pg_temp.incoming AS i
INNER JOIN {table} AS t ON t.{key} = (i.line ->> %(key)s)::uuid
WHERE i.part = %(part)s;

-- name: originals
-- The ids of staged files that are originals of uploads.
SELECT
    i.line ->> 'record_id' AS record_id,
    i.line ->> 'file_id' AS file_id
FROM pg_temp.incoming AS i
WHERE i.part ~ '^nodes/.*/file_manifest.jsonl$' AND i.line ->> 'storage_path' ~ '\.original(\.gz)?$';

-- name: files_of_part
SELECT
    i.line ->> 'record_id' AS record_id,
    i.line ->> 'storage_path' AS storage_path
FROM pg_temp.incoming AS i
WHERE i.part = %(part)s
ORDER BY i.number;

-- name: some_lines
-- At most a thousand lines, and no more once these have 4 MB as they are stored.
SELECT
    c.number,
    c.line::text AS line
FROM (
    SELECT
        i.number,
        i.line,
        sum(pg_column_size(i.line)) OVER (ORDER BY i.number) - pg_column_size(i.line) AS bytes_before
    FROM pg_temp.incoming AS i
    WHERE i.part = %(part)s AND i.number > %(after)s
    ORDER BY i.number
    LIMIT 1000
) AS c
WHERE c.bytes_before < 4194304
ORDER BY c.number;

-- name: create_messages_table
-- Make the table of the ids that writers gave to the staged messages of a former export.
CREATE TEMPORARY TABLE former_messages ON COMMIT DROP AS
SELECT
    i.line ->> 'source_id' AS source_id,
    (i.line ->> 'seq')::integer AS seq,
    i.line ->> 'external_id' AS external_id
FROM pg_temp.incoming AS i
WHERE i.part = %(part)s;

-- name: index_messages_table
CREATE INDEX ON pg_temp.former_messages (source_id, seq);

-- name: ids_of_messages
SELECT
    m.seq,
    m.external_id
FROM pg_temp.former_messages AS m
WHERE m.source_id = %(source_id)s AND m.seq = ANY(%(numbers)s);

-- name: records_of_part
-- The values that the segments of staged records of a former export take from their records and sources.
SELECT
    (i.line ->> 'record_id')::uuid AS record_id,
    i.line ->> 'source_id' AS source_id,
    i.line ->> 'source_kind' AS source_kind,
    i.line ->> 'received_at' AS received_at,
    i.line ->> 'embedding_model' AS embedding_model,
    i.line ->> 'embedding_next_model' AS embedding_next_model,
    i.line ->> 'received_at' IS NULL AND EXISTS (
        SELECT FROM pg_temp.incoming AS s
        WHERE s.part = %(sources)s AND s.line ->> 'source_id' = i.line ->> 'source_id'
            AND s.line ->> 'persona_id' IS NOT NULL
    ) AS is_of_persona
FROM pg_temp.incoming AS i
WHERE i.part = %(part)s;

-- name: change_lines
UPDATE pg_temp.incoming AS i SET line = c.line
FROM unnest(%(numbers)s::bigint [], %(lines)s::json []) AS c (number, line)
WHERE i.part = %(part)s AND i.number = c.number;

-- name: create_keys_table
-- Make the table of new object keys, by record and exported key.
CREATE TEMPORARY TABLE new_keys (
    record_id uuid NOT NULL, exported text NOT NULL, object_key text NOT NULL, PRIMARY KEY (record_id, exported)
) ON COMMIT DROP;

-- name: add_keys
INSERT INTO pg_temp.new_keys (record_id, exported, object_key)
SELECT
    k.record_id,
    k.exported,
    k.object_key
FROM unnest(%(record_ids)s::uuid [], %(exported)s::text [], %(keys)s::text []) AS k (record_id, exported, object_key);

-- name: odd_line
-- The first staged line of a part with a column that the part does not have, its number in the part, and that column.
SELECT
    i.line_number,
    k.name
FROM (
    SELECT
        s.line,
        row_number() OVER (ORDER BY s.number) AS line_number
    FROM pg_temp.incoming AS s
    WHERE s.part = %(part)s
) AS i
CROSS JOIN LATERAL json_object_keys(i.line) AS k (name)
WHERE k.name <> ALL(%(columns)s::text [])
ORDER BY i.line_number
LIMIT 1;

-- name: write_rows
INSERT INTO {table} ({columns})
SELECT {values}
FROM pg_temp.incoming AS i
CROSS JOIN LATERAL json_populate_record(NULL::{table}, i.line) AS r
WHERE i.part = %(part)s
ORDER BY i.number;

-- name: disable_triggers
-- Disable triggers: the export contains their results, or the results are counted once all rows are written.
ALTER TABLE {table} DISABLE TRIGGER USER;

-- name: enable_triggers
ALTER TABLE {table} ENABLE TRIGGER USER;

-- name: unregistered
-- Whether the records or files of a node differ from the registries, or a segment is of another node than its record.
-- Triggers keep them equal, but a restore disables the triggers.
SELECT EXISTS (
    SELECT FROM {schema}.metadata_records AS r
    FULL JOIN (SELECT * FROM neurigraph.record_index WHERE node_id = %(node_id)s) AS i
        ON r.record_id = i.record_id AND r.source_id = i.source_id AND r.source_kind = i.source_kind
            AND r.content_hash = i.content_hash
    WHERE r.record_id IS NULL OR i.record_id IS NULL
    UNION ALL
    SELECT FROM {schema}.file_manifest AS f
    FULL JOIN (SELECT * FROM neurigraph.file_index WHERE node_id = %(node_id)s) AS i
        ON f.file_id = i.file_id AND f.record_id = i.record_id
    WHERE f.file_id IS NULL OR i.file_id IS NULL
    UNION ALL
    SELECT FROM neurigraph.segments AS s
    INNER JOIN neurigraph.record_index AS i ON s.record_id = i.record_id
    WHERE s.node_id = %(node_id)s AND i.node_id <> s.node_id
) AS found;

-- name: references_other_user
SELECT EXISTS (
    SELECT FROM {child} AS c
    INNER JOIN {parent} AS p ON {condition}
    WHERE c.user_id = %(user_id)s AND p.user_id <> c.user_id
) AS found;
