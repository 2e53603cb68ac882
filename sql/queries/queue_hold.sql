-- The hold of the queue: while a model provider refuses the account, one segment at a time tries whether the refusal
-- lasts.

-- name: hold
-- Hold the queue, or extend the hold: the pause before the next try doubles each time.
INSERT INTO neurigraph.queue_hold AS h (reason, next_try_at)
VALUES (%(reason)s, now() + make_interval(secs => %(first_pause)s))
ON CONFLICT (the_only) DO UPDATE SET
    reason = excluded.reason,
    tries = least(h.tries + 1, 1000),
    next_try_at = now() + make_interval(secs => least(%(first_pause)s * 2 ^ least(h.tries, 20), %(longest_pause)s))
RETURNING h.tries = 1 AS is_new;

-- name: current
SELECT
    h.reason,
    h.held_since,
    h.next_try_at
FROM neurigraph.queue_hold AS h;

-- name: lock
-- Whether a held queue may be tried now. The lock lets one process try at a time.
SELECT h.next_try_at <= now() AS is_due
FROM neurigraph.queue_hold AS h
FOR UPDATE;

-- name: try
-- Begin a try: the next try waits until the lease of this try has ended.
UPDATE neurigraph.queue_hold SET next_try_at = now() + make_interval(secs => %(lease_seconds)s);

-- name: end_try
-- End a try whose run ended without an outcome.
UPDATE neurigraph.queue_hold AS h SET next_try_at = least(h.next_try_at, now() + make_interval(secs => %(first_pause)s))
WHERE NOT EXISTS (
    SELECT FROM neurigraph.storage_triggers AS t
    WHERE t.state = 'claimed' AND t.claimed_until > now()
);

-- name: end
DELETE FROM neurigraph.queue_hold;
