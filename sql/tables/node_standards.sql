-- Standards: the rights of people and programs at a node and below it. A null field is inherited from the nodes above.
-- A standard binds personas and jobs, never the owner of the graph.
CREATE TABLE neurigraph.node_standards (
    node_id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    -- The callers who may write, promote and delete: any, registered (personas, no jobs), owner, or approve (after an
    -- approval).
    write_rule text CHECK (write_rule IN ('any', 'registered', 'owner', 'approve')),
    promote_rule text CHECK (promote_rule IN ('any', 'registered', 'owner', 'approve')),
    delete_rule text CHECK (delete_rule IN ('any', 'registered', 'owner', 'approve')),
    -- The approver besides the owner: human (only the owner), persona (one persona), or consensus (several personas
    -- that may write to the node).
    approver text CHECK (approver IN ('human', 'persona', 'consensus')),
    approver_persona uuid,
    approvals integer CHECK (approvals BETWEEN 2 AND 20),
    -- Whether a null field of this standard takes the value of the nodes above.
    inherit boolean NOT NULL DEFAULT true,
    default_tier text CHECK (default_tier IN ('short', 'mid', 'long')),
    default_ttl_seconds bigint CHECK (default_ttl_seconds BETWEEN 60 AND 315576000),
    -- The note with the text of the standard.
    note_id uuid REFERENCES neurigraph.sources ON DELETE SET NULL,
    updated_at timestamptz NOT NULL DEFAULT now(),
    CHECK (approver_persona IS NULL OR coalesce(approver, '') = 'persona'),
    CHECK ((approvals IS NOT NULL) = (coalesce(approver, '') = 'consensus')),
    FOREIGN KEY (node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE,
    FOREIGN KEY (approver_persona, user_id) REFERENCES neurigraph.graph_index (node_id, user_id)
        ON DELETE SET NULL (approver_persona)
);
CREATE INDEX node_standards_user_id ON neurigraph.node_standards (user_id);
CREATE INDEX node_standards_approver_persona ON neurigraph.node_standards (approver_persona)
WHERE approver_persona IS NOT NULL;
CREATE INDEX node_standards_note_id ON neurigraph.node_standards (note_id) WHERE note_id IS NOT NULL;

ALTER TABLE neurigraph.node_standards ENABLE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON neurigraph.node_standards TO neurigraph_agent;
GRANT SELECT ON neurigraph.node_standards TO neurigraph_pipeline;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.node_standards TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.node_standards TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));

-- A standard is visible with its node; only the owner sets one.
CREATE POLICY granted ON neurigraph.node_standards FOR SELECT TO neurigraph_agent
USING (node_id IN (SELECT neurigraph.readable_nodes()));

-- Callers limited to some spaces see no standards, because standards belong to all spaces.
CREATE POLICY traceable ON neurigraph.node_standards AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (
    (SELECT neurigraph.asking_tags() IS NULL)
    OR false
);
