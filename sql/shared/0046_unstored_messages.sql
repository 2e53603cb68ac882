-- Search finds messages that are not stored yet, those that arrived last first: when a message last reached a source.

ALTER TABLE neurigraph.sources ADD COLUMN IF NOT EXISTS last_received_at timestamptz NOT NULL DEFAULT now();
UPDATE neurigraph.sources AS s SET last_received_at = coalesce((
    SELECT m.received_at FROM neurigraph.messages AS m
    WHERE m.source_id = s.source_id AND m.seq = s.last_message
), s.created_at)
WHERE s.stored_through < s.last_message;

CREATE INDEX IF NOT EXISTS sources_unstored ON neurigraph.sources (user_id, last_received_at, source_id)
WHERE stored_through < last_message;
GRANT UPDATE (last_received_at) ON neurigraph.sources TO neurigraph_agent;
