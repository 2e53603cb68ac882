-- Segments: leases, returns, and completion.

-- name: hold_batch
-- Hold the lock of a batch in a session of the process that works on it. The lock ends with the session.
SELECT pg_advisory_lock(hashtextextended('neurigraph.batch:' || %(batch_id)s::text, 0));

-- name: expire_leases
-- Return segments to the queue whose lease expired, or whose process ended. If a worker held several segments, any of
-- them may have killed it: none loses its attempt, and each runs alone from now on. A segment that ran alone has used
-- its attempt; after the last attempt it waits for a person. A segment in its commit is locked and passed over, because
-- its worker lives.
WITH silent AS (
    SELECT
        t.trigger_id,
        t.batch_id
    FROM neurigraph.storage_triggers AS t
    WHERE t.state = 'claimed' AND (
        t.claimed_until < now()
        OR t.claimed_by LIKE 'process:%%'
        AND pg_try_advisory_xact_lock_shared(hashtextextended('neurigraph.batch:' || t.batch_id, 0))
    )
    ORDER BY t.trigger_id
    FOR NO KEY UPDATE SKIP LOCKED
),

counted AS (
    SELECT
        s.trigger_id,
        NOT EXISTS (
            SELECT FROM neurigraph.storage_triggers AS o
            WHERE o.batch_id = s.batch_id AND o.state = 'claimed' AND o.trigger_id <> s.trigger_id
        ) AS alone
    FROM silent AS s
),

expired AS (
    UPDATE neurigraph.storage_triggers AS t SET
        state = CASE
            WHEN c.alone AND t.attempts >= %(max_attempts)s THEN 'failed'::neurigraph.trigger_state
            ELSE 'pending'::neurigraph.trigger_state
        END,
        attempts = CASE WHEN c.alone THEN t.attempts ELSE t.attempts - 1 END,
        deaths = t.deaths + 1,
        batch_id = NULL,
        claimed_by = NULL,
        claimed_until = NULL,
        next_attempt_at = now(),
        last_error = 'its run ended ' || CASE t.deaths WHEN 0 THEN 'once' ELSE t.deaths + 1 || ' times' END
            || ' without storing it: the log of the run says why, or the process died (docs/operation.md)'
    FROM counted AS c
    WHERE t.trigger_id = c.trigger_id
    RETURNING t.trigger_id, t.user_id, t.state, t.attempts, t.last_error
),

given_up AS (
    INSERT INTO neurigraph.pipeline_failures (trigger_id, user_id, step, error, attempts)
    SELECT
        e.trigger_id,
        e.user_id,
        'run',
        e.last_error,
        e.attempts
    FROM expired AS e
    WHERE e.state = 'failed'
)

SELECT count(*) AS expired
FROM expired;

-- name: open_batches
-- Batches with current leases. The sensor requests their runs again, and run keys make repeated requests harmless. A
-- segment of a source that has not ended waits since it was cut off, an imported one since it arrived.
SELECT
    t.batch_id,
    count(*) AS segments,
    sum(t.token_count)::bigint AS tokens,
    bool_or(t.token_count > %(large_tokens)s) AS large,
    greatest(0, extract(EPOCH FROM now() - min(greatest(coalesce(s.ended_at, t.created_at), s.created_at))))::integer
        AS waited_seconds
FROM neurigraph.storage_triggers AS t
INNER JOIN neurigraph.sources AS s ON t.source_id = s.source_id
WHERE t.state = 'claimed' AND t.claimed_by = %(claimed_by)s
GROUP BY t.batch_id
ORDER BY min(t.created_at), t.batch_id;

-- name: silent_batches
-- Batches of sensors whose lease has expired. A segment in its commit is locked and passed over: its worker lives.
SELECT DISTINCT silent.batch_id
FROM (
    SELECT t.batch_id FROM neurigraph.storage_triggers AS t
    WHERE t.state = 'claimed' AND t.claimed_until < now() AND t.claimed_by LIKE '%%\_sensor'
    ORDER BY t.trigger_id
    FOR NO KEY UPDATE SKIP LOCKED
) AS silent;

