-- Phase two: byte ranges of single messages in transcripts.

-- name: open_messages
-- Of several files, each with the numbers of its messages; null for all.
SELECT o.* FROM neurigraph.open_messages(%(wanted)s, %(ttl_seconds)s) AS o;
