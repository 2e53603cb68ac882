-- Verdicts on pairs of facts, and the records that wait for them.

-- name: insert_pending
-- Let records wait for verdicts. A record that already waits is due again.
INSERT INTO neurigraph.pending_verdicts (record_id, user_id)
SELECT r.record_id, r.user_id FROM neurigraph.record_index AS r
WHERE r.record_id = ANY(%(record_ids)s) AND EXISTS (SELECT FROM neurigraph.facts AS f WHERE f.record_id = r.record_id)
ON CONFLICT (record_id) DO UPDATE SET next_attempt_at = now(), attempts = 0;

-- name: waiting
SELECT count(*) AS records FROM neurigraph.pending_verdicts;

-- name: lock_beliefs
-- Let one transaction at a time decide about the facts of a user.
SELECT pg_advisory_xact_lock(hashtextextended('neurigraph.beliefs:' || %(user_id)s::text, 0));

-- name: to_compare
-- The facts of a record to compare, and the known facts that stand about the same subjects or people, that the owner
-- said without a name, or that have some predicates, with their weight.
SELECT
    f.fact_id,
    f.record_id,
    f.statement,
    f.kind,
    f.confidence,
    f.subject,
    f.predicate,
    f.object,
    f.who,
    f.why,
    f.first_message AS message,
    f.pinned AS is_kept,
    o.is_own,
    u.display_name AS owner_name,
    -- A future event is as of when it was said, and so is a day that is a value, such as the day of an expiry.
    least(
        CASE WHEN f.predicate IS NULL OR f.predicate <> ALL(%(undated)s::text []) THEN lower(f.occurred) END,
        coalesce(m.occurred_at, i.occurred_at, i.created_at)
    ) AS said_at,
    least(
        CASE
            WHEN m.persona_id IS NOT NULL OR m.received_through IN ('web', 'peer') THEN 'document'
            WHEN f.confirmed_at IS NOT NULL THEN 'by_hand'
            -- A note by an agent's tools counts as said by the assistant, and not as written by hand.
            WHEN f.extractor = 'stated' AND i.source_kind = 'note' AND coalesce(m.role = 'user', true) THEN 'by_hand'
            WHEN i.source_kind = 'upload' OR m.role = 'tool' THEN 'document'
            WHEN m.role IN ('assistant', 'system') THEN 'assistant'
            ELSE 'statement'
        END::neurigraph.authority,
        CASE
            WHEN f.confirmed_at IS NULL AND f.stated_as IN ('inference', 'observation') THEN f.stated_as::text
            ELSE 'by_hand'
        END::neurigraph.authority
    ) AS authority
FROM neurigraph.facts AS f
INNER JOIN neurigraph.record_index AS i ON f.record_id = i.record_id
LEFT JOIN neurigraph.messages AS m
    ON i.source_id = m.source_id AND f.first_message = m.seq
LEFT JOIN neurigraph.user_accounts AS u ON f.user_id = u.user_id
CROSS JOIN LATERAL (
    SELECT
        coalesce(
            f.author IS NULL AND m.role = 'user' AND m.persona_id IS NULL
            AND (
                f.statement ~* '^user: "|\mthe user\M'
                OR coalesce(position(lower(u.display_name) IN lower(f.statement)) > 0, false)
            )
            AND coalesce(m.received_through NOT IN ('web', 'peer'), true) AND i.source_kind <> 'upload', false
        ) AS is_own
) AS o
WHERE f.user_id = %(user_id)s
    AND (%(record_id)s::uuid IS NULL OR f.record_id = %(record_id)s)
    AND (NOT %(owns)s::boolean OR o.is_own)
    AND (%(predicates)s::text [] IS NULL OR f.predicate = ANY(%(predicates)s::text []))
    AND (
        %(subjects)s::text [] IS NULL
        OR (
            neurigraph.first_word(f.subject) = ANY(%(firsts)s::text [])
            AND lower(f.subject) = ANY(%(subjects)s::text [])
        )
        OR f.who && %(who)s::text []
    )
    AND f.status <> 'archived' AND f.forgotten_at IS NULL AND (f.forget_after IS NULL OR f.forget_after > now())
    AND NOT i.quarantined AND NOT i.superseded
