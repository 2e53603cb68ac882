-- Evidence: writing the statements of records about nodes and edges, and finding nodes that follow from records.

-- name: assert_edges
-- Write edges with the evidence of records, in the order of their ends, so that two commits cannot deadlock. Triggers
-- compute strength, count and validity. A synonym of a registered relation becomes that relation.
WITH stated AS MATERIALIZED (
    SELECT
        s.record_id,
        s.detected_by,
        s.from_node_id,
        s.to_node_id,
        coalesce(t.label, s.relation) AS relation,
        s.weight,
        s.messages::integer [] AS messages
    FROM unnest(
        %(record_id)s::uuid [], %(detected_by)s::neurigraph.detector [], %(from_node_id)s::uuid [],
        %(to_node_id)s::uuid [], %(relation)s::text [], %(weight)s::real [], %(messages)s::text []
    ) AS s (record_id, detected_by, from_node_id, to_node_id, relation, weight, messages)
    LEFT JOIN neurigraph.relation_types AS t ON lower(s.relation) = ANY(t.synonyms)
),

edges AS (
    INSERT INTO neurigraph.node_edges AS e (user_id, from_node_id, to_node_id, relation, strength, evidence_count)
    SELECT DISTINCT
        %(user_id)s::uuid,
        s.from_node_id,
        s.to_node_id,
        s.relation,
        0,
        0
    FROM stated AS s
    ORDER BY s.from_node_id, s.to_node_id, s.relation
    ON CONFLICT (from_node_id, to_node_id, relation) DO UPDATE SET last_seen_at = now()
    RETURNING e.edge_id, e.from_node_id, e.to_node_id, e.relation
)

INSERT INTO neurigraph.edge_evidence (
    user_id, edge_id, from_node_id, to_node_id, relation, record_id, messages, weight, detected_by
)
SELECT DISTINCT ON (s.record_id, e.edge_id)
    %(user_id)s,
    e.edge_id,
    e.from_node_id,
    e.to_node_id,
    e.relation,
    s.record_id,
    s.messages,
    s.weight,
    s.detected_by
FROM stated AS s
INNER JOIN edges AS e
    ON s.from_node_id = e.from_node_id AND s.to_node_id = e.to_node_id AND s.relation = e.relation
ORDER BY s.record_id, e.edge_id, s.weight DESC;

-- name: end_edges
-- Write evidence of records that ends or denies existing edges. A name stands for the only node that has it. Relations
-- of the user may start at any node except a person's.
WITH said AS MATERIALIZED (
    SELECT
        s.record_id,
        s.detected_by,
        s.other_key,
        s.whose_key,
        coalesce(t.label, s.label) AS label,
        s.stance,
        s.valid_until,
        s.messages::integer [] AS messages
    FROM unnest(
        %(record_id)s::uuid [], %(detected_by)s::neurigraph.detector [], %(other_key)s::text [],
        %(whose_key)s::text [], %(label)s::text [], %(stance)s::neurigraph.stance [],
        %(valid_until)s::timestamptz [], %(messages)s::text []
    ) AS s (record_id, detected_by, other_key, whose_key, label, stance, valid_until, messages)
    LEFT JOIN neurigraph.relation_types AS t ON lower(s.label) = ANY(t.synonyms)
),

meant AS MATERIALIZED (
    SELECT
        k.name_key,
        min(n.node_id::text)::uuid AS node_id
    FROM (
        SELECT s.other_key AS name_key FROM said AS s
        UNION
        SELECT s.whose_key FROM said AS s WHERE s.whose_key IS NOT NULL
    ) AS k
    CROSS JOIN LATERAL (
        SELECT g.node_id FROM neurigraph.graph_index AS g
        WHERE g.user_id = %(user_id)s AND g.name_key = k.name_key AND g.layer_depth > 0
        UNION
        SELECT a.node_id FROM neurigraph.node_aliases AS a
        WHERE a.user_id = %(user_id)s AND a.value_key = k.name_key
            AND a.alias_type IN ('name', 'former_name', 'handle', 'email')
    ) AS n
    GROUP BY k.name_key
    HAVING count(*) = 1
)

INSERT INTO neurigraph.edge_evidence (
    user_id, edge_id, from_node_id, to_node_id, relation, record_id, messages, weight, stance, valid_until, detected_by
)
SELECT DISTINCT ON (s.record_id, e.edge_id, s.stance)
    %(user_id)s,
    e.edge_id,
    e.from_node_id,
    e.to_node_id,
    e.relation,
    s.record_id,
    s.messages,
    %(weight)s,
    s.stance,
    s.valid_until,
    s.detected_by
