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

-- name: relations
-- The relations between memories, with how they read and what they weigh.
SELECT
    t.name,
    t.forward,
    t.backward,
    t.is_symmetric,
    t.weight
FROM neurigraph.relation_types AS t
WHERE t.scope <> 'edge'
ORDER BY t.name;

-- name: end_fact
SELECT neurigraph.may_write_node(i.node_id) AS writable
FROM neurigraph.facts AS f INNER JOIN neurigraph.record_index AS i ON f.record_id = i.record_id
WHERE f.fact_id = %(id)s;

-- name: end_record
SELECT neurigraph.may_write_node(i.node_id) AS writable
FROM neurigraph.record_index AS i
WHERE i.record_id = %(id)s;

-- name: end_node
SELECT neurigraph.may_write_node(g.node_id) AS writable
FROM neurigraph.graph_index AS g
WHERE g.node_id = %(id)s;

-- name: end_source
SELECT false AS writable
FROM neurigraph.sources AS s
WHERE s.source_id = %(id)s;

-- name: state
-- Writes a link that somebody states; the same by the same observer stays as it is.
WITH made AS (
    INSERT INTO neurigraph.links (
        user_id, from_fact_id, from_record_id, to_fact_id, to_record_id, to_node_id, to_source_id, relation,
        strength, confidence, valid, observed_by, detected_by, reason, messages, key_id, signature
    )
    VALUES (
        %(user_id)s, %(from_fact_id)s, %(from_record_id)s, %(to_fact_id)s, %(to_record_id)s,
        %(to_node_id)s, %(to_source_id)s, %(relation)s, %(strength)s, %(confidence)s,
        tstzrange(%(valid_from)s, %(valid_until)s), %(observed_by)s, %(detected_by)s, %(reason)s, %(messages)s,
        %(key_id)s, %(signature)s
    )
    ON CONFLICT DO NOTHING
    RETURNING link_id
)

SELECT
    m.link_id,
    true AS created
FROM made AS m
UNION ALL
SELECT
    o.link_id,
    false AS created
FROM neurigraph.links AS o
WHERE o.user_id = %(user_id)s AND o.relation = %(relation)s AND o.observed_by = %(observed_by)s AND o.ended_at IS NULL
    AND (
        (o.from_id = %(from_id)s AND o.to_id = %(to_id)s)
        OR (o.bidirectional AND o.from_id = %(to_id)s AND o.to_id = %(from_id)s)
    )
LIMIT 1;

-- name: writable_link
-- A link that the caller sees, and whether the caller may change it: where it starts decides.
SELECT
    l.link_id,
    l.from_fact_id,
    CASE WHEN l.from_fact_id IS NULL THEN l.from_record_id END AS from_record_id,
    l.to_fact_id,
    CASE WHEN l.to_fact_id IS NULL THEN l.to_record_id END AS to_record_id,
    l.to_node_id,
    l.to_source_id,
    l.relation,
    l.observed_by,
    lower(l.valid) AS valid_from,
    l.ended_at,
    neurigraph.may_write_node(i.node_id) AS writable
FROM neurigraph.links AS l INNER JOIN neurigraph.record_index AS i ON l.from_record_id = i.record_id
WHERE l.link_id = %(link_id)s;

-- name: end
UPDATE neurigraph.links AS l SET
    valid = tstzrange(lower(l.valid), %(valid_until)s), ended_by = %(ended_by)s, ended_at = now(),
    end_key_id = %(key_id)s, end_signature = %(signature)s
WHERE l.link_id = %(link_id)s AND l.ended_at IS NULL
RETURNING l.link_id;

-- name: decide
UPDATE neurigraph.links AS l SET verdict = %(verdict)s, verdict_by = %(verdict_by)s, verdict_at = now()
WHERE l.link_id = %(link_id)s
RETURNING l.link_id;

-- name: register_key
INSERT INTO neurigraph.signing_keys AS k (user_id, holder, public_key, registered_by)
VALUES (%(user_id)s, %(holder)s, %(public_key)s, %(registered_by)s)
ON CONFLICT DO NOTHING
RETURNING k.key_id, k.holder, k.public_key, k.registered_at, k.registered_by, k.rotated_at, k.revoked_at;

-- name: keys
SELECT
    k.key_id,
    k.holder,
    k.public_key,
    k.registered_at,
    k.registered_by,
    k.rotated_at,
    k.revoked_at
FROM neurigraph.signing_keys AS k
WHERE %(key_id)s::uuid IS NULL OR k.key_id = %(key_id)s::uuid
ORDER BY k.registered_at, k.key_id
LIMIT 200;

-- name: rotate_key
UPDATE neurigraph.signing_keys SET rotated_at = now()
WHERE key_id = %(key_id)s AND rotated_at IS NULL;

-- name: revoke_key
UPDATE neurigraph.signing_keys SET revoked_at = now()
WHERE key_id = %(key_id)s AND revoked_at IS NULL;

-- name: is_writer
SELECT neurigraph.writing_persona() IS NOT NULL AS writes;

-- name: facts_of_record
SELECT
    f.fact_id,
    f.statement,
    f.first_message,
    f.last_message
FROM neurigraph.facts AS f
WHERE f.record_id = %(record_id)s
ORDER BY f.seq;