ORDER BY coalesce(lower(f.subject) = ANY(%(subjects)s::text []), false) DESC, f.recorded_at DESC, f.fact_id
LIMIT %(limit)s;

-- name: full_names
-- Names of subjects and people that begin with one of some first names. If several people share a first name, a node
-- without a surname gets its id in place of a surname.
SELECT f.subject AS name
FROM neurigraph.facts AS f
WHERE f.user_id = %(user_id)s AND f.subject IS NOT NULL
    AND neurigraph.first_word(f.subject) = ANY(%(firsts)s::text [])
UNION
SELECT
    CASE
        WHEN g.node_name NOT LIKE '%% %%' AND count(*) OVER (PARTITION BY neurigraph.first_word(g.node_name)) > 1
            THEN g.node_name || ' ' || g.node_id
        ELSE g.node_name
    END AS name
FROM neurigraph.graph_index AS g
WHERE g.user_id = %(user_id)s AND g.concept_kind = 'person'
    AND neurigraph.first_word(g.node_name) = ANY(%(firsts)s::text []);

-- name: judged_pairs
-- Pairs of facts with a verdict, for some facts; if they are judged again, only those that a person decided about.
SELECT
    v.later_id,
    v.earlier_id
FROM neurigraph.fact_verdicts AS v
WHERE (v.later_id = ANY(%(fact_ids)s) OR v.earlier_id = ANY(%(fact_ids)s))
    AND (
        NOT %(again)s OR v.undone_at IS NOT NULL OR v.confirmed_at IS NOT NULL
        OR v.judged_by ~ '^[a-z]+:[0-9a-f]+-'
    );

-- name: verdict_of_model
-- Lock and return the verdict of a model on a pair, unless a person decided about it.
SELECT
    v.verdict,
    v.effect
FROM neurigraph.fact_verdicts AS v
WHERE v.later_id = %(later_id)s AND v.earlier_id = %(earlier_id)s
    AND v.undone_at IS NULL AND v.confirmed_at IS NULL AND v.judged_by !~ '^[a-z]+:[0-9a-f]+-'
FOR UPDATE;

-- name: drop_verdict
DELETE FROM neurigraph.fact_verdicts
WHERE later_id = %(later_id)s AND earlier_id = %(earlier_id)s;

-- name: standing
-- Lock some facts, and return whether they were taken back.
SELECT
    f.fact_id,
    f.status = 'archived' AS is_archived
FROM neurigraph.facts AS f
WHERE f.fact_id = ANY(%(fact_ids)s) AND f.user_id = %(user_id)s
ORDER BY f.fact_id
FOR UPDATE;

-- name: chain
-- Lock and return the versions of a fact's chain, the first version first.
SELECT f.fact_id FROM neurigraph.facts AS f
WHERE f.root_id = (SELECT o.root_id FROM neurigraph.facts AS o WHERE o.fact_id = %(fact_id)s)
ORDER BY f.version
FOR UPDATE;

-- name: anchors
-- For each fact of a chain, the fact beside which it entered the chain: by a verdict, or as the next version that
-- somebody stated.
SELECT
    CASE v.entered WHEN 'later' THEN v.later_id ELSE v.earlier_id END AS fact_id,
    CASE v.entered WHEN 'later' THEN v.earlier_id ELSE v.later_id END AS anchor_id,
    false AS is_stated
FROM neurigraph.fact_verdicts AS v
WHERE v.entered IS NOT NULL AND v.later_id = ANY(%(fact_ids)s) AND v.earlier_id = ANY(%(fact_ids)s)
UNION ALL
SELECT
    f.fact_id,
    n.follows AS anchor_id,
    true AS is_stated
FROM neurigraph.facts AS f
INNER JOIN neurigraph.record_index AS i ON f.record_id = i.record_id
INNER JOIN neurigraph.notes AS n ON i.source_id = n.source_id AND f.first_message = n.message
WHERE f.fact_id = ANY(%(fact_ids)s) AND f.extractor = 'stated' AND n.follows = ANY(%(fact_ids)s)
ORDER BY is_stated;

