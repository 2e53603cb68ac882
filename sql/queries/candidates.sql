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
WHERE c.user_id = %(user_id)s AND c.segments > 0
ORDER BY c.confidence DESC, c.candidate_id
LIMIT %(limit)s;

-- name: remember_candidate
-- Locks the candidate. What it is worth follows from its mentions.
INSERT INTO neurigraph.node_candidates AS c (
    candidate_id, user_id, concept_kind, name_key, node_name, parent_path, confidence
)
VALUES (
    %(candidate_id)s, %(user_id)s, %(concept_kind)s, %(name_key)s, %(node_name)s, %(parent_path)s, %(confidence)s
)
ON CONFLICT (candidate_id) DO UPDATE SET last_seen_at = now();

-- name: promote_candidate
-- The candidates of a node that exists now. A person is one node wherever the name was mentioned.
SELECT c.candidate_id
FROM neurigraph.node_candidates AS c
WHERE c.user_id = %(user_id)s AND c.concept_kind = %(concept_kind)s AND c.name_key = ANY(%(name_keys)s)
    AND (c.concept_kind = 'person' OR c.parent_path = %(parent_path)s)
ORDER BY c.candidate_id
FOR UPDATE;

-- name: node_of_candidate
-- The node that another commit made of the candidate in the meantime.
SELECT g.node_id
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
    c.node_name,
    c.parent_path
FROM neurigraph.node_candidates AS c
WHERE c.user_id = %(user_id)s
FOR UPDATE;

-- name: move_candidate
-- Its mentions and waiting relations follow by their foreign keys.
UPDATE neurigraph.node_candidates AS c SET candidate_id = %(candidate_id)s, parent_path = %(parent_path)s
WHERE c.candidate_id = %(former_id)s;

-- name: join_candidates
-- Two candidates have become one.
WITH mentions AS (
    UPDATE neurigraph.mentions AS m SET candidate_id = %(candidate_id)s
    WHERE m.candidate_id = %(former_id)s
)

UPDATE neurigraph.edge_evidence AS v SET candidate_id = %(candidate_id)s
WHERE v.candidate_id = %(former_id)s;

-- name: is_candidate
SELECT EXISTS (
    SELECT FROM neurigraph.node_candidates AS c WHERE c.candidate_id = %(candidate_id)s
) AS present;

-- name: mention_candidate
INSERT INTO neurigraph.mentions (user_id, record_id, candidate_id, role, messages, confidence, detected_by)
VALUES (
    %(user_id)s, %(record_id)s, %(candidate_id)s, 'mention', %(messages)s::integer [], %(confidence)s, %(detected_by)s
);

-- name: waiting_relations
-- How many relations wait for a candidate.
SELECT count(*) AS waiting
FROM neurigraph.edge_evidence AS v
WHERE v.candidate_id = %(candidate_id)s;

-- name: add_waiting
INSERT INTO neurigraph.edge_evidence (
    user_id, candidate_id, from_node_id, relation, record_id, messages, weight, detected_by
)
SELECT
    %(user_id)s,
    %(candidate_id)s,
    w.from_node_id,
    w.relation,
    %(record_id)s,
    %(messages)s::integer [],
    w.weight,
    %(detected_by)s
FROM unnest(
    %(from_nodes)s::uuid [], %(relations)s::text [], %(weights)s::real []
) AS w (from_node_id, relation, weight);

-- name: promote_mentions
UPDATE neurigraph.mentions AS m SET node_id = %(node_id)s, candidate_id = NULL
WHERE m.candidate_id = ANY(%(candidate_ids)s);

-- name: promote_relations
-- The relations that waited become edges, in the common order.
WITH waiting AS MATERIALIZED (
    SELECT v.*
    FROM neurigraph.edge_evidence AS v
    INNER JOIN neurigraph.graph_index AS g ON v.from_node_id = g.node_id AND v.user_id = g.user_id
    WHERE v.candidate_id = ANY(%(candidate_ids)s) AND v.from_node_id <> %(node_id)s
),

edges AS (
    INSERT INTO neurigraph.node_edges AS e (user_id, from_node_id, to_node_id, relation, strength, evidence_count)
    SELECT DISTINCT
        w.user_id,
        w.from_node_id,
        %(node_id)s::uuid,
        w.relation,
        0,
        0
    FROM waiting AS w
    ORDER BY w.from_node_id, w.relation
    ON CONFLICT (from_node_id, to_node_id, relation) DO UPDATE SET last_seen_at = now()
    RETURNING e.edge_id, e.from_node_id, e.relation
)

UPDATE neurigraph.edge_evidence AS v SET edge_id = e.edge_id, to_node_id = %(node_id)s, candidate_id = NULL
FROM edges AS e
WHERE v.candidate_id = ANY(%(candidate_ids)s) AND v.from_node_id = e.from_node_id AND v.relation = e.relation;

-- name: delete_candidates
DELETE FROM neurigraph.node_candidates AS c
WHERE c.candidate_id = ANY(%(candidate_ids)s);
