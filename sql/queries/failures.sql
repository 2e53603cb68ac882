-- Failures: segments and uploads whose last attempt failed, and their replay.

-- name: list_failures
-- Failures, newest first. The caller sees the failures that its role permits, and may name a user.
SELECT
    f.failure_id,
    f.user_id,
    u.slug AS user_slug,
    s.kind AS source_kind,
    s.source_id,
    s.external_id AS source_external_id,
    p.file_name,
    f.trigger_id,
    t.trigger_type,
    t.first_message,
    t.last_message,
    t.token_count,
    coalesce(t.state::text, p.state::text) AS state,
    f.step,
    f.error,
    f.attempts,
    f.occurred_at,
    f.replayed_at
FROM neurigraph.pipeline_failures AS f
LEFT JOIN neurigraph.storage_triggers AS t ON f.trigger_id = t.trigger_id
INNER JOIN neurigraph.sources AS s ON s.source_id = coalesce(t.source_id, f.upload_id)
LEFT JOIN neurigraph.uploads AS p ON s.source_id = p.source_id
INNER JOIN neurigraph.users AS u ON f.user_id = u.user_id
WHERE (%(user_id)s::uuid IS NULL OR f.user_id = %(user_id)s::uuid)
    AND (%(with_replayed)s OR f.replayed_at IS NULL)
    AND (f.occurred_at, f.failure_id) < (%(at)s::timestamptz, %(id)s::uuid)
ORDER BY f.occurred_at DESC, f.failure_id DESC
LIMIT %(limit)s;

-- name: replay
SELECT
    r.failure_id,
    r.outcome
FROM neurigraph.replay_failures(%(failure_ids)s::uuid [], %(user_id)s::uuid) AS r;

-- name: replay_own
SELECT
    r.failure_id,
    r.outcome
FROM neurigraph.replay_own_failures(%(failure_ids)s::uuid []) AS r;

-- name: count_open
SELECT count(*) AS failures
FROM neurigraph.pipeline_failures AS f
WHERE f.replayed_at IS NULL;
