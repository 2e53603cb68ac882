-- Publishers that users pull. Deleting the mount node deletes the mirrored rows.
CREATE TABLE neurigraph.peers (
    peer_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    peer_name text NOT NULL CHECK (char_length(peer_name) BETWEEN 1 AND 100),
    url text NOT NULL CHECK (char_length(url) BETWEEN 1 AND 2000),
    -- The Ed25519 key that signs the publisher's answers.
    publisher_key bytea NOT NULL CHECK (octet_length(publisher_key) = 32),
    mount_node_id uuid NOT NULL,
    -- The horizon of the publisher, from the last complete pull.
    horizon uuid,
    tried_at timestamptz,
    -- The start of the last complete pull: the mirror equals the publisher at that time.
    pulled_at timestamptz,
    last_error text CHECK (last_error ~ '^[a-z_]{1,40}$'),
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (peer_id, user_id),
    UNIQUE (user_id, peer_name),
    FOREIGN KEY (mount_node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE
);
CREATE INDEX peers_mount_node_id ON neurigraph.peers (mount_node_id);

ALTER TABLE neurigraph.peers ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON neurigraph.peers TO neurigraph_agent;
GRANT SELECT ON neurigraph.peers TO neurigraph_pipeline;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.peers TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.peers TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));
