-- Peers of this installation: other homes, whose granted nodes are mirrored below a mount node.

-- A home that is pulled. What is mirrored of it goes with its mount node.
CREATE TABLE IF NOT EXISTS neurigraph.peers (
    peer_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    peer_name text NOT NULL CHECK (char_length(peer_name) BETWEEN 1 AND 100),
    url text NOT NULL CHECK (char_length(url) BETWEEN 1 AND 2000),
    -- The Ed25519 key that signs the home's answers.
    home_key bytea NOT NULL CHECK (octet_length(home_key) = 32),
    mount_node_id uuid NOT NULL,
    -- Of the home, from the last pull that was complete.
    horizon uuid,
    tried_at timestamptz,
    -- When the last complete pull began: what the home had then is here.
    pulled_at timestamptz,
    last_error text CHECK (last_error ~ '^[a-z_]{1,40}$'),
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (peer_id, user_id),
    UNIQUE (user_id, peer_name),
    FOREIGN KEY (mount_node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS peers_mount_node_id ON neurigraph.peers (mount_node_id);

-- The keys of third parties that homes issued, encrypted with the secret of this installation. A peer without one is
-- not pulled.
CREATE TABLE IF NOT EXISTS neurigraph.peer_keys (
    peer_id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    sealed bytea NOT NULL CHECK (octet_length(sealed) BETWEEN 32 AND 1000),
    FOREIGN KEY (peer_id, user_id) REFERENCES neurigraph.peers (peer_id, user_id) ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS peer_keys_user_id ON neurigraph.peer_keys (user_id);

-- The nodes below mount nodes, with their ids at home.
CREATE TABLE IF NOT EXISTS neurigraph.mirrored_nodes (
    node_id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    peer_id uuid NOT NULL,
    home_node_id uuid NOT NULL,
    UNIQUE (peer_id, home_node_id),
    FOREIGN KEY (node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE,
    FOREIGN KEY (peer_id, user_id) REFERENCES neurigraph.peers (peer_id, user_id) ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS mirrored_nodes_user_id ON neurigraph.mirrored_nodes (user_id);

-- Their records, with their ids and versions at home.
CREATE TABLE IF NOT EXISTS neurigraph.mirrored_records (
    record_id uuid PRIMARY KEY REFERENCES neurigraph.record_index ON DELETE CASCADE,
    user_id uuid NOT NULL,
    peer_id uuid NOT NULL,
    node_id uuid NOT NULL REFERENCES neurigraph.mirrored_nodes ON DELETE CASCADE,
    home_record_id uuid NOT NULL,
    version uuid NOT NULL,
    UNIQUE (peer_id, home_record_id),
    FOREIGN KEY (peer_id, user_id) REFERENCES neurigraph.peers (peer_id, user_id) ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS mirrored_records_node_id ON neurigraph.mirrored_records (node_id, home_record_id);
CREATE INDEX IF NOT EXISTS mirrored_records_user_id ON neurigraph.mirrored_records (user_id);

ALTER TABLE neurigraph.peers ENABLE ROW LEVEL SECURITY;
ALTER TABLE neurigraph.peer_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE neurigraph.mirrored_nodes ENABLE ROW LEVEL SECURITY;
ALTER TABLE neurigraph.mirrored_records ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON neurigraph.peers, neurigraph.mirrored_nodes, neurigraph.mirrored_records TO neurigraph_agent;
GRANT SELECT ON neurigraph.peers, neurigraph.mirrored_nodes, neurigraph.mirrored_records TO neurigraph_pipeline;

-- The routines add the policies for the owners of graphs; until then these see nothing.
DO $$
DECLARE
    guarded text;
BEGIN
    FOREACH guarded IN ARRAY ARRAY['peers', 'peer_keys', 'mirrored_nodes', 'mirrored_records'] LOOP
        EXECUTE format('DROP POLICY IF EXISTS pipeline_all ON neurigraph.%I', guarded);
        EXECUTE format(
            'CREATE POLICY pipeline_all ON neurigraph.%I TO neurigraph_pipeline USING (true) WITH CHECK (true)', guarded
        );
    END LOOP;
END
$$;
