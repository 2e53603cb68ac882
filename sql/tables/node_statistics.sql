-- Totals of a node's segments that are not in quarantine.
CREATE TABLE neurigraph.node_statistics (
    node_id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    passages bigint NOT NULL DEFAULT 0 CHECK (passages >= 0),
    -- The speakers and the languages of the segments of the node, each once.
    speakers text [] NOT NULL DEFAULT '{}',
    languages text [] NOT NULL DEFAULT '{}',
    FOREIGN KEY (node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE
);
CREATE INDEX node_statistics_user_id ON neurigraph.node_statistics (user_id);

ALTER TABLE neurigraph.node_statistics ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON neurigraph.node_statistics TO neurigraph_pipeline;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.node_statistics TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.node_statistics TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));
