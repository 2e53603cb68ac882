-- Whether the installation reads, writes and ingests.

-- name: claims_are_valid
-- Whether the signed claims are valid: not if the database checks claims with the key of another secret.
SELECT neurigraph.claims() IS NOT NULL AS valid;

-- name: beat
INSERT INTO neurigraph.heartbeats AS h (name, beat_at) VALUES (%(name)s, now())
ON CONFLICT (name) DO UPDATE SET beat_at = excluded.beat_at;

-- name: heartbeats
SELECT
    h.name,
    extract(EPOCH FROM now() - h.beat_at)::double precision AS age_seconds
FROM neurigraph.heartbeats AS h;

-- name: queue_age
-- Seconds for which the oldest due segment has waited to be stored, also while a run stores it; 0 if no segment waits.
-- The pause before a retry does not count.
SELECT coalesce(extract(EPOCH FROM now() - least(
    (
        SELECT min(t.next_attempt_at) FROM neurigraph.storage_triggers AS t
        WHERE t.state = 'pending' AND t.next_attempt_at <= now()
    ),
    (SELECT min(t.next_attempt_at) FROM neurigraph.storage_triggers AS t WHERE t.state = 'claimed')
)), 0)::double precision AS age_seconds;

-- name: lagging_users
-- Users whose oldest segment has waited longer than the notice, with the seconds of its wait.
SELECT
    t.user_id,
    extract(EPOCH FROM now() - min(t.next_attempt_at))::double precision AS age_seconds
FROM neurigraph.storage_triggers AS t
WHERE t.state IN ('pending', 'claimed') AND t.next_attempt_at < now() - make_interval(secs => %(notice_seconds)s)
GROUP BY t.user_id;
