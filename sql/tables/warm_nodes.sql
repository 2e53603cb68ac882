-- Nodes staged near the hits of a question; rows expire by themselves.
CREATE TABLE neurigraph.warm_nodes (
    user_id uuid NOT NULL,
    node_id uuid NOT NULL,
    warmed_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, node_id),
    FOREIGN KEY (node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE
);
CREATE INDEX warm_nodes_expires_at ON neurigraph.warm_nodes (expires_at);

ALTER TABLE neurigraph.warm_nodes ENABLE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON neurigraph.warm_nodes TO neurigraph_pipeline;
-- Functions that check the claims write access times and staged nodes.
GRANT SELECT ON neurigraph.warm_nodes TO neurigraph_agent;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.warm_nodes TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.warm_nodes TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));
