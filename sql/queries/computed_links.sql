-- Links of a fact that are computed for each request. All queries run with the claims of the caller.

-- name: fact
-- A fact that the caller sees, with its node and the source in which it was said.
SELECT
    f.fact_id,
    f.root_id,
    f.record_id,
    f.statement,
    f.first_message,
    f.last_message,
    f.recorded_at,
    lower(f.occurred) AS since,
    upper(f.occurred) AS until,
    i.node_id,
    (SELECT n.node_path FROM neurigraph.path_of(i.node_id) AS n) AS node_path,
    s.source_id,
    s.title
FROM neurigraph.facts AS f
INNER JOIN neurigraph.record_index AS i ON f.record_id = i.record_id
LEFT JOIN neurigraph.sources AS s ON i.source_id = s.source_id
WHERE f.fact_id = %(fact_id)s;

-- name: around
-- The facts of the fact's memory that stand, and the facts of messages that mention a node which the fact's messages
-- mention. Only the last 200 mentions of a node count. Facts with most nodes in common come first, then the newest.
WITH asked AS MATERIALIZED (
    SELECT
        f.fact_id,
        f.record_id,
        ARRAY(SELECT generate_series(f.first_message, f.last_message)) AS messages
    FROM neurigraph.facts AS f
    WHERE f.fact_id = %(fact_id)s
),

named AS MATERIALIZED (
    SELECT DISTINCT m.node_id
    FROM asked AS a INNER JOIN neurigraph.mentions AS m ON a.record_id = m.record_id
    WHERE m.node_id IS NOT NULL AND m.role <> 'author' AND m.messages && a.messages
),

places AS MATERIALIZED (
    SELECT
        n.node_id,
        x.record_id,
        x.messages
    FROM named AS n
    CROSS JOIN LATERAL (
        SELECT
            m.record_id,
            m.messages
        FROM neurigraph.mentions AS m
        WHERE m.node_id = n.node_id AND m.role <> 'author'
        ORDER BY m.created_at DESC, m.mention_id DESC
        LIMIT 200
    ) AS x
),

candidates AS (
    SELECT
        f.fact_id,
        p.node_id
    FROM places AS p
    INNER JOIN neurigraph.facts AS f
        ON p.record_id = f.record_id
        AND p.messages && ARRAY(SELECT generate_series(f.first_message, f.last_message))
    UNION ALL
    SELECT
        f.fact_id,
        NULL AS node_id
    FROM asked AS a INNER JOIN neurigraph.facts AS f ON a.record_id = f.record_id
),

counted AS (
    SELECT
        c.fact_id,
        count(DISTINCT c.node_id) AS shared
    FROM candidates AS c
    GROUP BY c.fact_id
)

SELECT
    f.fact_id,
    f.root_id,
    f.record_id,
    f.statement,
    f.first_message,
    f.last_message,
    f.recorded_at,
    lower(f.occurred) AS since,
    upper(f.occurred) AS until,
    c.shared,
    (SELECT count(*) FROM named) AS named
FROM counted AS c INNER JOIN neurigraph.facts AS f ON c.fact_id = f.fact_id
WHERE f.fact_id <> %(fact_id)s AND f.status <> 'archived' AND f.forgotten_at IS NULL
    AND (f.forget_after IS NULL OR f.forget_after > now())
ORDER BY c.shared DESC, f.recorded_at DESC, f.fact_id
LIMIT %(limit)s;

-- name: words
SELECT
    t.relation,
    t.forward,
    t.backward
FROM neurigraph.relation_words() AS t;
