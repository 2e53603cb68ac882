-- Facts, and the records that wait to be read for them.

-- name: insert_pending
-- Let records wait to be read. A record that already waits is due again.
INSERT INTO neurigraph.pending_facts (record_id, user_id)
SELECT r.record_id, r.user_id FROM neurigraph.record_index AS r
WHERE r.record_id = ANY(%(record_ids)s)
ON CONFLICT (record_id) DO UPDATE SET next_attempt_at = now(), attempts = 0;

-- name: to_read
-- The given records in which this model has found no facts and that state no facts themselves, or all given records.
SELECT r.record_id
FROM neurigraph.record_index AS r
WHERE r.record_id = ANY(%(record_ids)s) AND (
    %(again)s OR NOT EXISTS (
        SELECT FROM neurigraph.facts AS f
        WHERE f.record_id = r.record_id AND f.extractor IN (%(extractor)s, 'stated')
    )
);

-- name: known_facts
-- Lock the facts of a record. Facts about which, or about whose links, people have decided something are kept.
SELECT
    f.fact_id,
    f.seq,
    f.first_message,
    f.last_message,
    f.statement,
    f.pinned OR EXISTS (SELECT FROM neurigraph.fact_deltas AS d WHERE d.fact_id = f.fact_id)
    OR EXISTS (SELECT FROM neurigraph.facts AS c WHERE c.root_id = f.root_id AND c.fact_id <> f.fact_id)
    OR EXISTS (
        SELECT FROM neurigraph.links AS l
        WHERE f.fact_id IN (l.from_id, l.to_id) AND (l.detected_by = 'person' OR l.verdict_by IS NOT NULL)
    ) AS is_kept
FROM neurigraph.facts AS f
WHERE f.record_id = %(record_id)s
ORDER BY f.seq
FOR UPDATE;

-- name: taken_ids
-- Which ids facts of other records have: facts whose messages a split took there.
SELECT f.fact_id FROM neurigraph.facts AS f
WHERE f.fact_id = ANY(%(fact_ids)s) AND f.record_id <> %(record_id)s;

-- name: forgotten_statements
SELECT f.statement_key FROM neurigraph.forgotten_facts AS f
WHERE f.record_id = %(record_id)s;

-- name: delete_facts
DELETE FROM neurigraph.facts AS f
WHERE f.record_id = %(record_id)s AND f.fact_id <> ALL(%(kept)s);

-- name: renumber_facts
UPDATE neurigraph.facts AS f SET seq = n.seq
FROM unnest(%(fact_ids)s::uuid [], %(seqs)s::integer []) AS n (fact_id, seq)
WHERE f.fact_id = n.fact_id;

-- name: write_facts
-- Write the facts of one record, given as JSON. Facts that the record had before keep their states and the time at
-- which they were recorded.
INSERT INTO neurigraph.facts (
    fact_id, record_id, user_id, seq, first_message, last_message, author, statement, kind, stated_as, who,
    where_context, why, how, subject, predicate, object, occurred, expires_at, confidence, importance, impact,
    extractor, statement_key
)
SELECT
    f.fact_id, %(record_id)s, %(user_id)s, f.seq, f.first_message, f.last_message, f.author, f.statement, f.kind,
    f.stated_as, f.who, f.where_context, f.why, f.how, f.subject, f.predicate, f.object,
    CASE WHEN f.occurred_from IS NOT NULL OR f.occurred_until IS NOT NULL
        THEN tstzrange(f.occurred_from, f.occurred_until)
    END,
    f.expires_at, f.confidence, f.importance, f.impact, %(extractor)s, f.statement_key
FROM jsonb_to_recordset(%(facts)s::jsonb) AS f (
    fact_id uuid, seq integer, first_message integer, last_message integer, author text, statement text,
    kind neurigraph.fact_kind, stated_as neurigraph.fact_stated_as, who text [], where_context text, why text,
    how text, subject text, predicate text, object text, occurred_from timestamptz, occurred_until timestamptz,
    expires_at timestamptz, confidence real, importance real, impact neurigraph.fact_impact,
    statement_key bigint
)
ON CONFLICT (fact_id) DO UPDATE SET
    (
        seq, first_message, last_message, author, kind, stated_as, who, where_context, why, how, subject, predicate,
        object, occurred, expires_at, confidence, importance, impact, extractor
    ) = (
        excluded.seq, excluded.first_message, excluded.last_message, excluded.author, excluded.kind,
        excluded.stated_as, excluded.who, excluded.where_context, excluded.why, excluded.how, excluded.subject,
        excluded.predicate, excluded.object, excluded.occurred, excluded.expires_at, excluded.confidence,
        excluded.importance, excluded.impact, excluded.extractor
    );

