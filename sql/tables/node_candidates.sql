-- Concepts that may become nodes: the weights of several segments add up until they suffice for a node.
CREATE TABLE neurigraph.node_candidates (
    -- Derived from user, kind, name and parent: a path of long names would not fit into an index.
    candidate_id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    concept_kind neurigraph.concept_kind NOT NULL,
    name_key text NOT NULL CHECK (name_key <> ''),
    node_name text NOT NULL CHECK (char_length(node_name) BETWEEN 1 AND 120),
    -- Names from layer 1 down of the node below which the concept was mentioned.
    parent_path text [] NOT NULL,
    confidence double precision NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    -- The number of shared segments that mention the concept. It is 0 if all mentions are hidden or superseded; then
    -- the candidate is hidden itself.
    segments integer NOT NULL DEFAULT 1 CHECK (segments >= 0),
    -- Always empty: edge_evidence has the relations that wait for the node.
    edges jsonb NOT NULL DEFAULT '[]',
    first_seen_at timestamptz NOT NULL DEFAULT now(),
    last_seen_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX node_candidates_name_key ON neurigraph.node_candidates (user_id, concept_kind, name_key);
CREATE INDEX node_candidates_confidence ON neurigraph.node_candidates (user_id, confidence DESC);
COMMENT ON COLUMN neurigraph.node_candidates.edges IS 'empty; edge_evidence has the relations that wait';

ALTER TABLE neurigraph.node_candidates ENABLE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON neurigraph.node_candidates TO neurigraph_pipeline;
-- Functions that check the claims write access times and staged nodes.
GRANT SELECT ON neurigraph.node_candidates TO neurigraph_agent;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.node_candidates TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.node_candidates TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));

CREATE POLICY not_hidden ON neurigraph.node_candidates AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (segments > 0);
