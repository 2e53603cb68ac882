-- Mirrored nodes, which lie below mount nodes, with their ids at the publisher.
CREATE TABLE neurigraph.mirrored_nodes (
    node_id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    peer_id uuid NOT NULL,
    publisher_node_id uuid NOT NULL,
    UNIQUE (peer_id, publisher_node_id),
    FOREIGN KEY (node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE,
    FOREIGN KEY (peer_id, user_id) REFERENCES neurigraph.peers (peer_id, user_id) ON DELETE CASCADE
);
CREATE INDEX mirrored_nodes_user_id ON neurigraph.mirrored_nodes (user_id);

ALTER TABLE neurigraph.mirrored_nodes ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON neurigraph.mirrored_nodes TO neurigraph_agent;
GRANT SELECT ON neurigraph.mirrored_nodes TO neurigraph_pipeline;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.mirrored_nodes TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.mirrored_nodes TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));
