-- The commit: the rows of one record, in one transaction. Triggers of the node's tables write the registries.

-- name: reuse_plans
-- Plan each statement once for all values until the transaction ends. Planning took a third of a commit, and the
-- statements of a commit find rows by their keys.
SET LOCAL plan_cache_mode = force_generic_plan;

-- name: already_stored
-- The record of a segment with the same content: stored by a commit that was cut off right after its transaction, or
-- for the same text under a new trigger.
SELECT
    r.record_id,
    r.created_at
FROM neurigraph.record_index AS r
WHERE r.user_id = %(user_id)s AND r.source_id = %(source_id)s AND r.content_hash = %(content_hash)s;

-- name: source
SELECT
    s.privacy = 'private' AS private,
    s.tier
FROM neurigraph.sources AS s
WHERE s.source_id = %(source_id)s;

-- name: quarantines_of
SELECT q.quarantine_id
FROM neurigraph.quarantines_of(%(source_id)s, %(first_message)s, %(last_message)s) AS q (quarantine_id);

-- name: hold_record
SELECT neurigraph.hold_record(%(record_id)s, %(quarantines)s::uuid []);

-- name: free_title
SELECT neurigraph.free_title(%(user_id)s, %(record_id)s, %(titles)s::text []) AS title;

-- name: insert_record
INSERT INTO {schema}.metadata_records ({columns}) VALUES ({values})
RETURNING created_at;

-- name: insert_passages
-- Insert many passages at once, because statistics are counted once a statement. Lexemes contain no spaces. Vectors are
-- sent in binary form: as text they took half of a commit's processor time.
INSERT INTO {schema}.passages (
    record_id, seq, first_message, last_message, author, byte_offset, byte_length, embedding, window_embedding,
    lexemes, frequencies, lexeme_count, role, window_length, voice, statement_key, section
)
SELECT
    %(record_id)s,
    p.seq,
    p.message,
    p.message AS last_message,
    p.author,
    p.byte_offset,
    p.byte_length,
    p.embedding,
    p.window_embedding,
    string_to_array(p.lexemes, ' '),
    string_to_array(p.frequencies, ' ')::smallint [],
    p.lexeme_count,
    p.role,
    p.window_length,
    p.voice,
    p.statement_key,
    p.section
FROM unnest(
    %(seq)s::integer [], %(message)s::integer [], %(author)s::text [], %(byte_offset)s::bigint [],
    %(byte_length)s::integer [], %(embedding)b::halfvec [], %(window_embedding)b::halfvec [], %(lexemes)s::text [],
    %(frequencies)s::text [], %(lexeme_count)s::integer [], %(role)s::neurigraph.message_role [],
    %(window_length)s::real [], %(voice)s::neurigraph.voice [], %(statement_key)s::bigint [], %(section)s::text []
) AS p (
    seq, message, author, byte_offset, byte_length, embedding, window_embedding, lexemes, frequencies, lexeme_count,
    role, window_length, voice, statement_key, section
);

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
