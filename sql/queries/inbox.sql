-- Conversations and messages that arrive in the inbox.

-- name: insert_sources
-- Insert sources; no row for a source that exists already, in any version. A version after a private version is
-- private. If nobody states the privacy, a source of the owner or a member is private if its channel is not public. A
-- member's sources and messages are signed with the member's slug, unless the member states an author.
INSERT INTO neurigraph.sources (
    user_id, kind, event_kind, external_id, title, started_at, privacy, origin, document_type, url, channel, author,
    metadata, updated_at, tier, version, replaces
)
SELECT
    %(user_id)s,
    n.kind::neurigraph.source_kind,
    n.event_kind::neurigraph.event_kind,
    n.external_id,
    n.title,
    coalesce(n.started_at, now()),
    CASE
        WHEN b.privacy = 'private' THEN b.privacy
        WHEN %(privacy)s::neurigraph.privacy IS NOT NULL THEN %(privacy)s::neurigraph.privacy
        WHEN
            n.channel IN ('dm', 'private') AND (
                %(user_id)s IN ((SELECT neurigraph.asking_user_id()), (SELECT neurigraph.bound_user_id()))
                OR (SELECT neurigraph.asking_member()) IS NOT NULL
            )
            THEN 'private'
        ELSE 'shared'
    END,
    n.origin,
    n.document_type::neurigraph.document_type,
    n.url,
    n.channel::neurigraph.channel,
    coalesce(n.author, (SELECT neurigraph.asking_member_name())),
    n.metadata::jsonb,
    n.updated_at,
    n.tier::neurigraph.retention_tier,
    coalesce(b.version, 0) + 1,
    b.source_id
FROM unnest(
    %(kind)s::text [], %(event_kind)s::text [], %(external_id)s::text [], %(title)s::text [],
    %(started_at)s::timestamptz [], %(origin)s::text [], %(document_type)s::text [], %(url)s::text [],
    %(channel)s::text [], %(author)s::text [], %(metadata)s::text [], %(updated_at)s::timestamptz [],
    %(tier)s::text [], %(replaces)s::uuid []
) AS n (
    kind, event_kind, external_id, title, started_at, origin, document_type, url, channel, author, metadata, updated_at,
    tier, replaces
)
LEFT JOIN neurigraph.sources AS b ON n.replaces = b.source_id
WHERE n.replaces IS NOT NULL OR NOT EXISTS (
    SELECT FROM neurigraph.sources AS k
    WHERE k.user_id = %(user_id)s AND k.kind = n.kind::neurigraph.source_kind AND k.external_id = n.external_id
        AND k.persona_id IS NOT DISTINCT FROM (SELECT neurigraph.writing_persona())
        AND k.member_id IS NOT DISTINCT FROM (SELECT neurigraph.asking_member())
        AND k.binding IS NOT DISTINCT FROM (SELECT neurigraph.asking_binding())
)
ON CONFLICT (user_id, kind, external_id, persona_id, version, binding, member_id) DO NOTHING
RETURNING
    source_id,
    kind::text AS kind,
    external_id;

-- name: find_sources
-- The newest versions of sources by external id. The owner, each persona and each member have ids of their own.
SELECT DISTINCT ON (w.kind, w.external_id)
    s.source_id,
    s.kind::text AS kind,
    s.external_id
FROM unnest(%(kind)s::text [], %(external_id)s::text []) AS w (kind, external_id)
INNER JOIN neurigraph.sources AS s
    ON w.kind::neurigraph.source_kind = s.kind AND w.external_id = s.external_id
WHERE s.user_id = %(user_id)s
    AND s.persona_id IS NOT DISTINCT FROM (SELECT neurigraph.writing_persona())
    AND s.member_id IS NOT DISTINCT FROM (SELECT neurigraph.asking_member())
    AND s.binding IS NOT DISTINCT FROM (SELECT neurigraph.asking_binding())
ORDER BY w.kind, w.external_id, s.version DESC;

-- name: days_of_chats
-- The messages of stored days of chats near the times of imported messages; only in the newest versions, and only of
-- the owner, one persona or one member.
SELECT
    w.number,
    s.source_id,
    s.external_id AS name,
    m.external_id,
    m.author,
    m.content_hash,
    m.occurred_at,
    m.utc_offset
FROM unnest(
    %(number)s::integer [], %(origin)s::text [], %(begins)s::timestamptz [], %(ends)s::timestamptz []
) AS w (number, origin, begins, ends)
INNER JOIN neurigraph.sources AS s
    ON w.origin = s.origin AND s.started_at BETWEEN w.begins - interval '1 day' AND w.ends + interval '1 day'