-- name: lease_due
-- Lease due segments, limited by number and tokens. Users take turns: the user with the fewest tokens, in work and in
-- segments before this one, comes first, so that no backlog of one user holds up another. A user's own segments go
-- oldest first. A large segment runs alone, and so does a segment whose process died.
WITH RECURSIVE waiting (user_id) AS (
    (
        SELECT t.user_id FROM neurigraph.storage_triggers AS t
        WHERE t.state = 'pending' AND (%(user_id)s::uuid IS NULL OR t.user_id = %(user_id)s::uuid)
        ORDER BY t.user_id
        LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT t.user_id FROM neurigraph.storage_triggers AS t
        WHERE t.state = 'pending' AND t.user_id > w.user_id AND %(user_id)s::uuid IS NULL
        ORDER BY t.user_id
        LIMIT 1
    )
    FROM waiting AS w
    WHERE w.user_id IS NOT NULL
),

at_work AS (
    SELECT
        t.user_id,
        sum(t.token_count) AS tokens
    FROM neurigraph.storage_triggers AS t
    WHERE t.state = 'claimed'
    GROUP BY t.user_id
),

turns AS (
    SELECT
        t.trigger_id,
        coalesce(a.tokens, 0) + sum(t.token_count) OVER (
            PARTITION BY w.user_id
            ORDER BY t.next_attempt_at, t.ended_at, t.first_message, t.trigger_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) - t.token_count AS tokens_before
    FROM waiting AS w
    CROSS JOIN LATERAL (
        SELECT
            d.trigger_id,
            d.token_count,
            d.next_attempt_at,
            s.ended_at,
            d.first_message
        FROM neurigraph.storage_triggers AS d
        INNER JOIN neurigraph.sources AS s ON d.source_id = s.source_id
        WHERE d.state = 'pending' AND d.user_id = w.user_id AND d.next_attempt_at <= now()
            AND (%(with_large)s OR d.token_count <= %(large_tokens)s)
            AND (
                %(trigger_type)s::neurigraph.trigger_type IS NULL
                OR d.trigger_type = %(trigger_type)s::neurigraph.trigger_type
            )
        ORDER BY d.next_attempt_at, s.ended_at, d.first_message, d.trigger_id
        LIMIT %(max_segments)s
    ) AS t
    LEFT JOIN at_work AS a ON w.user_id = a.user_id
),

candidates AS (
    SELECT
        t.trigger_id,
        t.token_count,
        t.deaths > 0 OR t.token_count > %(large_tokens)s AS solitary,
        u.tokens_before,
        t.next_attempt_at,
        s.ended_at,
        t.first_message
    FROM turns AS u
    INNER JOIN neurigraph.storage_triggers AS t ON u.trigger_id = t.trigger_id
    INNER JOIN neurigraph.sources AS s ON t.source_id = s.source_id
    WHERE t.state = 'pending'
    ORDER BY u.tokens_before, t.next_attempt_at, s.ended_at, t.first_message, t.trigger_id
    LIMIT %(max_segments)s
    FOR UPDATE OF t SKIP LOCKED
),

counted AS (
    SELECT
        c.trigger_id,
        c.solitary,
        first_value(c.solitary) OVER in_order AS first_solitary,
        sum(c.token_count) FILTER (WHERE NOT c.solitary) OVER in_order AS running_tokens,
        row_number() OVER in_order AS place
    FROM candidates AS c
    WINDOW in_order AS (ORDER BY c.tokens_before, c.next_attempt_at, c.ended_at, c.first_message, c.trigger_id)
)

UPDATE neurigraph.storage_triggers AS t SET
    state = 'claimed',
    batch_id = %(batch_id)s,
    claimed_by = %(claimed_by)s,
    claimed_until = now() + make_interval(secs => %(lease_seconds)s),
    attempts = t.attempts + 1
FROM counted AS c
WHERE t.trigger_id = c.trigger_id AND (
    c.place = 1 OR (NOT c.first_solitary AND NOT c.solitary AND c.running_tokens <= %(max_tokens)s)
)
RETURNING t.trigger_id;

-- name: renew_leases
-- Renew the leases of a batch, or end them, with 0 seconds. A segment in its commit is locked and passed over: nobody
-- takes its lease, and waiting would hold up the others. Nobody waits for the disk: a renewal that a crash of the
-- server loses only ends the lease earlier.
UPDATE neurigraph.storage_triggers AS t SET claimed_until = now() + make_interval(secs => %(lease_seconds)s)
FROM (
    SELECT s.trigger_id FROM neurigraph.storage_triggers AS s
    WHERE s.batch_id = %(batch_id)s AND s.state = 'claimed'
    ORDER BY s.trigger_id
    FOR NO KEY UPDATE SKIP LOCKED
) AS free
WHERE t.trigger_id = free.trigger_id AND set_config('synchronous_commit', 'off', true) = 'off';

