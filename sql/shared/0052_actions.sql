-- Governance: standards of nodes, actions that wait for a decision, and the votes on them.

-- What people and programs may do at a node and below it; a null field is inherited from the nodes above. It binds
-- personas and jobs, never the owner of the graph.
CREATE TABLE IF NOT EXISTS neurigraph.node_standards (
    node_id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    -- Who may write, promote and delete: any, registered (personas, no jobs), owner, or after an approval.
    write_rule text CHECK (write_rule IN ('any', 'registered', 'owner', 'approve')),
    promote_rule text CHECK (promote_rule IN ('any', 'registered', 'owner', 'approve')),
    delete_rule text CHECK (delete_rule IN ('any', 'registered', 'owner', 'approve')),
    -- Who approves besides the owner: nobody, one persona, or several personas that may write there.
    approver text CHECK (approver IN ('human', 'persona', 'consensus')),
    approver_persona uuid,
    approvals integer CHECK (approvals BETWEEN 2 AND 20),
    -- Whether the fields of the nodes above apply where this one has none.
    inherit boolean NOT NULL DEFAULT true,
    default_tier text CHECK (default_tier IN ('short', 'mid', 'long')),
    default_ttl_seconds bigint CHECK (default_ttl_seconds BETWEEN 60 AND 315576000),
    -- The note that has the standard's text.
    note_id uuid REFERENCES neurigraph.sources ON DELETE SET NULL,
    updated_at timestamptz NOT NULL DEFAULT now(),
    CHECK (approver_persona IS NULL OR coalesce(approver, '') = 'persona'),
    CHECK ((approvals IS NOT NULL) = (coalesce(approver, '') = 'consensus')),
    FOREIGN KEY (node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE,
    FOREIGN KEY (approver_persona, user_id) REFERENCES neurigraph.graph_index (node_id, user_id)
    ON DELETE SET NULL (approver_persona)
);
CREATE INDEX IF NOT EXISTS node_standards_user_id ON neurigraph.node_standards (user_id);
CREATE INDEX IF NOT EXISTS node_standards_approver_persona ON neurigraph.node_standards (approver_persona)
WHERE approver_persona IS NOT NULL;
CREATE INDEX IF NOT EXISTS node_standards_note_id ON neurigraph.node_standards (note_id) WHERE note_id IS NOT NULL;

-- What waits for an approval waits in the inbox: it makes no segment, and no search finds it.
ALTER TABLE neurigraph.sources ADD COLUMN IF NOT EXISTS held boolean NOT NULL DEFAULT false;
CREATE INDEX IF NOT EXISTS sources_held ON neurigraph.sources (user_id) WHERE held;

-- What somebody has to decide: because a standard says so, or because the pipeline is in doubt. A row has ids, figures
-- and words of closed vocabularies, never remembered text; it goes with what it is about.
CREATE TABLE IF NOT EXISTS neurigraph.actions (
    action_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    kind text NOT NULL CHECK (kind IN (
        'store', 'delete', 'promote', 'archive', 'restore', 'supersede', 'link', 'merge_nodes', 'resolve', 'digest'
    )),
    origin text NOT NULL CHECK (origin IN ('policy', 'doubt')),
    reason text NOT NULL CHECK (reason ~ '^[a-z][a-z_]{0,59}$'),
    -- The node whose standard applies: that of the record, of a held note, or the subject itself.
    node_id uuid NOT NULL,
    -- A node that the first one is to be merged into or linked to.
    other_node_id uuid,
    record_id uuid REFERENCES neurigraph.record_index ON DELETE CASCADE,
    other_record_id uuid REFERENCES neurigraph.record_index ON DELETE CASCADE,
    fact_id uuid REFERENCES neurigraph.facts ON DELETE CASCADE,
    other_fact_id uuid REFERENCES neurigraph.facts ON DELETE CASCADE,
    -- The held note, and which of its messages.
    source_id uuid REFERENCES neurigraph.sources ON DELETE CASCADE,
    message integer CHECK (message > 0),
    -- What the kind needs besides: numbers, booleans and single words.
    details jsonb NOT NULL DEFAULT '{}',
    -- persona:ID or job:NAME.
    requested_by text NOT NULL CHECK (requested_by ~ '^(persona:[0-9a-f-]{36}|job:[a-z][a-z_]{0,59})$'),
    requested_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz NOT NULL,
    -- A digest of what it is about, as it was when it was proposed.
    expected text NOT NULL,
    state text NOT NULL DEFAULT 'open' CHECK (
        state IN ('open', 'approved', 'rejected', 'executed', 'failed', 'expired')
    ),
    decided_at timestamptz,
    finished_at timestamptz,
    -- Why it failed.
    failure text CHECK (failure ~ '^[a-z][a-z_]{0,59}$'),
    -- When somebody was told that it waits.
    told_at timestamptz,
    -- By what the same proposal is known, whichever way round.
    digest text NOT NULL,
    UNIQUE (action_id, user_id),
    CHECK (expires_at > requested_at),
    CHECK ((state = 'open') = (decided_at IS NULL)),
    CHECK ((state IN ('open', 'approved')) = (finished_at IS NULL)),
    CHECK ((state = 'failed') = (failure IS NOT NULL)),
    CHECK ((kind = 'store') = (message IS NOT NULL)),
    CHECK (source_id IS NULL OR kind = 'store'),
    CHECK (fact_id IS NULL OR record_id IS NOT NULL),
    CHECK (other_fact_id IS NULL OR other_record_id IS NOT NULL),
    CONSTRAINT actions_have_no_words CHECK (
        jsonb_typeof(details) = 'object' AND octet_length(details::text) <= 4096
        AND NOT jsonb_path_exists(details, 'strict $.* ? (@.type() == "object" || @.type() == "array")')
        AND NOT jsonb_path_exists(
            details, 'strict $.* ? (@.type() == "string" && !(@ like_regex "^[A-Za-z0-9_:.+-]{1,100}$"))'
        )
    ),
    FOREIGN KEY (node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE,
    FOREIGN KEY (other_node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE
);
-- The same proposal is open once.
CREATE UNIQUE INDEX IF NOT EXISTS actions_open_once ON neurigraph.actions (user_id, digest)
WHERE state IN ('open', 'approved');
CREATE INDEX IF NOT EXISTS actions_digest ON neurigraph.actions (user_id, digest);
CREATE INDEX IF NOT EXISTS actions_requested_at ON neurigraph.actions (user_id, requested_at, action_id);
CREATE INDEX IF NOT EXISTS actions_unfinished ON neurigraph.actions (expires_at) WHERE finished_at IS NULL;
CREATE INDEX IF NOT EXISTS actions_node_id ON neurigraph.actions (node_id);
CREATE INDEX IF NOT EXISTS actions_other_node_id ON neurigraph.actions (other_node_id) WHERE other_node_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS actions_record_id ON neurigraph.actions (record_id) WHERE record_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS actions_other_record_id ON neurigraph.actions (other_record_id)
WHERE other_record_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS actions_fact_id ON neurigraph.actions (fact_id) WHERE fact_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS actions_other_fact_id ON neurigraph.actions (other_fact_id) WHERE other_fact_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS actions_source_id ON neurigraph.actions (source_id) WHERE source_id IS NOT NULL;

-- One vote a voter. Only the function cast_vote writes them, from the claims that it has checked.
CREATE TABLE IF NOT EXISTS neurigraph.action_votes (
    action_id uuid NOT NULL,
    user_id uuid NOT NULL,
    -- user:ID or persona:ID.
    voter text NOT NULL,
    approves boolean NOT NULL,
    key_id uuid,
    received_through neurigraph.received_through,
    voted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (action_id, voter),
    FOREIGN KEY (action_id, user_id) REFERENCES neurigraph.actions (action_id, user_id) ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS action_votes_user_id ON neurigraph.action_votes (user_id);

ALTER TABLE neurigraph.node_standards ENABLE ROW LEVEL SECURITY;
ALTER TABLE neurigraph.actions ENABLE ROW LEVEL SECURITY;
ALTER TABLE neurigraph.action_votes ENABLE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON neurigraph.node_standards TO neurigraph_agent;
GRANT SELECT ON neurigraph.actions, neurigraph.action_votes TO neurigraph_agent;
GRANT SELECT ON neurigraph.node_standards, neurigraph.action_votes TO neurigraph_pipeline;
GRANT SELECT, INSERT, UPDATE ON neurigraph.actions TO neurigraph_pipeline;

-- The routines add the policies for the callers of interfaces; until then these see nothing.
DO $$
DECLARE
    guarded text;
BEGIN
    FOREACH guarded IN ARRAY ARRAY['node_standards', 'actions', 'action_votes'] LOOP
        EXECUTE format('DROP POLICY IF EXISTS pipeline_all ON neurigraph.%I', guarded);
        EXECUTE format(
            'CREATE POLICY pipeline_all ON neurigraph.%I TO neurigraph_pipeline USING (true) WITH CHECK (true)', guarded
        );
    END LOOP;
END
$$;
