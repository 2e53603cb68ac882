-- Documents: sources of every kind, as the operations below /v3 show them.

-- name: document
-- Return the kind of source that a document is, the progress of reading its file, and its spaces. Of the versions of an
-- upload under one external id it is the newest.
SELECT
    s.source_id,
    s.kind,
    u.state = 'received' AS is_unread,
    coalesce(u.attempts > 0 AND u.error IS NULL AND u.next_attempt_at > now(), false) AS is_being_read,
    ARRAY(
        SELECT p.container_tag
        FROM neurigraph.source_spaces AS m
        INNER JOIN neurigraph.spaces AS p ON m.space_id = p.space_id
        WHERE m.source_id = s.source_id
        ORDER BY p.container_tag
    ) AS container_tags
FROM neurigraph.sources AS s
LEFT JOIN neurigraph.uploads AS u ON s.source_id = u.source_id
WHERE s.user_id = %(user_id)s
    AND (s.source_id = %(source_id)s::uuid OR (s.kind = 'upload' AND s.external_id = %(external_id)s::text))
ORDER BY s.version DESC
LIMIT 1;

-- name: records_of_documents
-- The visible records of some sources, each with its source, oldest first.
SELECT
    i.record_id,
    s.source_id
FROM neurigraph.sources AS s
INNER JOIN neurigraph.record_index AS i ON s.user_id = i.user_id AND s.source_id = i.source_id
WHERE s.user_id = %(user_id)s AND s.source_id = ANY(%(source_ids)s)
ORDER BY i.created_at, i.record_id;

-- name: recent_documents
-- The sources of visible records, the latest received first; one without a title is called as its first record is.
SELECT
    s.source_id::text AS source_id,
    s.kind,
    coalesce(
        s.title,
        (
            SELECT t.title
            FROM (
                SELECT i.record_id FROM neurigraph.record_index AS i
                WHERE i.user_id = s.user_id AND i.source_id = s.source_id
                ORDER BY i.created_at, i.record_id
                LIMIT 1
            ) AS f
            CROSS JOIN LATERAL neurigraph.titles_of(ARRAY[f.record_id]) AS t
        )
    ) AS title,
    s.started_at AS occurred_at,
    neurigraph.source_details(s, s.last_message) AS details
FROM neurigraph.sources AS s
WHERE s.user_id = %(user_id)s
    AND (%(source_ids)s::uuid [] IS NULL OR s.source_id = ANY(%(source_ids)s))
    AND EXISTS (
        SELECT FROM neurigraph.record_index AS i
        WHERE i.user_id = s.user_id AND i.source_id = s.source_id
    )
ORDER BY s.created_at DESC, s.source_id DESC
LIMIT %(limit)s;

-- name: turns_of_chat
-- The last messages of a chat that still have their text, newest first.
SELECT
    m.role::text AS role,
    m.content
FROM neurigraph.messages AS m
INNER JOIN neurigraph.sources AS s ON m.source_id = s.source_id
WHERE m.source_id = %(source_id)s AND s.origin = 'neurigraph-chat'
    AND m.role IN ('user', 'assistant') AND m.content IS NOT NULL
ORDER BY m.seq DESC
LIMIT %(limit)s;
