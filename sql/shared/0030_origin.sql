-- Where text comes from: who handed it in, with which key and through which door. The server sets these columns from
-- the signed claims of the caller, never from what the caller states. Rows from before have none.

-- The door: a program over HTTP, the command line, an import of another program's files, the drop folder, the protocol
-- for models' tools, a fetched page, another installation, or a digest of memories.
CREATE TYPE neurigraph.received_through AS ENUM ('api', 'cli', 'import', 'drop', 'mcp', 'web', 'peer', 'digest');

-- Who speaks, as the server knows it: the owner of the graph, the assistant, instructions of the system, the result of
-- a tool, a persona with a key of its own, another person in a conversation that the owner handed in, a document of the
-- owner, or a text that was fetched.
CREATE TYPE neurigraph.voice AS ENUM (
    'owner', 'assistant', 'system', 'tool', 'persona', 'other_person', 'document', 'fetched'
);

-- Keys have no foreign key: what a deleted key handed in must not become the owner's.
ALTER TABLE neurigraph.sources
ADD COLUMN key_id uuid,
ADD COLUMN received_through neurigraph.received_through;

-- Of each message, since several keys may write to one source. Those of an upload are of the source.
ALTER TABLE neurigraph.messages
ADD COLUMN key_id uuid,
ADD COLUMN persona_id uuid,
ADD COLUMN received_through neurigraph.received_through;

GRANT UPDATE (key_id, persona_id, received_through) ON neurigraph.messages TO neurigraph_agent;
