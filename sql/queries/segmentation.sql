-- Detection of segments: the places where sources are cut.

-- name: trigger_ended
-- Make a segment of each source that ended with messages that no trigger covers, unless the source is to be cut first.
-- Each version of a note is a segment of its own. A source that is being appended to is locked and waits for the next
-- tick.
WITH ended AS (
    SELECT
        s.source_id,
        s.user_id,
        s.triggered_through,
        s.last_message,
        s.untriggered_tokens
    FROM neurigraph.sources AS s
    WHERE s.kind = %(kind)s AND s.ended_at IS NOT NULL AND s.triggered_through < s.last_message AND NOT s.held
        AND (%(most_tokens)s::bigint IS NULL OR s.untriggered_tokens <= %(most_tokens)s::bigint)
    ORDER BY s.ended_at
    LIMIT %(limit)s
    FOR NO KEY UPDATE SKIP LOCKED
),

noted AS (
    INSERT INTO neurigraph.storage_triggers (
        user_id, source_id, trigger_type, first_message, last_message, token_count
    )
    SELECT
        e.user_id,
        e.source_id,
        %(trigger_type)s,
        coalesce(m.seq, e.triggered_through + 1),
        coalesce(m.seq, e.last_message),
        coalesce(m.token_count, e.untriggered_tokens)
    FROM ended AS e
    LEFT JOIN neurigraph.messages AS m
        ON %(kind)s = 'note' AND e.source_id = m.source_id AND e.triggered_through < m.seq
)

UPDATE neurigraph.sources AS s SET triggered_through = e.last_message, untriggered_tokens = 0
FROM ended AS e
WHERE s.source_id = e.source_id;

-- name: lock_open_tail
-- Lock the longest unstored tail of an open conversation that changed since segmentation last looked at it. A
-- conversation that is being appended to is locked already, and waits for the next tick.
SELECT
    s.source_id,
    s.user_id,
    s.triggered_through,
    s.last_message,
    s.untriggered_tokens
FROM neurigraph.sources AS s
WHERE s.kind = 'conversation' AND s.ended_at IS NULL AND s.tail_changed AND s.untriggered_tokens >= %(least_tokens)s
ORDER BY s.untriggered_tokens DESC
LIMIT 1
FOR NO KEY UPDATE SKIP LOCKED;

-- name: lock_ended_tail
-- Lock the longest unstored tail of a conversation that ended with more text than one segment takes.
SELECT
    s.source_id,
    s.user_id,
    s.triggered_through,
    s.last_message,
    s.untriggered_tokens
FROM neurigraph.sources AS s
WHERE s.kind = 'conversation' AND s.ended_at IS NOT NULL AND s.triggered_through < s.last_message
    AND s.untriggered_tokens > %(most_tokens)s
ORDER BY s.untriggered_tokens DESC
LIMIT 1
FOR NO KEY UPDATE SKIP LOCKED;

-- name: tail
-- The data that decides about breaks, without the text. A tool call with its result waits for no other message.
SELECT
    m.seq,
    m.role,
    m.author,
    m.token_count,
    m.complete,
    coalesce(jsonb_path_exists(m.tool_calls, '$[*] ? (!exists(@.result))'), false)
    OR coalesce(m.tool_event ->> 'type' = 'tool_use', false) AS calls
FROM neurigraph.messages AS m
WHERE m.source_id = %(source_id)s AND m.seq > %(triggered_through)s
ORDER BY m.seq;

-- name: trigger_segments
INSERT INTO neurigraph.storage_triggers (
    user_id, source_id, trigger_type, first_message, last_message, token_count
)
SELECT
    %(user_id)s,
    %(source_id)s,
    t.trigger_type::neurigraph.trigger_type,
    t.first_message,
    t.last_message,
    t.token_count
FROM unnest(
    %(trigger_types)s::text [], %(first_messages)s::integer [], %(last_messages)s::integer [],
    %(token_counts)s::bigint []
) AS t (trigger_type, first_message, last_message, token_count);

-- name: set_triggered
-- Note that segmentation has looked at the tail, and that the part before the last break has its triggers.
UPDATE neurigraph.sources SET
    triggered_through = %(triggered_through)s,
    untriggered_tokens = %(untriggered_tokens)s,
    tail_changed = false
WHERE source_id = %(source_id)s;

-- name: cut_at_voices
-- Cut the segments that this transaction has made of a persona's source where the sender changes. A persona's keys read
-- the memories at its node, so messages of others become segments of their own.
WITH made AS (
    SELECT
        t.trigger_id,
        t.user_id,
        t.source_id,
        t.trigger_type,
        t.first_message,
        t.last_message,
        s.persona_id
    FROM neurigraph.storage_triggers AS t
    INNER JOIN neurigraph.sources AS s ON t.source_id = s.source_id
    WHERE t.state = 'pending' AND t.created_at = now() AND s.persona_id IS NOT NULL
),

sent AS (
    SELECT
        d.trigger_id,
        m.seq,
        m.token_count,
        m.received_through IS NULL OR coalesce(m.persona_id = d.persona_id, false) AS is_own
    FROM made AS d
    INNER JOIN neurigraph.messages AS m
        ON d.source_id = m.source_id AND m.seq BETWEEN d.first_message AND d.last_message
),

marked AS (
    SELECT
        s.trigger_id,
        s.seq,
        s.token_count,
        coalesce(s.is_own <> lag(s.is_own) OVER (PARTITION BY s.trigger_id ORDER BY s.seq), true) AS begins
    FROM sent AS s
),

numbered AS (
    SELECT
        m.trigger_id,
        m.seq,
        m.token_count,
        count(*) FILTER (WHERE m.begins) OVER (PARTITION BY m.trigger_id ORDER BY m.seq) AS part
    FROM marked AS m
),

parts AS (
    SELECT
        n.trigger_id,
        n.part,
        min(n.seq) AS first_message,
        max(n.seq) AS last_message,
        sum(n.token_count) AS token_count
    FROM numbered AS n
    GROUP BY n.trigger_id, n.part
),

shortened AS (
    UPDATE neurigraph.storage_triggers AS t SET last_message = p.last_message, token_count = p.token_count
    FROM parts AS p
    WHERE t.trigger_id = p.trigger_id AND p.part = 1 AND p.last_message < t.last_message
    RETURNING t.trigger_id
)

INSERT INTO neurigraph.storage_triggers (
    user_id, source_id, trigger_type, first_message, last_message, token_count
)
SELECT
    d.user_id,
    d.source_id,
    d.trigger_type,
    p.first_message,
    p.last_message,
    p.token_count
FROM parts AS p
INNER JOIN made AS d ON p.trigger_id = d.trigger_id
WHERE p.part > 1;
