-- The contents of the graph on the nodes that have a name.

-- name: named_nodes
-- The nodes that the caller sees and that have one of some names, with all their names and the longest matching name.
SELECT
    g.node_id,
    max(char_length(m.name_key)) AS met,
    array(
        SELECT a.value FROM neurigraph.node_aliases AS a
        WHERE a.node_id = g.node_id
        ORDER BY a.value
    ) || g.node_name AS names,
    g.concept_kind
FROM unnest(%(keys)s::text []) AS m (name_key)
INNER JOIN neurigraph.graph_index AS g
    ON g.user_id = %(user_id)s AND g.layer_depth > 0 AND (
        m.name_key = g.name_key
        OR g.node_id IN (
            SELECT o.node_id FROM neurigraph.node_aliases AS o
            WHERE o.user_id = %(user_id)s AND m.name_key = o.value_key
        )
    )
GROUP BY g.node_id
ORDER BY met DESC, g.node_id;

-- name: facts_about
-- Planned once a connection. The facts about some nodes or names, latest first: facts with a name as a person or
-- subject, facts of memories that mention a node and facts that people stated, if the words of the fact have one of the
-- names, and all facts of the memories at a subject. Where no node is known, the words of every fact count.
WITH found AS (
    SELECT f.fact_id FROM neurigraph.facts AS f
    WHERE f.user_id = %(user_id)s AND f.who && %(names)s::text []
    UNION
    SELECT f.fact_id FROM neurigraph.facts AS f
    WHERE f.user_id = %(user_id)s AND f.subject IS NOT NULL
        AND neurigraph.first_word(f.subject) = ANY(%(firsts)s::text [])
        AND lower(f.subject) = ANY(%(lower)s::text [])
    UNION
    SELECT f.fact_id
    FROM neurigraph.mentions AS m
    INNER JOIN neurigraph.facts AS f ON m.record_id = f.record_id
    WHERE m.node_id = ANY(%(node_ids)s) AND (m.fact_id = f.fact_id OR f.statement ~* ANY(%(patterns)s::text []))
    UNION
    -- Words of the owner of the graph without a name are about the owner.
    SELECT f.fact_id FROM neurigraph.facts AS f
    WHERE f.user_id = %(user_id)s AND f.author IS NULL
        AND EXISTS (
            SELECT FROM neurigraph.users AS u
            LEFT JOIN neurigraph.user_accounts AS a ON u.user_id = a.user_id
            WHERE u.user_id = f.user_id AND (
                f.statement ~* '^user: "|\mthe user\M'
                OR coalesce(position(lower(a.display_name) IN lower(f.statement)) > 0, false)
            ) AND (
                %(lower)s::text [] && ARRAY['me', 'myself', 'i', 'the user']
                OR lower(u.slug) = ANY(%(lower)s::text []) OR lower(a.display_name) = ANY(%(lower)s::text [])
            )
        )
    UNION
    SELECT f.fact_id FROM neurigraph.facts AS f
    WHERE f.user_id = %(user_id)s AND (f.extractor = 'stated' OR %(worded)s)
        AND f.statement ~* ANY(%(patterns)s::text [])
    UNION
    SELECT f.fact_id
    FROM neurigraph.record_index AS i
    INNER JOIN neurigraph.facts AS f ON i.record_id = f.record_id
    WHERE i.node_id = ANY(%(subject_ids)s)
)

SELECT f.fact_id
FROM found AS o
INNER JOIN neurigraph.facts AS f ON o.fact_id = f.fact_id
INNER JOIN neurigraph.record_index AS r ON f.record_id = r.record_id
WHERE (%(archived)s OR f.status <> 'archived')
    AND f.forgotten_at IS NULL AND (f.forget_after IS NULL OR f.forget_after > now())
ORDER BY coalesce(lower(f.occurred), r.occurred_at, r.created_at) DESC, f.fact_id
LIMIT %(limit)s;

-- name: relations_of_nodes
-- Planned once a connection. The roles of each node towards others: the relations to it that hold now and that the
-- caller sees, the best stated first, each with the newest memory that says so.
SELECT
    n.node_id,
    r.*
FROM unnest(%(node_ids)s::uuid []) AS n (node_id)
CROSS JOIN LATERAL (
    SELECT
        e.relation,
        o.node_name AS of_name,
        o.concept_kind AS of_kind,
        v.record_id,
        v.message
    FROM neurigraph.edge_sums(
        ARRAY(SELECT t.edge_id FROM neurigraph.node_edges AS t WHERE t.to_node_id = n.node_id)
    ) AS s
    INNER JOIN neurigraph.node_edges AS e ON s.edge_id = e.edge_id
    INNER JOIN neurigraph.graph_index AS o ON e.from_node_id = o.node_id
    LEFT JOIN LATERAL (
        SELECT
            x.record_id,
            x.messages[1] AS message
        FROM neurigraph.edge_evidence AS x
        INNER JOIN neurigraph.record_index AS i ON x.record_id = i.record_id
        WHERE x.edge_id = e.edge_id AND x.stance = 'asserts' AND i.superseded IS NOT TRUE
        ORDER BY coalesce(i.occurred_at, i.created_at) DESC, x.evidence_id
        LIMIT 1
    ) AS v ON true
    WHERE s.evidence_count > 0 AND s.valid @> now() AND e.relation <> ALL(%(uninformative)s::text [])
    ORDER BY s.evidence_count DESC, e.relation, o.node_name
    LIMIT 32
) AS r;

