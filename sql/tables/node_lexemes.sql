-- The number of a node's passages in which a lexeme occurs. A foreign key to the node would cost too much for each row;
-- deleting the node's row of node_statistics deletes these rows.
CREATE TABLE neurigraph.node_lexemes (
    user_id uuid NOT NULL,
    lexeme text COLLATE "C" NOT NULL,
    node_id uuid NOT NULL,
    passages integer NOT NULL CHECK (passages >= 0),
    PRIMARY KEY (user_id, lexeme, node_id)
);
CREATE INDEX node_lexemes_node_id ON neurigraph.node_lexemes (node_id);

ALTER TABLE neurigraph.node_lexemes ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON neurigraph.node_lexemes TO neurigraph_pipeline;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.node_lexemes TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.node_lexemes TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));