-- name: stated_fact
-- Return the fields that a note gives to its fact, by the record of the note; no row for other records.
SELECT
    n.source_id,
    n.message,
    n.fact,
    n.follows
FROM neurigraph.record_index AS r
INNER JOIN neurigraph.notes AS n ON r.user_id = n.user_id AND r.source_id = n.source_id
WHERE r.record_id = %(record_id)s AND n.message = %(message)s AND n.fact IS NOT NULL;

-- name: lock_chain
-- Lock the versions of the fact that a new fact follows, against other followers.
SELECT
    c.root_id,
    c.version
FROM neurigraph.facts AS f
INNER JOIN neurigraph.facts AS c ON f.root_id = c.root_id
WHERE f.fact_id = %(follows)s AND f.user_id = %(user_id)s
ORDER BY c.version DESC
FOR UPDATE;

-- name: state_fact
-- Store a stated fact with its version and the decisions that people made when they stated it. The decisions are a part
-- of the creation, so they have no delta.
INSERT INTO neurigraph.facts (
    fact_id, record_id, user_id, root_id, version, seq, first_message, last_message, author, statement, kind,
    stated_as, who, where_context, why, how, subject, predicate, object, occurred, expires_at, confidence, importance,
    impact, extractor, valid_until, pinned, tags, metadata, forget_after, statement_key
)
SELECT
    f.fact_id, %(record_id)s, %(user_id)s, coalesce(%(root_id)s, f.fact_id), %(version)s, 1,
    %(message)s AS first_message, %(message)s AS last_message,
    f.author, f.statement, f.kind, f.stated_as, f.who, f.where_context, f.why, f.how, f.subject, f.predicate,
    f.object,
    CASE WHEN f.occurred_from IS NOT NULL OR f.occurred_until IS NOT NULL
        THEN tstzrange(f.occurred_from, f.occurred_until)
    END,
    f.expires_at, 1, f.importance, f.impact, 'stated', f.valid_until, f.pinned, f.tags, f.metadata, f.forget_after,
    f.statement_key
FROM jsonb_to_record(%(fact)s::jsonb) AS f (
    fact_id uuid, author text, statement text, kind neurigraph.fact_kind,
    stated_as neurigraph.fact_stated_as, who text [], where_context text, why text, how text, subject text,
    predicate text, object text, occurred_from timestamptz, occurred_until timestamptz, expires_at timestamptz,
    importance real, impact neurigraph.fact_impact, valid_until timestamptz, pinned boolean, tags text [],
    metadata jsonb, forget_after timestamptz, statement_key bigint
)
ON CONFLICT (fact_id) DO NOTHING;

-- name: waiting
SELECT
    count(*) AS records,
    count(*) FILTER (WHERE p.since < now() - make_interval(secs => %(overdue_seconds)s)) AS overdue,
    min(p.since) AS since
FROM neurigraph.pending_facts AS p;

-- name: of_user
-- The facts of a graph before one of them.
SELECT f.* FROM neurigraph.facts AS f
WHERE f.user_id = %(user_id)s AND (f.recorded_at, f.fact_id) < (%(at)s::timestamptz, %(id)s::uuid);

-- name: of_ids
-- Planned once a connection. Some facts of a graph.
SELECT f.* FROM neurigraph.facts AS f
WHERE f.user_id = %(user_id)s AND f.fact_id = ANY(%(fact_ids)s::uuid []);

