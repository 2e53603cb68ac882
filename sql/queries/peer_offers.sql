-- Queries of peers at the publisher. They run as the third party whose key the peer has, and row-level security chooses
-- the rows.

-- name: open_horizon
SELECT neurigraph.open_horizon() AS horizon;

-- name: knows_horizon
SELECT neurigraph.knows_horizon(%(horizon)s) AS known;

-- name: recalled
SELECT
    d.node_id,
    d.digests ->> 0 AS ids_digest,
    d.digests ->> 1 AS digest
FROM neurigraph.recalled_digests(%(horizon)s) AS d;

-- name: remember
SELECT neurigraph.remember_digests(%(horizon)s, %(listed)s);

-- name: nodes
-- Return nodes, each with a digest of the ids of its current records. The digest changes whenever a record is shown or
-- hidden.
SELECT
    g.node_id,
    g.node_name AS name,
    g.concept_kind AS kind,
    g.schema_name,
    c.record_count,
    c.ids_digest
FROM neurigraph.graph_index AS g
CROSS JOIN LATERAL (
    SELECT
        count(*) AS record_count,
        md5(coalesce(string_agg(i.record_id::text, ',' ORDER BY i.record_id), '')) AS ids_digest
    FROM neurigraph.record_index AS i
    WHERE i.node_id = g.node_id AND i.superseded IS NOT TRUE
) AS c
WHERE g.user_id = %(user_id)s AND g.node_id > %(after)s
ORDER BY g.node_id
LIMIT %(limit)s;

-- name: schema_of_node
SELECT g.schema_name
FROM neurigraph.graph_index AS g
WHERE g.node_id = %(node_id)s;

-- name: digest
-- Return a digest of the ids and versions of a node's current records.
SELECT
    count(*) AS record_count,
    md5(coalesce(string_agg(v.record_id || ':' || v.version, ',' ORDER BY v.record_id), '')) AS digest
FROM ({versions}) AS v;

-- name: digests
-- Return digests of the ids and versions of a node's current records, for each next digit of the ids.
SELECT
    left(v.record_id::text, %(digits)s) AS prefix,
    count(*) AS record_count,
    md5(string_agg(v.record_id || ':' || v.version, ',' ORDER BY v.record_id)) AS digest
FROM ({versions}) AS v
GROUP BY left(v.record_id::text, %(digits)s)
ORDER BY left(v.record_id::text, %(digits)s);

-- name: listed
SELECT
    v.record_id,
    v.version
FROM ({versions}) AS v
ORDER BY v.record_id;

-- name: versions
-- The versions of records. A version is a digest of all values that are sent of a record, except its vectors.
SELECT
    r.record_id,
    md5(
        row(
            r.title, r.summary, r.kw_entities, r.kw_topics, r.kw_dates, r.kw_relationships, r.content_type,
            r.trigger_type, r.source_kind, r.source_id, r.first_message, r.last_message, r.content_hash,
            r.language::text, extract(EPOCH FROM r.occurred_at), extract(EPOCH FROM r.received_at), r.importance,
            s.title, s.origin, s.url, s.channel, s.author, s.document_type, f.files, g.passages, g.words,
            octet_length(g.content)
        )::text
    )::uuid AS version
FROM {schema}.metadata_records AS r
INNER JOIN neurigraph.sources AS s ON r.source_id = s.source_id
CROSS JOIN LATERAL (
    SELECT string_agg(encode(m.stored_sha256, 'hex') || m.file_name, ',' ORDER BY m.file_id) AS files
    FROM {schema}.file_manifest AS m
    WHERE m.record_id = r.record_id
) AS f
LEFT JOIN neurigraph.segments AS g ON r.record_id = g.record_id
WHERE r.superseded_by IS NULL AND r.record_id::text LIKE %(prefix)s || '%%'
    AND (%(record_ids)s::uuid [] IS NULL OR r.record_id = ANY(%(record_ids)s));

-- name: sizes
-- The numbers of passages and stored bytes of some records, in the order of the records.
SELECT
    r.record_id,
    coalesce(s.passages, 0) AS passages,
    (
        SELECT coalesce(sum(f.stored_bytes), 0) FROM {schema}.file_manifest AS f
        WHERE f.record_id = r.record_id
    ) AS stored_bytes
FROM {schema}.metadata_records AS r
LEFT JOIN neurigraph.segments AS s ON r.record_id = s.record_id
WHERE r.record_id = ANY(%(record_ids)s) AND r.superseded_by IS NULL
ORDER BY r.record_id;

-- name: of_files
SELECT DISTINCT f.record_id
FROM {schema}.file_manifest AS f
WHERE f.file_id = ANY(%(file_ids)s::uuid []);

-- name: granted
-- The rows that a stream of some records has, with the columns that peers get, in one statement, so that they belong to
-- one moment. Vectors are only those of the model that the peer also uses. The key of an object has the id of its file
-- in place of the names above the node.
WITH
granted AS (
    SELECT
        v.record_id,
        v.version
    FROM ({versions}) AS v
),

files AS (
    SELECT
        f.*,
        'durable/' || f.file_id || substring(f.storage_path FROM '\.[a-z.]+$') AS key
    FROM {schema}.file_manifest AS f
    INNER JOIN granted AS n ON f.record_id = n.record_id
)

SELECT
    'tables/mirrored_records.jsonl' AS part,
    row_to_json(n)::text AS line
FROM granted AS n
UNION ALL
SELECT 'tables/sources.jsonl', row_to_json(c)::text FROM (
    SELECT {sources} FROM neurigraph.sources AS r
    WHERE r.source_id IN (
        SELECT m.source_id FROM {schema}.metadata_records AS m INNER JOIN granted AS n ON m.record_id = n.record_id
    )
) AS c
UNION ALL
SELECT 'tables/segments.jsonl', row_to_json(c)::text FROM (
    SELECT {segments} FROM neurigraph.segments AS r
    INNER JOIN granted AS n ON r.record_id = n.record_id
    CROSS JOIN LATERAL (SELECT CASE WHEN r.model = %(model)s THEN r.vectors END AS vectors) AS sent
) AS c
UNION ALL
SELECT 'nodes/' || %(node_id)s::text || '/metadata_records.jsonl', row_to_json(c)::text FROM (
    SELECT {records} FROM {schema}.metadata_records AS r
    INNER JOIN granted AS n ON r.record_id = n.record_id
    CROSS JOIN LATERAL (
        SELECT
            CASE WHEN r.embedding_model = %(model)s AND NOT r.embedding_pending THEN r.embedding END AS embedding,
            (SELECT f.key FROM files AS f WHERE f.storage_path = r.file_pointer) AS file_pointer
    ) AS sent
    ORDER BY r.record_id
) AS c
UNION ALL
SELECT 'nodes/' || %(node_id)s::text || '/file_manifest.jsonl', row_to_json(c)::text FROM (
    SELECT {files} FROM files AS r
    CROSS JOIN LATERAL (SELECT r.key AS storage_path) AS sent
    ORDER BY r.file_id
) AS c;
