-- The words of passages, counted again.

-- name: lock_counts
-- Lock the record, so that nobody writes its vectors until the transaction ends.
SELECT
    p.seq,
    p.lexemes,
    p.frequencies
FROM {schema}.passages AS p
INNER JOIN {schema}.metadata_records AS r ON p.record_id = r.record_id
WHERE p.record_id = %(record_id)s
ORDER BY p.seq
FOR UPDATE;

-- name: replace_counts
-- Passages are removed and inserted, because triggers on both keep the statistics of words. Lexemes contain no spaces.
WITH removed AS (
    DELETE FROM {schema}.passages AS p WHERE p.record_id = %(record_id)s RETURNING p.*
)

INSERT INTO {schema}.passages (
    record_id, seq, first_message, last_message, author, byte_offset, byte_length, embedding, window_embedding,
    embedding_next, window_embedding_next, role, voice, statement_key, section, lexemes, frequencies, lexeme_count,
    window_length
)
SELECT
    p.record_id,
    p.seq,
    p.first_message,
    p.last_message,
    p.author,
    p.byte_offset,
    p.byte_length,
    p.embedding,
    p.window_embedding,
    p.embedding_next,
    p.window_embedding_next,
    p.role,
    p.voice,
    p.statement_key,
    p.section,
    string_to_array(n.lexemes, ' '),
    string_to_array(n.frequencies, ' ')::smallint [],
    n.lexeme_count,
    n.window_length
FROM removed AS p
INNER JOIN unnest(
    %(seq)s::integer [], %(lexemes)s::text [], %(frequencies)s::text [], %(lexeme_count)s::integer [],
    %(window_length)s::real []
) AS n (seq, lexemes, frequencies, lexeme_count, window_length) ON p.seq = n.seq;