-- name: return_unfinished
-- Return the segments of a run that was cut off. The attempt does not count, because it says nothing about the
-- segments.
UPDATE neurigraph.storage_triggers SET
    state = 'pending', attempts = attempts - 1, batch_id = NULL, claimed_by = NULL, claimed_until = NULL
WHERE batch_id = %(batch_id)s AND state = 'claimed';

-- name: return_canceled
-- Return the segments of a canceled run, except a segment in its commit, which is locked because its process still
-- lives.
UPDATE neurigraph.storage_triggers AS t SET
    state = 'pending', attempts = t.attempts - 1, batch_id = NULL, claimed_by = NULL, claimed_until = NULL
FROM (
    SELECT s.trigger_id FROM neurigraph.storage_triggers AS s
    WHERE s.batch_id = %(batch_id)s AND s.state = 'claimed'
    ORDER BY s.trigger_id
    FOR NO KEY UPDATE SKIP LOCKED
) AS free
WHERE t.trigger_id = free.trigger_id;

-- name: segments
-- The segments that a batch still holds, oldest first, or one segment. A segment with messages of others is not a
-- persona's segment.
SELECT
    t.trigger_id,
    t.user_id,
    u.slug AS user_slug,
    s.kind AS source_kind,
    s.source_id,
    s.external_id AS source_external_id,
    s.title,
    CASE
        WHEN NOT EXISTS (
            SELECT FROM neurigraph.messages AS m
            WHERE m.source_id = s.source_id AND m.seq BETWEEN t.first_message AND t.last_message
                AND m.received_through IS NOT NULL AND m.persona_id IS DISTINCT FROM s.persona_id
        ) THEN s.persona_id
    END AS persona_id,
    (
        SELECT left(string_agg(p.entity_context, ' ' ORDER BY p.container_tag), 3000)
        FROM neurigraph.source_spaces AS i
        INNER JOIN neurigraph.spaces AS p ON i.space_id = p.space_id
        WHERE i.source_id = s.source_id
    ) AS about,
    (
        SELECT a.display_name FROM neurigraph.user_accounts AS a
        WHERE a.user_id = t.user_id
    ) AS owner_name,
    t.trigger_type,
    t.first_message,
    t.last_message,
    t.token_count,
    t.attempts,
    n.pinned,
    n.node_id AS pinned_node_id,
    n.importance,
    n.tags
FROM neurigraph.storage_triggers AS t
INNER JOIN neurigraph.sources AS s ON t.source_id = s.source_id
INNER JOIN neurigraph.users AS u ON t.user_id = u.user_id
LEFT JOIN neurigraph.notes AS n ON t.source_id = n.source_id AND t.first_message = n.message
WHERE (t.batch_id = %(batch_id)s AND t.state = 'claimed') OR t.trigger_id = %(trigger_id)s
ORDER BY s.ended_at, t.first_message, t.trigger_id;

-- name: trigger_of_record
SELECT t.trigger_id
FROM {schema}.metadata_records AS r
INNER JOIN neurigraph.storage_triggers AS t
    ON r.source_id = t.source_id AND r.first_message BETWEEN t.first_message AND t.last_message
WHERE r.record_id = %(record_id)s;

-- name: messages
-- The messages of some segments, of each in their order.
SELECT
    w.place,
    m.seq,
    m.role,
    m.author,
    m.content,
    m.tool_calls,
    m.tool_event,
    m.token_count,
    m.occurred_at,
    m.utc_offset,
    m.external_id,
    m.key_id,
    m.persona_id,
    m.received_through,
    m.received_at,
    m.section
FROM unnest(%(source_ids)s::uuid [], %(first_messages)s::integer [], %(last_messages)s::integer [])
    WITH ORDINALITY AS w (source_id, first_message, last_message, place)
INNER JOIN neurigraph.messages AS m
    ON w.source_id = m.source_id AND m.seq BETWEEN w.first_message AND w.last_message
ORDER BY w.place, m.seq;

