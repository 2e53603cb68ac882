-- Evidence: which records, facts and people speak of a node, state a relation, and use a name. Candidates, edges and
-- the aliases of nodes follow from it by trigger (sql/routines/evidence.sql), which also derives the evidence of what
-- stood before. The routines of this migration's tables are created after it.

DO $$
BEGIN
    IF to_regtype('neurigraph.mention_role') IS NULL THEN
        CREATE TYPE neurigraph.mention_role AS ENUM (
            'mention', 'subject', 'author', 'owner', 'assignee', 'component'
        );
        CREATE TYPE neurigraph.detector AS ENUM ('rule', 'model', 'person');
        CREATE TYPE neurigraph.stance AS ENUM ('asserts', 'ends', 'denies');
        CREATE TYPE neurigraph.alias_type AS ENUM (
            'name', 'former_name', 'email', 'handle', 'phone', 'url', 'external'
        );
    END IF;
END
$$;

-- The types of relations between nodes (edges) and between memories (links); about no user. A relation in other words
-- is allowed: it then has no properties.
CREATE TABLE IF NOT EXISTS neurigraph.relation_types (
    name text PRIMARY KEY CHECK (name ~ '^[a-z][a-z_]{0,59}$'),
    -- How an edge states it.
    label text NOT NULL UNIQUE CHECK (char_length(label) BETWEEN 1 AND 120),
    scope text NOT NULL CHECK (scope IN ('edge', 'link', 'both')),
    is_symmetric boolean NOT NULL DEFAULT false,
    -- The relation as read from its other end; it is stored once.
    inverse text CHECK (inverse <> name),
    -- At most one at a time from a node.
    is_exclusive boolean NOT NULL DEFAULT false,
    is_acyclic boolean NOT NULL DEFAULT false,
    -- Kinds of nodes that it leads from and to; null means all.
    from_kinds neurigraph.concept_kind [],
    to_kinds neurigraph.concept_kind [],
    -- Other labels, in lower case, that state the same.
    synonyms text [] NOT NULL DEFAULT '{}'
);

INSERT INTO neurigraph.relation_types (
    name, label, scope, is_symmetric, inverse, is_acyclic, from_kinds, to_kinds, synonyms
)
VALUES
('mentions', 'mentions', 'edge', false, 'mentioned_in', false, NULL, NULL, '{}'),
('talks_with', 'talks with', 'edge', true, NULL, false, '{person}', '{person}', '{"speaks with"}'),
('authored_by', 'authored by', 'both', false, NULL, false, NULL, '{person,user}', '{"written by"}'),
('owned_by', 'owned by', 'both', false, NULL, false, NULL, '{person,user,organization}', '{"belongs to"}'),
('member_of', 'member of', 'edge', false, NULL, false, '{person,user}', '{organization,project}', '{"is a member of"}'),
('references', 'references', 'both', false, NULL, false, NULL, NULL, '{"refers to"}'),
('resolves', 'resolves', 'both', false, NULL, false, NULL, NULL, '{}'),
('duplicates', 'duplicates', 'both', true, NULL, false, NULL, NULL, '{"duplicate of"}'),
('relates_to', 'related to', 'both', true, NULL, false, NULL, NULL, '{"relates to"}'),
('blocked_by', 'blocked by', 'both', false, NULL, true, NULL, NULL, '{"is blocked by"}'),
('depends_on', 'depends on', 'both', false, NULL, true, NULL, NULL, '{requires}'),
('implements', 'implements', 'both', false, NULL, false, NULL, NULL, '{}'),
('touches_component', 'touches component', 'edge', false, NULL, false, NULL, NULL, '{touches}'),
('affects_metric', 'affects metric', 'edge', false, NULL, false, NULL, NULL, '{}'),
('aligns_with_goal', 'aligns with goal', 'edge', false, NULL, false, NULL, NULL, '{}'),
('supersedes', 'supersedes', 'link', false, NULL, true, NULL, NULL, '{replaces}'),
('refines', 'refines', 'link', false, NULL, true, NULL, NULL, '{}'),
('contradicts', 'contradicts', 'link', true, NULL, false, NULL, NULL, '{}'),
('derived_from', 'derived from', 'link', false, NULL, true, NULL, NULL, '{}'),
('superseded_duplicate', 'superseded duplicate', 'link', false, NULL, true, NULL, NULL, '{}'),
('caused_by', 'caused by', 'link', false, 'led_to', true, NULL, NULL, '{"because of"}'),
('led_to', 'led to', 'link', false, 'caused_by', true, NULL, NULL, '{}'),
('influenced_by', 'influenced by', 'link', false, NULL, false, NULL, NULL, '{}'),
('preceded_by', 'preceded by', 'link', false, NULL, true, NULL, NULL, '{}'),
('cooccurred_with', 'cooccurred with', 'link', true, NULL, false, NULL, NULL, '{}'),
('supports', 'supports', 'link', false, NULL, false, NULL, NULL, '{}'),
('elaborates', 'elaborates', 'link', false, NULL, false, NULL, NULL, '{}'),
('similar_to', 'similar to', 'both', true, NULL, false, NULL, NULL, '{}'),
('part_of', 'part of', 'both', false, NULL, true, NULL, NULL, '{"is part of"}'),
('instance_of', 'instance of', 'both', false, NULL, true, NULL, NULL, '{"is an instance of"}'),
('decided_by', 'decided by', 'link', false, NULL, false, NULL, '{person,user,organization}', '{}'),
('mentioned_in', 'mentioned in', 'link', false, 'mentions', false, NULL, NULL, '{}')
ON CONFLICT (name) DO NOTHING;

