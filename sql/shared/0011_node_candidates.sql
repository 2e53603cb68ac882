-- What may come to deserve a node: evidence of several segments adds up here until it is enough. And how much each
-- keyword of a node weighs, so that the frequent and recent ones stay.

CREATE TABLE neurigraph.node_candidates (
    -- Follows from user, kind, name and parent: a path of long names would not fit into an index.
    candidate_id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    concept_kind neurigraph.concept_kind NOT NULL,
    name_key text NOT NULL CHECK (name_key <> ''),
    node_name text NOT NULL CHECK (char_length(node_name) BETWEEN 1 AND 120),
    -- Names from layer 1 down of the node under which it was met.
    parent_path text [] NOT NULL,
    confidence double precision NOT NULL CHECK (confidence > 0 AND confidence <= 1),
    segments integer NOT NULL DEFAULT 1 CHECK (segments > 0),
    -- Relations that were stated before the node exists: {"from", "label", "strength"}.
    edges jsonb NOT NULL DEFAULT '[]',
    first_seen_at timestamptz NOT NULL DEFAULT now(),
    last_seen_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX node_candidates_name_key ON neurigraph.node_candidates (user_id, concept_kind, name_key);
CREATE INDEX node_candidates_confidence ON neurigraph.node_candidates (user_id, confidence DESC);

ALTER TABLE neurigraph.node_candidates ENABLE ROW LEVEL SECURITY;
CREATE POLICY pipeline_all ON neurigraph.node_candidates TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.node_candidates TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()));
GRANT SELECT, INSERT, UPDATE, DELETE ON neurigraph.node_candidates TO neurigraph_pipeline;
GRANT SELECT ON neurigraph.node_candidates TO neurigraph_agent;

-- In the order of node_keywords; one that is missing counts 1.
ALTER TABLE neurigraph.graph_index ADD COLUMN keyword_weights real [] NOT NULL DEFAULT '{}';
