-- Phase two: byte ranges of single messages in transcripts.

-- name: open_messages
-- Of several files, each with the numbers of its messages; null for all.
SELECT
    w.file_id AS asked_file,
    o.*
FROM jsonb_to_recordset(%(wanted)s) AS w (file_id uuid, messages bigint [])
CROSS JOIN LATERAL neurigraph.open_messages(w.file_id, w.messages, %(ttl_seconds)s) AS o;