-- Other names and typed ids of nodes. graph_index.aliases is the projection of those that a question may use. An alias
-- stands while a mention uses it or a person gave it.
CREATE TABLE IF NOT EXISTS neurigraph.node_aliases (
    alias_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL,
    node_id uuid NOT NULL,
    alias_type neurigraph.alias_type NOT NULL DEFAULT 'name',
    value text NOT NULL CHECK (char_length(value) BETWEEN 1 AND 500),
    -- The value without differences of case, width and whitespace.
    value_key text NOT NULL CHECK (value_key <> ''),
    -- Whether somebody vouches for it, and who.
    verified boolean NOT NULL DEFAULT false,
    verified_by text,
    -- The person who gave it; null if mentions use it.
    given_by text,
    created_at timestamptz NOT NULL DEFAULT now(),
    CHECK (verified = (verified_by IS NOT NULL)),
    UNIQUE (node_id, alias_type, value_key),
    FOREIGN KEY (node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE
);
-- Two people may have one name, but not one address.
CREATE UNIQUE INDEX IF NOT EXISTS node_aliases_one_bearer ON neurigraph.node_aliases (user_id, alias_type, value_key)
WHERE alias_type NOT IN ('name', 'former_name');
CREATE INDEX IF NOT EXISTS node_aliases_value_key ON neurigraph.node_aliases (user_id, value_key);

-- A record, or one of its facts, speaks of a node, or of a candidate for one.
CREATE TABLE IF NOT EXISTS neurigraph.mentions (
    mention_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL,
    record_id uuid NOT NULL REFERENCES neurigraph.record_index ON DELETE CASCADE,
    -- A fact of the record; null for the record as a whole. Facts have no table yet, so this is no foreign key.
    fact_id uuid,
    node_id uuid,
    candidate_id uuid REFERENCES neurigraph.node_candidates ON DELETE CASCADE ON UPDATE CASCADE,
    role neurigraph.mention_role NOT NULL,
    -- The alias that it uses, if any.
    alias_id uuid REFERENCES neurigraph.node_aliases ON DELETE SET NULL,
    -- Numbers of the messages that say it, the first ones; empty for the whole record.
    messages integer [] NOT NULL DEFAULT '{}' CHECK (cardinality(messages) <= 32),
    confidence double precision NOT NULL DEFAULT 1 CHECK (confidence > 0 AND confidence <= 1),
    detected_by neurigraph.detector NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CHECK (num_nonnulls(node_id, candidate_id) = 1),
    FOREIGN KEY (node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS mentions_record_id ON neurigraph.mentions (record_id);
CREATE INDEX IF NOT EXISTS mentions_node_id ON neurigraph.mentions (node_id, created_at, mention_id);
CREATE INDEX IF NOT EXISTS mentions_candidate_id ON neurigraph.mentions (candidate_id) WHERE candidate_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS mentions_alias_id ON neurigraph.mentions (alias_id) WHERE alias_id IS NOT NULL;

-- What asserts, ends or denies an edge: a record, one of its facts, or a person. Strength, count and validity of an
-- edge follow from it, and an edge goes with its last evidence.
CREATE TABLE IF NOT EXISTS neurigraph.edge_evidence (
    evidence_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL,
    edge_id uuid REFERENCES neurigraph.node_edges ON DELETE CASCADE,
    from_node_id uuid NOT NULL,
    -- Null while it waits for its candidate to become a node; then there is no edge.
    to_node_id uuid,
    candidate_id uuid REFERENCES neurigraph.node_candidates ON DELETE CASCADE ON UPDATE CASCADE,
    relation text NOT NULL CHECK (char_length(relation) BETWEEN 1 AND 120),
    record_id uuid REFERENCES neurigraph.record_index ON DELETE CASCADE,
    -- As in mentions.
    fact_id uuid,
    -- The person who states it, where no record does.
    observed_by text,
    -- Of statements from before evidence was kept, whose records are unknown: how many, and when they were stored.
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
CREATE INDEX IF NOT EXISTS edge_evidence_edge_id ON neurigraph.edge_evidence (edge_id);
CREATE INDEX IF NOT EXISTS edge_evidence_record_id ON neurigraph.edge_evidence (record_id);
CREATE INDEX IF NOT EXISTS edge_evidence_from_node_id ON neurigraph.edge_evidence (from_node_id);
CREATE INDEX IF NOT EXISTS edge_evidence_to_node_id ON neurigraph.edge_evidence (to_node_id);
CREATE INDEX IF NOT EXISTS edge_evidence_candidate_id ON neurigraph.edge_evidence (candidate_id)
WHERE candidate_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS edge_evidence_unproven ON neurigraph.edge_evidence (user_id) WHERE stated IS NOT NULL;

-- When the relation holds, as far as the evidence says.
ALTER TABLE neurigraph.node_edges ADD COLUMN IF NOT EXISTS valid tstzmultirange NOT NULL DEFAULT '{(,)}';
-- An edge whose evidence is all hidden or superseded counts none and is hidden itself; so is a candidate.
ALTER TABLE neurigraph.node_edges DROP CONSTRAINT IF EXISTS node_edges_evidence_count_check;
ALTER TABLE neurigraph.node_edges ADD CONSTRAINT node_edges_evidence_count_check CHECK (evidence_count >= 0);
ALTER TABLE neurigraph.node_candidates DROP CONSTRAINT IF EXISTS node_candidates_confidence_check;
ALTER TABLE neurigraph.node_candidates ADD CONSTRAINT node_candidates_confidence_check
CHECK (confidence BETWEEN 0 AND 1);
ALTER TABLE neurigraph.node_candidates DROP CONSTRAINT IF EXISTS node_candidates_segments_check;
ALTER TABLE neurigraph.node_candidates ADD CONSTRAINT node_candidates_segments_check CHECK (segments >= 0);
-- The record that a node was made for, which its definition and its first keywords come from. No foreign key: the
-- record names its node. Null for nodes that people made.
ALTER TABLE neurigraph.graph_index ADD COLUMN IF NOT EXISTS defined_by uuid;
CREATE INDEX IF NOT EXISTS graph_index_defined_by ON neurigraph.graph_index (defined_by) WHERE defined_by IS NOT NULL;
COMMENT ON COLUMN neurigraph.node_candidates.edges IS 'empty; edge_evidence has the relations that wait';

ALTER TABLE neurigraph.node_aliases ENABLE ROW LEVEL SECURITY;
ALTER TABLE neurigraph.mentions ENABLE ROW LEVEL SECURITY;
ALTER TABLE neurigraph.edge_evidence ENABLE ROW LEVEL SECURITY;

GRANT SELECT ON neurigraph.relation_types TO neurigraph_pipeline;
GRANT SELECT, INSERT, UPDATE, DELETE ON neurigraph.node_aliases, neurigraph.mentions, neurigraph.edge_evidence
TO neurigraph_pipeline;
GRANT SELECT ON neurigraph.node_aliases, neurigraph.mentions, neurigraph.edge_evidence TO neurigraph_agent;
