-- Lists that callers read page by page, and the progress of single sources.

-- name: sources
-- Sources, newest first: the owner's, or those that the calling persona or member handed in. Sources of shared memories
-- are not listed.
SELECT
    s.source_id,
    s.kind,
    s.event_kind,
    s.external_id,
    s.title,
    s.privacy,
    s.persona_id,
    s.member_id,
    s.started_at,
    s.ended_at,
    s.received_through,
    s.created_at AS received_at,
    s.last_message AS message_count,
    neurigraph.source_details(s, s.last_message) AS details,
    u.file_name,
    u.media_type,
    u.size_bytes,
    encode(u.sha256, 'hex') AS sha256,
    u.file_id,
    CASE WHEN u.imported -> 'format' IS NOT NULL THEN
        u.imported || jsonb_build_object('conversation_count', u.imported -> 'conversations')
    END AS imported,
    coalesce(u.imported -> 'notes', '[]') AS notes,
    p.state,
    f.failure_id,
    coalesce(f.error, u.error) AS error
FROM neurigraph.sources AS s
LEFT JOIN neurigraph.uploads AS u ON s.source_id = u.source_id
CROSS JOIN LATERAL neurigraph.progress_of(s) AS p (state)
LEFT JOIN LATERAL (
    SELECT
        l.failure_id,
        l.error
    FROM (
        SELECT i.*
        FROM neurigraph.pipeline_failures AS i
        WHERE i.upload_id = s.source_id
        UNION ALL
        SELECT i.*
        FROM neurigraph.storage_triggers AS t
        INNER JOIN neurigraph.pipeline_failures AS i ON t.trigger_id = i.trigger_id
        WHERE t.source_id = s.source_id
        UNION ALL
        SELECT n.*
        FROM neurigraph.pipeline_failures AS n
        WHERE n.trigger_id IN (
            SELECT k.trigger_id FROM neurigraph.storage_triggers AS k
            WHERE k.source_id IN (SELECT c.source_id FROM neurigraph.sources AS c WHERE c.upload_id = s.source_id)
        )
    ) AS l
    WHERE l.replayed_at IS NULL
    ORDER BY l.occurred_at DESC, l.failure_id
    LIMIT 1
) AS f ON p.state = 'failed'
WHERE s.user_id = %(user_id)s AND s.kind = {kind}
    AND (
        s.user_id IN ((SELECT neurigraph.asking_user_id()), (SELECT neurigraph.bound_user_id()))
        OR s.persona_id = (SELECT neurigraph.writing_persona())
        OR s.member_id = (SELECT neurigraph.asking_member())
    )
    -- Sources of mirrored memories are left out: their messages are at the publisher.
    AND s.received_through IS DISTINCT FROM 'peer'
    AND (%(source_id)s::uuid IS NULL OR s.source_id = %(source_id)s)
    AND (s.created_at, s.source_id) < (%(at)s::timestamptz, %(id)s::uuid)
    AND (%(external_id)s::text IS NULL OR s.external_id = %(external_id)s)
    AND (%(upload_id)s::uuid IS NULL OR s.upload_id = %(upload_id)s)
    AND s.title ILIKE ALL(%(words)s::text [])
    AND s.created_at >= coalesce(%(received_after)s::timestamptz, '-infinity')
    AND s.created_at < coalesce(%(received_before)s::timestamptz, 'infinity')
    AND s.started_at >= coalesce(%(started_after)s::timestamptz, '-infinity')
    AND s.started_at < coalesce(%(started_before)s::timestamptz, 'infinity')
    AND ({state}::text IS NULL OR p.state = {state})
    -- Necessary conditions of a state, so that the state is computed for few sources. State and kind are literals, so
    -- that the planner drops the conditions of other states and kinds.
    AND ({state}::text IS DISTINCT FROM 'open' OR s.ended_at IS NULL)
    AND (
        {state}::text IS DISTINCT FROM 'stored'
        OR s.source_id NOT IN (
            SELECT t.source_id FROM neurigraph.storage_triggers AS t
            WHERE t.user_id = %(user_id)s AND t.state <> 'stored'
        )
    )
    AND (
        coalesce({state}::text, 'stored') NOT IN ('waiting', 'storing', 'failed')
        OR ({kind} = 'upload' AND (u.state <> 'extracted' OR u.file_id IS NULL))
        OR ({state}::text = 'waiting' AND s.triggered_through < s.last_message)
        OR s.source_id IN (
            SELECT t.source_id FROM neurigraph.storage_triggers AS t
            WHERE t.user_id = %(user_id)s AND t.state <> 'stored'
        )
    )
