-- Results of the steps of the ingestion job, while a batch holds their segments.

-- name: keep
-- Store the results of a step for the segments that the batch still holds. A locked segment gets no result: either it
-- is leaving the batch, or its lease is being renewed, and then the run returns it for lack of the result.
WITH held AS (
    SELECT
        t.trigger_id,
        t.user_id
    FROM neurigraph.storage_triggers AS t
    WHERE t.batch_id = %(batch_id)s AND t.state = 'claimed'
    FOR SHARE SKIP LOCKED
)

INSERT INTO neurigraph.step_results AS r (trigger_id, step, batch_id, user_id, result)
SELECT
    h.trigger_id,
    %(step)s,
    %(batch_id)s,
    h.user_id,
    n.result
FROM held AS h
INNER JOIN
    unnest(%(trigger_ids)s::uuid [], %(results)s::bytea []) AS n (trigger_id, result)
    ON h.trigger_id = n.trigger_id
ON CONFLICT (trigger_id, step) DO UPDATE SET batch_id = excluded.batch_id, result = excluded.result;

-- name: kept
-- The results of a step for the segments that the batch still holds.
SELECT
    r.trigger_id,
    r.result
FROM neurigraph.step_results AS r
INNER JOIN neurigraph.storage_triggers AS t ON r.trigger_id = t.trigger_id AND r.batch_id = t.batch_id
WHERE r.batch_id = %(batch_id)s AND r.step = %(step)s AND t.state = 'claimed';
