-- Uploaded files, until they are stored.

-- name: lock_content
-- Let uploads of the same bytes by the same user take turns.
SELECT pg_advisory_xact_lock(
    hashtextextended('neurigraph.uploads:' || %(user_id)s::text || encode(%(sha256)s::bytea, 'hex'), 0)
);

-- name: find_by_content
-- The upload of the same bytes by the same user or member. One that is neither replaced nor gone comes first.
SELECT
    u.source_id,
    u.sha256,
    s.privacy,
    s.metadata ->> 'dates' AS dates,
    l.source_id IS NOT NULL OR g.source_id IS NOT NULL AS is_replaced,
    s.updated_at
FROM neurigraph.uploads AS u
INNER JOIN neurigraph.sources AS s ON u.source_id = s.source_id
LEFT JOIN neurigraph.sources AS l ON u.source_id = l.replaces
LEFT JOIN neurigraph.dropped_files AS g ON u.source_id = g.source_id AND g.version = 'gone'
WHERE u.user_id = %(user_id)s AND u.sha256 = %(sha256)s
    AND s.member_id IS NOT DISTINCT FROM (SELECT neurigraph.asking_member())
ORDER BY
    l.source_id IS NOT NULL OR g.source_id IS NOT NULL,
    s.metadata ->> 'dates' IS DISTINCT FROM %(dates)s::text,
    u.received_at
LIMIT 1;

-- name: newest_version
-- The newest version of the upload with an external id, or of the given upload.
SELECT
    u.source_id,
    u.sha256,
    s.privacy,
    s.metadata ->> 'dates' AS dates,
    EXISTS (
        SELECT FROM neurigraph.dropped_files AS g
        WHERE g.source_id = u.source_id AND g.version = 'gone'
    ) AS is_replaced,
    s.updated_at
FROM neurigraph.sources AS s
INNER JOIN neurigraph.uploads AS u ON s.source_id = u.source_id
WHERE s.user_id = %(user_id)s AND s.kind = 'upload' AND s.persona_id IS NULL AND s.binding IS NULL
    AND s.member_id IS NOT DISTINCT FROM (SELECT neurigraph.asking_member())
    AND (s.external_id = %(external_id)s::text OR s.external_id = (
        SELECT r.external_id FROM neurigraph.sources AS r
        WHERE r.source_id = %(replaces)s::uuid AND r.user_id = %(user_id)s AND r.kind = 'upload'
    ))
ORDER BY s.version DESC
LIMIT 1;

-- name: insert
INSERT INTO neurigraph.uploads (
    source_id, user_id, file_name, media_type, size_bytes, sha256, staging_key, is_document, is_posted
)
VALUES (
    %(source_id)s, %(user_id)s, %(file_name)s, %(media_type)s, %(size_bytes)s, %(sha256)s, %(staging_key)s,
    %(is_document)s, %(is_posted)s
);

-- name: try_again
-- Replay a failed upload that is sent again.
SELECT r.failure_id
FROM neurigraph.replay_own_failures(ARRAY(
    SELECT f.failure_id FROM neurigraph.pipeline_failures AS f
    WHERE f.upload_id = %(source_id)s AND f.replayed_at IS NULL
)) AS r;

-- name: lease_upload
-- Lease the oldest upload that is due.
UPDATE neurigraph.uploads AS u SET
    attempts = u.attempts + 1,
    next_attempt_at = now() + make_interval(secs => %(lease_seconds)s)
WHERE u.source_id = (
    SELECT d.source_id FROM neurigraph.uploads AS d
    WHERE d.state = 'received' AND d.next_attempt_at <= now() AND d.attempts < %(max_attempts)s
        AND (%(user_id)s::uuid IS NULL OR d.user_id = %(user_id)s)
    ORDER BY d.next_attempt_at
    LIMIT 1
    FOR UPDATE SKIP LOCKED
)
RETURNING
    u.source_id,
    u.user_id,
    u.file_name,
    u.size_bytes,
    u.staging_key,
    u.attempts,
    u.is_document,
    u.is_posted,
    (SELECT s.received_through FROM neurigraph.sources AS s WHERE s.source_id = u.source_id) AS received_through;

-- name: fail_silent_uploads
-- Fail uploads whose last attempt ended without an error.
WITH given_up AS (
    UPDATE neurigraph.uploads SET state = 'failed', error = coalesce(error, 'the process that read it died')
    WHERE state = 'received' AND next_attempt_at <= now() AND attempts >= %(max_attempts)s
    RETURNING source_id, user_id, error, attempts
)

INSERT INTO neurigraph.pipeline_failures (upload_id, user_id, step, error, attempts)
SELECT
    g.source_id,
    g.user_id,
    %(step)s,
    g.error,
    g.attempts
FROM given_up AS g;

