-- Phase two: where single messages lie in a transcript.

-- name: lines_of_messages
-- The line of each message ends with its content, and the content before it ends before the line begins.
SELECT
    m.seq,
    m.content_end,
    coalesce(b.byte_offset + b.byte_length, 0) AS line_after
FROM (
    SELECT
        p.record_id,
        p.first_message AS seq,
        min(p.seq) AS first_passage,
        max(p.byte_offset + p.byte_length) AS content_end
    FROM {schema}.file_manifest AS f
    INNER JOIN {schema}.passages AS p ON f.record_id = p.record_id
    WHERE f.file_id = %(file_id)s AND p.first_message = ANY(%(messages)s)
    GROUP BY p.record_id, p.first_message
) AS m
LEFT JOIN {schema}.passages AS b ON m.record_id = b.record_id AND m.first_passage - 1 = b.seq
ORDER BY m.seq;
