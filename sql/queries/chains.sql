-- Faults of chains of versions of facts.

-- name: broken_chains
-- Facts of a node's records whose chain of versions has a gap, two facts of one number, or another root.
SELECT
    f.fact_id AS id,
    'the versions of a fact are not numbered without gaps' AS fault
FROM neurigraph.facts AS f
INNER JOIN neurigraph.record_index AS i ON f.record_id = i.record_id
WHERE i.node_id = %(node_id)s
    AND (
        (f.version = 1) <> (f.root_id = f.fact_id)
        OR EXISTS (
            SELECT FROM neurigraph.facts AS o
            WHERE o.root_id = f.root_id AND o.version = f.version AND o.fact_id <> f.fact_id
        )
        OR (
            f.version > 1 AND NOT EXISTS (
                SELECT FROM neurigraph.facts AS o
                WHERE o.root_id = f.root_id AND o.version = f.version - 1 AND o.user_id = f.user_id
            )
        )
    );

-- name: forked_chains
-- Facts of a node's records that stand beside another fact that replaced the same fact. Such facts are faults if no
-- link says that both may hold, and nobody decides or has decided between them. Facts that wait to be compared are left
-- out.
WITH standing AS (
    SELECT
        f.fact_id,
        f.record_id,
        f.root_id,
        f.version,
        f.statement_key,
        f.user_id,
        i.node_id
    FROM neurigraph.facts AS f
    INNER JOIN neurigraph.record_index AS i ON f.record_id = i.record_id
    CROSS JOIN LATERAL neurigraph.replacing(f.fact_id) AS u
    WHERE f.user_id = (SELECT g.user_id FROM neurigraph.graph_index AS g WHERE g.node_id = %(node_id)s)
        AND f.status <> 'archived' AND f.forgotten_at IS NULL AND u.superseded_by IS NULL
        AND NOT i.superseded AND NOT i.quarantined
        AND (f.forget_after IS NULL OR f.forget_after > now()) AND (f.valid_until IS NULL OR f.valid_until > now())
        AND NOT EXISTS (SELECT FROM neurigraph.pending_verdicts AS p WHERE p.record_id = f.record_id)
),

replaced AS (
    SELECT
        s.*,
        v.earlier_id
    FROM standing AS s
    INNER JOIN neurigraph.fact_verdicts AS v ON s.fact_id = v.later_id
    WHERE v.effect = 'supersedes' AND v.undone_at IS NULL
    UNION
    SELECT
        s.*,
        o.fact_id AS earlier_id
    FROM standing AS s
    INNER JOIN neurigraph.facts AS o ON s.root_id = o.root_id AND s.version > o.version
)

SELECT DISTINCT
    r.fact_id AS id,
    'another fact replaced the same one, and nobody decided which of both holds: take one of them back' AS fault
FROM replaced AS r
INNER JOIN replaced AS o ON r.earlier_id = o.earlier_id AND r.fact_id <> o.fact_id
WHERE r.node_id = %(node_id)s AND r.statement_key IS DISTINCT FROM o.statement_key
    AND NOT EXISTS (
        SELECT FROM neurigraph.fact_verdicts AS v
        WHERE (v.later_id, v.earlier_id) IN ((r.fact_id, o.fact_id), (o.fact_id, r.fact_id))
            AND (
                v.effect <> 'flagged' OR v.undone_at IS NOT NULL OR v.confirmed_at IS NOT NULL
                OR NOT EXISTS (
                    SELECT FROM neurigraph.actions AS a
                    WHERE a.state = 'failed'
                        AND (a.fact_id, a.other_fact_id)
                        IN ((r.fact_id, o.fact_id), (o.fact_id, r.fact_id))
                )
            )
    );

-- name: waiting_chain
-- The facts that are joined to a fact by updates that wait for a person, without superseded and retracted facts. The
-- fact that holds comes first, the newest last. Of two facts that end the same one, the one of higher confidence comes
-- last.
WITH RECURSIVE joined AS (
    SELECT %(fact_id)s::uuid AS fact_id
    UNION
    SELECT CASE v.later_id WHEN j.fact_id THEN v.earlier_id ELSE v.later_id END AS fact_id
    FROM joined AS j
    INNER JOIN neurigraph.fact_verdicts AS v ON j.fact_id IN (v.later_id, v.earlier_id)
    WHERE v.verdict = 'updates' AND v.effect = 'flagged' AND v.undone_at IS NULL
),

ranked AS (
    SELECT
        j.fact_id,
        count(v.later_id) AS place,
        max(v.confidence) AS confidence
    FROM joined AS j
    LEFT JOIN neurigraph.fact_verdicts AS v
        ON j.fact_id = v.later_id AND v.verdict = 'updates' AND v.undone_at IS NULL
            AND v.earlier_id IN (SELECT o.fact_id FROM joined AS o)
    GROUP BY j.fact_id
)

SELECT r.fact_id
FROM ranked AS r
INNER JOIN neurigraph.facts AS f ON r.fact_id = f.fact_id
CROSS JOIN LATERAL neurigraph.replacing(f.fact_id) AS x
WHERE f.status <> 'archived' AND f.forgotten_at IS NULL AND x.superseded_by IS NULL
ORDER BY r.place, r.confidence NULLS FIRST, r.fact_id;

-- name: withdraw_between
-- Close the open proposals among some facts but the one of the newest to supersede the one that holds.
UPDATE neurigraph.actions AS a SET
    state = 'expired', decided_at = clock_timestamp(), finished_at = clock_timestamp()
WHERE a.state = 'open' AND a.origin = 'doubt' AND a.kind = 'supersede'
    AND a.fact_id = ANY(%(fact_ids)s::uuid []) AND a.other_fact_id = ANY(%(fact_ids)s::uuid [])
    AND (a.fact_id, a.other_fact_id) <> (%(first)s, %(last)s);

-- name: settle_between
-- Let the updates that wait among the facts of one chain supersede, because a person approved the newest.
UPDATE neurigraph.fact_verdicts AS v SET
    confidence = 1, reason = %(reason)s, missing = DEFAULT, effect = 'supersedes', judged_by = %(judged_by)s,
    judged_at = now()
WHERE v.later_id = ANY(%(fact_ids)s::uuid []) AND v.earlier_id = ANY(%(fact_ids)s::uuid [])
    AND v.verdict = 'updates' AND v.effect = 'flagged' AND v.undone_at IS NULL;
