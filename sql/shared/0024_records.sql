-- Registries of the records and files of all nodes, and records that wait for vectors.

-- The node of each record, and the guarantee that a segment is stored once. Triggers of node tables write the rows: a
-- foreign key from there would lock all writers out while a node is provisioned.
CREATE TABLE neurigraph.record_index (
    record_id uuid PRIMARY KEY,
    node_id uuid NOT NULL,
    user_id uuid NOT NULL,
    -- Kind and id of the source: kind:uuid.
    source text NOT NULL,
    -- SHA-256 of the segment's content.
    content_hash bytea NOT NULL CHECK (octet_length(content_hash) = 32),
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (user_id, source, content_hash),
    FOREIGN KEY (node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE
);
CREATE INDEX record_index_node_id ON neurigraph.record_index (node_id);
-- A backfill by days walks over this index.
CREATE INDEX record_index_created_at ON neurigraph.record_index (created_at, record_id);

-- The record and node of each file; written by triggers of node tables.
CREATE TABLE neurigraph.file_index (
    file_id uuid PRIMARY KEY,
    record_id uuid NOT NULL REFERENCES neurigraph.record_index ON DELETE CASCADE,
    node_id uuid NOT NULL,
    user_id uuid NOT NULL,
    FOREIGN KEY (node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE
);
CREATE INDEX file_index_record_id ON neurigraph.file_index (record_id);
CREATE INDEX file_index_node_id ON neurigraph.file_index (node_id);

-- Records without vectors, so that filling them in scans no node schema. Written by the commit.
CREATE TABLE neurigraph.pending_embeddings (
    record_id uuid PRIMARY KEY REFERENCES neurigraph.record_index ON DELETE CASCADE,
    node_id uuid NOT NULL,
    user_id uuid NOT NULL,
    since timestamptz NOT NULL DEFAULT now(),
    attempts integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    -- A worker that takes the record moves this on, so it is also the worker's lease.
    next_attempt_at timestamptz NOT NULL DEFAULT now(),
    last_error text,
    FOREIGN KEY (node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE
);
CREATE INDEX pending_embeddings_due ON neurigraph.pending_embeddings (next_attempt_at);
CREATE INDEX pending_embeddings_node_id ON neurigraph.pending_embeddings (node_id);
CREATE INDEX pending_embeddings_user_id ON neurigraph.pending_embeddings (user_id);

ALTER TABLE neurigraph.record_index ENABLE ROW LEVEL SECURITY;
ALTER TABLE neurigraph.file_index ENABLE ROW LEVEL SECURITY;
ALTER TABLE neurigraph.pending_embeddings ENABLE ROW LEVEL SECURITY;

GRANT SELECT ON neurigraph.record_index, neurigraph.file_index, neurigraph.pending_embeddings
TO neurigraph_pipeline, neurigraph_agent;
GRANT INSERT, UPDATE, DELETE ON neurigraph.pending_embeddings TO neurigraph_pipeline;