INNER JOIN neurigraph.messages AS m ON s.source_id = m.source_id
WHERE s.user_id = %(user_id)s AND s.kind = 'conversation'
    AND s.persona_id IS NOT DISTINCT FROM (SELECT neurigraph.writing_persona())
    AND s.member_id IS NOT DISTINCT FROM (SELECT neurigraph.asking_member())
    AND s.binding IS NOT DISTINCT FROM (SELECT neurigraph.asking_binding())
    AND NOT EXISTS (SELECT FROM neurigraph.sources AS n WHERE n.replaces = s.source_id)
ORDER BY w.number, s.source_id, m.seq;

-- name: messages_of_names
-- The messages of conversations and events by the external ids of the sources; only in the newest versions, and only of
-- the owner, one persona or one member.
SELECT
    w.kind,
    w.external_id AS name,
    m.external_id,
    m.author,
    m.content_hash
FROM unnest(%(kind)s::text [], %(external_id)s::text []) AS w (kind, external_id)
INNER JOIN neurigraph.sources AS s
    ON w.kind::neurigraph.source_kind = s.kind AND w.external_id = s.external_id
INNER JOIN neurigraph.messages AS m ON s.source_id = m.source_id
WHERE s.user_id = %(user_id)s
    AND s.persona_id IS NOT DISTINCT FROM (SELECT neurigraph.writing_persona())
    AND s.member_id IS NOT DISTINCT FROM (SELECT neurigraph.asking_member())
    AND s.binding IS NOT DISTINCT FROM (SELECT neurigraph.asking_binding())
    AND NOT EXISTS (SELECT FROM neurigraph.sources AS n WHERE n.replaces = s.source_id)
ORDER BY w.kind, w.external_id, m.seq;

-- name: set_privacy
-- Set the privacy of a source of one kind, or of any, and of the conversations of an uploaded export. Return the value
-- before; no row for a source of another caller or member.
UPDATE neurigraph.sources AS s SET privacy = %(privacy)s
FROM (
    SELECT
        b.source_id,
        b.privacy
    FROM neurigraph.sources AS b
    WHERE b.user_id = %(user_id)s
        AND (
            (b.upload_id = %(source_id)s AND coalesce(%(kind)s::text, 'upload') = 'upload')
            OR (b.source_id = %(source_id)s AND (%(kind)s::text IS NULL OR b.kind = %(kind)s::neurigraph.source_kind))
        )
        AND (%(member_id)s::uuid IS NULL OR b.member_id = %(member_id)s)
    FOR NO KEY UPDATE
) AS before
WHERE s.source_id = before.source_id
RETURNING
    before.privacy,
    s.source_id;

-- name: records_of_sources
SELECT i.record_id
FROM neurigraph.record_index AS i
WHERE i.user_id = %(user_id)s AND i.source_id = ANY(%(source_ids)s)
ORDER BY i.record_id;

-- name: sources_by_external_id
SELECT
    s.source_id,
    s.kind
FROM neurigraph.sources AS s
WHERE s.user_id = %(user_id)s AND (s.external_id = %(name)s OR s.source_id::text = %(name)s);

-- name: lock_sources
-- Lock sources, so that appends take turns and numbers of messages have no gaps. The locks are taken in one order, so
-- that two callers cannot deadlock.
SELECT
    s.source_id,
    s.last_message,
    s.triggered_through,
    s.started_at,
    s.ended_at,
    (
        SELECT m.occurred_at FROM neurigraph.messages AS m
        WHERE m.source_id = s.source_id AND m.seq = s.last_message
    ) AS last_occurred_at
FROM neurigraph.sources AS s
WHERE s.source_id = ANY(%(source_id)s) AND s.kind = ANY(%(kind)s::neurigraph.source_kind [])
ORDER BY s.source_id
FOR NO KEY UPDATE OF s;

-- name: known_messages
SELECT
    m.source_id,
    m.external_id,
    m.seq,
    m.content_hash,
    m.token_count,
    m.complete,
    m.author
FROM unnest(%(source_id)s::uuid [], %(external_id)s::text []) AS w (source_id, external_id)
INNER JOIN neurigraph.messages AS m ON w.source_id = m.source_id AND w.external_id = m.external_id;

-- name: insert_messages
-- Insert messages. The origin of a caller's message is the caller; the origin of a message that a job reads from an
-- upload is the upload's origin.
WITH origin AS MATERIALIZED (
    SELECT
        s.source_id,
        s.user_id,
        CASE WHEN a.door IS NULL THEN s.key_id ELSE neurigraph.asking_key() END AS key_id,
        CASE WHEN a.door IS NULL THEN s.persona_id ELSE neurigraph.writing_persona() END AS persona_id,
        coalesce(a.door, s.received_through) AS received_through
    FROM neurigraph.sources AS s
    CROSS JOIN (SELECT neurigraph.asking_door() AS door) AS a
    WHERE s.source_id = ANY(%(source_id)s)
)