-- name: is_there
-- An upload; no row once it is erased.
SELECT u.source_id
FROM neurigraph.uploads AS u
WHERE u.source_id = %(source_id)s;

-- name: renew_upload
-- Renew the lease of an upload; no row if another process has leased the upload since.
UPDATE neurigraph.uploads SET next_attempt_at = now() + make_interval(secs => %(lease_seconds)s)
WHERE source_id = %(source_id)s AND state = 'received' AND attempts = %(attempts)s
RETURNING source_id;

-- name: stated_of_upload
-- Return the fields that the sender of an upload stated, which the conversations in the upload get.
SELECT
    s.started_at,
    s.member_id,
    s.privacy,
    s.origin,
    s.url,
    s.channel,
    s.author,
    s.metadata,
    s.tier,
    ARRAY(
        SELECT p.container_tag
        FROM neurigraph.source_spaces AS m
        INNER JOIN neurigraph.spaces AS p ON m.space_id = p.space_id
        WHERE m.source_id = s.source_id
    ) AS container_tags
FROM neurigraph.sources AS s
WHERE s.source_id = %(source_id)s;

-- name: note_in_export
-- Note in an export's conversations and events, new or not, that the export has them. Only sources of the export's
-- sender count.
UPDATE neurigraph.sources AS s SET upload_id = %(source_id)s
FROM unnest(%(kinds)s::text [], %(external_ids)s::text []) AS n (kind, external_id)
WHERE s.user_id = %(user_id)s AND s.kind = n.kind::neurigraph.source_kind AND s.external_id = n.external_id
    AND s.persona_id IS NULL AND s.binding IS NULL
    AND s.member_id IS NOT DISTINCT FROM (
        SELECT u.member_id FROM neurigraph.sources AS u WHERE u.source_id = %(source_id)s
    )
    AND s.upload_id IS DISTINCT FROM %(source_id)s;

-- name: imported
-- Finish an export after all its conversations are added. The file itself adds no message.
WITH ended AS (
    UPDATE neurigraph.sources SET ended_at = coalesce(ended_at, now())
    WHERE source_id = %(source_id)s
)

UPDATE neurigraph.uploads SET state = 'extracted', error = NULL, imported = %(imported)s
WHERE source_id = %(source_id)s AND state = 'received';

-- name: extracted
-- Finish a document. For a document, `imported` has only notes on assumptions and on unread parts.
UPDATE neurigraph.uploads SET state = 'extracted', error = NULL, imported = %(notes)s
WHERE source_id = %(source_id)s AND state = 'received';

-- name: failed
-- Return a failed upload: retry it later, or, after the last attempt or a permanent fault, leave it to a person.
WITH failed AS (
    UPDATE neurigraph.uploads SET
        state = CASE
            WHEN %(final)s OR attempts >= %(max_attempts)s THEN 'failed'::neurigraph.upload_state
            ELSE state
        END,
        next_attempt_at = now() + make_interval(secs => %(delay_seconds)s),
        error = %(error)s
    WHERE source_id = %(source_id)s AND state = 'received'
    RETURNING source_id, user_id, state, error, attempts
)

INSERT INTO neurigraph.pipeline_failures (upload_id, user_id, step, error, attempts)
SELECT
    f.source_id,
    f.user_id,
    %(step)s,
    f.error,
    f.attempts
FROM failed AS f
WHERE f.state = 'failed';

-- name: due
-- The number of uploads for which a sensor requests a run: uploads to read, and uploads whose object can be removed.
SELECT count(*) AS uploads
FROM neurigraph.uploads AS u
WHERE (u.state = 'received' AND u.next_attempt_at <= now())
    OR (
        (u.file_id IS NOT NULL OR (u.imported IS NOT NULL AND u.imported -> 'format' IS NOT NULL))
        AND u.staging_key IS NOT NULL AND u.state <> 'received'
    );

-- name: trigger_extracted
-- Make the segments of documents that were read: the whole text, or runs of about the target size. Parts of a file are
-- short, so no run is much longer than the target.
WITH ended AS (
    SELECT
        s.source_id,
        s.user_id,
        s.triggered_through,
        s.last_message
    FROM neurigraph.sources AS s
    WHERE s.kind = 'upload' AND s.ended_at IS NOT NULL AND s.triggered_through < s.last_message
    ORDER BY s.ended_at
    LIMIT %(limit)s
    FOR NO KEY UPDATE SKIP LOCKED
),

numbered AS (
    SELECT
        e.source_id,
        e.user_id,
        m.seq,
        m.token_count,
        (sum(m.token_count) OVER (PARTITION BY m.source_id ORDER BY m.seq) - m.token_count)
        / %(target_tokens)s AS run
    FROM ended AS e
    INNER JOIN neurigraph.messages AS m ON e.source_id = m.source_id AND e.triggered_through < m.seq
),

