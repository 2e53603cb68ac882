-- Facts in search: the facts that a process caches, and the edges that changed a ranking.

-- name: facts_of_nodes
-- The current facts of some nodes, packed: ids, records, messages and statements. Earlier versions and retracted or
-- forgotten facts are left out. For a node whose facts the caller knows in the current version, only the version is
-- sent.
WITH held AS MATERIALIZED (
    SELECT
        i.node_id,
        f.fact_id,
        f.record_id,
        f.first_message,
        f.last_message,
        f.statement,
        f.xmin::text AS written
    FROM neurigraph.record_index AS i
    INNER JOIN neurigraph.facts AS f ON i.record_id = f.record_id
    WHERE i.node_id = ANY(%(nodes)s) AND f.status <> 'archived'
        AND f.forgotten_at IS NULL AND (f.forget_after IS NULL OR f.forget_after > now())
        AND NOT EXISTS (
            SELECT FROM neurigraph.facts AS o
            WHERE o.root_id = f.root_id AND o.version > f.version AND o.status <> 'archived'
                AND o.forgotten_at IS NULL AND (o.forget_after IS NULL OR o.forget_after > now())
        )
        AND NOT EXISTS (
            SELECT FROM neurigraph.fact_verdicts AS r
            INNER JOIN neurigraph.facts AS o ON r.later_id = o.fact_id
            WHERE r.earlier_id = f.fact_id AND r.effect = 'supersedes' AND r.undone_at IS NULL
                AND o.status <> 'archived'
                AND o.forgotten_at IS NULL AND (o.forget_after IS NULL OR o.forget_after > now())
        )
),

versions AS (
    SELECT
        a.node_id,
        a.known,
        coalesce(v.version, '') AS version
    FROM unnest(%(nodes)s::uuid [], %(known)s::text []) AS a (node_id, known)
    LEFT JOIN (
        SELECT
            h.node_id,
            md5(string_agg(h.fact_id::text || h.written, '' ORDER BY h.fact_id)) AS version
        FROM held AS h
        GROUP BY h.node_id
    ) AS v ON a.node_id = v.node_id
)

SELECT
    v.node_id,
    v.version,
    coalesce(v.known <> v.version, true) AS is_new,
    p.fact_ids,
    p.record_ids,
    p.messages,
    p.statements
FROM versions AS v
LEFT JOIN LATERAL (
    SELECT
        string_agg(uuid_send(h.fact_id), '' ORDER BY h.fact_id) AS fact_ids,
        string_agg(uuid_send(h.record_id), '' ORDER BY h.fact_id) AS record_ids,
        string_agg(int4send(h.first_message) || int4send(h.last_message), '' ORDER BY h.fact_id) AS messages,
        array_agg(h.statement ORDER BY h.fact_id) AS statements
    FROM held AS h
    WHERE h.node_id = v.node_id
) AS p ON coalesce(v.known <> v.version, true);

-- name: same_statements
-- The facts that say the same as a text and that the caller sees, without facts that were taken back.
SELECT f.fact_id
FROM neurigraph.facts AS f
WHERE f.user_id = %(user_id)s
    AND f.statement_key = %(statement_key)s
    AND f.status <> 'archived' AND f.forgotten_at IS NULL AND (f.forget_after IS NULL OR f.forget_after > now())
ORDER BY f.recorded_at, f.fact_id
LIMIT %(limit)s;

-- name: edges_of_names
-- The edges between nodes that a question names and nodes that were searched, the strongest first, each with its newest
-- evidence. Strength and count are over the evidence that the caller sees.
SELECT
    e.edge_id,
    e.from_node_id,
    e.to_node_id,
    e.relation,
    s.strength,
    s.evidence_count,
    v.evidence
FROM neurigraph.node_edges AS e
CROSS JOIN LATERAL neurigraph.edge_sums(ARRAY[e.edge_id]) AS s
CROSS JOIN LATERAL (
    SELECT
        coalesce(
            jsonb_agg(
                jsonb_build_object(
                    'record_id', w.record_id, 'observed_by', w.observed_by, 'messages', w.messages,
                    'stance', w.stance, 'detected_by', w.detected_by
                )
                ORDER BY w.created_at DESC, w.evidence_id
            ),
            jsonb_build_array()
        ) AS evidence
    FROM (
        SELECT x.* FROM neurigraph.edge_evidence AS x
        WHERE x.edge_id = e.edge_id
        ORDER BY x.created_at DESC, x.evidence_id
        LIMIT %(evidence)s
    ) AS w
) AS v
WHERE s.evidence_count > 0 AND NOT isempty(s.valid) AND (
    (e.from_node_id = ANY(%(named)s) AND e.to_node_id = ANY(%(searched)s))
    OR (e.to_node_id = ANY(%(named)s) AND e.from_node_id = ANY(%(searched)s))
)
ORDER BY s.strength DESC, e.edge_id
LIMIT %(most)s;