INSERT INTO neurigraph.messages (
    source_id, user_id, seq, role, author, content, tool_calls, tool_event, token_count, content_hash, occurred_at,
    external_id, complete, section, utc_offset, key_id, persona_id, received_through
)
SELECT
    o.source_id,
    o.user_id,
    m.seq,
    m.role::neurigraph.message_role,
    coalesce(m.author, CASE WHEN m.role = 'user' THEN (SELECT neurigraph.asking_member_name()) END),
    m.content,
    m.tool_calls::jsonb,
    m.tool_event::jsonb,
    m.token_count,
    m.content_hash,
    m.occurred_at,
    m.external_id,
    m.complete,
    m.section,
    m.utc_offset,
    o.key_id,
    o.persona_id,
    o.received_through
FROM unnest(
    %(source_id)s::uuid [], %(seq)s::integer [], %(role)s::text [], %(author)s::text [], %(content)s::text [],
    %(tool_calls)s::text [], %(tool_event)s::text [], %(token_count)s::integer [], %(content_hash)s::bytea [],
    %(occurred_at)s::timestamptz [], %(external_id)s::text [], %(complete)s::boolean [],
    %(section)s::text [], %(utc_offset)s::smallint []
) AS m (
    source_id, seq, role, author, content, tool_calls, tool_event, token_count, content_hash, occurred_at, external_id,
    complete, section, utc_offset
)
INNER JOIN origin AS o ON m.source_id = o.source_id;

-- name: replace_message
-- Replace a message that is streaming in by a longer part, or by the complete message.
UPDATE neurigraph.messages SET
    role = %(role)s::neurigraph.message_role,
    author = coalesce(%(author)s, CASE WHEN %(role)s = 'user' THEN neurigraph.asking_member_name() END),
    content = %(content)s,
    tool_calls = %(tool_calls)s::jsonb,
    tool_event = %(tool_event)s::jsonb,
    token_count = %(token_count)s,
    content_hash = %(content_hash)s,
    occurred_at = %(occurred_at)s,
    utc_offset = %(utc_offset)s,
    complete = %(complete)s,
    key_id = neurigraph.asking_key(),
    persona_id = neurigraph.writing_persona(),
    received_through = neurigraph.asking_door()
WHERE source_id = %(source_id)s AND seq = %(seq)s AND NOT complete;

-- name: advance_sources
UPDATE neurigraph.sources AS s SET
    last_message = a.last_message,
    untriggered_tokens = s.untriggered_tokens + a.tokens,
    tail_changed = true,
    last_received_at = now()
FROM unnest(%(source_id)s::uuid [], %(last_message)s::integer [], %(tokens)s::bigint [])
    AS a (source_id, last_message, tokens)
WHERE s.source_id = a.source_id;

-- name: rename_sources
-- Give sources the titles that they have where they come from. Memories that are stored keep theirs.
UPDATE neurigraph.sources AS s SET title = n.title
FROM unnest(%(source_id)s::uuid [], %(title)s::text []) AS n (source_id, title)
WHERE s.source_id = n.source_id AND s.title IS DISTINCT FROM n.title;

-- name: end_sources
-- End sources. A source that has already ended keeps its time.
UPDATE neurigraph.sources AS s SET ended_at = coalesce(s.ended_at, e.ended_at, now())
FROM unnest(%(source_id)s::uuid [], %(ended_at)s::timestamptz []) AS e (source_id, ended_at)
WHERE s.source_id = e.source_id AND s.kind = ANY(%(kind)s::neurigraph.source_kind [])
RETURNING
    s.source_id,
    s.kind::text AS kind,
    s.title,
    s.started_at,
    s.ended_at,
    s.last_message;

-- name: purge_bodies
-- Delete the content of segments that were stored long enough ago; numbers, hashes and counts stay. Each segment is
-- visited once.
WITH old AS (
    UPDATE neurigraph.storage_triggers AS t SET bodies_kept = false
    WHERE t.trigger_id IN (
        SELECT k.trigger_id FROM neurigraph.storage_triggers AS k
        WHERE k.bodies_kept AND k.stored_at < now() - make_interval(secs => %(age_seconds)s)
        ORDER BY k.stored_at
        LIMIT %(limit)s
        FOR NO KEY UPDATE SKIP LOCKED
    )
    RETURNING t.source_id, t.first_message, t.last_message
),

purged AS (
    UPDATE neurigraph.messages AS m SET content = NULL, tool_calls = NULL, tool_event = NULL
    FROM old AS o
    WHERE m.source_id = o.source_id AND m.seq BETWEEN o.first_message AND o.last_message AND m.content IS NOT NULL
    RETURNING m.seq
)

SELECT
    (SELECT count(*) FROM old) AS segments,
    (SELECT count(*) FROM purged) AS bodies;
