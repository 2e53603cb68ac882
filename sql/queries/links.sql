-- Links between memories, and the keys that sign them.

-- name: infer
-- Write a link that a rule or a model found. A link of this relation that was rejected, ended or stated stays as it is.
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

-- name: known_link
-- Whether all links of a relation between two ends come from rules, are uncertain, and wait for a decision; null if
-- there is no link.
SELECT
    bool_and(
        l.detected_by = 'rule' AND l.confidence < %(sure)s AND l.verdict = 'unverified' AND l.ended_at IS NULL
    ) AS is_doubtful
FROM neurigraph.links AS l
WHERE l.user_id = %(user_id)s AND l.relation = %(relation)s AND (
    (l.from_id = %(from_id)s AND l.to_id = %(to_id)s)
    OR (l.bidirectional AND l.from_id = %(to_id)s AND l.to_id = %(from_id)s)
);

-- name: delete_inferred
DELETE FROM neurigraph.links AS l
WHERE l.from_record_id = %(record_id)s AND l.observed_by = ANY(%(observers)s) AND l.verdict = 'unverified'
    AND l.ended_at IS NULL AND l.link_id <> ALL(%(kept)s);

-- name: wrong_links
SELECT
    w.id,
    w.fault
FROM neurigraph.wrong_links(%(node_id)s) AS w;

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
-- Write a link that somebody states. An existing link of the observer with the same ends and relation stays as it is.
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
-- A link that the caller sees, and whether the caller may change it, which depends on the node of the link's start.
-- Only the owner may change verdicts on facts.
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
    false AS is_of_verdict,
    neurigraph.may_write_node(i.node_id) AS writable
FROM neurigraph.links AS l INNER JOIN neurigraph.record_index AS i ON l.from_record_id = i.record_id
WHERE l.link_id = %(link_id)s
UNION ALL
SELECT
    v.link_id,
    v.later_id AS from_fact_id,
    NULL AS from_record_id,
    v.earlier_id AS to_fact_id,
    NULL AS to_record_id,
    NULL AS to_node_id,
    NULL AS to_source_id,
    v.verdict AS relation,
    v.judged_by AS observed_by,
    NULL AS valid_from,
    NULL AS ended_at,
    true AS is_of_verdict,
    coalesce(v.user_id = neurigraph.asking_user_id(), false) AS writable
FROM neurigraph.fact_verdicts AS v
INNER JOIN neurigraph.facts AS l ON v.later_id = l.fact_id
INNER JOIN neurigraph.facts AS e ON v.earlier_id = e.fact_id
WHERE v.link_id = %(link_id)s AND (
    v.verdict IN ('contradicts', 'elaborates', 'supports', 'depends_on')
    OR (v.effect = 'supersedes' AND l.root_id <> e.root_id)
);

-- name: same_link
-- The link between two ends that stands and has the highest confidence. Links that read the same from both ends match
-- either way.
SELECT l.link_id
FROM neurigraph.links AS l
WHERE l.relation = %(relation)s AND l.ended_at IS NULL AND l.verdict <> 'rejected' AND (
    (l.from_id = %(from_id)s AND l.to_id = %(to_id)s)
    OR (l.bidirectional AND l.from_id = %(to_id)s AND l.to_id = %(from_id)s)
)
ORDER BY l.confidence DESC, l.link_id
LIMIT 1;

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

-- name: withdraw_doubt
-- Close open actions about a link after somebody decided about it, so that nobody is asked again.
UPDATE neurigraph.actions AS a SET
    state = CASE WHEN %(verdict)s = 'confirmed' THEN 'executed' ELSE 'rejected' END,
    decided_at = clock_timestamp(),
    finished_at = clock_timestamp()
FROM neurigraph.links AS l
WHERE l.link_id = %(link_id)s AND a.user_id = l.user_id AND a.kind = 'link' AND a.origin = 'doubt'
    AND a.state = 'open' AND a.details ->> 'relation' = l.relation
    AND coalesce(a.fact_id, a.record_id) = l.from_id
    AND coalesce(a.other_fact_id, a.other_record_id, a.other_node_id) = l.to_id;

