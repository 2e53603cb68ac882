-- Statements about edges that the owner of a graph makes by hand.

-- name: edge_exists
SELECT e.edge_id
FROM neurigraph.node_edges AS e
WHERE e.edge_id = %(edge_id)s AND e.user_id = %(user_id)s;

-- name: statement_of_person
-- The identical statement by the same person.
SELECT v.evidence_id
FROM neurigraph.edge_evidence AS v
WHERE v.edge_id = %(edge_id)s AND v.user_id = %(user_id)s AND v.observed_by = %(observed_by)s
    AND v.stance = %(stance)s::neurigraph.stance
    AND v.valid_from IS NOT DISTINCT FROM %(valid_from)s::timestamptz
    AND v.valid_until IS NOT DISTINCT FROM %(valid_until)s::timestamptz;

-- name: state_evidence
INSERT INTO neurigraph.edge_evidence (
    user_id, edge_id, from_node_id, to_node_id, relation, observed_by, weight, stance, valid_from, valid_until,
    detected_by
)
SELECT
    e.user_id,
    e.edge_id,
    e.from_node_id,
    e.to_node_id,
    e.relation,
    %(observed_by)s,
    1,
    %(stance)s::neurigraph.stance,
    %(valid_from)s,
    %(valid_until)s,
    'person'
FROM neurigraph.node_edges AS e
WHERE e.edge_id = %(edge_id)s AND e.user_id = %(user_id)s
    AND (
        SELECT count(*) FROM neurigraph.edge_evidence AS v
        WHERE v.edge_id = e.edge_id AND v.observed_by IS NOT NULL
    ) < %(most)s
RETURNING evidence_id;

-- name: take_back_evidence
DELETE FROM neurigraph.edge_evidence AS v
WHERE v.evidence_id = %(evidence_id)s AND v.edge_id = %(edge_id)s AND v.user_id = %(user_id)s
    AND v.observed_by IS NOT NULL
RETURNING v.evidence_id;
