-- Relations between nodes of one user.
CREATE TABLE neurigraph.node_edges (
    edge_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL,
    from_node_id uuid NOT NULL,
    to_node_id uuid NOT NULL,
    relation text NOT NULL CHECK (char_length(relation) BETWEEN 1 AND 120),
    strength real NOT NULL DEFAULT 0.5 CHECK (strength BETWEEN 0 AND 1),
    -- The number of records that state the relation. It is 0 if all evidence is hidden or superseded, and then the edge
    -- is hidden itself.
    evidence_count integer NOT NULL DEFAULT 1 CHECK (evidence_count >= 0),
    created_at timestamptz NOT NULL DEFAULT now(),
    last_seen_at timestamptz NOT NULL DEFAULT now(),
    -- When the relation holds, according to the evidence.
    valid tstzmultirange NOT NULL DEFAULT '{(,)}',
    CHECK (from_node_id <> to_node_id),
    UNIQUE (from_node_id, to_node_id, relation),
    FOREIGN KEY (from_node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE,
    FOREIGN KEY (to_node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE
);
CREATE INDEX node_edges_to_node_id ON neurigraph.node_edges (to_node_id);
CREATE INDEX node_edges_user_id ON neurigraph.node_edges (user_id);

ALTER TABLE neurigraph.node_edges ENABLE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE ON neurigraph.node_edges TO neurigraph_pipeline;
-- Functions that check the claims write access times and staged nodes.
GRANT SELECT ON neurigraph.node_edges TO neurigraph_agent;

-- Replaced when it changes: functions, triggers, policies.

-- A write sets off a new version of cached answers.

CREATE OR REPLACE TRIGGER note_change AFTER INSERT OR DELETE OR UPDATE OF
from_node_id, to_node_id, relation, evidence_count ON neurigraph.node_edges
FOR EACH ROW EXECUTE FUNCTION neurigraph.note_row_change();

CREATE POLICY pipeline_all ON neurigraph.node_edges TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.node_edges TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));

-- An edge is visible to callers who see evidence for it.
CREATE POLICY granted ON neurigraph.node_edges FOR SELECT TO neurigraph_agent
USING (
    from_node_id IN (SELECT neurigraph.readable_nodes()) AND to_node_id IN (SELECT neurigraph.readable_nodes())
    AND EXISTS (SELECT FROM neurigraph.edge_evidence AS v WHERE v.edge_id = node_edges.edge_id)
);

CREATE POLICY not_hidden ON neurigraph.node_edges AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (evidence_count > 0);
