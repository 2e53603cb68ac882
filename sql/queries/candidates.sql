-- Candidates: evidence for nodes that do not exist yet.

-- name: candidates_of_user
-- The most confident candidates: those beyond the limit are far from becoming nodes.
SELECT
    c.node_name,
    c.concept_kind,
    c.parent_path,
    c.confidence,
    c.segments
FROM neurigraph.node_candidates AS c
WHERE c.user_id = %(user_id)s
ORDER BY c.confidence DESC, c.candidate_id
LIMIT %(limit)s;

-- name: remember_candidate
-- Combines independent evidence: 1 - (1 - a) * (1 - b).
INSERT INTO neurigraph.node_candidates AS c (
    candidate_id, user_id, concept_kind, name_key, node_name, parent_path, confidence, edges
)
VALUES (
    %(candidate_id)s, %(user_id)s, %(concept_kind)s, %(name_key)s, %(node_name)s, %(parent_path)s, %(confidence)s,
    %(edges)s
)
ON CONFLICT (candidate_id) DO UPDATE SET
    confidence = 1 - (1 - c.confidence) * (1 - excluded.confidence),
    segments = c.segments + 1,
    edges = CASE
        WHEN c.edges @> excluded.edges OR jsonb_array_length(c.edges) >= %(max_edges)s THEN c.edges
        ELSE c.edges || excluded.edges
    END,
    last_seen_at = now();

-- name: promote_candidate
-- The node now exists: returns the edges that waited for it. A person is one node wherever the name was mentioned.
DELETE FROM neurigraph.node_candidates AS c
WHERE c.user_id = %(user_id)s AND c.concept_kind = %(concept_kind)s AND c.name_key = ANY(%(name_keys)s)
    AND (c.concept_kind = 'person' OR c.parent_path = %(parent_path)s)
RETURNING c.edges;

-- name: node_of_candidate
-- The node that another commit made of the candidate in the meantime.
SELECT n.names
FROM neurigraph.graph_index AS g
CROSS JOIN LATERAL (
    SELECT array_agg(a.node_name ORDER BY a.layer_depth) AS names
    FROM neurigraph.graph_index AS a
    WHERE a.node_id = ANY(g.path) AND a.layer_depth > 0
) AS n
WHERE g.user_id = %(user_id)s AND g.name_key = %(name_key)s AND g.concept_kind = %(concept_kind)s
    AND (g.concept_kind = 'person' OR n.names = %(parent_path)s::text [] || g.node_name)
ORDER BY g.created_at, g.node_id
LIMIT 1;

-- name: all_candidates
SELECT
    c.candidate_id,
    c.concept_kind,
    c.name_key,
    c.node_name,
    c.parent_path,
    c.confidence,
    c.segments,
    c.edges
FROM neurigraph.node_candidates AS c
WHERE c.user_id = %(user_id)s
FOR UPDATE;

-- name: delete_candidate
DELETE FROM neurigraph.node_candidates AS c
WHERE c.candidate_id = %(candidate_id)s;

-- name: upsert_candidate
-- Adds up the evidence if a candidate of that name exists already.
INSERT INTO neurigraph.node_candidates AS c (
    candidate_id, user_id, concept_kind, name_key, node_name, parent_path, confidence, segments, edges
)
VALUES (
    %(candidate_id)s, %(user_id)s, %(concept_kind)s, %(name_key)s, %(node_name)s, %(parent_path)s, %(confidence)s,
    %(segments)s, %(edges)s
)
ON CONFLICT (candidate_id) DO UPDATE SET
    confidence = 1 - (1 - c.confidence) * (1 - excluded.confidence),
    segments = c.segments + excluded.segments,
    edges = CASE
        WHEN jsonb_array_length(c.edges) + jsonb_array_length(excluded.edges) > %(max_edges)s THEN c.edges
        ELSE c.edges || excluded.edges
    END;
