-- Erasure of unstored messages that personas handed in, when the nodes of the personas are erased.

-- name: hold_inbox_of_personas
-- Take the lock of hold_inbox, if one of the nodes is a persona.
SELECT pg_advisory_xact_lock(hashtextextended('neurigraph.inbox:' || g.user_id, 0))
FROM neurigraph.graph_index AS g
WHERE g.node_id = ANY(%(node_ids)s) AND g.node_type = 'persona'
LIMIT 1;

-- name: lock_sources_of_personas
SELECT s.source_id
FROM neurigraph.sources AS s
WHERE s.user_id = %(user_id)s AND s.persona_id = ANY(%(node_ids)s)
ORDER BY s.source_id
FOR UPDATE;

-- name: erase_waiting_messages
DELETE FROM neurigraph.messages AS m
USING neurigraph.waiting_messages(%(user_id)s, %(node_ids)s) AS w
WHERE m.source_id = w.source_id AND m.seq = w.seq;

-- name: erase_waiting_segments
-- Erase the segments of some sources that have lost all their messages.
DELETE FROM neurigraph.storage_triggers AS t
WHERE t.source_id = ANY(%(source_ids)s) AND t.state <> 'stored' AND NOT EXISTS (
    SELECT FROM neurigraph.messages AS m
    WHERE m.source_id = t.source_id AND m.seq BETWEEN t.first_message AND t.last_message
);

-- name: settle_sources_of_personas
-- End the conversations, so that messages of others in them are stored. Titles and other fields that the persona gave
-- are removed, unless a record remains.
WITH proposals AS (
    DELETE FROM neurigraph.actions AS a
    WHERE a.source_id = ANY(%(source_ids)s) AND a.state = 'open'
),

left_over AS (
    SELECT
        s.source_id,
        coalesce(sum(m.token_count), 0) AS tokens,
        count(m.seq) AS messages,
        EXISTS (
            SELECT FROM neurigraph.record_index AS r
            WHERE r.user_id = s.user_id AND r.source_id = s.source_id
        ) AS has_records
    FROM neurigraph.sources AS s
    LEFT JOIN neurigraph.messages AS m ON s.source_id = m.source_id AND s.triggered_through < m.seq
    WHERE s.source_id = ANY(%(source_ids)s)
    GROUP BY s.source_id
)

UPDATE neurigraph.sources AS s SET
    held = false,
    ended_at = coalesce(s.ended_at, now()),
    untriggered_tokens = l.tokens,
    triggered_through = CASE
        WHEN l.messages > 0 THEN s.triggered_through
        ELSE s.last_message
    END,
    title = CASE WHEN l.has_records THEN s.title END,
    url = CASE WHEN l.has_records THEN s.url END,
    author = CASE WHEN l.has_records THEN s.author END,
    metadata = CASE WHEN l.has_records THEN s.metadata END
FROM left_over AS l
WHERE s.source_id = l.source_id;

-- name: erase_empty_sources
-- Erase the sources without any remaining message.
DELETE FROM neurigraph.sources AS s
WHERE s.source_id = ANY(%(source_ids)s)
    AND NOT EXISTS (SELECT FROM neurigraph.messages AS m WHERE m.source_id = s.source_id);
