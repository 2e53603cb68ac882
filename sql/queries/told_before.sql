-- The things that messages refer to: facts that were told before, and people with a node.

-- name: facts_before
-- The facts of a user that stand, the last ones first, for causes that were told before: those of a record and of
-- others that were told before it.
SELECT
    f.fact_id,
    f.statement,
    CASE WHEN f.record_id = i.record_id THEN f.first_message ELSE 0 END AS first_message,
    CASE WHEN f.record_id = i.record_id THEN f.last_message ELSE 0 END AS last_message
FROM neurigraph.record_index AS i
INNER JOIN neurigraph.facts AS f ON i.user_id = f.user_id
INNER JOIN neurigraph.record_index AS o ON f.record_id = o.record_id
WHERE i.record_id = %(record_id)s AND f.status <> 'archived' AND f.forgotten_at IS NULL
    AND NOT o.quarantined AND NOT o.superseded
    AND coalesce(o.occurred_at, o.created_at) <= coalesce(i.occurred_at, i.created_at)
ORDER BY coalesce(o.occurred_at, o.created_at) DESC, f.fact_id
LIMIT %(limit)s;

-- name: people
-- The people and the owner of a graph by the keys of their names; the owner has an empty key, too.
SELECT
    g.node_id,
    CASE WHEN g.parent_node_id IS NULL THEN '' ELSE g.name_key END AS name_key
FROM neurigraph.graph_index AS g
WHERE g.user_id = %(user_id)s AND (g.concept_kind = 'person' OR g.parent_node_id IS NULL)
UNION
SELECT
    a.node_id,
    a.value_key AS name_key
FROM neurigraph.node_aliases AS a
INNER JOIN neurigraph.graph_index AS g ON a.node_id = g.node_id
WHERE a.user_id = %(user_id)s AND g.concept_kind = 'person' AND a.value_key = ANY(%(keys)s);