FROM said AS s
INNER JOIN meant AS o ON s.other_key = o.name_key
LEFT JOIN meant AS w ON s.whose_key = w.name_key
INNER JOIN neurigraph.node_edges AS e ON o.node_id = e.to_node_id AND lower(s.label) = lower(e.relation)
INNER JOIN neurigraph.graph_index AS f ON e.from_node_id = f.node_id
WHERE e.user_id = %(user_id)s
    AND CASE WHEN s.whose_key IS NULL THEN f.concept_kind <> 'person' ELSE e.from_node_id = w.node_id END
ORDER BY s.record_id, e.edge_id, s.stance, s.valid_until;

-- name: mention_nodes
-- Write mentions of nodes in records, by id or by a name that only one node has. The root is never mentioned.
WITH said AS MATERIALIZED (
    SELECT
        s.record_id,
        s.detected_by,
        s.node_id,
        s.name_key,
        s.role,
        s.messages::integer [] AS messages,
        s.confidence
    FROM unnest(
        %(record_id)s::uuid [], %(detected_by)s::neurigraph.detector [], %(node_id)s::uuid [], %(name_key)s::text [],
        %(role)s::neurigraph.mention_role [], %(messages)s::text [], %(confidence)s::double precision []
    ) AS s (record_id, detected_by, node_id, name_key, role, messages, confidence)
),

meant AS MATERIALIZED (
    SELECT
        k.name_key,
        min(n.node_id::text)::uuid AS node_id,
        min(n.alias_id::text)::uuid AS alias_id
    FROM (SELECT DISTINCT s.name_key FROM said AS s WHERE s.name_key IS NOT NULL) AS k
    CROSS JOIN LATERAL (
        SELECT
            g.node_id,
            NULL::uuid AS alias_id
        FROM neurigraph.graph_index AS g
        WHERE g.user_id = %(user_id)s AND g.name_key = k.name_key AND g.layer_depth > 0
        UNION ALL
        SELECT
            a.node_id,
            a.alias_id
        FROM neurigraph.node_aliases AS a
        WHERE a.user_id = %(user_id)s AND a.value_key = k.name_key
            AND a.alias_type IN ('name', 'former_name', 'handle', 'email')
    ) AS n
    GROUP BY k.name_key
    HAVING count(DISTINCT n.node_id) = 1
)

INSERT INTO neurigraph.mentions (
    user_id, record_id, node_id, role, alias_id, messages, confidence, detected_by
)
SELECT DISTINCT ON (s.record_id, n.node_id, s.role)
    %(user_id)s,
    s.record_id,
    n.node_id,
    s.role,
    m.alias_id,
    s.messages,
    s.confidence,
    s.detected_by
FROM said AS s
LEFT JOIN meant AS m ON s.name_key = m.name_key
CROSS JOIN LATERAL (SELECT coalesce(s.node_id, m.node_id) AS node_id) AS n
WHERE n.node_id IS NOT NULL
    AND NOT EXISTS (
        SELECT FROM neurigraph.mentions AS o
        WHERE o.record_id = s.record_id AND o.node_id = n.node_id AND o.role = s.role
    )
ORDER BY s.record_id, n.node_id, s.role, m.alias_id NULLS LAST, s.confidence DESC;

-- name: define_nodes
-- Take the definition and first keywords of new nodes from a record.
UPDATE neurigraph.graph_index SET defined_by = %(record_id)s
WHERE node_id = ANY(%(node_ids)s) AND defined_by IS NULL;

-- name: aliases_of_node
SELECT
    a.alias_id,
    a.value_key,
    a.value
FROM neurigraph.node_aliases AS a
WHERE a.node_id = %(node_id)s;

-- name: has_alias
SELECT a.alias_id
FROM neurigraph.node_aliases AS a
WHERE a.node_id = %(node_id)s AND a.value_key = %(value_key)s AND a.given_by IS NOT NULL;

-- name: insert_alias
INSERT INTO neurigraph.node_aliases (user_id, node_id, alias_type, value, value_key, verified, verified_by, given_by)
VALUES (
    %(user_id)s, %(node_id)s, %(alias_type)s, %(value)s, %(value_key)s, %(verified)s, %(verified_by)s, %(given_by)s
)
RETURNING alias_id;

-- name: mention_alias
INSERT INTO neurigraph.mentions (user_id, record_id, node_id, role, alias_id, messages, detected_by)
VALUES (
    %(user_id)s, %(record_id)s, %(node_id)s, 'mention', %(alias_id)s, %(messages)s::integer [], %(detected_by)s
);

