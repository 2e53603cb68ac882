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
    c.records,
    c.ids_digest
FROM neurigraph.graph_index AS g
CROSS JOIN LATERAL (
    SELECT
        count(*) AS records,
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
    count(*) AS records,
    md5(coalesce(string_agg(v.record_id || ':' || v.version, ',' ORDER BY v.record_id), '')) AS digest
FROM ({versions}) AS v;

-- name: digests
-- Return digests of the ids and versions of a node's current records, for each next digit of the ids.
SELECT
    left(v.record_id::text, %(digits)s) AS prefix,
    count(*) AS records,
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
-- The number of passages of some records, in the order of the records.
SELECT
    r.record_id,
    coalesce(s.passages, 0) AS passages
FROM {schema}.metadata_records AS r
LEFT JOIN neurigraph.segments AS s ON r.record_id = s.record_id
WHERE r.record_id = ANY(%(record_ids)s) AND r.superseded_by IS NULL
ORDER BY r.record_id;

-- name: records
-- All values that are sent of some records, in one statement, so that they belong to one moment. Vectors are sent in
-- the binary form of pgvector, and only vectors of the model that the peer also uses.
SELECT
    v.record_id,
    v.version,
    r.title,
    r.summary,
    r.kw_entities AS entities,
    r.kw_topics AS topics,
    r.kw_dates AS dates,
    r.kw_relationships AS relationships,
    r.content_type,
    r.trigger_type,
    r.first_message,
    r.last_message,
    encode(r.content_hash, 'hex') AS content_hash,
    r.language::text AS language,
    r.occurred_at,
    r.received_at,
    r.importance,
    CASE
        WHEN r.embedding_model = %(model)s AND NOT r.embedding_pending
            THEN replace(encode(vector_send(r.embedding), 'base64'), E'\n', '')
    END AS embedding,
    jsonb_build_object(
        'source_id', s.source_id, 'kind', s.kind, 'event_kind', s.event_kind, 'title', s.title,
        'started_at', s.started_at, 'ended_at', s.ended_at, 'origin', s.origin, 'document_type', s.document_type,
        'url', s.url, 'channel', s.channel, 'author', s.author
    ) AS source,
    f.files,
    replace(encode(g.content, 'base64'), E'\n', '') AS segment,
    coalesce(g.languages, '{{}}') AS languages,
    CASE WHEN g.model = %(model)s THEN replace(encode(g.vectors, 'base64'), E'\n', '') END AS vectors
FROM ({versions}) AS v
INNER JOIN {schema}.metadata_records AS r ON v.record_id = r.record_id
INNER JOIN neurigraph.sources AS s ON r.source_id = s.source_id
CROSS JOIN LATERAL (
    SELECT
        coalesce(jsonb_agg(jsonb_build_object(
            'file_id', m.file_id, 'name', m.file_name, 'type', m.file_type, 'format', m.compression_format,
            'size_bytes', m.size_bytes, 'stored_bytes', m.stored_bytes,
            'stored_sha256', encode(m.stored_sha256, 'hex'), 'is_main', m.storage_path = r.file_pointer,
            'member_offsets', m.member_offsets, 'member_text_offsets', m.member_text_offsets
        ) ORDER BY m.file_id), '[]') AS files
    FROM {schema}.file_manifest AS m
    WHERE m.record_id = r.record_id
) AS f
LEFT JOIN neurigraph.segments AS g ON r.record_id = g.record_id
ORDER BY v.record_id;