-- name: facts
-- Facts, newest first. Versions, superseding facts and restatements are those that the caller sees.
SELECT
    f.fact_id,
    f.record_id,
    i.node_id,
    n.node_path,
    i.source_kind,
    i.source_id,
    f.seq,
    f.first_message,
    f.last_message,
    f.author,
    coalesce(i.occurred_at, i.created_at) AS said_at,
    d.received_through,
    f.statement,
    f.kind,
    f.stated_as,
    f.who,
    f.where_context AS "where",
    f.why,
    f.how,
    f.subject,
    f.predicate,
    f.object,
    lower(f.occurred) AS occurred_from,
    upper(f.occurred) AS occurred_until,
    f.expires_at,
    f.valid_until,
    f.confidence,
    f.importance,
    f.impact,
    f.extractor,
    f.recorded_at,
    f.updated_at,
    f.confirmed_at,
    s.status,
    s.status = 'superseded' AS superseded,
    u.superseded_by,
    u.superseded_at,
    coalesce(u.disputed_by, ARRAY[]::uuid []) AS disputed_by,
    v.root_id,
    v.version,
    u.superseded_by IS NULL AS is_latest,
    c.canonical_id,
    c.source_count,
    c.said_count,
    c.last_said_at,
    f.pinned,
    f.tags,
    f.metadata,
    f.forgotten_at IS NOT NULL OR coalesce(f.forget_after <= now(), false) AS is_forgotten,
    f.forget_after,
    f.forgotten_at,
    f.forget_reason
FROM ({found}) AS f
INNER JOIN neurigraph.record_index AS i ON f.record_id = i.record_id
LEFT JOIN neurigraph.sources AS d ON i.source_id = d.source_id
CROSS JOIN LATERAL neurigraph.path_of(i.node_id) AS n
CROSS JOIN LATERAL (
    SELECT
        (array_agg(o.fact_id ORDER BY o.version))[1] AS root_id,
        count(*) FILTER (WHERE o.version <= f.version) AS version
    FROM neurigraph.facts AS o
    WHERE o.root_id = f.root_id
        AND (o.fact_id = f.fact_id OR (o.forgotten_at IS NULL AND (o.forget_after IS NULL OR o.forget_after > now())))
) AS v
CROSS JOIN LATERAL neurigraph.replacing(f.fact_id) AS u
CROSS JOIN LATERAL (
    SELECT
        CASE
            WHEN f.status = 'archived' THEN 'archived'
            WHEN u.superseded_by IS NOT NULL OR i.superseded THEN 'superseded'
            WHEN u.disputed_by IS NOT NULL THEN 'disputed'
            ELSE f.status::text
        END AS status
) AS s
CROSS JOIN LATERAL (
    SELECT
        -- The canonical fact is the shared one that was said first, so it does not depend on the order in which records
        -- were stored.
        (array_agg(
            o.fact_id
            ORDER BY coalesce(p.privacy = 'private', false), coalesce(r.occurred_at, r.created_at), o.fact_id
        ))[1] AS canonical_id,
        count(DISTINCT r.source_id) AS source_count,
        count(*) AS said_count,
        max(coalesce(r.occurred_at, r.created_at)) AS last_said_at
    FROM neurigraph.facts AS o
    INNER JOIN neurigraph.record_index AS r ON o.record_id = r.record_id
    LEFT JOIN neurigraph.sources AS p ON r.source_id = p.source_id
    WHERE o.user_id = f.user_id
        AND o.statement_key = f.statement_key
        AND (
            o.fact_id = f.fact_id OR (
                o.status <> 'archived' AND o.forgotten_at IS NULL AND (o.forget_after IS NULL OR o.forget_after > now())
            )
        )
) AS c
WHERE (%(nodes)s::uuid [] IS NULL OR i.node_id = ANY(%(nodes)s))
    AND (%(record_id)s::uuid IS NULL OR f.record_id = %(record_id)s)
    AND (%(kind)s::neurigraph.fact_kind IS NULL OR f.kind = %(kind)s::neurigraph.fact_kind)
    AND (
        %(who)s::text IS NULL
        OR EXISTS (SELECT FROM unnest(f.who) AS w (name) WHERE lower(w.name) = lower(%(who)s::text))
    )
    AND (%(tags)s::text [] IS NULL OR f.tags @> %(tags)s::text [])
    AND (%(occurred_after)s::timestamptz IS NULL OR upper(f.occurred) > %(occurred_after)s)
    AND (%(occurred_before)s::timestamptz IS NULL OR lower(f.occurred) < %(occurred_before)s)
    AND (%(superseded)s::boolean IS NULL OR (s.status = 'superseded') = %(superseded)s)
    AND (CASE WHEN %(status)s::text IS NULL THEN s.status <> 'archived' OR %(fact_ids)s::uuid [] IS NOT NULL
        ELSE s.status = %(status)s::text END)
    AND (
        %(forgotten)s::boolean IS NULL
        OR (f.forgotten_at IS NOT NULL OR coalesce(f.forget_after <= now(), false)) = %(forgotten)s
    )