-- name: register_key
INSERT INTO neurigraph.signing_keys AS k (user_id, persona_id, peer_name, public_key, registered_by)
VALUES (%(user_id)s, %(persona_id)s, %(peer_name)s, %(public_key)s, %(registered_by)s)
ON CONFLICT DO NOTHING
RETURNING
    k.key_id AS signing_key_id, k.holder, encode(k.public_key, 'base64') AS public_key, k.registered_at,
    k.registered_by, k.rotated_at, k.revoked_at;

-- name: keys
-- Keys, newest first: one by its id, the current one with some bytes, or a page. Rotated and revoked keys are left out
-- unless the caller asks for them.
SELECT
    k.key_id AS signing_key_id,
    k.holder,
    encode(k.public_key, 'base64') AS public_key,
    k.registered_at,
    k.registered_by,
    k.rotated_at,
    k.revoked_at
FROM neurigraph.signing_keys AS k
WHERE (%(user_id)s::uuid IS NULL OR k.user_id = %(user_id)s)
    AND (%(key_id)s::uuid IS NULL OR k.key_id = %(key_id)s)
    AND (%(public_key)s::bytea IS NULL OR k.public_key = %(public_key)s)
    AND (%(with_ended)s OR (k.rotated_at IS NULL AND k.revoked_at IS NULL))
    AND (k.registered_at, k.key_id) < (%(at)s::timestamptz, %(id)s::uuid)
ORDER BY k.registered_at DESC, k.key_id DESC
LIMIT %(limit)s;

-- name: retire_key
-- Rotate a key, and return the holder of the next key.
UPDATE neurigraph.signing_keys AS k SET rotated_at = now()
WHERE k.key_id = %(key_id)s AND k.rotated_at IS NULL AND k.revoked_at IS NULL
RETURNING k.persona_id, k.peer_name;

-- name: revoke_key
UPDATE neurigraph.signing_keys AS k SET revoked_at = coalesce(k.revoked_at, now())
WHERE k.key_id = %(key_id)s
RETURNING
    k.key_id AS signing_key_id, k.holder, encode(k.public_key, 'base64') AS public_key, k.registered_at,
    k.registered_by, k.rotated_at, k.revoked_at;

-- name: is_writer
SELECT neurigraph.writing_persona() IS NOT NULL AS writes;

-- name: sources_at
-- The newest version of each source at some addresses, without the source of the given record.
SELECT DISTINCT ON (s.url)
    s.url,
    s.source_id
FROM neurigraph.sources AS s
WHERE s.user_id = %(user_id)s AND s.url = ANY(%(addresses)s) AND s.url <> ALL(
    SELECT coalesce(o.url, '') FROM neurigraph.sources AS o
    INNER JOIN neurigraph.record_index AS r ON o.user_id = r.user_id AND o.source_id = r.source_id
    WHERE r.record_id = %(record_id)s
)
ORDER BY s.url, s.version DESC, s.source_id;

-- name: facts_of_record
SELECT
    f.fact_id,
    f.statement,
    f.first_message,
    f.last_message
FROM neurigraph.facts AS f
WHERE f.record_id = %(record_id)s
ORDER BY f.seq;

-- name: links_at
-- The links of a fact, of a record and its facts, or the link with an id, newest first: stored links, verdicts on
-- facts, versions of facts, and the digests of the record. With `stands`, rejected and ended links are left out.
WITH asked AS MATERIALIZED (
    SELECT f.fact_id AS id FROM neurigraph.facts AS f
    WHERE f.record_id = %(record_id)s
    UNION ALL
    SELECT a.id FROM (VALUES (%(record_id)s::uuid), (%(fact_id)s::uuid)) AS a (id)
    WHERE a.id IS NOT NULL
),

stored AS (
    SELECT l.link_id FROM asked AS a INNER JOIN neurigraph.links AS l ON a.id = l.from_id
    UNION
    SELECT l.link_id FROM asked AS a INNER JOIN neurigraph.links AS l ON a.id = l.to_id
    UNION
    SELECT %(link_id)s::uuid AS link_id
),

judged AS (
    SELECT v.link_id FROM asked AS a INNER JOIN neurigraph.fact_verdicts AS v ON a.id = v.later_id
    UNION
    SELECT v.link_id FROM asked AS a INNER JOIN neurigraph.fact_verdicts AS v ON a.id = v.earlier_id
    UNION
    SELECT %(link_id)s::uuid AS link_id
),

