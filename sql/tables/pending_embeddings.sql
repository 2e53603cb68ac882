-- Records without vectors, listed so that filling in vectors scans no node schema. The commit writes the rows.
CREATE TABLE neurigraph.pending_embeddings (
    record_id uuid PRIMARY KEY REFERENCES neurigraph.record_index ON DELETE CASCADE,
    node_id uuid NOT NULL,
    user_id uuid NOT NULL,
    since timestamptz NOT NULL DEFAULT now(),
    attempts integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    -- A worker that takes the record moves this time on, so the time is also the worker's lease.
    next_attempt_at timestamptz NOT NULL DEFAULT now(),
    last_error text,
    FOREIGN KEY (node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE
);
CREATE INDEX pending_embeddings_due ON neurigraph.pending_embeddings (next_attempt_at);
CREATE INDEX pending_embeddings_node_id ON neurigraph.pending_embeddings (node_id);
CREATE INDEX pending_embeddings_user_id ON neurigraph.pending_embeddings (user_id);

ALTER TABLE neurigraph.pending_embeddings ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON neurigraph.pending_embeddings TO neurigraph_pipeline, neurigraph_agent;
GRANT INSERT, UPDATE, DELETE ON neurigraph.pending_embeddings TO neurigraph_pipeline;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.pending_embeddings TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.pending_embeddings TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));