-- name: forget_entry
UPDATE neurigraph.fact_verdicts SET entered = NULL
WHERE (later_id, earlier_id) IN ((%(fact_id)s, %(anchor_id)s), (%(anchor_id)s, %(fact_id)s));

-- name: write_chain
-- Give facts the places of one chain, in the given order.
UPDATE neurigraph.facts AS f SET root_id = n.root_id, version = n.version
FROM (
    SELECT
        c.fact_id,
        (%(fact_ids)s::uuid [])[1] AS root_id,
        c.version
    FROM unnest(%(fact_ids)s::uuid []) WITH ORDINALITY AS c (fact_id, version)
) AS n
WHERE f.fact_id = n.fact_id AND (f.root_id, f.version) IS DISTINCT FROM (n.root_id, n.version::integer);

-- name: write_verdict
-- Write a verdict, unless the pair has one: a verdict that a person took back is not decided again.
INSERT INTO neurigraph.fact_verdicts (
    later_id, earlier_id, user_id, verdict, confidence, reason, missing, effect, judged_by
)
VALUES (
    %(later_id)s, %(earlier_id)s, %(user_id)s, %(verdict)s, %(confidence)s, %(reason)s, %(missing)s, %(effect)s,
    %(judged_by)s
)
ON CONFLICT DO NOTHING
RETURNING later_id;

-- name: write_approved
-- Write a person's decision that the later fact supersedes the earlier one, in place of any earlier verdict.
INSERT INTO neurigraph.fact_verdicts (
    later_id, earlier_id, user_id, verdict, confidence, reason, effect, judged_by
)
VALUES (%(later_id)s, %(earlier_id)s, %(user_id)s, 'updates', 1, %(reason)s, 'supersedes', %(judged_by)s)
ON CONFLICT (later_id, earlier_id) DO UPDATE SET
    verdict = excluded.verdict, confidence = excluded.confidence, reason = excluded.reason, missing = DEFAULT,
    effect = excluded.effect, judged_by = excluded.judged_by, judged_at = now(), undone_at = NULL, undone_by = NULL;

-- name: note_entry
UPDATE neurigraph.fact_verdicts SET entered = %(entered)s
WHERE later_id = %(later_id)s AND earlier_id = %(earlier_id)s;

-- name: decided
-- Lock and return verdicts about a fact, or about two facts, that have an effect and that nobody took back.
SELECT
    v.later_id,
    v.earlier_id,
    v.effect
FROM neurigraph.fact_verdicts AS v
WHERE v.user_id = %(user_id)s AND v.undone_at IS NULL AND v.effect <> 'none'
    AND %(fact_id)s IN (v.later_id, v.earlier_id)
    AND (%(other_id)s::uuid IS NULL OR %(other_id)s IN (v.later_id, v.earlier_id))
ORDER BY v.later_id, v.earlier_id
FOR UPDATE;

-- name: undo
UPDATE neurigraph.fact_verdicts SET
    undone_at = now(), undone_by = %(undone_by)s, confirmed_at = NULL, confirmed_by = NULL
WHERE later_id = %(later_id)s AND earlier_id = %(earlier_id)s;

-- name: confirm
-- Confirm a verdict. A verdict that was taken back can be confirmed only if it had no effect.
UPDATE neurigraph.fact_verdicts AS v SET
    confirmed_at = now(), confirmed_by = %(confirmed_by)s, undone_at = NULL, undone_by = NULL
WHERE v.later_id = %(later_id)s AND v.earlier_id = %(earlier_id)s
    AND (v.undone_at IS NULL OR v.effect IN ('none', 'flagged'))
RETURNING v.later_id;

-- name: superseding
-- Return pairs in which one fact supersedes another, within the chains of two facts.
WITH near AS (
    SELECT f.fact_id
    FROM neurigraph.facts AS o
    INNER JOIN neurigraph.facts AS f ON o.root_id = f.root_id
    WHERE o.fact_id IN (%(later_id)s, %(earlier_id)s)
)

SELECT
    v.later_id,
    v.earlier_id
FROM neurigraph.fact_verdicts AS v
WHERE v.effect = 'supersedes' AND v.undone_at IS NULL
    AND v.later_id IN (SELECT n.fact_id FROM near AS n) AND v.earlier_id IN (SELECT n.fact_id FROM near AS n);

