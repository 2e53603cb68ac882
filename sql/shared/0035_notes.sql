-- Notes: sources of one message that somebody wants remembered as it is. Like messages they go through the queue; a
-- note that is pinned to a node lies there, wherever a model would file it.

ALTER TYPE neurigraph.source_kind ADD VALUE IF NOT EXISTS 'note';
ALTER TYPE neurigraph.content_type ADD VALUE IF NOT EXISTS 'note';

-- What a message of a note has besides its text: one row for each version of the note.
CREATE TABLE IF NOT EXISTS neurigraph.notes (
    source_id uuid NOT NULL,
    message integer NOT NULL,
    user_id uuid NOT NULL,
    -- Whether the writer chose the node. A node that is removed before the note is stored leaves the note without one:
    -- it then waits for a person, and is filed nowhere else.
    pinned boolean NOT NULL,
    node_id uuid REFERENCES neurigraph.graph_index ON DELETE SET NULL,
    importance real CHECK (importance BETWEEN 0 AND 1),
    tags text [] NOT NULL DEFAULT '{}' CHECK (cardinality(tags) <= 20),
    -- The earlier note whose memory this one supersedes once it is stored. A version supersedes the version before.
    replaces uuid REFERENCES neurigraph.sources ON DELETE SET NULL,
    -- A digest of text, title, node and privacy: the same note again is recognised by it.
    digest bytea NOT NULL CHECK (octet_length(digest) = 32),
    PRIMARY KEY (source_id, message),
    FOREIGN KEY (source_id, message) REFERENCES neurigraph.messages (source_id, seq) ON DELETE CASCADE,
    FOREIGN KEY (source_id, user_id) REFERENCES neurigraph.sources (source_id, user_id) ON DELETE CASCADE,
    CHECK (pinned OR node_id IS NULL),
    CHECK (replaces <> source_id)
);
CREATE INDEX IF NOT EXISTS notes_digest ON neurigraph.notes (user_id, digest);
CREATE INDEX IF NOT EXISTS notes_node_id ON neurigraph.notes (node_id) WHERE node_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS notes_replaces ON neurigraph.notes (replaces) WHERE replaces IS NOT NULL;

ALTER TABLE neurigraph.notes ENABLE ROW LEVEL SECURITY;
GRANT SELECT, INSERT ON neurigraph.notes TO neurigraph_agent;
GRANT SELECT, INSERT, UPDATE ON neurigraph.notes TO neurigraph_pipeline;
