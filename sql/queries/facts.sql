-- Facts, and the records that wait to be read for them.

-- name: insert_pending
-- A record that waits already is due again.
INSERT INTO neurigraph.pending_facts (record_id, user_id)
SELECT r.record_id, r.user_id FROM neurigraph.record_index AS r
WHERE r.record_id = ANY(%(record_ids)s)
ON CONFLICT (record_id) DO UPDATE SET next_attempt_at = now(), attempts = 0;

-- name: to_read
-- Those of some records that this model has found no facts in, or all of them.
SELECT r.record_id
FROM neurigraph.record_index AS r
WHERE r.record_id = ANY(%(record_ids)s) AND (
    %(again)s OR NOT EXISTS (
        SELECT FROM neurigraph.facts AS f WHERE f.record_id = r.record_id AND f.extractor = %(extractor)s
    )
);

-- name: has_due
SELECT EXISTS (SELECT FROM neurigraph.pending_facts AS p WHERE p.next_attempt_at <= now()) AS due;

-- name: lease
-- Leases due records, those first that have waited longest.
WITH due AS (
    SELECT p.record_id
    FROM neurigraph.pending_facts AS p
    WHERE p.next_attempt_at <= now()
        AND (%(user_id)s::uuid IS NULL OR p.user_id = %(user_id)s::uuid)
        AND (%(record_ids)s::uuid [] IS NULL OR p.record_id = ANY(%(record_ids)s))
    ORDER BY p.next_attempt_at, p.record_id
    LIMIT %(limit)s
    FOR UPDATE SKIP LOCKED
)

UPDATE neurigraph.pending_facts AS p SET
    attempts = p.attempts + 1, next_attempt_at = now() + make_interval(secs => %(lease_seconds)s)
FROM due AS d
WHERE p.record_id = d.record_id
RETURNING p.record_id, p.user_id, p.attempts;

-- name: renew
-- Renews leases that nobody has taken over: an attempt of another run has another number.
UPDATE neurigraph.pending_facts AS p SET next_attempt_at = now() + make_interval(secs => %(lease_seconds)s)
FROM unnest(%(record_ids)s::uuid [], %(attempts)s::integer []) AS h (record_id, attempts)
WHERE p.record_id = h.record_id AND p.attempts = h.attempts;

-- name: postpone
UPDATE neurigraph.pending_facts SET
    next_attempt_at = now() + make_interval(secs => %(delay_seconds)s), last_error = %(error)s
WHERE record_id = %(record_id)s AND attempts = %(attempts)s;

-- name: settle
-- Ends the wait of a record, if this attempt still holds it.
DELETE FROM neurigraph.pending_facts AS p
WHERE p.record_id = %(record_id)s AND p.attempts = %(attempts)s
RETURNING p.record_id;

-- name: delete_facts
DELETE FROM neurigraph.facts AS f
WHERE f.record_id = %(record_id)s;

-- name: insert_facts
-- The facts of one record, as JSON. Facts that the record had before keep the time at which they were recorded.
INSERT INTO neurigraph.facts (
    fact_id, record_id, user_id, seq, first_message, last_message, author, statement, kind, stated_as, who,
    where_context, why, how, subject, predicate, object, occurred, expires_at, confidence, importance, impact,
    extractor, recorded_at
)
SELECT
    f.fact_id, %(record_id)s, %(user_id)s, f.seq, f.first_message, f.last_message, f.author, f.statement, f.kind,
    f.stated_as, f.who, f.where_context, f.why, f.how, f.subject, f.predicate, f.object,
    CASE WHEN f.occurred_from IS NOT NULL OR f.occurred_until IS NOT NULL
        THEN tstzrange(f.occurred_from, f.occurred_until)
    END,
    f.expires_at, f.confidence, f.importance, f.impact, %(extractor)s,
    coalesce((%(recorded)s::jsonb ->> f.fact_id::text)::timestamptz, now())
FROM jsonb_to_recordset(%(facts)s::jsonb) AS f (
    fact_id uuid, seq integer, first_message integer, last_message integer, author text, statement text,
    kind neurigraph.fact_kind, stated_as neurigraph.fact_stated_as, who text [], where_context text, why text,
    how text, subject text, predicate text, object text, occurred_from timestamptz, occurred_until timestamptz,
    expires_at timestamptz, confidence real, importance real, impact neurigraph.fact_impact
);

-- name: recorded
-- When each fact of a record was recorded.
SELECT coalesce(jsonb_object_agg(f.fact_id, f.recorded_at), jsonb_build_object()) AS recorded
FROM neurigraph.facts AS f
WHERE f.record_id = %(record_id)s;

-- name: waiting
SELECT
    count(*) AS records,
    count(*) FILTER (WHERE p.since < now() - make_interval(secs => %(overdue_seconds)s)) AS overdue,
    min(p.since) AS since
FROM neurigraph.pending_facts AS p;

-- name: facts
-- Newest first.
SELECT
    f.fact_id,
    f.record_id,
    i.node_id,
    n.node_path,
    i.source,
    f.seq,
    f.first_message,
    f.last_message,
    f.author,
    f.statement,
    f.kind,
    f.stated_as,
    f.who,
    f.where_context,
    f.why,
    f.how,
    f.subject,
    f.predicate,
    f.object,
    lower(f.occurred) AS occurred_from,
    upper(f.occurred) AS occurred_until,
    f.expires_at,
    f.confidence,
    f.importance,
    f.impact,
    f.extractor,
    f.recorded_at,
    coalesce(i.superseded, false) AS superseded
FROM neurigraph.facts AS f
INNER JOIN neurigraph.record_index AS i ON f.record_id = i.record_id
CROSS JOIN LATERAL (
    SELECT string_agg(a.node_name, '/' ORDER BY a.layer_depth) AS node_path
    FROM neurigraph.graph_index AS g INNER JOIN neurigraph.graph_index AS a ON a.node_id = ANY(g.path)
    WHERE g.node_id = i.node_id
) AS n
WHERE f.user_id = %(user_id)s
    AND (f.recorded_at, f.fact_id) < (%(at)s::timestamptz, %(id)s::uuid)
    AND (%(fact_ids)s::uuid [] IS NULL OR f.fact_id = ANY(%(fact_ids)s))
    AND (%(nodes)s::uuid [] IS NULL OR i.node_id = ANY(%(nodes)s))
    AND (%(record_id)s::uuid IS NULL OR f.record_id = %(record_id)s)
    AND (%(kind)s::neurigraph.fact_kind IS NULL OR f.kind = %(kind)s::neurigraph.fact_kind)
    AND (%(who)s::text IS NULL OR f.who @> ARRAY[%(who)s::text])
    AND (%(occurred_after)s::timestamptz IS NULL OR upper(f.occurred) > %(occurred_after)s)
    AND (%(occurred_before)s::timestamptz IS NULL OR lower(f.occurred) < %(occurred_before)s)
    AND (%(superseded)s::boolean IS NULL OR coalesce(i.superseded, false) = %(superseded)s)
ORDER BY f.recorded_at DESC, f.fact_id DESC
LIMIT %(limit)s;
