-- Sources that are handed in again to restore lost files, and the records that have their files.

-- name: records_by_name
SELECT
    s.source_id,
    s.external_id,
    r.record_id,
    r.node_id,
    g.schema_name
FROM unnest(%(kinds)s::text [], %(external_ids)s::text []) AS n (kind, external_id)
INNER JOIN neurigraph.sources AS s
    ON n.kind::neurigraph.source_kind = s.kind AND n.external_id = s.external_id
INNER JOIN neurigraph.record_index AS r
    ON s.user_id = r.user_id AND s.source_id = r.source_id
INNER JOIN neurigraph.graph_index AS g ON r.node_id = g.node_id
WHERE s.user_id = %(user_id)s;

-- name: records_of_upload
-- The records of an upload, and of the conversations that came from it.
SELECT
    s.source_id,
    s.external_id,
    r.record_id,
    r.node_id,
    g.schema_name
FROM neurigraph.sources AS s
INNER JOIN neurigraph.record_index AS r
    ON s.user_id = r.user_id AND s.source_id = r.source_id
INNER JOIN neurigraph.graph_index AS g ON r.node_id = g.node_id
WHERE s.source_id = %(source_id)s OR s.upload_id = %(source_id)s;

-- name: part
-- The range of a source's messages that a record has.
SELECT
    r.first_message,
    r.last_message
FROM {schema}.metadata_records AS r
WHERE r.record_id = %(record_id)s;

-- name: as_stored
-- JSON as the inbox stores it: jsonb puts the keys of objects into an order of its own.
SELECT
    %(tool_calls)s::jsonb AS tool_calls,
    %(tool_event)s::jsonb AS tool_event;

-- name: staged_upload
SELECT u.staging_key
FROM neurigraph.uploads AS u
WHERE u.source_id = %(source_id)s;

-- name: read_again
-- Read an upload again from newly received bytes, which equal the lost ones.
UPDATE neurigraph.uploads SET
    staging_key = %(staging_key)s,
    state = 'received',
    attempts = 0,
    next_attempt_at = now(),
    error = NULL
WHERE source_id = %(source_id)s;
