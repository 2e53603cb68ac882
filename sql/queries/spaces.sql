-- Spaces and their sources.

-- name: name_spaces
-- Set the spaces of all sources that this transaction inserts from now on. The trigger on sources reads the setting.
SELECT set_config('neurigraph.container_tags', %(container_tags)s, true);

-- name: make_missing
INSERT INTO neurigraph.spaces (user_id, name, container_tag)
SELECT
    %(user_id)s,
    t.tag AS name,
    t.tag AS container_tag
FROM unnest(%(container_tags)s::text []) AS t (tag)
ON CONFLICT (user_id, container_tag) DO NOTHING;

-- name: insert
INSERT INTO neurigraph.spaces (user_id, name, container_tag, metadata, entity_context)
VALUES (%(user_id)s, %(name)s, %(container_tag)s, %(metadata)s::jsonb, %(entity_context)s)
ON CONFLICT (user_id, container_tag) DO NOTHING
RETURNING space_id;

-- name: spaces
-- Spaces, newest first, with the number of sources that the caller sees.
SELECT
    p.space_id,
    p.name,
    p.container_tag,
    coalesce(p.metadata, jsonb_build_object()) AS metadata,
    p.entity_context,
    p.created_at,
    (SELECT count(*) FROM neurigraph.source_spaces AS m WHERE m.space_id = p.space_id) AS source_count
FROM neurigraph.spaces AS p
WHERE (%(space_id)s::uuid IS NULL OR p.space_id = %(space_id)s)
    AND (%(container_tag)s::text IS NULL OR p.container_tag = %(container_tag)s)
    AND (p.created_at, p.space_id) < (%(at)s::timestamptz, %(id)s::uuid)
ORDER BY p.created_at DESC, p.space_id DESC
LIMIT %(limit)s;

-- name: change
UPDATE neurigraph.spaces SET
    name = %(name)s, metadata = %(metadata)s::jsonb, entity_context = %(entity_context)s
WHERE space_id = %(space_id)s;

-- name: add_sources
INSERT INTO neurigraph.source_spaces (source_id, space_id, user_id)
SELECT
    s.source_id,
    %(space_id)s,
    %(user_id)s
FROM unnest(%(source_ids)s::uuid []) AS s (source_id)
ON CONFLICT DO NOTHING;

-- name: add_uploads
-- Put uploads into spaces, with the sources that were read from them.
INSERT INTO neurigraph.source_spaces (source_id, space_id, user_id)
SELECT
    s.source_id,
    p.space_id,
    s.user_id
FROM neurigraph.sources AS s
INNER JOIN neurigraph.spaces AS p ON s.user_id = p.user_id
WHERE s.user_id = %(user_id)s AND (s.source_id = ANY(%(source_ids)s) OR s.upload_id = ANY(%(source_ids)s))
    AND p.container_tag = ANY(%(container_tags)s)
ON CONFLICT DO NOTHING;

-- name: remove_sources
DELETE FROM neurigraph.source_spaces
WHERE space_id = %(space_id)s AND source_id = ANY(%(source_ids)s);

-- name: sources
-- The sources of a space, the newest first.
SELECT
    m.source_id,
    s.kind,
    s.external_id,
    s.title,
    m.added_at
FROM neurigraph.source_spaces AS m
INNER JOIN neurigraph.sources AS s ON m.source_id = s.source_id
WHERE m.space_id = %(space_id)s AND (m.added_at, m.source_id) < (%(at)s::timestamptz, %(id)s::uuid)
ORDER BY m.added_at DESC, m.source_id DESC
LIMIT %(limit)s;

-- name: remove
DELETE FROM neurigraph.spaces
WHERE space_id = %(space_id)s;
