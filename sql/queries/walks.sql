-- Graph queries: the start of a walk, the walk itself, and the links among the memories that it reached.

-- name: open_changes
-- Updates of some facts, or by them, that wait for a person, of which the caller sees both facts: the newest first.
SELECT
    v.later_id,
    v.earlier_id,
    v.confidence,
    l.statement AS later,
    e.statement AS earlier,
    coalesce(lower(l.occurred), lr.occurred_at, lr.created_at) AS later_at,
    coalesce(lower(e.occurred), er.occurred_at, er.created_at) AS earlier_at
FROM neurigraph.fact_verdicts AS v
INNER JOIN neurigraph.facts AS l ON v.later_id = l.fact_id
INNER JOIN neurigraph.facts AS e ON v.earlier_id = e.fact_id
INNER JOIN neurigraph.record_index AS lr ON l.record_id = lr.record_id
INNER JOIN neurigraph.record_index AS er ON e.record_id = er.record_id
WHERE (v.later_id = ANY(%(ids)s) OR v.earlier_id = ANY(%(ids)s))
    AND v.verdict IN ('updates', 'contradicts') AND v.effect IN ('flagged', 'disputes') AND v.undone_at IS NULL
    AND l.status <> 'archived' AND e.status <> 'archived' AND l.forgotten_at IS NULL AND e.forgotten_at IS NULL
ORDER BY later_at DESC, earlier_at DESC, v.later_id, v.earlier_id
LIMIT 50;

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

-- name: messages_behind
-- The messages that tell the causes of the facts in some messages, and causes of causes, over links that hold and that
-- nobody rejected: the nearest first. Links and facts that the caller does not see lead nowhere.
WITH RECURSIVE behind AS (
    SELECT
        l.to_fact_id,
        1 AS hops,
        l.strength
    FROM unnest(%(record_ids)s::uuid [], %(messages)s::integer []) AS q (record_id, message)
    INNER JOIN neurigraph.facts AS f
        ON q.record_id = f.record_id AND q.message BETWEEN f.first_message AND f.last_message
    INNER JOIN neurigraph.links AS l ON f.fact_id = l.from_fact_id
    WHERE l.user_id = %(user_id)s AND l.to_fact_id IS NOT NULL AND l.relation IN ('caused_by', 'influenced_by')
        AND l.verdict <> 'rejected' AND l.valid @> now()
    UNION
    SELECT
        l.to_fact_id,
        b.hops + 1,
        l.strength
    FROM behind AS b
    INNER JOIN neurigraph.links AS l ON b.to_fact_id = l.from_fact_id
    WHERE b.hops < %(hops)s AND l.user_id = %(user_id)s AND l.to_fact_id IS NOT NULL
        AND l.relation IN ('caused_by', 'influenced_by') AND l.verdict <> 'rejected' AND l.valid @> now()
)

SELECT
    f.record_id,
    f.first_message AS message
FROM behind AS b
INNER JOIN neurigraph.facts AS f ON b.to_fact_id = f.fact_id
WHERE f.status <> 'archived' AND f.forgotten_at IS NULL
GROUP BY f.record_id, f.first_message
ORDER BY min(b.hops), max(b.strength) DESC, f.record_id, f.first_message
LIMIT %(most)s;
