-- Webhooks: subscriptions of a user, and the outcome of their deliveries.

-- name: add
INSERT INTO neurigraph.webhooks (webhook_id, user_id, url, events, path_glob, author, secret_hash)
VALUES (
    %(webhook_id)s, %(user_id)s, %(url)s, %(events)s, %(path_glob)s, %(author)s, %(secret_hash)s
);

-- name: count_of_user
SELECT count(*) AS webhooks
FROM neurigraph.webhooks AS w
WHERE w.user_id = %(user_id)s;

-- name: webhooks
-- Return one webhook of the caller or all, oldest first, with the number of deliveries in each state.
SELECT
    w.webhook_id,
    w.url,
    w.events,
    w.path_glob,
    w.author,
    w.state,
    w.rotated_until,
    w.created_at,
    d.waiting,
    d.delivered,
    d.dead
FROM neurigraph.webhooks AS w
CROSS JOIN LATERAL (
    SELECT
        count(*) FILTER (WHERE o.state = 'waiting') AS waiting,
        count(*) FILTER (WHERE o.state = 'delivered') AS delivered,
        count(*) FILTER (WHERE o.state = 'dead') AS dead
    FROM neurigraph.webhook_deliveries AS o
    WHERE o.webhook_id = w.webhook_id
) AS d
WHERE w.user_id = %(user_id)s AND (%(webhook_id)s::uuid IS NULL OR w.webhook_id = %(webhook_id)s)
ORDER BY w.created_at, w.webhook_id;

-- name: change
UPDATE neurigraph.webhooks AS w SET
    url = %(url)s, events = %(events)s, path_glob = %(path_glob)s, author = %(author)s, state = %(state)s
WHERE w.webhook_id = %(webhook_id)s;

-- name: remove
DELETE FROM neurigraph.webhooks AS w WHERE w.webhook_id = %(webhook_id)s;

-- name: version
-- The row is locked, so that two rotations take turns.
SELECT w.secret_version
FROM neurigraph.webhooks AS w
WHERE w.webhook_id = %(webhook_id)s
FOR UPDATE;

-- name: rotate
UPDATE neurigraph.webhooks AS w SET
    secret_version = %(version)s,
    secret_hash = %(secret_hash)s,
    rotated_until = now() + make_interval(secs => %(seconds)s)
WHERE w.webhook_id = %(webhook_id)s;

-- name: test
SELECT neurigraph.test_webhook(%(webhook_id)s) AS delivery_id;

-- name: replay
SELECT neurigraph.replay_deliveries(%(webhook_id)s, %(delivery_id)s) AS replayed;

-- name: deliveries
-- Return the deliveries of one webhook, newest first.
SELECT
    d.delivery_id,
    d.event_id,
    e.event,
    e.occurred_at,
    d.state,
    d.attempts,
    d.last_status,
    d.last_error,
    CASE WHEN d.state = 'waiting' THEN d.next_attempt_at END AS next_attempt_at,
    d.created_at,
    d.finished_at
FROM neurigraph.webhook_deliveries AS d
INNER JOIN neurigraph.webhook_events AS e ON d.event_id = e.event_id
WHERE d.webhook_id = %(webhook_id)s
    AND (%(state)s::text IS NULL OR d.state = %(state)s)
    AND (%(delivery_id)s::uuid IS NULL OR d.delivery_id = %(delivery_id)s)
    AND (d.created_at, d.delivery_id) < (%(at)s::timestamptz, %(id)s::uuid)
ORDER BY d.created_at DESC, d.delivery_id DESC
LIMIT %(limit)s;

-- name: lease
-- Lease due deliveries, a few of each webhook, so that a slow receiver does not hold up the others; or one given
-- delivery of any webhook that is not gone. The number of attempts is the token of the lease.
WITH due AS MATERIALIZED (
    SELECT o.delivery_id
    FROM neurigraph.webhooks AS w
    CROSS JOIN LATERAL (
        SELECT
            d.delivery_id,
            d.next_attempt_at
        FROM neurigraph.webhook_deliveries AS d
        WHERE d.webhook_id = w.webhook_id AND d.state = 'waiting' AND d.next_attempt_at <= now()
            AND (%(delivery_id)s::uuid IS NULL OR d.delivery_id = %(delivery_id)s)
        ORDER BY d.next_attempt_at
        LIMIT %(of_each)s
        FOR UPDATE SKIP LOCKED
    ) AS o
    WHERE w.state = 'active' OR (w.state = 'paused' AND %(delivery_id)s::uuid IS NOT NULL)
    ORDER BY o.next_attempt_at
    LIMIT %(most)s
)