ORDER BY f.recorded_at DESC, f.fact_id DESC
LIMIT %(limit)s;

-- name: said_in
-- Return the records, sources and messages in which a fact and its restatements were said, oldest first, as far as the
-- caller sees them.
SELECT
    o.fact_id,
    o.record_id,
    t.file_id,
    i.node_id,
    i.source_kind,
    i.source_id,
    p.title AS source_title,
    coalesce(p.privacy = 'private', false) AS is_private,
    o.first_message,
    o.last_message,
    o.author,
    coalesce(i.occurred_at, i.created_at) AS occurred_at,
    p.received_through,
    coalesce(m.messages, jsonb_build_array()) AS messages
FROM neurigraph.facts AS f
INNER JOIN neurigraph.facts AS o
    ON f.user_id = o.user_id AND f.statement_key = o.statement_key
INNER JOIN neurigraph.record_index AS i ON o.record_id = i.record_id
LEFT JOIN neurigraph.sources AS p ON i.source_id = p.source_id
LEFT JOIN LATERAL (
    SELECT x.file_id FROM neurigraph.file_index AS x
    WHERE x.record_id = o.record_id
    ORDER BY x.file_id
    LIMIT 1
) AS t ON true
LEFT JOIN LATERAL (
    SELECT
        jsonb_agg(
            jsonb_build_object(
                'message', w.seq, 'role', w.role, 'author', w.author, 'occurred_at', w.occurred_at,
                'received_through', w.received_through
            ) ORDER BY w.seq
        ) AS messages
    FROM neurigraph.messages AS w
    WHERE w.source_id = p.source_id AND w.seq BETWEEN o.first_message AND least(o.last_message, o.first_message + 31)
) AS m ON true
WHERE f.fact_id = %(fact_id)s
    AND (
        o.fact_id = f.fact_id OR (
            o.status <> 'archived' AND o.forgotten_at IS NULL AND (o.forget_after IS NULL OR o.forget_after > now())
        )
    )
ORDER BY is_private, occurred_at, o.fact_id
LIMIT 100;

-- name: versions
-- The versions of a fact that the caller sees, the first version first.
SELECT o.fact_id
FROM neurigraph.facts AS f
INNER JOIN neurigraph.facts AS o ON f.root_id = o.root_id
WHERE f.fact_id = %(fact_id)s
    AND (o.fact_id = f.fact_id OR (o.forgotten_at IS NULL AND (o.forget_after IS NULL OR o.forget_after > now())))
ORDER BY o.version;

-- name: versions_before
-- The version before each of some facts, as far as the caller sees it.
SELECT
    f.fact_id,
    o.fact_id AS before_id
FROM neurigraph.facts AS f
INNER JOIN neurigraph.facts AS o ON f.root_id = o.root_id AND f.version = o.version + 1
WHERE f.fact_id = ANY(%(fact_ids)s) AND o.status <> 'archived'
    AND o.forgotten_at IS NULL AND (o.forget_after IS NULL OR o.forget_after > now());

-- name: changes
-- The changes of some facts that the caller may see, newest first.
SELECT
    d.fact_id,
    d.w_coordinate AS changed_at,
    d.operation,
    d.old_values AS before,
    d.new_values AS after,
    d.authored_by
FROM neurigraph.fact_deltas AS d
WHERE d.fact_id = ANY(%(fact_ids)s)
ORDER BY d.w_coordinate DESC, d.fact_id
LIMIT 500;

-- name: writable_fact
-- Whether the caller may change a fact; no row if the caller cannot see it.
SELECT
    f.user_id,
    f.record_id,
    i.node_id,
    i.source_id,
    coalesce(p.privacy = 'private', false) AS is_private,
    f.extractor = 'stated' AND i.source_kind = 'note' AS is_by_hand,
    neurigraph.may_write_node(i.node_id) AS writable
FROM neurigraph.facts AS f
INNER JOIN neurigraph.record_index AS i ON f.record_id = i.record_id
LEFT JOIN neurigraph.sources AS p ON i.source_id = p.source_id
WHERE f.fact_id = %(fact_id)s;

