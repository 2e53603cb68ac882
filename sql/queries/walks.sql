-- Graph queries: the start of a walk, the walk itself, and the links among the memories that it reached.

-- name: walk
-- The function returns the steps in order.
SELECT w.*
FROM neurigraph.walk_facts(%(payload)s, %(signature)s, %(asked)s::jsonb) AS w;

-- name: named_nodes
-- The nodes that the caller sees and that have one of some names, with all their names and the longest matching name.
SELECT
    g.node_id,
    max(char_length(m.name_key)) AS met,
    array(
        SELECT a.value FROM neurigraph.node_aliases AS a
        WHERE a.node_id = g.node_id
        ORDER BY a.value
    ) || g.node_name AS names
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
-- The facts about some nodes or names, latest first: facts with a name as a person or subject, and facts of memories
-- that mention a node, if the words of the fact have one of the names.
WITH found AS (
    SELECT f.fact_id FROM neurigraph.facts AS f
    WHERE f.user_id = %(user_id)s AND f.who && %(names)s::text []
    UNION
    SELECT f.fact_id FROM neurigraph.facts AS f
    WHERE f.user_id = %(user_id)s AND f.subject IS NOT NULL
        AND split_part(lower(f.subject), ' ', 1) = ANY(%(firsts)s::text [])
        AND lower(f.subject) = ANY(%(lower)s::text [])
    UNION
    SELECT f.fact_id
    FROM neurigraph.mentions AS m
    INNER JOIN neurigraph.facts AS f ON m.record_id = f.record_id
    WHERE m.node_id = ANY(%(node_ids)s) AND (m.fact_id = f.fact_id OR f.statement ~* ANY(%(patterns)s::text []))
)

SELECT f.fact_id
FROM found AS o
INNER JOIN neurigraph.facts AS f ON o.fact_id = f.fact_id
INNER JOIN neurigraph.record_index AS r ON f.record_id = r.record_id
WHERE (%(archived)s OR f.status <> 'archived')
    AND f.forgotten_at IS NULL AND (f.forget_after IS NULL OR f.forget_after > now())
ORDER BY coalesce(lower(f.occurred), r.occurred_at, r.created_at) DESC, f.fact_id
LIMIT %(limit)s;

-- name: links_between
-- The stored links among some memories that the caller sees. The links hold now, and nobody rejected them.
SELECT
    l.link_id,
    l.from_id,
    l.to_id,
    l.relation,
    l.strength
FROM neurigraph.links AS l
WHERE l.user_id = %(user_id)s AND l.from_id = ANY(%(ids)s) AND l.to_id = ANY(%(ids)s) AND l.verdict <> 'rejected'
    AND l.valid @> coalesce(%(moment)s::timestamptz, now()) AND l.strength >= %(min_strength)s
ORDER BY l.strength DESC, l.link_id
LIMIT 500;