UPDATE neurigraph.webhook_deliveries AS d SET
    attempts = d.attempts + 1,
    next_attempt_at = now() + make_interval(secs => %(lease_seconds)s)
FROM due AS o, neurigraph.webhook_events AS e, neurigraph.webhooks AS w
WHERE d.delivery_id = o.delivery_id AND d.event_id = e.event_id AND d.webhook_id = w.webhook_id
RETURNING
    d.delivery_id,
    d.attempts,
    w.webhook_id,
    w.url,
    w.secret_version,
    w.secret_hash,
    coalesce(w.rotated_until > now(), false) AS is_rotating,
    neurigraph.is_withheld(e.record_id, e.node_id) AS is_withheld,
    e.event_id,
    e.event,
    e.occurred_at,
    e.author,
    e.node_id,
    e.record_id,
    e.fact_id,
    e.other_id,
    e.action_id,
    e.erasure_id;

-- name: settle
-- Store the outcomes of attempts. A lease that another worker has taken over changes nothing.
UPDATE neurigraph.webhook_deliveries AS d SET
    state = s.state,
    last_status = s.last_status,
    last_error = s.last_error,
    next_attempt_at = now() + make_interval(secs => s.delay_seconds),
    finished_at = CASE WHEN s.state <> 'waiting' THEN clock_timestamp() END
FROM unnest(
    %(delivery_ids)s::uuid [], %(attempts)s::integer [], %(states)s::text [], %(statuses)s::integer [],
    %(errors)s::text [], %(delays)s::double precision []
) AS s (delivery_id, attempts, state, last_status, last_error, delay_seconds)
WHERE d.delivery_id = s.delivery_id AND d.attempts = s.attempts AND d.state = 'waiting';

-- name: end_webhooks
-- End webhooks whose receivers answered 410.
UPDATE neurigraph.webhooks AS w SET state = 'gone'
WHERE w.webhook_id = ANY(%(webhook_ids)s) AND w.state = 'active';

-- name: next_due
-- Seconds until the next delivery is due, null if no delivery waits; and whether there are webhooks.
SELECT
    extract(EPOCH FROM min(d.next_attempt_at) - now())::double precision AS seconds,
    count(*) > 0 AS has_webhooks
FROM neurigraph.webhooks AS w
LEFT JOIN LATERAL (
    SELECT o.next_attempt_at
    FROM neurigraph.webhook_deliveries AS o
    WHERE o.webhook_id = w.webhook_id AND o.state = 'waiting'
    ORDER BY o.next_attempt_at
    LIMIT 1
) AS d ON true
WHERE w.state = 'active';

-- name: figures
-- Counts of deliveries: those of the last hour that are older than a minute, and all that wait.
SELECT
    count(*) FILTER (
        WHERE e.occurred_at > now() - interval '1 hour' AND e.occurred_at < now() - interval '1 minute'
            AND d.state <> 'withheld'
    ) AS tried,
    count(*) FILTER (
        WHERE e.occurred_at > now() - interval '1 hour' AND e.occurred_at < now() - interval '1 minute'
            AND d.state = 'delivered'
    ) AS arrived,
    count(*) FILTER (WHERE d.state = 'waiting') AS waiting,
    count(*) FILTER (WHERE d.state = 'dead') AS dead,
    percentile_cont(0.5) WITHIN GROUP (
        ORDER BY extract(EPOCH FROM d.finished_at - e.occurred_at)
    ) FILTER (
        WHERE d.state = 'delivered' AND e.occurred_at > now() - interval '1 hour'
    ) AS median_seconds
FROM neurigraph.webhook_deliveries AS d
INNER JOIN neurigraph.webhook_events AS e ON d.event_id = e.event_id
INNER JOIN neurigraph.webhooks AS w ON d.webhook_id = w.webhook_id
WHERE w.state <> 'paused';

-- name: drop_old
-- Delete events of days ago whose deliveries are all finished.
DELETE FROM neurigraph.webhook_events AS e
WHERE e.occurred_at < now() - make_interval(secs => %(seconds)s)
    AND NOT EXISTS (
        SELECT FROM neurigraph.webhook_deliveries AS d
        WHERE d.event_id = e.event_id AND d.state = 'waiting'
    );