-- name: return_segment
-- Return a failed segment: retry it later, or, after the last attempt or a permanent fault, leave it to a person. An
-- attempt that does not count is subtracted.
WITH given_back AS (
    UPDATE neurigraph.storage_triggers AS t SET
        attempts = t.attempts - (NOT %(counts)s)::integer,
        state = CASE
            WHEN %(final)s OR (%(counts)s AND t.attempts >= %(max_attempts)s) THEN 'failed'::neurigraph.trigger_state
            ELSE 'pending'::neurigraph.trigger_state
        END,
        batch_id = NULL,
        claimed_by = NULL,
        claimed_until = NULL,
        deaths = 0,
        next_attempt_at = now() + make_interval(secs => %(delay_seconds)s),
        last_error = %(error)s
    WHERE t.trigger_id = %(trigger_id)s AND t.state = 'claimed' AND t.batch_id = %(batch_id)s
    RETURNING t.trigger_id, t.user_id, t.state, t.attempts
),

given_up AS (
    INSERT INTO neurigraph.pipeline_failures (trigger_id, user_id, step, error, attempts)
    SELECT
        g.trigger_id,
        g.user_id,
        %(step)s,
        %(error)s,
        g.attempts
    FROM given_back AS g
    WHERE g.state = 'failed'
)

SELECT g.state
FROM given_back AS g;

-- name: lock_leases
-- Lock the leases, as the first statement of every commit: without its lease, no segment is stored.
SELECT t.trigger_id
FROM neurigraph.storage_triggers AS t
WHERE t.trigger_id = ANY(%(trigger_ids)s) AND t.batch_id = %(batch_id)s AND t.state = 'claimed'
ORDER BY t.trigger_id
FOR UPDATE;

-- name: finish
-- Mark a segment as stored, drop the content of its messages unless it is kept, and set the highest message up to which
-- all messages of the source are stored, without a gap.
WITH stored AS (
    UPDATE neurigraph.storage_triggers SET
        state = 'stored',
        stored_at = now(),
        bodies_kept = %(bodies_kept)s,
        deaths = 0,
        batch_id = NULL,
        claimed_by = NULL,
        claimed_until = NULL,
        last_error = NULL
    WHERE trigger_id = %(trigger_id)s
),

dropped AS (
    UPDATE neurigraph.messages SET content = NULL, tool_calls = NULL, tool_event = NULL
    WHERE source_id = %(source_id)s AND seq BETWEEN %(first_message)s AND %(last_message)s AND NOT %(bodies_kept)s
)

UPDATE neurigraph.sources AS s SET stored_through = coalesce((
    SELECT min(t.first_message) - 1 FROM neurigraph.storage_triggers AS t
    WHERE t.source_id = s.source_id AND t.state <> 'stored' AND t.trigger_id <> %(trigger_id)s
), s.triggered_through)
WHERE s.source_id = %(source_id)s;

-- name: advance_stored
-- Set the highest message up to which all messages are stored, without a gap.
UPDATE neurigraph.sources AS s SET stored_through = coalesce((
    SELECT min(t.first_message) - 1 FROM neurigraph.storage_triggers AS t
    WHERE t.source_id = s.source_id AND t.state <> 'stored'
), s.triggered_through)
WHERE s.source_id = %(source_id)s;

-- name: queue
-- The numbers of segments that wait, run and need a person.
SELECT
    count(*) FILTER (WHERE t.state = 'pending') AS pending,
    count(*) FILTER (WHERE t.state = 'pending' AND t.next_attempt_at <= now()) AS due,
    count(*) FILTER (WHERE t.state = 'claimed') AS claimed,
    count(*) FILTER (WHERE t.state = 'failed') AS failed,
    count(*) FILTER (WHERE t.state = 'stored') AS stored,
    min(t.next_attempt_at) FILTER (WHERE t.state = 'pending') AS next_attempt_at,
    coalesce(extract(EPOCH FROM now() - min(t.next_attempt_at) FILTER (
        WHERE t.state = 'claimed' OR (t.state = 'pending' AND t.next_attempt_at <= now())
    )), 0)::double precision AS age_seconds
FROM neurigraph.storage_triggers AS t
WHERE %(user_id)s::uuid IS NULL OR t.user_id = %(user_id)s::uuid;

-- name: count_undetected
-- The number of sources that ended with unstored messages that no trigger covers yet.
SELECT count(*) AS sources
FROM neurigraph.sources AS s
WHERE s.ended_at IS NOT NULL AND s.triggered_through < s.last_message AND NOT s.held;
