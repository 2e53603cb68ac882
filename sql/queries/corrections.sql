-- Corrections: people's words in the place of summaries, and the facts that it may supersede.

-- name: corrected
-- Of the records whose summary a person wrote last, the summary before people revised it, and when they did last.
SELECT
    d.record_id,
    (array_agg(d.delta_payload -> 'before' ->> 'summary' ORDER BY d.w_coordinate) FILTER (WHERE a.is_person))[1]
        AS before,
    max(d.w_coordinate) AS corrected_at
FROM neurigraph.delta_log AS d
CROSS JOIN LATERAL (SELECT neurigraph.kind_of_author(d.authored_by) IN ('user', 'persona') AS is_person) AS a
WHERE d.record_id = ANY(%(record_ids)s) AND d.delta_payload ->> 'operation' = 'revise'
    AND d.delta_payload -> 'after' ? 'summary'
GROUP BY d.record_id
HAVING (array_agg(a.is_person ORDER BY d.w_coordinate DESC))[1];

-- name: revised_summaries
-- The texts that a user wrote in the place of a record's summary, the oldest first, without those in quarantine.
SELECT
    d.delta_payload -> 'before' ->> 'summary' AS before,
    d.delta_payload -> 'after' ->> 'summary' AS after,
    d.authored_by
FROM neurigraph.delta_log AS d
WHERE d.record_id = %(record_id)s AND d.delta_payload ->> 'operation' = 'revise'
    AND d.delta_payload -> 'after' ? 'summary' AND starts_with(d.authored_by, 'user:')
    AND NOT EXISTS (SELECT FROM neurigraph.quarantined_deltas AS q WHERE q.delta_id = d.delta_id)
ORDER BY d.w_coordinate;

-- name: newest_versions
-- Lock the facts of a record that no other version supersedes, each with the values that a correction of it takes over.
SELECT
    f.fact_id,
    f.statement,
    f.object,
    jsonb_build_object('subject', f.subject, 'predicate', f.predicate) AS slot,
    jsonb_build_object(
        'first_message', f.first_message, 'last_message', f.last_message, 'author', f.author, 'kind', f.kind,
        'stated_as', f.stated_as, 'who', f.who, 'confidence', 1, 'importance', f.importance, 'impact', f.impact
    ) AS kept
FROM neurigraph.facts AS f
WHERE f.record_id = %(record_id)s AND f.status <> 'archived' AND NOT EXISTS (
    SELECT FROM neurigraph.facts AS o WHERE o.root_id = f.root_id AND o.version > f.version
)
ORDER BY f.seq
FOR UPDATE;