-- name: retract_mentions
-- Remove a record's mentions of some nodes, unless the record states a relation of the node.
DELETE FROM neurigraph.mentions AS m
WHERE m.record_id = %(record_id)s AND m.role = 'mention' AND m.fact_id IS NULL
    AND m.node_id IN (
        SELECT g.node_id FROM neurigraph.graph_index AS g
        WHERE g.user_id = %(user_id)s AND g.name_key = ANY(%(name_keys)s)
        UNION ALL
        SELECT a.node_id FROM neurigraph.node_aliases AS a
        WHERE a.user_id = %(user_id)s AND a.value_key = ANY(%(name_keys)s)
    )
    AND NOT EXISTS (
        SELECT FROM neurigraph.edge_evidence AS v
        WHERE v.record_id = m.record_id AND m.node_id IN (v.from_node_id, v.to_node_id)
    );

-- name: retract_relation
-- Remove a record's statements of a relation to nodes with a name.
DELETE FROM neurigraph.edge_evidence AS v
WHERE v.record_id = %(record_id)s AND v.fact_id IS NULL
    AND v.relation = ANY(%(labels)s)
    AND v.to_node_id IN (
        SELECT g.node_id FROM neurigraph.graph_index AS g
        WHERE g.user_id = %(user_id)s AND g.name_key = %(name_key)s
        UNION ALL
        SELECT a.node_id FROM neurigraph.node_aliases AS a
        WHERE a.user_id = %(user_id)s AND a.value_key = %(name_key)s
    );

-- name: state_relation
-- Write a record's statement of a relation from its node to the only node with a name.
WITH stated AS MATERIALIZED (
    SELECT
        i.node_id AS from_node_id,
        n.node_id AS to_node_id,
        coalesce(t.label, %(relation)s) AS relation
    FROM neurigraph.record_index AS i
    CROSS JOIN LATERAL (
        SELECT min(m.node_id::text)::uuid AS node_id
        FROM (
            SELECT g.node_id FROM neurigraph.graph_index AS g
            WHERE g.user_id = %(user_id)s AND g.name_key = %(name_key)s AND g.layer_depth > 0
            UNION
            SELECT a.node_id FROM neurigraph.node_aliases AS a
            WHERE a.user_id = %(user_id)s AND a.value_key = %(name_key)s
        ) AS m
        HAVING count(*) = 1
    ) AS n
    LEFT JOIN neurigraph.relation_types AS t ON lower(%(relation)s) = ANY(t.synonyms)
    WHERE i.record_id = %(record_id)s AND i.node_id <> n.node_id AND NOT EXISTS (
        SELECT FROM neurigraph.sources AS s
        WHERE s.source_id = i.source_id AND s.privacy = 'private'
    )
),

edges AS (
    INSERT INTO neurigraph.node_edges AS e (user_id, from_node_id, to_node_id, relation, strength, evidence_count)
    SELECT
        %(user_id)s::uuid,
        s.from_node_id,
        s.to_node_id,
        s.relation,
        0,
        0
    FROM stated AS s
    ON CONFLICT (from_node_id, to_node_id, relation) DO UPDATE SET last_seen_at = now()
    RETURNING e.*
)

INSERT INTO neurigraph.edge_evidence (
    user_id, edge_id, from_node_id, to_node_id, relation, record_id, weight, detected_by
)
SELECT
    e.user_id,
    e.edge_id,
    e.from_node_id,
    e.to_node_id,
    e.relation,
    %(record_id)s,
    %(weight)s,
    %(detected_by)s
FROM edges AS e
WHERE NOT EXISTS (
    SELECT FROM neurigraph.edge_evidence AS o
    WHERE o.edge_id = e.edge_id AND o.record_id = %(record_id)s
);

-- name: follow_records
-- The nodes whose shells follow from some records: the nodes of the records, nodes that were made for one of them
-- (`defined`), people with a relation stated by one of them, and nodes with an alias that one of them uses.
SELECT
    n.node_id,
    bool_or(n.defined) AS defined
