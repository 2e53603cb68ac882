-- Links: typed relations between memories, and the keys that sign them. The routines of this migration's tables are in
-- sql/routines/links.sql.

-- How a relation reads from its one end and from its other, and how much a path over it counts.
ALTER TABLE neurigraph.relation_types
ADD COLUMN IF NOT EXISTS forward text,
ADD COLUMN IF NOT EXISTS backward text,
ADD COLUMN IF NOT EXISTS weight real NOT NULL DEFAULT 0.5 CHECK (weight BETWEEN 0 AND 1);
UPDATE neurigraph.relation_types AS t SET forward = w.forward, backward = w.backward, weight = w.weight
FROM (
    VALUES
    ('authored_by', 'was written by', 'wrote', 0.4),
    ('owned_by', 'belongs to', 'has', 0.4),
    ('references', 'refers to', 'is referred to by', 0.8),
    ('resolves', 'resolves', 'is resolved by', 0.9),
    ('duplicates', 'says the same as', 'says the same as', 0.6),
    ('relates_to', 'is related to', 'is related to', 0.5),
    ('blocked_by', 'is blocked by', 'blocks', 0.9),
    ('depends_on', 'depends on', 'is required by', 0.9),
    ('implements', 'implements', 'is implemented by', 0.8),
    ('supersedes', 'replaces', 'was replaced by', 0.9),
    ('refines', 'refines', 'is refined by', 0.8),
    ('contradicts', 'contradicts', 'contradicts', 0.8),
    ('derived_from', 'was derived from', 'is the source of', 0.9),
    ('superseded_duplicate', 'replaces the duplicate', 'was replaced by the duplicate', 0.6),
    ('caused_by', 'was caused by', 'led to', 1),
    ('led_to', 'led to', 'was caused by', 1),
    ('influenced_by', 'was influenced by', 'influenced', 0.9),
    ('preceded_by', 'came after', 'came before', 0.4),
    ('cooccurred_with', 'happened together with', 'happened together with', 0.4),
    ('supports', 'supports', 'is supported by', 0.8),
    ('elaborates', 'says more about', 'is described further by', 0.8),
    ('similar_to', 'is similar to', 'is similar to', 0.5),
    ('part_of', 'is part of', 'includes', 0.8),
    ('instance_of', 'is an example of', 'has the example', 0.7),
    ('decided_by', 'was decided by', 'decided', 0.6),
    ('mentioned_in', 'is mentioned in', 'mentions', 0.4)
) AS w (name, forward, backward, weight)
WHERE t.name = w.name;
ALTER TABLE neurigraph.relation_types DROP CONSTRAINT IF EXISTS relation_types_links_are_worded;
ALTER TABLE neurigraph.relation_types ADD CONSTRAINT relation_types_links_are_worded
CHECK (scope = 'edge' OR (forward IS NOT NULL AND backward IS NOT NULL));

DO $$
BEGIN
    CREATE TYPE neurigraph.link_verdict AS ENUM ('unverified', 'confirmed', 'rejected');
EXCEPTION
    WHEN duplicate_object THEN NULL;
END
$$;

-- Public keys of those who sign links. A rotated key signs no more, and what it signed still counts; what a revoked
-- key signed counts no more.
CREATE TABLE IF NOT EXISTS neurigraph.signing_keys (
    key_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    -- user:ID, persona:ID, or peer:NAME for another installation.
    holder text NOT NULL CHECK (holder ~ '^(user|persona|peer):[A-Za-z0-9_.:-]{1,100}$'),
    public_key bytea NOT NULL CHECK (octet_length(public_key) = 32),
    registered_at timestamptz NOT NULL DEFAULT now(),
    registered_by text NOT NULL,
    rotated_at timestamptz,
    revoked_at timestamptz,
    UNIQUE (user_id, public_key)
);

