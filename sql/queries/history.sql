-- Deltas: appending them, and reading past states.

-- name: append_delta
SELECT
    d.delta_id,
    d.w
FROM neurigraph.append_delta(
    %(record_id)s, %(operation)s, %(before)s, %(after)s, %(author)s, %(notes)s
) AS d;

-- name: set_author
-- Set the author of changes, the key of the caller, and whether the caller's writings are in quarantine now.
SELECT
    set_config('neurigraph.author', %(author)s, true),
    set_config('neurigraph.author_key', coalesce(%(key_id)s::text, ''), true),
    neurigraph.is_held(%(user_id)s::uuid, %(author)s, %(key_id)s::uuid) AS is_held;

-- name: record_at
SELECT neurigraph.record_at(%(record_id)s, coalesce(%(at)s::timestamptz, 'infinity')) AS found;

-- name: history
-- The history of a record, newest first; no row if the caller cannot see the record.
SELECT
    d.delta_id,
    d.previous_delta_id,
    d.delta_payload ->> 'operation' AS operation,
    neurigraph.visible_values(coalesce(d.delta_payload -> 'before', jsonb_build_object())) AS before,
    neurigraph.visible_values(d.delta_payload -> 'after') AS after,
    coalesce(d.delta_payload -> 'notes', jsonb_build_array()) AS notes,
    d.authored_by,
    d.w_coordinate AS w
FROM neurigraph.record_index AS i
INNER JOIN neurigraph.delta_log AS d ON i.record_id = d.record_id
WHERE i.record_id = %(record_id)s AND d.w_coordinate < %(before)s::timestamptz
ORDER BY d.w_coordinate DESC
LIMIT %(limit)s;

-- name: values_then
SELECT
    r.record_id,
    neurigraph.values_then(r.record_id, %(at)s) AS earlier
FROM unnest(%(record_ids)s::uuid []) AS r (record_id);

-- name: superseded_of
-- For each record, the last delta that changes superseded_by.
SELECT DISTINCT ON (d.record_id)
    d.record_id,
    d.delta_payload -> 'after' ->> 'superseded_by' IS NOT NULL AS superseded
FROM neurigraph.delta_log AS d
WHERE d.record_id = ANY(%(record_ids)s) AND d.delta_payload -> 'after' ? 'superseded_by'
    AND d.w_coordinate <= coalesce(%(at)s::timestamptz, 'infinity')
ORDER BY d.record_id ASC, d.w_coordinate DESC;

-- name: writable
-- Whether the caller may change a record; no row if the caller cannot see it.
SELECT
    i.user_id,
    neurigraph.may_write_node(i.node_id) AS writable
FROM neurigraph.record_index AS i
WHERE i.record_id = %(record_id)s;

-- name: newest_words
-- The delta that wrote each record's current words: the newest delta with one of the columns. Deltas of people and of
-- models have separate lists of columns, because a model may have written the keywords alone.
SELECT DISTINCT ON (d.record_id)
    d.record_id,
    d.delta_id,
    d.authored_by,
    array(SELECT jsonb_array_elements_text(coalesce(d.delta_payload -> 'notes', '[]'))) AS notes
FROM neurigraph.delta_log AS d
WHERE d.record_id = ANY(%(record_ids)s) AND d.delta_payload ->> 'operation' IN ('create', 'revise')
    AND d.delta_payload -> 'after' ?| CASE
        WHEN starts_with(d.authored_by, %(pipeline)s) THEN %(by_models)s::text [] ELSE %(by_people)s::text []
    END
ORDER BY d.record_id ASC, d.w_coordinate DESC;

-- name: count_unfinished
-- Count the memories whose newest words lack a value that a defect prevented.
SELECT count(DISTINCT d.record_id) AS records
FROM neurigraph.delta_log AS d
WHERE d.authored_by = %(author)s AND (%(user_id)s::uuid IS NULL OR d.user_id = %(user_id)s::uuid)
    AND NOT EXISTS (
        SELECT FROM neurigraph.delta_log AS l
        WHERE l.record_id = d.record_id AND l.w_coordinate > d.w_coordinate
            AND l.delta_payload ->> 'operation' = 'revise'
    );

-- name: unfinished
-- The memories that count_unfinished counts, the longest waiting first.
SELECT
    d.record_id,
    d.user_id,
    array_to_string(array(SELECT jsonb_array_elements_text(d.delta_payload -> 'notes')), ', ') AS left_out,
    d.w_coordinate AS since
FROM neurigraph.delta_log AS d
WHERE d.authored_by = %(author)s
    AND NOT EXISTS (
        SELECT FROM neurigraph.delta_log AS l
        WHERE l.record_id = d.record_id AND l.w_coordinate > d.w_coordinate
            AND l.delta_payload ->> 'operation' = 'revise'
    )
ORDER BY d.w_coordinate
LIMIT %(limit)s;

-- name: lock_words
SELECT
    r.title,
    r.summary,
    r.kw_entities,
    r.kw_topics,
    r.kw_dates,
    r.kw_relationships,
    r.embedding,
    r.embedding_pending,
    r.embedding_model,
    r.embedding_next,
    r.embedding_next_model
FROM {schema}.metadata_records AS r
WHERE r.record_id = %(record_id)s
FOR UPDATE;

-- name: revise
UPDATE {schema}.metadata_records SET
    title = %(title)s,
    summary = %(summary)s,
    kw_entities = %(kw_entities)s,
    kw_topics = %(kw_topics)s,
    kw_dates = %(kw_dates)s,
    kw_relationships = %(kw_relationships)s,
    embedding = %(embedding)s,
    embedding_pending = %(embedding_pending)s,
    embedding_model = %(embedding_model)s,
    embedding_next = %(embedding_next)s,
    embedding_next_model = %(embedding_next_model)s
WHERE record_id = %(record_id)s;

-- name: superseded_by
SELECT r.superseded_by
FROM {schema}.metadata_records AS r
WHERE r.record_id = %(record_id)s;

-- name: set_superseded
UPDATE {schema}.metadata_records SET superseded_by = %(by)s
WHERE record_id = %(record_id)s AND superseded_by IS DISTINCT FROM %(by)s;