FROM (
    SELECT
        i.node_id,
        false AS defined
    FROM neurigraph.record_index AS i
    WHERE i.record_id = ANY(%(record_ids)s::uuid [])
    UNION ALL
    SELECT
        g.node_id,
        true
    FROM neurigraph.graph_index AS g
    WHERE g.defined_by = ANY(%(record_ids)s::uuid [])
    UNION ALL
    SELECT
        v.to_node_id,
        false
    FROM neurigraph.edge_evidence AS v
    INNER JOIN neurigraph.graph_index AS g ON v.to_node_id = g.node_id AND g.concept_kind = 'person'
    WHERE v.record_id = ANY(%(record_ids)s::uuid [])
    UNION ALL
    SELECT
        m.node_id,
        false
    FROM neurigraph.mentions AS m
    WHERE m.record_id = ANY(%(record_ids)s::uuid []) AND m.alias_id IS NOT NULL
) AS n
GROUP BY n.node_id
ORDER BY n.node_id;

-- name: undefine
UPDATE neurigraph.graph_index SET defined_by = NULL
WHERE node_id = ANY(%(node_ids)s);

-- name: moments_of_records
SELECT i.created_at
FROM neurigraph.record_index AS i
WHERE i.record_id = ANY(%(record_ids)s::uuid []);

-- name: forget_unproven
-- Forget statements whose records are unknown. Each erased record of the time of the statements takes one away, so that
-- as many statements remain as records of that time.
WITH erased AS (
    SELECT
        v.evidence_id,
        count(*) AS records
    FROM neurigraph.edge_evidence AS v
    INNER JOIN unnest(%(moments)s::timestamptz []) AS m (moment) ON v.stated @> m.moment
    WHERE v.user_id = %(user_id)s AND v.stated IS NOT NULL
    GROUP BY v.evidence_id
),

gone AS (
    DELETE FROM neurigraph.edge_evidence AS v USING erased AS x
    WHERE v.evidence_id = x.evidence_id AND v.statements <= x.records
)

UPDATE neurigraph.edge_evidence AS v SET statements = v.statements - x.records
FROM erased AS x
WHERE v.evidence_id = x.evidence_id AND v.statements > x.records;

-- name: sum_graph
-- Compute the sums over the evidence of a restored graph again.
SELECT neurigraph_private.sum_graph(%(user_id)s);

-- name: project_aliases
SELECT neurigraph_private.project_aliases(%(node_ids)s::uuid []);

-- name: wrong_sums
SELECT
    w.id,
    w.fault
FROM neurigraph.wrong_sums(%(node_id)s) AS w;

-- name: node_is_visible
SELECT g.node_id
FROM neurigraph.graph_index AS g
WHERE g.node_id = %(node_id)s;

-- name: mentions_of_node
-- The mentions of a node, newest first, with the titles of the records.
WITH page AS MATERIALIZED (
    SELECT
        m.*,
        i.node_id AS record_node_id,
        i.occurred_at,
        i.superseded
    FROM neurigraph.mentions AS m
    INNER JOIN neurigraph.record_index AS i ON m.record_id = i.record_id
    WHERE m.node_id = %(node_id)s AND (m.created_at, m.mention_id) < (%(at)s::timestamptz, %(id)s::uuid)
        AND (%(role)s::text IS NULL OR m.role::text = %(role)s)
    ORDER BY m.created_at DESC, m.mention_id DESC
    LIMIT %(limit)s
)

SELECT
    p.mention_id,
    p.record_id,
    t.title,
    n.node_path,
    p.role,
    a.value AS alias,
    p.messages,
    p.confidence,
    p.detected_by,
    p.occurred_at,
    coalesce(p.superseded, false) AS superseded,
    p.created_at
FROM page AS p
LEFT JOIN neurigraph.node_aliases AS a ON p.alias_id = a.alias_id
LEFT JOIN neurigraph.titles_of(ARRAY(SELECT w.record_id FROM page AS w)) AS t ON p.record_id = t.record_id
LEFT JOIN LATERAL neurigraph.path_of(p.record_node_id) AS n ON true
ORDER BY p.created_at DESC, p.mention_id DESC;

-- name: edge
-- Return an edge, its name as read from the other end, and whether the edge closes a circle that its type excludes,
-- among the edges that the caller sees.
SELECT
    e.edge_id,
    e.from_node_id,
    f.node_name AS from_name,
    e.to_node_id,
    t.node_name AS to_name,
    e.relation,
    k.inverse,
    k.is_acyclic AND EXISTS (
        WITH RECURSIVE led_to AS (
            SELECT e.to_node_id AS node_id
            UNION
            SELECT n.to_node_id
            FROM led_to AS l
            INNER JOIN neurigraph.node_edges AS n ON l.node_id = n.from_node_id AND e.relation = n.relation
            CROSS JOIN LATERAL neurigraph.seen_edge(n) AS c
            WHERE c.evidence_count > 0
        )

        SELECT FROM led_to AS l WHERE l.node_id = e.from_node_id
    ) AS is_circular,
    s.strength,
    s.evidence_count,
    s.unproven AS unproven_count,
    s.valid::text AS valid