-- From a fact or a record to exactly one fact, record, node or source.
CREATE TABLE IF NOT EXISTS neurigraph.links (
    link_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    -- Records of the ends; that of a fact is set by trigger, so a link is hidden with the records of its facts.
    from_fact_id uuid REFERENCES neurigraph.facts ON DELETE CASCADE,
    from_record_id uuid NOT NULL REFERENCES neurigraph.record_index ON DELETE CASCADE,
    to_fact_id uuid REFERENCES neurigraph.facts ON DELETE CASCADE,
    to_record_id uuid REFERENCES neurigraph.record_index ON DELETE CASCADE,
    to_node_id uuid,
    to_source_id uuid REFERENCES neurigraph.sources ON DELETE CASCADE,
    from_id uuid NOT NULL GENERATED ALWAYS AS (coalesce(from_fact_id, from_record_id)) STORED,
    to_id uuid NOT NULL GENERATED ALWAYS AS (coalesce(to_fact_id, to_record_id, to_node_id, to_source_id)) STORED,
    relation text NOT NULL REFERENCES neurigraph.relation_types (name),
    strength real NOT NULL CHECK (strength BETWEEN 0 AND 1),
    confidence real NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    -- Whether it reads the same from both ends; a trigger sets it for symmetric relations.
    bidirectional boolean NOT NULL DEFAULT false,
    -- When the relation holds in the world; unbounded where nobody said.
    valid tstzrange NOT NULL DEFAULT '(,)' CHECK (NOT isempty(valid)),
    -- Who says so: user:ID, persona:ID, peer:NAME, or the rule or model that inferred it.
    observed_by text NOT NULL CHECK (observed_by ~ '^[^[:cntrl:]]{1,200}$'),
    detected_by neurigraph.detector NOT NULL,
    reason text CHECK (char_length(reason) BETWEEN 1 AND 500),
    -- Numbers of the messages of the from end's record that show it, the first ones.
    messages integer [] NOT NULL DEFAULT '{}' CHECK (cardinality(messages) <= 32),
    verdict neurigraph.link_verdict NOT NULL DEFAULT 'unverified',
    verdict_by text,
    verdict_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Ending is a statement of its own, which sets the end of `valid`.
    ended_by text,
    ended_at timestamptz,
    key_id uuid REFERENCES neurigraph.signing_keys,
    signature bytea CHECK (octet_length(signature) = 64),
    end_key_id uuid REFERENCES neurigraph.signing_keys,
    end_signature bytea CHECK (octet_length(end_signature) = 64),
    CHECK (num_nonnulls(to_record_id, to_node_id, to_source_id) = 1),
    CHECK (to_fact_id IS NULL OR to_record_id IS NOT NULL),
    CHECK (from_id <> to_id),
    -- The chain of versions is the supersession, and led_to is caused_by from its other end: neither is stored.
    CHECK (relation NOT IN ('supersedes', 'led_to')),
    CHECK ((verdict = 'unverified') = (verdict_by IS NULL) AND (verdict_by IS NULL) = (verdict_at IS NULL)),
    CHECK ((ended_by IS NULL) = (ended_at IS NULL)),
    CHECK (ended_by IS NULL OR NOT upper_inf(valid)),
    CHECK ((key_id IS NULL) = (signature IS NULL)),
    CHECK ((end_key_id IS NULL) = (end_signature IS NULL)),
    CHECK (end_signature IS NULL OR ended_by IS NOT NULL),
    FOREIGN KEY (to_node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE
);
-- One observer says it once, until it is ended.
CREATE UNIQUE INDEX IF NOT EXISTS links_said_once ON neurigraph.links (
    user_id, relation, observed_by,
    (CASE WHEN bidirectional THEN least(from_id, to_id) ELSE from_id END),
    (CASE WHEN bidirectional THEN greatest(from_id, to_id) ELSE to_id END)
)
WHERE ended_at IS NULL;
-- A traversal reads the strongest of an end.
CREATE INDEX IF NOT EXISTS links_from_id ON neurigraph.links (from_id, strength DESC);
CREATE INDEX IF NOT EXISTS links_to_id ON neurigraph.links (to_id, strength DESC);
CREATE INDEX IF NOT EXISTS links_from_record_id ON neurigraph.links (from_record_id);
CREATE INDEX IF NOT EXISTS links_to_record_id ON neurigraph.links (to_record_id) WHERE to_record_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS links_key_id ON neurigraph.links (key_id) WHERE key_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS links_end_key_id ON neurigraph.links (end_key_id) WHERE end_key_id IS NOT NULL;

ALTER TABLE neurigraph.links ENABLE ROW LEVEL SECURITY;
ALTER TABLE neurigraph.signing_keys ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON neurigraph.links, neurigraph.signing_keys TO neurigraph_agent;
GRANT SELECT, INSERT, UPDATE, DELETE ON neurigraph.links, neurigraph.signing_keys TO neurigraph_pipeline;

-- Until the policies of the routines are there, nothing is visible.
DROP POLICY IF EXISTS pipeline_all ON neurigraph.links;
CREATE POLICY pipeline_all ON neurigraph.links TO neurigraph_pipeline USING (true) WITH CHECK (true);
DROP POLICY IF EXISTS pipeline_all ON neurigraph.signing_keys;
CREATE POLICY pipeline_all ON neurigraph.signing_keys TO neurigraph_pipeline USING (true) WITH CHECK (true);
