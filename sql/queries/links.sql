-- Links between memories, and the keys that sign them.

-- name: infer
-- Writes a link that a rule or a model found; what was rejected, ended or stated in this relation stays as it is.
WITH there AS MATERIALIZED (
    SELECT
        o.link_id,
        o.verdict,
        o.ended_at
    FROM neurigraph.links AS o
    WHERE o.user_id = %(user_id)s AND o.relation = %(relation)s AND (
        (o.from_id = %(from_id)s AND o.to_id = %(to_id)s)
        OR (o.bidirectional AND o.from_id = %(to_id)s AND o.to_id = %(from_id)s)
    )
),

made AS (
    INSERT INTO neurigraph.links (
        link_id, user_id, from_fact_id, from_record_id, to_fact_id, to_record_id, to_node_id, to_source_id, relation,
        strength, confidence, valid, observed_by, detected_by, reason, messages
    )
    SELECT
        %(link_id)s, %(user_id)s, %(from_fact_id)s, %(from_record_id)s, %(to_fact_id)s, %(to_record_id)s,
        %(to_node_id)s, %(to_source_id)s, %(relation)s, %(strength)s, %(confidence)s,
        tstzrange(%(valid_from)s, %(valid_until)s), %(observed_by)s, %(detected_by)s, %(reason)s, %(messages)s
    WHERE NOT EXISTS (SELECT FROM there)
    ON CONFLICT DO NOTHING
    RETURNING link_id
)

SELECT m.link_id FROM made AS m
UNION ALL
SELECT t.link_id FROM there AS t
WHERE t.verdict <> 'rejected' AND t.ended_at IS NULL
LIMIT 1;

-- name: delete_inferred
DELETE FROM neurigraph.links AS l
WHERE l.from_record_id = %(record_id)s AND l.observed_by = ANY(%(observers)s) AND l.verdict = 'unverified'
    AND l.ended_at IS NULL AND l.link_id <> ALL(%(kept)s);

-- name: wrong_links
SELECT
    w.id,
    w.fault
FROM neurigraph.wrong_links(%(node_id)s) AS w;