-- name: withdraw_pair
-- Close open actions about two facts after somebody decided about the pair, so that nobody is asked again.
UPDATE neurigraph.actions SET state = 'rejected', decided_at = clock_timestamp(), finished_at = clock_timestamp()
WHERE state = 'open' AND origin = 'doubt' AND kind IN ('supersede', 'resolve')
    AND (fact_id, other_fact_id) IN ((%(later_id)s, %(earlier_id)s), (%(earlier_id)s, %(later_id)s));

-- name: withdraw_retracted
-- Close open actions about facts that somebody took back, because nobody has to choose between them any more.
UPDATE neurigraph.actions SET state = 'rejected', decided_at = clock_timestamp(), finished_at = clock_timestamp()
WHERE state = 'open' AND origin = 'doubt' AND kind = 'resolve'
    AND (fact_id = ANY(%(fact_ids)s::uuid []) OR other_fact_id = ANY(%(fact_ids)s::uuid []));

-- name: fallen
-- Lock and return open actions about beliefs that fell, for some facts.
SELECT
    a.action_id,
    a.fact_id,
    (a.details ->> 'before')::double precision AS before
FROM neurigraph.actions AS a
WHERE a.fact_id = ANY(%(fact_ids)s) AND a.reason = 'belief_fell' AND a.state = 'open'
FOR UPDATE;

-- name: withdraw_fallen
-- Close actions about a belief that rose again. The question comes back if the belief falls again.
UPDATE neurigraph.actions SET state = 'expired', decided_at = clock_timestamp(), finished_at = clock_timestamp()
WHERE action_id = ANY(%(action_ids)s);

-- name: dependants
-- The given facts, and the facts that depend on them within six steps.
WITH RECURSIVE resting AS (
    SELECT
        f.fact_id,
        0 AS depth
    FROM unnest(%(fact_ids)s::uuid []) AS f (fact_id)
    UNION
    SELECT
        n.fact_id,
        r.depth + 1 AS depth
    FROM resting AS r
    CROSS JOIN LATERAL (
        SELECT v.later_id AS fact_id FROM neurigraph.fact_verdicts AS v
        WHERE v.earlier_id = r.fact_id AND v.verdict = 'depends_on' AND v.undone_at IS NULL
        UNION ALL
        SELECT l.fact_id FROM neurigraph.stated_links(r.fact_id) AS l
        WHERE l.relation = 'depends_on' AND NOT l.is_start
    ) AS n
    WHERE r.depth < 6
)

SELECT DISTINCT r.fact_id FROM resting AS r
LIMIT 500;

-- name: grounds
-- Return the grounds of some facts, and of the facts that they depend on within six steps: the greatest confidence of
-- each source that says the same, and whether the facts stand.
WITH RECURSIVE resting AS (
    SELECT
        f.fact_id,
        0 AS depth
    FROM unnest(%(fact_ids)s::uuid []) AS f (fact_id)
    UNION
    SELECT
        n.fact_id,
        r.depth + 1 AS depth
    FROM resting AS r
    CROSS JOIN LATERAL (
        SELECT v.earlier_id AS fact_id FROM neurigraph.fact_verdicts AS v
        WHERE v.later_id = r.fact_id AND v.verdict = 'depends_on' AND v.undone_at IS NULL
        UNION ALL
        SELECT l.fact_id FROM neurigraph.stated_links(r.fact_id) AS l
        WHERE l.relation = 'depends_on' AND l.is_start
    ) AS n
    WHERE r.depth < 6
),

asked AS (
    SELECT DISTINCT r.fact_id FROM resting AS r
    LIMIT 1000
)

SELECT
    f.fact_id,
    s.confidences,
    f.status <> 'archived' AND u.superseded_by IS NULL AND NOT i.superseded
    AND (f.valid_until IS NULL OR f.valid_until > now()) AS stands,
    f.status = 'disputed' OR u.disputed_by IS NOT NULL OR EXISTS (
        SELECT FROM neurigraph.stated_links(f.fact_id) AS l
        INNER JOIN neurigraph.facts AS o ON l.fact_id = o.fact_id
        CROSS JOIN LATERAL neurigraph.replacing(o.fact_id) AS x
        WHERE l.relation = 'contradicts' AND o.status <> 'archived' AND o.forgotten_at IS NULL
            AND x.superseded_by IS NULL
    ) AS disputed,
    d.depends
