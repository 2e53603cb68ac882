-- The records of mirrored nodes, with their ids and versions at the publisher.
CREATE TABLE neurigraph.mirrored_records (
    record_id uuid PRIMARY KEY REFERENCES neurigraph.record_index ON DELETE CASCADE,
    user_id uuid NOT NULL,
    peer_id uuid NOT NULL,
    node_id uuid NOT NULL REFERENCES neurigraph.mirrored_nodes ON DELETE CASCADE,
    publisher_record_id uuid NOT NULL,
    version uuid NOT NULL,
    UNIQUE (peer_id, publisher_record_id),
    FOREIGN KEY (peer_id, user_id) REFERENCES neurigraph.peers (peer_id, user_id) ON DELETE CASCADE
);
CREATE INDEX mirrored_records_node_id ON neurigraph.mirrored_records (node_id, publisher_record_id);
CREATE INDEX mirrored_records_user_id ON neurigraph.mirrored_records (user_id);

ALTER TABLE neurigraph.mirrored_records ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON neurigraph.mirrored_records TO neurigraph_agent;
GRANT SELECT ON neurigraph.mirrored_records TO neurigraph_pipeline;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.mirrored_records TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.mirrored_records TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));
