-- The types of relations between nodes (edges) and between memories (links); about no user. A relation without a type
-- is allowed and has no properties. Callers have no right on the table and read it by relation_traits().
CREATE TABLE neurigraph.relation_types (
    name text PRIMARY KEY CHECK (name ~ '^[a-z][a-z_]{0,59}$'),
    -- The words of the relation in an edge.
    label text NOT NULL UNIQUE CHECK (char_length(label) BETWEEN 1 AND 120),
    scope text NOT NULL CHECK (scope IN ('edge', 'link', 'both')),
    is_symmetric boolean NOT NULL DEFAULT false,
    -- The name of the relation as read from its other end; only one direction is stored.
    inverse text CHECK (inverse <> name),
    -- Whether a node has at most one such relation at a time.
    is_exclusive boolean NOT NULL DEFAULT false,
    is_acyclic boolean NOT NULL DEFAULT false,
    -- Kinds of nodes that the relation may lead from and to; null means all.
    from_kinds neurigraph.concept_kind [],
    to_kinds neurigraph.concept_kind [],
    -- Other labels of the relation, in lower case.
    synonyms text [] NOT NULL DEFAULT '{}',
    -- The words of the relation as read from either end, and the weight of a path over it.
    forward text,
    backward text,
    weight real NOT NULL DEFAULT 0.5 CHECK (weight BETWEEN 0 AND 1),
    CONSTRAINT relation_types_links_are_worded CHECK (scope = 'edge' OR (forward IS NOT NULL AND backward IS NOT NULL))
);

INSERT INTO neurigraph.relation_types (
    name, label, scope, is_symmetric, inverse, is_exclusive, is_acyclic, from_kinds, to_kinds, synonyms,
    forward, backward, weight
)
VALUES
('mentions', 'mentions', 'edge', false, 'mentioned_in', false, false, NULL, NULL, '{}', NULL, NULL, 0.5),
(
    'talks_with', 'talks with', 'edge', true, NULL, false, false, '{person}', '{person}', '{"speaks with"}', NULL,
    NULL, 0.5
),
(
    'authored_by', 'authored by', 'both', false, NULL, false, false, NULL, '{person,user}', '{"written by"}',
    'was written by', 'wrote', 0.4
),
(
    'owned_by', 'owned by', 'both', false, NULL, false, false, NULL, '{person,user,organization}',
    '{"belongs to"}', 'belongs to', 'has', 0.4
),
(
    'member_of', 'member of', 'edge', false, NULL, false, false, '{person,user}', '{organization,project}',
    '{"is a member of"}', NULL, NULL, 0.5
),
(
    'references', 'references', 'both', false, NULL, false, false, NULL, NULL, '{"refers to"}', 'refers to',
    'is referred to by', 0.8
),
('resolves', 'resolves', 'both', false, NULL, false, false, NULL, NULL, '{}', 'resolves', 'is resolved by', 0.9),
(
    'duplicates', 'duplicates', 'both', true, NULL, false, false, NULL, NULL, '{"duplicate of"}',
    'says the same as', 'says the same as', 0.6
),
(
    'relates_to', 'related to', 'both', true, NULL, false, false, NULL, NULL, '{"relates to"}', 'is related to',
    'is related to', 0.5
),
(
    'blocked_by', 'blocked by', 'both', false, NULL, false, true, NULL, NULL, '{"is blocked by"}',
    'is blocked by', 'blocks', 0.9
),
(
    'depends_on', 'depends on', 'both', false, NULL, false, true, NULL, NULL, '{requires}', 'depends on',
    'is required by', 0.9
),
(
    'implements', 'implements', 'both', false, NULL, false, false, NULL, NULL, '{}', 'implements',
    'is implemented by', 0.8
),
(
    'touches_component', 'touches component', 'edge', false, NULL, false, false, NULL, NULL, '{touches}', NULL,
    NULL, 0.5
),
('affects_metric', 'affects metric', 'edge', false, NULL, false, false, NULL, NULL, '{}', NULL, NULL, 0.5),
('aligns_with_goal', 'aligns with goal', 'edge', false, NULL, false, false, NULL, NULL, '{}', NULL, NULL, 0.5),
(
    'supersedes', 'supersedes', 'link', false, NULL, false, true, NULL, NULL, '{replaces}', 'replaces',
    'was replaced by', 0.9
),
('refines', 'refines', 'link', false, NULL, false, true, NULL, NULL, '{}', 'refines', 'is refined by', 0.8),
('contradicts', 'contradicts', 'link', true, NULL, false, false, NULL, NULL, '{}', 'contradicts', 'contradicts', 0.8),
(
    'derived_from', 'derived from', 'link', false, NULL, false, true, NULL, NULL, '{}', 'was derived from',
    'is the source of', 0.9
),
(
    'superseded_duplicate', 'superseded duplicate', 'link', false, NULL, false, true, NULL, NULL, '{}',
    'replaces the duplicate', 'was replaced by the duplicate', 0.6
),
(
    'caused_by', 'caused by', 'link', false, 'led_to', false, true, NULL, NULL, '{"because of"}', 'was caused by',
    'led to', 1
),
('led_to', 'led to', 'link', false, 'caused_by', false, true, NULL, NULL, '{}', 'led to', 'was caused by', 1),
(
    'influenced_by', 'influenced by', 'link', false, NULL, false, false, NULL, NULL, '{}', 'was influenced by',
    'influenced', 0.9
),
('preceded_by', 'preceded by', 'link', false, NULL, false, true, NULL, NULL, '{}', 'came after', 'came before', 0.4),
(
    'cooccurred_with', 'cooccurred with', 'link', true, NULL, false, false, NULL, NULL, '{}',
    'happened together with', 'happened together with', 0.4
),
('supports', 'supports', 'link', false, NULL, false, false, NULL, NULL, '{}', 'supports', 'is supported by', 0.8),
(
    'elaborates', 'elaborates', 'link', false, NULL, false, false, NULL, NULL, '{}', 'says more about',
    'is described further by', 0.8
),
(
    'similar_to', 'similar to', 'both', true, NULL, false, false, NULL, NULL, '{}', 'is similar to',
    'is similar to', 0.5
),
('part_of', 'part of', 'both', false, NULL, false, true, NULL, NULL, '{"is part of"}', 'is part of', 'includes', 0.8),
(
    'instance_of', 'instance of', 'both', false, NULL, false, true, NULL, NULL, '{"is an instance of"}',
    'is an example of', 'has the example', 0.7
),
(
    'decided_by', 'decided by', 'link', false, NULL, false, false, NULL, '{person,user,organization}', '{}',
    'was decided by', 'decided', 0.6
),
(
    'mentioned_in', 'mentioned in', 'link', false, 'mentions', false, false, NULL, NULL, '{}', 'is mentioned in',
    'mentions', 0.4
),
('lives_in', 'lives in', 'edge', false, NULL, true, false, '{person,user}', NULL, '{"resides in"}', NULL, NULL, 0.5),
(
    'reports_to', 'reports to', 'edge', false, 'manages', true, true, '{person,user}', '{person,user}', '{}',
    NULL, NULL, 0.5
),
('manages', 'manages', 'edge', false, 'reports_to', false, true, '{person,user}', NULL, '{}', NULL, NULL, 0.5);

GRANT SELECT ON neurigraph.relation_types TO neurigraph_pipeline;
