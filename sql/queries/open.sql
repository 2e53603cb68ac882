-- Phase two: byte ranges of single messages in a transcript.

-- name: open_messages
SELECT o.*
FROM neurigraph.open_messages(%(file_id)s, %(messages)s::bigint [], %(ttl_seconds)s) AS o;