-- The versions that the caller sees and that stand, each with the version before.
chained AS (
    SELECT
        o.fact_id,
        lag(o.fact_id) OVER (PARTITION BY o.root_id ORDER BY o.version) AS earlier_id
    FROM neurigraph.facts AS o
    WHERE o.root_id IN (SELECT f.root_id FROM asked AS a INNER JOIN neurigraph.facts AS f ON a.id = f.fact_id)
        AND o.status <> 'archived' AND o.forgotten_at IS NULL AND (o.forget_after IS NULL OR o.forget_after > now())
),

-- The links that are computed: from verdicts, from versions, and from digests.
computed AS (
    SELECT
        v.link_id,
        v.link_id AS place,
        'verdict' AS computed_from,
        NULL::uuid AS from_digest_id,
        v.later_id AS from_fact_id,
        l.record_id AS from_record_id,
        v.earlier_id AS to_fact_id,
        e.record_id AS to_record_id,
        CASE v.verdict WHEN 'updates' THEN 'supersedes' ELSE v.verdict END AS relation,
        v.confidence AS strength,
        v.confidence,
        v.verdict = 'contradicts' AS bidirectional,
        CASE v.judged_by WHEN 'offline' THEN 'rule:offline' ELSE 'model:' || v.judged_by END AS observed_by,
        CASE v.judged_by WHEN 'offline' THEN 'rule' ELSE 'model' END AS detected_by,
        CASE WHEN v.user_id = neurigraph.asking_user_id() THEN v.reason END AS reason,
        ARRAY(SELECT generate_series(l.first_message, least(l.last_message, l.first_message + 31))) AS messages,
        CASE
            WHEN v.undone_at IS NOT NULL THEN 'rejected' WHEN v.confirmed_at IS NOT NULL THEN 'confirmed'
            ELSE 'unverified'
        END AS verdict,
        coalesce(v.undone_by, v.confirmed_by) AS verdict_by,
        coalesce(v.undone_at, v.confirmed_at) AS verdict_at,
        v.judged_at AS created_at
    FROM judged AS j
    INNER JOIN neurigraph.fact_verdicts AS v ON j.link_id = v.link_id
    INNER JOIN neurigraph.facts AS l ON v.later_id = l.fact_id
    INNER JOIN neurigraph.facts AS e ON v.earlier_id = e.fact_id
    WHERE v.verdict IN ('contradicts', 'elaborates', 'supports', 'depends_on')
        OR (v.effect = 'supersedes' AND l.root_id <> e.root_id)
    UNION ALL
    SELECT
        NULL AS link_id,
        md5('supersedes' || o.fact_id || c.earlier_id)::uuid AS place,
        'versions' AS computed_from,
        NULL AS from_digest_id,
        o.fact_id AS from_fact_id,
        o.record_id AS from_record_id,
        e.fact_id AS to_fact_id,
        e.record_id AS to_record_id,
        'supersedes' AS relation,
        1 AS strength,
        o.confidence,
        false AS bidirectional,
        'pipeline:versions' AS observed_by,
        'rule' AS detected_by,
        NULL AS reason,
        ARRAY(SELECT generate_series(o.first_message, least(o.last_message, o.first_message + 31))) AS messages,
        'unverified' AS verdict,
        NULL AS verdict_by,
        NULL AS verdict_at,
        o.recorded_at AS created_at
    FROM chained AS c
    INNER JOIN neurigraph.facts AS o ON c.fact_id = o.fact_id
    INNER JOIN neurigraph.facts AS e ON c.earlier_id = e.fact_id
    WHERE c.fact_id IN (SELECT a.id FROM asked AS a) OR c.earlier_id IN (SELECT a.id FROM asked AS a)
    UNION ALL
    SELECT
        NULL AS link_id,
        md5('derived_from' || d.digest_id || r.record_id)::uuid AS place,
        'digest' AS computed_from,
        d.digest_id AS from_digest_id,
        NULL AS from_fact_id,
        NULL AS from_record_id,
        NULL AS to_fact_id,
        r.record_id AS to_record_id,
        'derived_from' AS relation,
        1 AS strength,
        1 AS confidence,
        false AS bidirectional,
        CASE d.made_by WHEN 'offline' THEN 'rule:offline' ELSE 'model:' || d.made_by END AS observed_by,
        CASE d.made_by WHEN 'offline' THEN 'rule' ELSE 'model' END AS detected_by,
        NULL AS reason,
        ARRAY[]::integer [] AS messages,
        'unverified' AS verdict,
        NULL AS verdict_by,
        NULL AS verdict_at,
        d.made_at AS created_at
    FROM neurigraph.digest_records AS r
    INNER JOIN neurigraph.digests AS d ON r.digest_id = d.digest_id
    WHERE r.record_id = %(record_id)s
),