FROM neurigraph.node_edges AS e
INNER JOIN neurigraph.graph_index AS f ON e.from_node_id = f.node_id
INNER JOIN neurigraph.graph_index AS t ON e.to_node_id = t.node_id
CROSS JOIN LATERAL neurigraph.relation_traits(e.relation) AS k
CROSS JOIN LATERAL neurigraph.edge_sums(ARRAY[e.edge_id]) AS s
WHERE e.edge_id = %(edge_id)s AND s.evidence_count > 0;

-- name: evidence_of_edge
-- The evidence of an edge, newest first. Statements from before evidence was kept have no record.
WITH page AS MATERIALIZED (
    SELECT
        v.*,
        i.superseded
    FROM neurigraph.edge_evidence AS v
    LEFT JOIN neurigraph.record_index AS i ON v.record_id = i.record_id
    WHERE v.edge_id = %(edge_id)s AND (v.created_at, v.evidence_id) < (%(at)s::timestamptz, %(id)s::uuid)
    ORDER BY v.created_at DESC, v.evidence_id DESC
    LIMIT %(limit)s
)

SELECT
    p.evidence_id,
    p.record_id,
    t.title,
    p.observed_by,
    p.statements,
    p.stated IS NULL AS proven,
    p.messages,
    p.weight,
    p.stance,
    p.valid_from,
    p.valid_until,
    p.detected_by,
    coalesce(p.superseded, false) AS superseded,
    p.created_at
FROM page AS p
LEFT JOIN neurigraph.titles_of(ARRAY(SELECT w.record_id FROM page AS w WHERE w.record_id IS NOT NULL)) AS t
    ON p.record_id = t.record_id
ORDER BY p.created_at DESC, p.evidence_id DESC;

-- name: aliases
-- Return the other names of one node, or of all nodes with a value, oldest first.
SELECT
    a.alias_id,
    a.node_id,
    n.node_path,
    a.alias_type AS type,
    a.value,
    a.verified,
    a.verified_by,
    a.given_by,
    (SELECT count(*) FROM neurigraph.mentions AS m WHERE m.alias_id = a.alias_id) AS mention_count,
    a.created_at
FROM neurigraph.node_aliases AS a
CROSS JOIN LATERAL neurigraph.path_of(a.node_id) AS n
WHERE a.user_id = %(user_id)s AND n.node_path IS NOT NULL
    AND (%(node_id)s::uuid IS NULL OR a.node_id = %(node_id)s)
    AND (%(value_key)s::text IS NULL OR a.value_key = %(value_key)s)
    AND (%(type)s::text IS NULL OR a.alias_type::text = %(type)s)
    AND (a.created_at, a.alias_id) > (%(at)s::timestamptz, %(id)s::uuid)
ORDER BY a.created_at, a.alias_id
LIMIT %(limit)s;

-- name: bearer_of
-- The node that has a typed id.
SELECT a.node_id
FROM neurigraph.node_aliases AS a
WHERE a.user_id = %(user_id)s AND a.alias_type = %(alias_type)s AND a.value_key = %(value_key)s
    AND a.alias_type NOT IN ('name', 'former_name');

-- name: count_given
SELECT count(*) AS given
FROM neurigraph.node_aliases AS a
WHERE a.node_id = %(node_id)s AND a.given_by IS NOT NULL;

-- name: give_alias
-- Give a node an alias by hand. An alias that mentions already use stays from now on, even without mentions.
INSERT INTO neurigraph.node_aliases AS a (
    user_id, node_id, alias_type, value, value_key, verified, verified_by, given_by
)
VALUES (
    %(user_id)s, %(node_id)s, %(alias_type)s, %(value)s, %(value_key)s, %(verified)s, %(verified_by)s, %(given_by)s
)
ON CONFLICT (node_id, alias_type, value_key) DO UPDATE SET
    value = excluded.value,
    verified = excluded.verified,
    verified_by = excluded.verified_by,
    given_by = coalesce(a.given_by, excluded.given_by)
RETURNING a.alias_id, a.created_at;

-- name: remove_alias
DELETE FROM neurigraph.node_aliases AS a
WHERE a.node_id = %(node_id)s AND a.value_key = %(value_key)s
    AND (%(alias_type)s::text IS NULL OR a.alias_type::text = %(alias_type)s)
RETURNING a.alias_id;
