-- Transcripts of files with their search segments.

-- name: open_transcripts
SELECT o.* FROM neurigraph.open_transcripts(%(wanted)s::uuid [], %(ttl_seconds)s) AS o;