noted AS (
    INSERT INTO neurigraph.storage_triggers (
        user_id, source_id, trigger_type, first_message, last_message, token_count
    )
    SELECT
        n.user_id,
        n.source_id,
        %(trigger_type)s,
        min(n.seq),
        max(n.seq),
        sum(n.token_count)
    FROM numbered AS n
    GROUP BY n.user_id, n.source_id, n.run
    RETURNING source_id, last_message
),

covered AS (
    UPDATE neurigraph.sources AS s SET triggered_through = last_of.last_message, untriggered_tokens = 0
    FROM (SELECT n.source_id, max(n.last_message) AS last_message FROM noted AS n GROUP BY n.source_id) AS last_of
    WHERE s.source_id = last_of.source_id
)

SELECT count(*) AS segments
FROM noted;

-- name: original
-- The object of an upload whose bytes no record has yet.
SELECT
    u.source_id,
    u.file_name,
    u.size_bytes,
    u.sha256,
    u.staging_key
FROM neurigraph.uploads AS u
WHERE u.source_id = %(source_id)s AND u.file_id IS NULL AND u.staging_key IS NOT NULL;

-- name: set_original
UPDATE neurigraph.uploads SET file_id = %(file_id)s
WHERE source_id = %(source_id)s;

-- name: to_clear
-- Uploads whose object can be removed, except uploads that are being read again.
SELECT
    u.source_id,
    u.staging_key
FROM neurigraph.uploads AS u
WHERE (u.file_id IS NOT NULL OR (u.imported IS NOT NULL AND u.imported -> 'format' IS NOT NULL))
    AND u.staging_key IS NOT NULL AND u.state <> 'received'
LIMIT %(limit)s;

-- name: cleared
-- Note that an upload's object is removed, unless the same file was received again since: then a new object has its
-- bytes.
UPDATE neurigraph.uploads SET staging_key = NULL
WHERE source_id = %(source_id)s AND staging_key = %(staging_key)s;

-- name: staged
-- The given object keys that belong to an upload.
SELECT u.staging_key
FROM neurigraph.uploads AS u
WHERE u.staging_key = ANY(%(keys)s);

-- name: new_dropped
-- The files of a drop folder that belong to an existing user and whose version was not the last one that was read.
SELECT
    u.user_id,
    d.place
FROM unnest(%(slugs)s::text [], %(file_names)s::text [], %(versions)s::text []) WITH ORDINALITY
    AS d (slug, file_name, version, place)
INNER JOIN neurigraph.users AS u ON d.slug = u.slug
WHERE d.version IS DISTINCT FROM (
    SELECT k.version FROM neurigraph.dropped_files AS k
    WHERE k.user_id = u.user_id AND k.file_name = d.file_name
    ORDER BY k.seen_at DESC
    LIMIT 1
)
ORDER BY d.place;

-- name: note_dropped
INSERT INTO neurigraph.dropped_files (user_id, file_name, version, source_id, error, seen_at)
VALUES (%(user_id)s, %(file_name)s, %(version)s, %(source_id)s, %(error)s, clock_timestamp())
ON CONFLICT (user_id, file_name, version) DO UPDATE
SET source_id = excluded.source_id, error = excluded.error, seen_at = excluded.seen_at;

-- name: dropped_of_source
-- The last version of each file of a source that was read, as far as it is a document or a mail; conversations of
-- other exports stay.
SELECT DISTINCT ON (k.file_name)
    u.user_id,
    k.file_name,
    k.version,
    k.source_id,
    s.title,
    f.imported -> 'mail' AS mail
FROM neurigraph.users AS u
INNER JOIN neurigraph.dropped_files AS k ON u.user_id = k.user_id
INNER JOIN neurigraph.uploads AS f ON k.source_id = f.source_id
INNER JOIN neurigraph.sources AS s ON k.source_id = s.source_id
WHERE u.slug = %(slug)s AND starts_with(k.file_name, %(prefix)s) AND f.state <> 'received'
    AND (f.imported -> 'format' IS NULL OR f.imported -> 'mail' IS NOT NULL)
ORDER BY k.file_name, k.seen_at DESC;

-- name: newest_thread
-- The newest version of a conversation of the owner, with the ids of its messages; no row once it is forgotten.
SELECT
    s.source_id,
    s.title,
    ARRAY(SELECT m.external_id FROM neurigraph.messages AS m WHERE m.source_id = s.source_id) AS message_ids
FROM neurigraph.sources AS s
WHERE s.user_id = %(user_id)s AND s.kind = 'conversation' AND s.external_id = %(external_id)s
    AND s.persona_id IS NULL AND s.binding IS NULL
    AND s.member_id IS NOT DISTINCT FROM (SELECT neurigraph.asking_member())
ORDER BY s.version DESC
LIMIT 1;
