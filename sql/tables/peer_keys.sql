-- The keys by which this installation calls publishers, encrypted with the secret of this installation. The publishers
-- issued them for a third party. A peer without a key is not pulled.
CREATE TABLE neurigraph.peer_keys (
    peer_id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    sealed bytea NOT NULL CHECK (octet_length(sealed) BETWEEN 32 AND 1000),
    FOREIGN KEY (peer_id, user_id) REFERENCES neurigraph.peers (peer_id, user_id) ON DELETE CASCADE
);
CREATE INDEX peer_keys_user_id ON neurigraph.peer_keys (user_id);

ALTER TABLE neurigraph.peer_keys ENABLE ROW LEVEL SECURITY;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.peer_keys TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.peer_keys TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));
