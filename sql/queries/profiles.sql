-- Profiles of nodes: finding the nodes that need one, the records for it, and reading it.

-- name: due
-- A page of the nodes with current records whose profile is missing or stale. Only nodes with private records need a
-- profile of all records.
WITH private_nodes AS MATERIALIZED (
    SELECT DISTINCT i.node_id
    FROM neurigraph.sources AS s
    INNER JOIN neurigraph.record_index AS i ON s.user_id = i.user_id AND s.source_id = i.source_id
    WHERE s.privacy = 'private' AND NOT i.quarantined AND i.superseded IS NOT TRUE
)

SELECT
    g.node_id,
    g.user_id,
    g.schema_name
FROM neurigraph.graph_index AS g
LEFT JOIN LATERAL (
    SELECT
        count(*) AS profiles,
        bool_or(p.is_stale) AS is_stale,
        bool_or(p.covers = 'all') AS has_all
    FROM neurigraph.profiles AS p
    WHERE p.node_id = g.node_id
) AS p ON true
WHERE g.record_count > 0 AND g.node_id > %(after)s
    AND (%(user_id)s::uuid IS NULL OR g.user_id = %(user_id)s)
    AND (
        (
            p.profiles = 0 AND EXISTS (
                SELECT FROM neurigraph.record_index AS i
                WHERE i.node_id = g.node_id AND NOT i.quarantined AND i.superseded IS NOT TRUE
            )
        )
        OR p.is_stale
        OR (NOT p.has_all AND g.node_id IN (SELECT n.node_id FROM private_nodes AS n))
    )
ORDER BY g.node_id
LIMIT %(limit)s;

-- name: extents
-- The current records of a node, private and shared ones.
SELECT
    coalesce(s.privacy = 'private', false) AS is_private,
    count(*) AS records,
    min(i.occurred_at) AS first_at,
    max(i.occurred_at) AS last_at
FROM neurigraph.record_index AS i
LEFT JOIN neurigraph.sources AS s ON i.source_id = s.source_id
WHERE i.node_id = %(node_id)s AND NOT i.quarantined AND i.superseded IS NOT TRUE
GROUP BY coalesce(s.privacy = 'private', false);

-- name: sample
-- A sample of a node's current records: the first ones in the order of a hash. So the sample does not depend on when
-- records came, and the sample of shared records does not depend on private ones. Vectors are those that the user's
-- searches compare.
WITH current_records AS (
    SELECT
        i.record_id,
        i.user_id,
        coalesce(s.privacy = 'private', false) AS is_private,
        hashtextextended(i.record_id::text, 0) AS place
    FROM neurigraph.record_index AS i
    LEFT JOIN neurigraph.sources AS s ON i.source_id = s.source_id
    WHERE i.node_id = %(node_id)s AND NOT i.quarantined AND i.superseded IS NOT TRUE
),

numbered AS (
    SELECT
        c.*,
        row_number() OVER (PARTITION BY c.is_private ORDER BY c.place, c.record_id) AS number
    FROM current_records AS c
)

SELECT
    r.record_id,
    r.occurred_at,
    r.kw_entities,
    r.kw_topics,
    n.is_private,
    CASE u.embedding_model
        WHEN r.embedding_model THEN subvector(r.embedding, 1, 512)::halfvec(512)
        WHEN r.embedding_next_model THEN subvector(r.embedding_next, 1, 512)::halfvec(512)
    END AS vector
FROM numbered AS n
INNER JOIN {schema}.metadata_records AS r ON n.record_id = r.record_id
INNER JOIN neurigraph.users AS u ON n.user_id = u.user_id
WHERE n.number <= %(limit)s
ORDER BY n.place, r.record_id;

-- name: of_node
SELECT p.*
FROM neurigraph.profiles AS p
WHERE p.node_id = %(node_id)s;

-- name: model_of_user
SELECT u.embedding_model
FROM neurigraph.users AS u
WHERE u.user_id = %(user_id)s;

-- name: write
INSERT INTO neurigraph.profiles AS p (
    node_id, user_id, covers, records, sampled, embedded, embedding_model, centroids, centroid_records, descriptors,
    weights, recent, baseline, recent_records, baseline_records, recent_from, drift, first_at, last_at
)
VALUES (
    %(node_id)s, %(user_id)s, %(covers)s, %(records)s, %(sampled)s, %(embedded)s, %(embedding_model)s,
    %(centroids)s::halfvec(512) [], %(centroid_records)s, %(descriptors)s, %(weights)s, %(recent)s::halfvec(512),
    %(baseline)s::halfvec(512), %(recent_records)s, %(baseline_records)s, %(recent_from)s, %(drift)s, %(first_at)s,
    %(last_at)s
)
ON CONFLICT (node_id, covers) DO UPDATE SET
    records = excluded.records,
    sampled = excluded.sampled,
    embedded = excluded.embedded,
    embedding_model = excluded.embedding_model,
    centroids = excluded.centroids,
    centroid_records = excluded.centroid_records,
    descriptors = excluded.descriptors,
    weights = excluded.weights,
    recent = excluded.recent,
    baseline = excluded.baseline,
    recent_records = excluded.recent_records,
    baseline_records = excluded.baseline_records,
    recent_from = excluded.recent_from,
    drift = excluded.drift,
    first_at = excluded.first_at,
    last_at = excluded.last_at,
    is_stale = false,
    rebuilt_at = now();

-- name: remove
DELETE FROM neurigraph.profiles AS p
WHERE p.node_id = %(node_id)s AND p.covers = %(covers)s;

-- name: outdate
UPDATE neurigraph.profiles AS p SET is_stale = true
WHERE p.node_id = %(node_id)s;

-- name: read
-- The profile of a node for the caller. The owner gets the profile of all records if there is one. A profile of shared
-- records is also stale for the owner if private records came since it was made.
SELECT
    p.records,
    p.sampled,
    p.embedded,
    p.centroid_records,
    p.descriptors,
    p.weights,
    p.recent_records,
    p.baseline_records,
    p.recent_from,
    p.drift,
    p.first_at,
    p.last_at,
    p.is_stale OR (
        p.covers = 'shared' AND EXISTS (
            SELECT FROM neurigraph.sources AS s
            INNER JOIN neurigraph.record_index AS i ON s.user_id = i.user_id AND s.source_id = i.source_id
            WHERE s.user_id = p.user_id AND s.privacy = 'private' AND i.node_id = p.node_id
                AND i.superseded IS NOT TRUE
        )
    ) AS is_stale,
    p.rebuilt_at,
    g.node_name,
    g.aliases
FROM neurigraph.profiles AS p
INNER JOIN neurigraph.graph_index AS g ON p.node_id = g.node_id
WHERE p.node_id = %(node_id)s
ORDER BY p.covers
LIMIT 1;
