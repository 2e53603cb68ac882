-- The commit: the rows of one record, in one transaction. Triggers of the node's tables write the registries.

-- name: reuse_plans
-- Plan each statement once for all values until the transaction ends. Planning took a third of a commit, and the
-- statements of a commit find rows by their keys.
SET LOCAL plan_cache_mode = force_generic_plan;

-- name: conditions
-- The conditions by which parts of sources are stored, in their order: the privacy and the tier of the source, the
-- quarantines that each part meets, the record with the same content (stored by a commit that was cut off right after
-- its transaction, or for the same text under a new trigger), and the time of storing it, in which parts differ.
SELECT
    coalesce(s.privacy = 'private', false) AS private,
    s.tier,
    ARRAY(
        SELECT q.quarantine_id
        FROM neurigraph.quarantines_of(p.source_id, p.first_message, p.last_message) AS q (quarantine_id)
    ) AS quarantines,
    r.record_id,
    coalesce(r.created_at, clock_timestamp() + p.place * interval '1 microsecond') AS created_at
FROM unnest(
    %(source_ids)s::uuid [], %(first_messages)s::integer [], %(last_messages)s::integer [], %(content_hashes)s::bytea []
) WITH ORDINALITY AS p (source_id, first_message, last_message, content_hash, place)
LEFT JOIN neurigraph.sources AS s ON p.source_id = s.source_id
LEFT JOIN neurigraph.record_index AS r
    ON r.user_id = %(user_id)s AND p.source_id = r.source_id AND p.content_hash = r.content_hash
ORDER BY p.place;

-- name: hold_record
SELECT neurigraph.hold_record(%(record_id)s, %(quarantines)s::uuid []);

-- name: free_titles
SELECT neurigraph.free_titles(%(user_id)s, %(record_ids)s, %(titles)s) AS titles;

-- name: insert_record
INSERT INTO {schema}.metadata_records ({columns}) VALUES ({values});

-- name: replace_record
UPDATE {schema}.metadata_records SET {assigned} WHERE record_id = %(record_id)s;

-- name: delete_segment
DELETE FROM neurigraph.segments AS s WHERE s.record_id = %(record_id)s;

-- name: insert_segment
INSERT INTO neurigraph.segments (
    record_id, user_id, node_id, passages, words, speakers, languages, content, vectors, model
)
VALUES (
    %(record_id)s, %(user_id)s, %(node_id)s, %(passages)s, %(words)s, %(speakers)s, %(languages)s, %(content)s,
    %(vectors)s, %(model)s
);

-- name: lock_segment
-- Lock the segment, so that nobody writes its vectors until the transaction ends.
SELECT
    s.content,
    s.languages
FROM neurigraph.segments AS s
WHERE s.record_id = %(record_id)s
FOR UPDATE;

-- name: replace_words
UPDATE neurigraph.segments AS s SET
    content = %(content)s,
    words = %(words)s,
    languages = %(languages)s
WHERE s.record_id = %(record_id)s;

-- name: insert_file
INSERT INTO {schema}.file_manifest (
    file_id, record_id, file_name, file_type, storage_path, compression_state, compression_format, size_bytes,
    stored_bytes, stored_sha256, content_sha256, member_offsets, member_text_offsets
)
VALUES (
    %(file_id)s, %(record_id)s, %(file_name)s, %(file_type)s, %(storage_path)s, %(compression_state)s,
    %(compression_format)s, %(size_bytes)s, %(stored_bytes)s, %(stored_sha256)s, %(content_sha256)s,
    %(member_offsets)s, %(member_text_offsets)s
);

-- name: replace_file
-- Let the transcript of a record have other bytes. Its state stays.
UPDATE {schema}.file_manifest AS f SET
    file_name = %(file_name)s,
    storage_path = %(storage_path)s,
    size_bytes = %(size_bytes)s,
    stored_bytes = %(stored_bytes)s,
    stored_sha256 = %(stored_sha256)s,
    content_sha256 = %(content_sha256)s,
    member_offsets = %(member_offsets)s,
    member_text_offsets = %(member_text_offsets)s
FROM {schema}.metadata_records AS r
WHERE f.record_id = %(record_id)s AND f.file_type = 'transcript' AND f.record_id = r.record_id
RETURNING f.compression_state, r.created_at AS stored;
