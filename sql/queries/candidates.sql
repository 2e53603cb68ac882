-- Candidates: weights for nodes that do not exist yet.

-- name: candidates_of_user
-- The most confident candidates: candidates beyond the limit are far from becoming nodes.
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

-- name: remember_candidates
-- Insert and lock candidates. Triggers compute their weights from their mentions.
INSERT INTO neurigraph.node_candidates AS c (
    candidate_id, user_id, concept_kind, name_key, node_name, parent_path, confidence
)
SELECT DISTINCT ON (r.candidate_id)
    r.candidate_id,
    %(user_id)s,
    r.concept_kind,
    r.name_key,
    r.node_name,
    r.parent_path,
    r.confidence
FROM jsonb_to_recordset(%(candidates)s) AS r (
    candidate_id uuid, concept_kind neurigraph.concept_kind, name_key text, node_name text, parent_path text [],
    confidence double precision, record_id uuid, detected_by neurigraph.detector, messages text
)
ORDER BY r.candidate_id
ON CONFLICT (candidate_id) DO UPDATE SET last_seen_at = now();

-- name: promote_candidate
-- The candidates for a node that exists now. A person is one node, wherever the name was mentioned.
SELECT c.candidate_id
FROM neurigraph.node_candidates AS c
WHERE c.user_id = %(user_id)s AND c.concept_kind = %(concept_kind)s AND c.name_key = ANY(%(name_keys)s)
    AND (c.concept_kind = 'person' OR c.parent_path = %(parent_path)s)
ORDER BY c.candidate_id
FOR UPDATE;

-- name: nodes_of_candidates
-- The nodes that other commits made of the candidates in the meantime.
SELECT DISTINCT ON (r.candidate_id)
    r.candidate_id,
    g.node_id
FROM jsonb_to_recordset(%(candidates)s) AS r (
    candidate_id uuid, concept_kind neurigraph.concept_kind, name_key text, node_name text, parent_path text [],
    confidence double precision, record_id uuid, detected_by neurigraph.detector, messages text
)
INNER JOIN neurigraph.graph_index AS g
    ON g.user_id = %(user_id)s AND r.name_key = g.name_key AND r.concept_kind = g.concept_kind
CROSS JOIN LATERAL neurigraph.names_along(g.path) AS n
WHERE g.concept_kind = 'person' OR n.names[2:] = r.parent_path || g.node_name
ORDER BY r.candidate_id, g.created_at, g.node_id;

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
-- Move a candidate. Its mentions and waiting relations follow by their foreign keys.
UPDATE neurigraph.node_candidates AS c SET candidate_id = %(candidate_id)s, parent_path = %(parent_path)s
WHERE c.candidate_id = %(former_id)s;

-- name: join_candidates
-- Join a candidate to another candidate with the same identity.
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

-- name: mention_candidates
INSERT INTO neurigraph.mentions (user_id, record_id, candidate_id, role, messages, confidence, detected_by)
SELECT
    %(user_id)s,
    r.record_id,
    r.candidate_id,
    'mention',
    r.messages::integer [],
    r.confidence,
    r.detected_by
FROM jsonb_to_recordset(%(candidates)s) AS r (
    candidate_id uuid, concept_kind neurigraph.concept_kind, name_key text, node_name text, parent_path text [],
    confidence double precision, record_id uuid, detected_by neurigraph.detector, messages text
);

-- name: add_waiting
-- Add waiting relations to candidates, up to the limit for each candidate.
INSERT INTO neurigraph.edge_evidence (
    user_id, candidate_id, from_node_id, relation, record_id, messages, weight, detected_by
)
SELECT
    %(user_id)s,
    w.candidate_id,
    w.from_node_id,
    w.relation,
    w.record_id,
    w.messages::integer [],
    w.weight,
    w.detected_by
FROM (
    SELECT
        r.*,
        row_number() OVER (PARTITION BY r.candidate_id) AS place
    FROM jsonb_to_recordset(%(waiting)s) AS r (
        candidate_id uuid, from_node_id uuid, relation text, weight real, record_id uuid,
        detected_by neurigraph.detector, messages text
    )
) AS w
WHERE w.place + (
    SELECT count(*) FROM neurigraph.edge_evidence AS v WHERE v.candidate_id = w.candidate_id
) <= %(most)s;

-- name: promote_mentions
UPDATE neurigraph.mentions AS m SET node_id = %(node_id)s, candidate_id = NULL
WHERE m.candidate_id = ANY(%(candidate_ids)s);

-- name: promote_relations
-- Make edges of the relations that waited for a candidate, in the common order.
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
