-- Evidence asserts, ends or denies an edge. It comes from a record, one of the record's facts, or a person. Strength,
-- count and validity of an edge are computed from its evidence, and an edge is deleted with its last evidence.
CREATE TABLE neurigraph.edge_evidence (
    evidence_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL,
    edge_id uuid REFERENCES neurigraph.node_edges ON DELETE CASCADE,
    from_node_id uuid NOT NULL,
    -- Null while the evidence waits for its candidate to become a node; until then there is no edge.
    to_node_id uuid,
    candidate_id uuid REFERENCES neurigraph.node_candidates ON DELETE CASCADE ON UPDATE CASCADE,
    relation text NOT NULL CHECK (char_length(relation) BETWEEN 1 AND 120),
    record_id uuid REFERENCES neurigraph.record_index ON DELETE CASCADE,
    -- A fact of the record; null for the record as a whole. There is no foreign key.
    fact_id uuid,
    -- The person who states the edge, for evidence without a record.
    observed_by text,
    -- For statements from before evidence was kept, whose records are unknown: their number, and when they were stored.
    statements integer NOT NULL DEFAULT 1 CHECK (statements > 0),
    stated tstzrange,
    messages integer [] NOT NULL DEFAULT '{}' CHECK (cardinality(messages) <= 32),
    weight real NOT NULL CHECK (weight BETWEEN 0 AND 1),
    stance neurigraph.stance NOT NULL DEFAULT 'asserts',
    -- When the relation began to hold, and ended, in the world; null if unknown.
    valid_from timestamptz,
    valid_until timestamptz,
    detected_by neurigraph.detector NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CHECK (num_nonnulls(to_node_id, candidate_id) = 1),
    CHECK ((edge_id IS NULL) = (to_node_id IS NULL)),
    CHECK (num_nonnulls(record_id, observed_by, stated) = 1),
    CHECK (stated IS NOT NULL OR statements = 1),
    CHECK (valid_until > valid_from),
    CHECK (stance <> 'ends' OR valid_until IS NOT NULL),
    FOREIGN KEY (from_node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE,
    FOREIGN KEY (to_node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE
);
CREATE INDEX edge_evidence_edge_id ON neurigraph.edge_evidence (edge_id);
CREATE INDEX edge_evidence_record_id ON neurigraph.edge_evidence (record_id);
CREATE INDEX edge_evidence_from_node_id ON neurigraph.edge_evidence (from_node_id);
CREATE INDEX edge_evidence_to_node_id ON neurigraph.edge_evidence (to_node_id);
CREATE INDEX edge_evidence_candidate_id ON neurigraph.edge_evidence (candidate_id)
WHERE candidate_id IS NOT NULL;
CREATE INDEX edge_evidence_unproven ON neurigraph.edge_evidence (user_id) WHERE stated IS NOT NULL;

ALTER TABLE neurigraph.edge_evidence ENABLE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON neurigraph.edge_evidence TO neurigraph_pipeline;
GRANT SELECT ON neurigraph.edge_evidence TO neurigraph_agent;

-- Replaced when it changes: functions, triggers, policies.

-- A write sets off a new computation of strength, count and validity of its edges.

CREATE OR REPLACE TRIGGER summed_new AFTER INSERT ON neurigraph.edge_evidence
REFERENCING NEW TABLE AS added_rows
FOR EACH STATEMENT EXECUTE FUNCTION neurigraph.sum_evidence();

CREATE OR REPLACE TRIGGER summed_changed AFTER UPDATE ON neurigraph.edge_evidence
REFERENCING OLD TABLE AS removed_rows NEW TABLE AS added_rows
FOR EACH STATEMENT EXECUTE FUNCTION neurigraph.sum_evidence();

CREATE OR REPLACE TRIGGER summed_gone AFTER DELETE ON neurigraph.edge_evidence
REFERENCING OLD TABLE AS removed_rows FOR EACH STATEMENT EXECUTE FUNCTION neurigraph.sum_evidence();

CREATE POLICY pipeline_all ON neurigraph.edge_evidence TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.edge_evidence TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));

-- Evidence of an edge is visible with both ends of the edge and, by `not_hidden`, with its record. Statements without a
-- record, from before evidence was kept, are visible with both ends. Only the owner sees statements of people.
CREATE POLICY granted ON neurigraph.edge_evidence FOR SELECT TO neurigraph_agent
USING (
    from_node_id IN (SELECT neurigraph.readable_nodes()) AND to_node_id IN (SELECT neurigraph.readable_nodes())
    AND observed_by IS NULL
);

CREATE POLICY not_hidden ON neurigraph.edge_evidence AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (
    record_id IS NULL
    OR (SELECT neurigraph.sees_all_records())
    OR record_id IN (SELECT r.record_id FROM neurigraph.record_index AS r)
);

-- A caller limited to some spaces sees no evidence without a record: nobody can trace it to these spaces.
CREATE POLICY traceable ON neurigraph.edge_evidence AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (
    (SELECT neurigraph.asking_tags() IS NULL)
    OR record_id IS NOT NULL
);
