-- Queries of search, and of opening a file.

-- name: data_version
SELECT neurigraph.data_version(%(payload)s, %(signature)s) AS version;

-- name: stored_version
SELECT neurigraph.stored_version(%(payload)s, %(signature)s) AS version;

-- name: search_gate
-- Words are sent as one text, separated by spaces: sending a list takes psycopg longer than the rest of the call.
SELECT g.*
FROM neurigraph.search_gate(
    %(payload)s, %(signature)s, string_to_array(%(stems)s, ' '),
    %(speaker)s, %(dimensions)s, %(known_version)s,
    %(known_unstored)s, %(unstored_since)s, %(unstored_most)s
) AS g;

-- name: layers
-- The statement sets the claims and reads the layers: a separate statement for the claims would cost a fifth of the
-- call.
SELECT l.*
FROM (
    SELECT
        set_config('request.jwt.claims', %(payload)s, true) IS NOT NULL
        AND set_config('neurigraph.claims_signature', %(signature)s, true) IS NOT NULL AS are_set
) AS c
CROSS JOIN LATERAL neurigraph.layers(
    CASE WHEN c.are_set THEN %(nodes)s::uuid [] END, %(horizons)s::bigint [], %(packs)s, %(model)s, %(dimensions)s
) AS l;

-- name: node_words
SELECT w.*
FROM (
    SELECT
        set_config('request.jwt.claims', %(payload)s, true) IS NOT NULL
        AND set_config('neurigraph.claims_signature', %(signature)s, true) IS NOT NULL AS are_set
) AS c
CROSS JOIN LATERAL neurigraph.node_words(CASE WHEN c.are_set THEN %(nodes)s::uuid [] END, %(format)s) AS w;

-- name: vectors
SELECT v.*
FROM (
    SELECT
        set_config('request.jwt.claims', %(payload)s, true) IS NOT NULL
        AND set_config('neurigraph.claims_signature', %(signature)s, true) IS NOT NULL AS are_set
) AS c
CROSS JOIN LATERAL neurigraph.vectors(
    CASE WHEN c.are_set THEN %(records)s::uuid [] END, %(passages)s::text [], %(model)s
) AS v;

-- name: stage
SELECT s.node_id
FROM neurigraph.stage(%(targets)s, %(seconds)s) AS s (node_id);

-- name: staged
SELECT
    s.node_id::text,
    s.version,
    s.model
FROM neurigraph.staged(%(most)s) AS s;

-- name: locate_record
SELECT
    i.record_id,
    i.node_id,
    i.user_id,
    g.schema_name,
    i.created_at
FROM neurigraph.record_index AS i
INNER JOIN neurigraph.graph_index AS g ON i.node_id = g.node_id
WHERE i.record_id = %(record_id)s;

-- name: transcript_beside
-- The transcript of the record that a file belongs to, which may be the given file.
SELECT t.file_id
FROM {schema}.file_manifest AS f
INNER JOIN {schema}.file_manifest AS t ON f.record_id = t.record_id
WHERE f.file_id = %(file_id)s AND t.file_type = 'transcript';

-- name: file_of_record
-- The file by which a record is opened; a record may have several files.
SELECT f.file_id
FROM {schema}.metadata_records AS r
INNER JOIN {schema}.file_manifest AS f ON r.record_id = f.record_id AND r.file_pointer = f.storage_path
WHERE r.record_id = %(record_id)s;

-- name: nodes_of_records
SELECT DISTINCT r.node_id
FROM neurigraph.record_index AS r
WHERE r.record_id = ANY(%(record_ids)s)
ORDER BY r.node_id;

-- name: unstored_messages
SELECT neurigraph.unstored_messages(%(source_id)s, %(from_message)s, %(limit)s) AS found;

-- name: records_of_source
-- The visible records of a source of any kind, oldest first.
SELECT i.record_id
FROM neurigraph.record_index AS i
WHERE i.user_id = %(user_id)s AND i.source_id = %(source_id)s
ORDER BY i.created_at, i.record_id;
