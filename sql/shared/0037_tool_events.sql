-- Messages that are events of a tool: its use, its result, or an error.

-- What such a message has besides its content: type, tool_name, tool_use_id, input, output, error, duration_ms. It
-- becomes null with the content.
ALTER TABLE neurigraph.messages ADD COLUMN IF NOT EXISTS tool_event jsonb;
GRANT UPDATE (tool_event) ON neurigraph.messages TO neurigraph_agent;