found AS (
    SELECT
        l.link_id,
        l.link_id AS place,
        NULL::text AS computed_from,
        NULL::uuid AS from_digest_id,
        l.from_fact_id,
        l.from_record_id,
        l.to_fact_id,
        l.to_record_id,
        l.to_node_id,
        l.to_source_id,
        l.relation,
        l.strength,
        l.confidence,
        l.bidirectional,
        lower(l.valid) AS valid_from,
        upper(l.valid) AS valid_until,
        l.observed_by,
        l.detected_by::text AS detected_by,
        l.reason,
        l.messages,
        l.verdict::text AS verdict,
        l.verdict_by,
        l.verdict_at,
        l.created_at,
        l.ended_by,
        l.ended_at,
        l.signature,
        l.end_signature,
        l.key_id,
        l.end_key_id
    FROM stored AS s
    INNER JOIN neurigraph.links AS l ON s.link_id = l.link_id
    UNION ALL
    SELECT
        c.link_id,
        c.place,
        c.computed_from,
        c.from_digest_id,
        c.from_fact_id,
        c.from_record_id,
        c.to_fact_id,
        c.to_record_id,
        NULL AS to_node_id,
        NULL AS to_source_id,
        c.relation,
        c.strength,
        c.confidence,
        c.bidirectional,
        NULL AS valid_from,
        NULL AS valid_until,
        c.observed_by,
        c.detected_by,
        c.reason,
        c.messages,
        c.verdict,
        c.verdict_by,
        c.verdict_at,
        c.created_at,
        NULL AS ended_by,
        NULL AS ended_at,
        NULL AS signature,
        NULL AS end_signature,
        NULL AS key_id,
        NULL AS end_key_id
    FROM computed AS c
)

SELECT
    f.*,
    k.public_key,
    k.holder,
    k.revoked_at,
    e.public_key AS end_public_key,
    e.holder AS end_holder,
    e.revoked_at AS end_revoked_at,
    coalesce(t.forward, replace(f.relation, '_', ' ')) AS forward,
    coalesce(t.backward, '← ' || replace(f.relation, '_', ' ')) AS backward,
    coalesce(f.from_fact_id, f.from_record_id) IN (SELECT a.id FROM asked AS a) OR f.link_id = %(link_id)s AS is_out,
    coalesce(b.statement, d.title) AS from_text,
    coalesce(
        u.statement,
        s.title,
        (SELECT n.node_path FROM neurigraph.path_of(f.to_node_id) AS n)
    ) AS to_text
FROM found AS f
LEFT JOIN neurigraph.relation_words() AS t ON f.relation = t.relation
LEFT JOIN neurigraph.signing_keys AS k ON f.key_id = k.key_id
LEFT JOIN neurigraph.signing_keys AS e ON f.end_key_id = e.key_id
LEFT JOIN neurigraph.facts AS b ON f.from_fact_id = b.fact_id
LEFT JOIN neurigraph.digests AS d ON f.from_digest_id = d.digest_id
LEFT JOIN neurigraph.facts AS u ON f.to_fact_id = u.fact_id
LEFT JOIN neurigraph.sources AS s ON f.to_source_id = s.source_id
WHERE (f.created_at, f.place) < (%(at)s::timestamptz, %(id)s::uuid)
    AND (NOT %(stands)s OR (f.verdict <> 'rejected' AND f.ended_at IS NULL))
    AND (%(relation)s::text IS NULL OR f.relation = %(relation)s)
ORDER BY f.created_at DESC, f.place DESC
LIMIT %(limit)s;
