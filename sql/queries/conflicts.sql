-- Conflicts: facts of shown messages that another fact updates or contradicts, as far as the caller sees both.

-- name: about_messages
-- Planned once a connection. Verdicts that a statement of some messages was updated or is contradicted, unless somebody
-- took the verdict back, with both statements and their days, for facts that the caller sees.
SELECT
    l.statement AS later_statement,
    e.statement AS earlier_statement,
    least(lower(l.occurred), coalesce(li.occurred_at, li.created_at)) AS later_said_at,
    least(lower(e.occurred), coalesce(ei.occurred_at, ei.created_at)) AS earlier_said_at,
    l.record_id AS later_record_id,
    e.record_id AS earlier_record_id,
    l.first_message AS later_first,
    e.first_message AS earlier_first,
    l.last_message AS later_last,
    e.last_message AS earlier_last,
    v.verdict,
    v.effect
FROM unnest(%(record_ids)s::uuid [], %(messages)s::integer []) AS q (record_id, message)
INNER JOIN neurigraph.facts AS f ON q.record_id = f.record_id AND q.message BETWEEN f.first_message AND f.last_message
INNER JOIN neurigraph.fact_verdicts AS v ON f.fact_id IN (v.later_id, v.earlier_id)
INNER JOIN neurigraph.facts AS l ON v.later_id = l.fact_id
INNER JOIN neurigraph.facts AS e ON v.earlier_id = e.fact_id
INNER JOIN neurigraph.record_index AS li ON l.record_id = li.record_id
INNER JOIN neurigraph.record_index AS ei ON e.record_id = ei.record_id
WHERE v.verdict IN ('updates', 'contradicts') AND v.undone_at IS NULL AND l.status <> 'archived'
    AND (v.effect <> 'flagged' OR v.confidence >= %(least)s)
GROUP BY v.later_id, v.earlier_id, l.fact_id, e.fact_id, li.record_id, ei.record_id
ORDER BY (v.effect = 'flagged'), v.confidence DESC, v.later_id, v.earlier_id
LIMIT %(most)s;

-- name: conflicting_messages
-- Return messages whose facts were updated or are contradicted, by verdicts that the caller sees: the record, the first
-- and the last message of each fact, and whether the list is complete.
SELECT
    coalesce(
        jsonb_agg(DISTINCT jsonb_build_array(f.record_id, f.first_message, f.last_message)), jsonb_build_array()
    ) AS stated,
    count(*) < 2 * %(most)s AS are_all
FROM (
    SELECT
        v.later_id,
        v.earlier_id
    FROM neurigraph.fact_verdicts AS v
    WHERE v.user_id = %(user_id)s AND v.verdict IN ('updates', 'contradicts') AND v.undone_at IS NULL
        AND (v.effect <> 'flagged' OR v.confidence >= %(least)s)
    LIMIT %(most)s
) AS v
CROSS JOIN LATERAL (VALUES (v.later_id), (v.earlier_id)) AS s (fact_id)
INNER JOIN neurigraph.facts AS f ON s.fact_id = f.fact_id;
