-- Graph queries: the start of a walk, the walk itself, and the links among the memories that it reached.

-- name: walk
-- The function returns the steps in order.
SELECT w.*
FROM neurigraph.walk_facts(%(payload)s, %(signature)s, %(asked)s::jsonb) AS w;

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
