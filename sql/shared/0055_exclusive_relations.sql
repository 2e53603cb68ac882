-- Relations of which a node has one at a time, and some that are read from both ends.

INSERT INTO neurigraph.relation_types (
    name, label, scope, inverse, is_exclusive, is_acyclic, from_kinds, to_kinds, synonyms
)
VALUES
('lives_in', 'lives in', 'edge', NULL, true, false, '{person,user}', NULL, '{"resides in"}'),
('reports_to', 'reports to', 'edge', 'manages', true, true, '{person,user}', '{person,user}', '{}'),
('manages', 'manages', 'edge', 'reports_to', false, true, '{person,user}', NULL, '{}')
ON CONFLICT DO NOTHING;

-- The validity of an edge depends on it, for every caller.
GRANT SELECT ON neurigraph.relation_types TO neurigraph_agent;
