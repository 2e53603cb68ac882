-- Byte ranges of single messages in transcripts.

-- name: open_messages
-- Open messages of several files, each with the numbers of its messages; null stands for all.
SELECT o.* FROM neurigraph.open_messages(%(wanted)s, %(ttl_seconds)s) AS o;