-- name: told_of
-- Planned once a connection. The statements about each of some people in facts with a form, as far as the caller sees
-- them and as they stand: the last said first.
SELECT
    p.place,
    t.*
FROM (
    SELECT
        n.place,
        array_agg(n.name) AS names,
        array_agg(split_part(n.name, ' ', 1)) AS firsts
    FROM unnest(%(places)s::integer [], %(names)s::text []) AS n (place, name)
    GROUP BY n.place
) AS p
CROSS JOIN LATERAL (
    SELECT
        f.statement,
        f.subject,
        f.predicate,
        f.object,
        lower(f.occurred) AS since,
        f.record_id,
        f.first_message AS message,
        f.fact_id
    FROM neurigraph.facts AS f
    INNER JOIN neurigraph.record_index AS i ON f.record_id = i.record_id
    CROSS JOIN LATERAL neurigraph.replacing(f.fact_id) AS u
    WHERE f.user_id = %(user_id)s AND f.subject IS NOT NULL
        AND neurigraph.first_word(f.subject) = ANY(p.firsts)
        AND lower(f.subject) = ANY(p.names)
        AND f.predicate = ANY(%(predicates)s::text [])
        AND f.status <> 'archived' AND f.stated_as <> 'inference'
        AND u.superseded_by IS NULL AND i.superseded IS NOT TRUE
        AND f.forgotten_at IS NULL AND (f.forget_after IS NULL OR f.forget_after > now())
        AND (f.valid_until IS NULL OR f.valid_until > now())
    ORDER BY
        coalesce(i.occurred_at, i.created_at) DESC, lower(f.occurred) DESC NULLS LAST, f.recorded_at DESC, f.fact_id
    LIMIT 100
) AS t;

-- name: memories_of_nodes
-- The memories at some nodes and those that mention them, the last first, as far as the caller sees them.
SELECT i.record_id
FROM neurigraph.record_index AS i
WHERE i.superseded IS NOT TRUE AND (
    i.node_id = ANY(%(node_ids)s)
    OR i.record_id IN (SELECT m.record_id FROM neurigraph.mentions AS m WHERE m.node_id = ANY(%(node_ids)s))
)
ORDER BY coalesce(i.occurred_at, i.created_at) DESC, i.record_id
LIMIT %(limit)s;

-- name: owner
-- Planned once a connection. The slug of the owner of a graph, the name of the account if the caller sees it, and the
-- name under which the owner speaks in most of the latest facts: that of the only person beside an assistant, in
-- sources that the caller sees.
SELECT
    g.node_name AS slug,
    (
        SELECT a.display_name FROM neurigraph.user_accounts AS a
        WHERE a.user_id = g.user_id
    ) AS display_name,
    (
        SELECT m.author
        FROM (
            SELECT
                f.record_id,
                f.first_message
            FROM neurigraph.facts AS f
            WHERE f.user_id = %(user_id)s AND f.author IS NOT NULL
            ORDER BY f.recorded_at DESC, f.fact_id DESC
            LIMIT %(limit)s
        ) AS f
        INNER JOIN neurigraph.record_index AS i ON f.record_id = i.record_id
        INNER JOIN neurigraph.messages AS m ON i.source_id = m.source_id AND f.first_message = m.seq
        WHERE m.role = 'user' AND m.persona_id IS NULL AND m.author IS NOT NULL
            AND EXISTS (SELECT FROM neurigraph.messages AS a WHERE a.source_id = m.source_id AND a.role = 'assistant')
            AND NOT EXISTS (
                SELECT FROM neurigraph.messages AS o
                WHERE o.source_id = m.source_id AND o.role = 'user' AND o.author IS NOT NULL AND o.author <> m.author
            )
        GROUP BY m.author
        ORDER BY count(*) DESC, m.author
        LIMIT 1
    ) AS author
FROM neurigraph.graph_index AS g
WHERE g.user_id = %(user_id)s AND g.layer_depth = 0;

-- name: until_next_end
-- The seconds until the next fact of a graph is over or forgotten; null if none will be.
SELECT extract(EPOCH FROM min(t.at) - now())::double precision AS seconds
FROM neurigraph.facts AS f
CROSS JOIN LATERAL (VALUES (f.valid_until), (f.expires_at), (f.forget_after)) AS t (at)
WHERE f.user_id = %(user_id)s AND t.at > now();

-- name: people
-- Planned once a connection. The people with most memories that the caller sees, by name.
SELECT p.*
FROM (
    SELECT
        g.node_id,
        g.node_name AS name,
        array(
            SELECT a.value FROM neurigraph.node_aliases AS a
            WHERE a.node_id = g.node_id
            ORDER BY a.value
        ) || g.node_name AS names
    FROM neurigraph.graph_index AS g
    WHERE g.user_id = %(user_id)s AND g.concept_kind = 'person'
    ORDER BY g.record_count DESC, g.node_id
    LIMIT %(limit)s
) AS p
ORDER BY p.name, p.node_id;