FROM asked AS a
INNER JOIN neurigraph.facts AS f ON a.fact_id = f.fact_id
INNER JOIN neurigraph.record_index AS i ON f.record_id = i.record_id
CROSS JOIN LATERAL neurigraph.replacing(f.fact_id) AS u
CROSS JOIN LATERAL (
    SELECT array_agg(c.confidence ORDER BY c.source_id) AS confidences
    FROM (
        SELECT
            r.source_id,
            max(o.confidence) AS confidence
        FROM neurigraph.facts AS o
        INNER JOIN neurigraph.record_index AS r ON o.record_id = r.record_id
        WHERE o.user_id = f.user_id AND o.status <> 'archived' AND o.forgotten_at IS NULL AND o.fact_id IN (
            SELECT x.fact_id FROM neurigraph.facts AS x
            WHERE x.user_id = f.user_id AND x.statement_key = f.statement_key
            UNION ALL
            SELECT CASE v.later_id WHEN f.fact_id THEN v.earlier_id ELSE v.later_id END AS fact_id
            FROM neurigraph.fact_verdicts AS v
            WHERE (v.later_id = f.fact_id OR v.earlier_id = f.fact_id) AND v.verdict = 'same' AND v.undone_at IS NULL
            UNION ALL
            SELECT l.fact_id FROM neurigraph.stated_links(f.fact_id) AS l
            WHERE l.relation = 'duplicates'
        )
        GROUP BY r.source_id
    ) AS c
) AS s
CROSS JOIN LATERAL (
    SELECT coalesce(jsonb_object_agg(n.fact_id, n.strength), jsonb_build_object()) AS depends
    FROM (
        SELECT
            e.fact_id,
            max(e.strength) AS strength
        FROM (
            SELECT
                v.earlier_id AS fact_id,
                v.confidence AS strength
            FROM neurigraph.fact_verdicts AS v
            WHERE v.later_id = f.fact_id AND v.verdict = 'depends_on' AND v.undone_at IS NULL
            UNION ALL
            SELECT
                l.fact_id,
                l.strength
            FROM neurigraph.stated_links(f.fact_id) AS l
            WHERE l.relation = 'depends_on' AND l.is_start
        ) AS e
        GROUP BY e.fact_id
    ) AS n
) AS d;

-- name: verdicts_of
-- The verdicts on some facts, or on the facts of a record, with the fact on the other side, for facts that the caller
-- sees.
SELECT
    v.later_id,
    v.earlier_id,
    l.statement AS later_statement,
    e.statement AS earlier_statement,
    l.record_id AS later_record_id,
    e.record_id AS earlier_record_id,
    least(lower(l.occurred), coalesce(li.occurred_at, li.created_at)) AS later_said_at,
    least(lower(e.occurred), coalesce(ei.occurred_at, ei.created_at)) AS earlier_said_at,
    v.verdict,
    v.confidence,
    v.reason,
    v.missing,
    v.effect,
    v.undone_at,
    v.user_id = neurigraph.asking_user_id() AS is_owner
FROM neurigraph.fact_verdicts AS v
INNER JOIN neurigraph.facts AS l ON v.later_id = l.fact_id
INNER JOIN neurigraph.facts AS e ON v.earlier_id = e.fact_id
INNER JOIN neurigraph.record_index AS li ON l.record_id = li.record_id
INNER JOIN neurigraph.record_index AS ei ON e.record_id = ei.record_id
WHERE v.user_id = %(user_id)s
    AND (
        %(fact_ids)s::uuid [] IS NULL
        OR v.later_id = ANY(%(fact_ids)s) OR v.earlier_id = ANY(%(fact_ids)s)
    )
    AND (%(record_id)s::uuid IS NULL OR %(record_id)s IN (l.record_id, e.record_id))
ORDER BY v.confidence DESC, v.later_id, v.earlier_id
LIMIT 200;