ORDER BY s.created_at DESC, s.source_id DESC
LIMIT %(limit)s;

-- name: records_of_source
-- The visible records of a source, oldest first.
SELECT i.record_id
FROM neurigraph.record_index AS i
WHERE i.user_id = %(user_id)s AND i.source_id = %(source_id)s
ORDER BY i.created_at, i.record_id;

-- name: settled
-- The sources among some that are stored or have failed, of all users.
SELECT s.source_id
FROM neurigraph.sources AS s
CROSS JOIN LATERAL neurigraph.progress_of(s) AS p (state)
WHERE s.source_id = ANY(%(source_ids)s) AND p.state IN ('stored', 'failed');

-- name: nodes
-- Nodes, parents first. A parent that the caller does not see is not named.
SELECT
    g.node_id,
    p.node_id AS parent_node_id,
    g.node_name AS name,
    g.node_type,
    g.concept_kind AS kind,
    g.layer_depth AS depth,
    g.compression_state AS state,
    -- Summary, aliases and language describe the whole node, and so all spaces.
    neurigraph.summary_for(
        g.concept_kind, g.node_summary,
        (SELECT neurigraph.asking_tags() IS NOT NULL), (SELECT neurigraph.sees_all_sources())
    ) AS summary,
    CASE WHEN (SELECT neurigraph.asking_tags() IS NULL) THEN g.aliases ELSE ARRAY[]::text [] END AS aliases,
    CASE WHEN (SELECT neurigraph.asking_tags() IS NULL) THEN g.language::text END AS language,
    CASE
        WHEN (SELECT neurigraph.sees_all_sources()) THEN g.record_count
        ELSE (SELECT count(*) FROM neurigraph.record_index AS i WHERE i.node_id = g.node_id)
    END AS record_count,
    n.node_path AS path,
    g.last_accessed_at,
    g.created_at
FROM neurigraph.graph_index AS g
LEFT JOIN neurigraph.graph_index AS p ON g.parent_node_id = p.node_id
CROSS JOIN LATERAL neurigraph.names_along(g.path) AS n
WHERE g.user_id = %(user_id)s
    AND (g.layer_depth, g.node_id) > (%(depth)s::integer, %(id)s::uuid)
    AND (%(node_id)s::uuid IS NULL OR g.node_id = %(node_id)s)
    AND (%(parent_node_id)s::uuid IS NULL OR g.parent_node_id = %(parent_node_id)s)
    AND (%(name_key)s::text IS NULL OR g.name_key = %(name_key)s
        OR (%(name)s = ANY(g.aliases) AND (SELECT neurigraph.asking_tags() IS NULL)))
ORDER BY g.layer_depth, g.node_id
LIMIT %(limit)s;

-- name: node_and_below
SELECT g.node_id
FROM neurigraph.graph_index AS g
WHERE g.user_id = %(user_id)s AND CASE
    WHEN %(below)s THEN g.path @> ARRAY[%(node_id)s::uuid]
    ELSE g.node_id = %(node_id)s
END;

-- name: records
SELECT r.found
FROM neurigraph.list_records(
    %(user_id)s, %(nodes)s::uuid [], %(source_id)s::uuid,
    coalesce(%(created_after)s::timestamptz, '-infinity'), coalesce(%(created_before)s::timestamptz, 'infinity'),
    %(inside)s::jsonb, %(at)s::timestamptz, %(id)s::uuid, %(limit)s
) AS r (found);
