-- The messages of sources, numbered from 1.
CREATE TABLE neurigraph.messages (
    source_id uuid NOT NULL,
    seq integer NOT NULL CHECK (seq > 0),
    user_id uuid NOT NULL,
    role neurigraph.message_role NOT NULL,
    author text CHECK (char_length(author) <= 300),
    -- Content and tool calls become null when the segment is stored and its object verified; the other columns stay.
    content text,
    tool_calls jsonb,
    token_count integer NOT NULL CHECK (token_count >= 0),
    content_hash bytea NOT NULL CHECK (octet_length(content_hash) = 32),
    occurred_at timestamptz NOT NULL,
    external_id text NOT NULL CHECK (char_length(external_id) BETWEEN 1 AND 300),
    -- False while a response is streaming in.
    complete boolean NOT NULL DEFAULT true,
    received_at timestamptz NOT NULL DEFAULT now(),
    -- The origin of a message, since several keys may write to one source. Messages of an upload have the origin of
    -- their source.
    key_id uuid,
    persona_id uuid,
    received_through neurigraph.received_through,
    -- The fields of a tool message besides its content: type, tool_name, tool_use_id, input, output, error,
    -- duration_ms. They become null with the content.
    tool_event jsonb,
    -- The part of a document that the message comes from: its headings, or its page.
    section text CHECK (char_length(section) BETWEEN 1 AND 300),
    -- Minutes by which the speaker's clock is ahead of UTC; null if the offset is unknown or zero.
    utc_offset smallint CHECK (utc_offset BETWEEN -1439 AND 1439),
    PRIMARY KEY (source_id, seq),
    UNIQUE (source_id, external_id),
    FOREIGN KEY (source_id, user_id) REFERENCES neurigraph.sources (source_id, user_id) ON DELETE CASCADE
);

ALTER TABLE neurigraph.messages ENABLE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE ON neurigraph.messages TO neurigraph_pipeline;
GRANT SELECT, INSERT ON neurigraph.messages TO neurigraph_agent;
GRANT UPDATE (role, author, content, tool_calls, token_count, content_hash, occurred_at, complete)
ON neurigraph.messages TO neurigraph_agent;
GRANT UPDATE (key_id, persona_id, received_through) ON neurigraph.messages TO neurigraph_agent;
GRANT UPDATE (tool_event) ON neurigraph.messages TO neurigraph_agent;
GRANT UPDATE (utc_offset) ON neurigraph.messages TO neurigraph_agent;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.messages TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.messages TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));

CREATE POLICY by_member ON neurigraph.messages TO neurigraph_agent
USING (source_id IN (SELECT neurigraph.sources_of_member()));

CREATE POLICY handed_in ON neurigraph.messages TO neurigraph_agent
USING (
    EXISTS (
        SELECT FROM neurigraph.sources AS s
        WHERE s.source_id = messages.source_id AND s.persona_id = (SELECT neurigraph.writing_persona())
    )
);

-- An interface may replace a message while the message is streaming in, but never a complete message.
CREATE POLICY streaming_only ON neurigraph.messages AS RESTRICTIVE FOR UPDATE TO neurigraph_agent
USING (NOT complete) WITH CHECK (true);

CREATE POLICY true_origin_insert ON neurigraph.messages AS RESTRICTIVE FOR INSERT TO neurigraph_agent
WITH CHECK (
    key_id IS NOT DISTINCT FROM (SELECT neurigraph.asking_key())
    AND persona_id IS NOT DISTINCT FROM (SELECT neurigraph.writing_persona())
    AND received_through IS NOT DISTINCT FROM (SELECT neurigraph.asking_door())
);

CREATE POLICY true_origin_update ON neurigraph.messages AS RESTRICTIVE FOR UPDATE TO neurigraph_agent
USING (true) WITH CHECK (
    key_id IS NOT DISTINCT FROM (SELECT neurigraph.asking_key())
    AND persona_id IS NOT DISTINCT FROM (SELECT neurigraph.writing_persona())
    AND received_through IS NOT DISTINCT FROM (SELECT neurigraph.asking_door())
);

CREATE POLICY bound ON neurigraph.messages TO neurigraph_agent
USING (
    user_id = (SELECT neurigraph.bound_user_id())
    AND source_id NOT IN (SELECT unnest((SELECT neurigraph.hidden_sources())))
);
