-- Mentions: a record, or one of its facts, speaks of a node, or of a candidate for a node.
CREATE TABLE neurigraph.mentions (
    mention_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL,
    record_id uuid NOT NULL REFERENCES neurigraph.record_index ON DELETE CASCADE,
    -- A fact of the record; null for the record as a whole. There is no foreign key.
    fact_id uuid,
    node_id uuid,
    candidate_id uuid REFERENCES neurigraph.node_candidates ON DELETE CASCADE ON UPDATE CASCADE,
    role neurigraph.mention_role NOT NULL,
    -- The alias that the mention uses, if any.
    alias_id uuid REFERENCES neurigraph.node_aliases ON DELETE SET NULL,
    -- The first messages that speak of the node, by number; empty for the whole record.
    messages integer [] NOT NULL DEFAULT '{}' CHECK (cardinality(messages) <= 32),
    confidence double precision NOT NULL DEFAULT 1 CHECK (confidence > 0 AND confidence <= 1),
    detected_by neurigraph.detector NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CHECK (num_nonnulls(node_id, candidate_id) = 1),
    FOREIGN KEY (node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE
);
CREATE INDEX mentions_record_id ON neurigraph.mentions (record_id);
CREATE INDEX mentions_node_id ON neurigraph.mentions (node_id, created_at, mention_id);
CREATE INDEX mentions_candidate_id ON neurigraph.mentions (candidate_id) WHERE candidate_id IS NOT NULL;
CREATE INDEX mentions_alias_id ON neurigraph.mentions (alias_id) WHERE alias_id IS NOT NULL;

ALTER TABLE neurigraph.mentions ENABLE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON neurigraph.mentions TO neurigraph_pipeline;
GRANT SELECT ON neurigraph.mentions TO neurigraph_agent;

-- Replaced when it changes: functions, triggers, policies.

-- A write sets off a new computation of the mentioned candidates and aliases.

CREATE OR REPLACE TRIGGER summed_new AFTER INSERT ON neurigraph.mentions
REFERENCING NEW TABLE AS added_rows
FOR EACH STATEMENT EXECUTE FUNCTION neurigraph.sum_evidence();

CREATE OR REPLACE TRIGGER summed_changed AFTER UPDATE ON neurigraph.mentions
REFERENCING OLD TABLE AS removed_rows NEW TABLE AS added_rows
FOR EACH STATEMENT EXECUTE FUNCTION neurigraph.sum_evidence();

CREATE OR REPLACE TRIGGER summed_gone AFTER DELETE ON neurigraph.mentions
REFERENCING OLD TABLE AS removed_rows FOR EACH STATEMENT EXECUTE FUNCTION neurigraph.sum_evidence();

CREATE POLICY pipeline_all ON neurigraph.mentions TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.mentions TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));

-- A mention is visible to callers who see both its node and its record.
CREATE POLICY granted ON neurigraph.mentions FOR SELECT TO neurigraph_agent
USING (
    node_id IN (SELECT neurigraph.readable_nodes())
    AND EXISTS (SELECT FROM neurigraph.record_index AS r WHERE r.record_id = mentions.record_id)
);

-- Mentions from records in quarantine are hidden from the owner, too.
CREATE POLICY not_hidden ON neurigraph.mentions AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (
    (SELECT neurigraph.sees_all_records())
    OR record_id IN (SELECT r.record_id FROM neurigraph.record_index AS r)
);
