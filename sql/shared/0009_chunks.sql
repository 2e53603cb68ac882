-- Segments of conversations that go on, and responses that are still streaming in.

-- Whether the unstored tail has changed since a break was last sought in it: a tail that waits is read again only then.
ALTER TABLE neurigraph.sources ADD COLUMN tail_changed boolean NOT NULL DEFAULT true;
DROP INDEX neurigraph.sources_open_tokens;
-- The kind stands in the predicates: behind row-level security, equality of enums gives an index no order.
CREATE INDEX sources_open_changed ON neurigraph.sources (untriggered_tokens)
WHERE kind = 'conversation' AND ended_at IS NULL AND tail_changed;
CREATE INDEX sources_ended_tokens ON neurigraph.sources (untriggered_tokens)
WHERE kind = 'conversation' AND ended_at IS NOT NULL AND triggered_through < last_message;

-- A face replaces a message while it streams in, and no other.
CREATE POLICY streaming_only ON neurigraph.messages AS RESTRICTIVE FOR UPDATE TO neurigraph_agent
USING (NOT complete) WITH CHECK (true);
GRANT UPDATE (role, author, content, tool_calls, token_count, content_hash, occurred_at, complete)
ON neurigraph.messages TO neurigraph_agent;
GRANT UPDATE (tail_changed) ON neurigraph.sources TO neurigraph_agent;