-- name: restatements
-- The facts that say the same as a fact without being versions of it, either archived or not, as far as the caller may
-- change them.
SELECT o.fact_id
FROM neurigraph.facts AS f
INNER JOIN
    neurigraph.facts AS o
ON f.user_id = o.user_id AND f.statement_key = o.statement_key AND f.root_id <> o.root_id
INNER JOIN neurigraph.record_index AS i ON o.record_id = i.record_id
WHERE f.fact_id = %(fact_id)s AND (o.status = 'archived') = %(archived)s AND neurigraph.may_write_node(i.node_id)
ORDER BY o.fact_id;

-- name: words_of
-- Return the fields that the next version of a fact takes over.
SELECT
    jsonb_build_object(
        'statement', f.statement, 'kind', f.kind, 'stated_as', f.stated_as, 'who', f.who, 'where_context',
        f.where_context, 'why', f.why, 'how', f.how, 'subject', f.subject, 'predicate', f.predicate, 'object',
        f.object, 'occurred_from', lower(f.occurred), 'occurred_until', upper(f.occurred), 'expires_at', f.expires_at,
        'importance', f.importance, 'impact', f.impact, 'pinned', f.pinned, 'tags', f.tags, 'metadata', f.metadata
    ) AS words
FROM neurigraph.facts AS f
WHERE f.fact_id = %(fact_id)s;

-- name: change_fact
-- Write the given fields of a change. A later time, or none, keeps the fact from being forgotten.
UPDATE neurigraph.facts AS f SET
    status = coalesce(c.status, f.status),
    confirmed_at = coalesce(c.confirmed_at, f.confirmed_at),
    pinned = coalesce(c.pinned, f.pinned),
    tags = coalesce(c.tags, f.tags),
    metadata = coalesce(c.metadata, f.metadata),
    valid_until = CASE WHEN %(change)s::jsonb ? 'valid_until' THEN c.valid_until ELSE f.valid_until END,
    forget_after = CASE WHEN %(change)s::jsonb ? 'forget_after' THEN c.forget_after ELSE f.forget_after END,
    forgotten_at = CASE WHEN %(change)s::jsonb ? 'forget_after' THEN NULL ELSE f.forgotten_at END,
    forget_reason = CASE WHEN %(change)s::jsonb ? 'forget_after' THEN NULL ELSE f.forget_reason END
FROM jsonb_to_record(%(change)s::jsonb) AS c (
    status neurigraph.fact_status, confirmed_at timestamptz, pinned boolean, tags text [], metadata jsonb,
    valid_until timestamptz, forget_after timestamptz
)
WHERE f.fact_id = %(fact_id)s
RETURNING f.fact_id;

-- name: nodes_with_facts
SELECT DISTINCT
    g.node_id,
    g.schema_name
FROM neurigraph.facts AS f
INNER JOIN neurigraph.record_index AS i ON f.record_id = i.record_id
INNER JOIN neurigraph.graph_index AS g ON i.node_id = g.node_id
ORDER BY g.node_id;

-- name: unproven_facts
-- Facts of a node's records that cite messages which their record does not have.
SELECT
    f.fact_id AS id,
    'a fact cites messages that its record does not have' AS fault
FROM neurigraph.facts AS f
INNER JOIN neurigraph.record_index AS i ON f.record_id = i.record_id
LEFT JOIN {schema}.metadata_records AS r ON f.record_id = r.record_id
WHERE i.node_id = %(node_id)s
    AND (
        r.record_id IS NULL OR f.first_message < r.first_message OR f.last_message > r.last_message
        OR f.user_id <> i.user_id
    );

-- name: too_many_facts
-- Records of a node whose facts have more words than a fifth of the record's words, and more than a short record may
-- have. A transcript has at least two bytes a word.
SELECT
    i.record_id AS id,
    'the facts of a record have more than a fifth of its words' AS fault
FROM neurigraph.record_index AS i
INNER JOIN {schema}.metadata_records AS r ON i.record_id = r.record_id
INNER JOIN {schema}.file_manifest AS m ON r.file_pointer = m.storage_path
CROSS JOIN LATERAL (
    SELECT sum(array_length(regexp_split_to_array(f.statement, ' '), 1)) AS words FROM neurigraph.facts AS f
    WHERE f.record_id = i.record_id AND f.extractor <> 'stated'
) AS s
WHERE i.node_id = %(node_id)s AND s.words > greatest(60, 0.2 * m.size_bytes / 2);
