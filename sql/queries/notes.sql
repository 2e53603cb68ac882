-- Notes: the fields of a note's message besides its text, the versions of a note, and the memories of facts that notes
-- state.

-- name: lock_notes
-- Writers of one user's notes take turns, so that two notes cannot get one title at one node.
SELECT pg_advisory_xact_lock(hashtextextended('neurigraph.notes:' || %(user_id)s::text, 0));

-- name: same_note
-- The newest version of a note with the same digest (text, title, node and privacy), unless a later note replaces it.
-- Runs as the writer.
SELECT
    n.source_id,
    n.message,
    n.node_id,
    n.replaces,
    ARRAY(
        SELECT i.record_id FROM neurigraph.record_index AS i
        WHERE i.user_id = n.user_id AND i.source_id = n.source_id AND s.stored_through >= n.message
    ) AS record_ids
FROM neurigraph.notes AS n
INNER JOIN neurigraph.sources AS s ON n.source_id = s.source_id
WHERE n.user_id = %(user_id)s AND n.digest = %(digest)s AND n.message = s.last_message
    AND s.persona_id IS NOT DISTINCT FROM (SELECT neurigraph.writing_persona())
    AND s.member_id IS NOT DISTINCT FROM (SELECT neurigraph.asking_member())
    AND s.binding IS NOT DISTINCT FROM (SELECT neurigraph.asking_binding())
    AND NOT EXISTS (SELECT FROM neurigraph.notes AS l WHERE l.replaces = n.source_id)
ORDER BY s.created_at DESC, s.source_id
LIMIT 1;

-- name: waiting_namesake
-- The newest unstored note with this title at a node, unless a later note replaces it. Runs as the writer.
SELECT
    s.source_id,
    s.privacy,
    s.held AS is_held,
    NULL::uuid AS record_id,
    (
        coalesce(s.persona_id, s.member_id, s.user_id)
        = coalesce((SELECT neurigraph.writing_persona()), (SELECT neurigraph.asking_member()), s.user_id)
        AND s.binding IS NOT DISTINCT FROM (SELECT neurigraph.asking_binding())
    ) AS is_own
FROM neurigraph.notes AS n
INNER JOIN neurigraph.sources AS s ON n.source_id = s.source_id
WHERE n.user_id = %(user_id)s AND n.node_id = %(node_id)s AND s.title = %(title)s AND s.stored_through < n.message
    AND NOT EXISTS (SELECT FROM neurigraph.notes AS l WHERE l.replaces = n.source_id)
ORDER BY s.created_at DESC, n.message DESC
LIMIT 1;

-- name: stored_namesake
-- The newest current memory of a note with this title in a node. Runs as the writer.
SELECT
    r.source_id,
    s.privacy,
    coalesce(s.held, false) AS is_held,
    r.record_id,
    coalesce(
        coalesce(s.persona_id, s.member_id, s.user_id)
        = coalesce((SELECT neurigraph.writing_persona()), (SELECT neurigraph.asking_member()), s.user_id)
        AND s.binding IS NOT DISTINCT FROM (SELECT neurigraph.asking_binding()), false
    ) AS is_own
FROM {schema}.metadata_records AS r
LEFT JOIN neurigraph.sources AS s ON r.source_id = s.source_id
WHERE r.source_kind = 'note' AND r.title = %(title)s AND r.superseded_by IS NULL
ORDER BY r.created_at DESC, r.record_id
LIMIT 1;

-- name: note_of_id
-- The notes of the writer with some external ids, with the node to which the newest version is pinned.
SELECT
    s.external_id,
    s.source_id,
    s.held AS is_held,
    n.node_id
FROM neurigraph.sources AS s
INNER JOIN neurigraph.notes AS n ON s.source_id = n.source_id AND s.last_message = n.message
WHERE s.user_id = %(user_id)s AND s.kind = 'note' AND s.external_id = ANY(%(external_ids)s)
    AND s.persona_id IS NOT DISTINCT FROM (SELECT neurigraph.writing_persona())
    AND s.member_id IS NOT DISTINCT FROM (SELECT neurigraph.asking_member())
    AND s.binding IS NOT DISTINCT FROM (SELECT neurigraph.asking_binding());

-- name: notes_of_vault
-- The notes of the writer from a vault, by the beginning of their external ids, with the hash of the newest version's
-- text.
SELECT
    s.external_id,
    s.source_id,
    n.node_id,
    m.content_hash
FROM neurigraph.sources AS s
INNER JOIN neurigraph.notes AS n ON s.source_id = n.source_id AND s.last_message = n.message
INNER JOIN neurigraph.messages AS m ON s.source_id = m.source_id AND s.last_message = m.seq
WHERE s.user_id = %(user_id)s AND s.kind = 'note' AND starts_with(s.external_id, %(prefix)s) AND NOT s.held
    AND s.persona_id IS NOT DISTINCT FROM (SELECT neurigraph.writing_persona())
    AND s.member_id IS NOT DISTINCT FROM (SELECT neurigraph.asking_member())
    AND s.binding IS NOT DISTINCT FROM (SELECT neurigraph.asking_binding())
ORDER BY s.external_id;

-- name: rename_note
-- Give a note another external id, and its newest version the digest that includes the new id.
WITH renamed AS (
    UPDATE neurigraph.sources
    SET external_id = %(external_id)s, metadata = coalesce(metadata, jsonb_build_object()) || %(metadata)s
    WHERE source_id = %(source_id)s
    RETURNING source_id, last_message
)

UPDATE neurigraph.notes AS n SET digest = %(digest)s
FROM renamed AS r
WHERE n.source_id = r.source_id AND n.message = r.last_message;

-- name: named_beside
-- The nodes that have or had some names, below the same node of layer 1 as a given node: their matching names, and
-- their paths from layer 1 down. Former names come first.
SELECT
    c.called,
    n.names[2:] AS names
FROM neurigraph.graph_index AS o
CROSS JOIN LATERAL (
    SELECT
        w.node_id,
        w.node_name AS called,
        false AS is_former
    FROM neurigraph.graph_index AS w
    WHERE w.user_id = o.user_id AND w.name_key = ANY(%(keys)s)
    UNION ALL
    SELECT
        a.node_id,
        a.value,
        true
    FROM neurigraph.node_aliases AS a
    WHERE a.user_id = o.user_id AND a.value_key = ANY(%(keys)s) AND a.alias_type = 'former_name'
) AS c
INNER JOIN neurigraph.graph_index AS g ON c.node_id = g.node_id AND o.path[2] = g.path[2]
CROSS JOIN LATERAL neurigraph.names_along(g.path) AS n
WHERE o.node_id = %(node_id)s AND g.layer_depth > 1 AND NOT g.quarantined
ORDER BY c.is_former DESC, n.names;

-- name: action_of
-- Return the action that a version of a note waits for, as its writer sees it.
SELECT a.action_id
FROM neurigraph.actions AS a
WHERE a.source_id = %(source_id)s AND a.message = %(message)s AND a.state = 'open';

-- name: insert_note
INSERT INTO neurigraph.notes (
    source_id, message, user_id, pinned, node_id, importance, tags, replaces, digest, fact, follows
)
SELECT
    s.source_id,
    s.last_message,
    s.user_id,
    %(node_id)s::uuid IS NOT NULL,
    %(node_id)s,
    %(importance)s,
    %(tags)s,
    %(replaces)s,
    %(digest)s,
    %(fact)s,
    %(follows)s
FROM neurigraph.sources AS s
WHERE s.source_id = %(source_id)s
RETURNING message;

-- name: pin
-- Return the node to which a note is pinned now: a merge of nodes moves the pin.
SELECT n.node_id
FROM neurigraph.notes AS n
WHERE n.source_id = %(source_id)s AND n.message = %(message)s;

-- name: other_versions
-- The records of a note, of the note that one of its versions replaces (turn -1) and of notes that replace it (turn 1).
-- The next version of a fact replaces the memory of the version before when it is read, so that one of both always
-- stands.
SELECT
    i.record_id,
    i.node_id,
    g.schema_name,
    v.turn
FROM (
    SELECT
        %(source_id)s::uuid AS source_id,
        0 AS turn
    UNION ALL
    SELECT
        n.replaces,
        -1
    FROM neurigraph.notes AS n
    WHERE n.source_id = %(source_id)s AND n.message = %(message)s AND n.replaces IS NOT NULL
        AND (n.follows IS NULL OR NOT %(facts)s)
    UNION ALL
    SELECT DISTINCT
        n.source_id,
        1
    FROM neurigraph.notes AS n
    WHERE n.replaces = %(source_id)s
) AS v
INNER JOIN neurigraph.record_index AS i ON i.user_id = %(user_id)s AND v.source_id = i.source_id
INNER JOIN neurigraph.graph_index AS g ON i.node_id = g.node_id
ORDER BY i.record_id = %(record_id)s DESC, i.node_id, i.record_id;

-- name: version
SELECT
    r.first_message,
    r.superseded_by
FROM {schema}.metadata_records AS r
WHERE r.record_id = %(record_id)s;

-- name: memories_of_versions
-- The memories of the notes that state versions of a fact, the first version first, and whether each version stands.
SELECT
    o.record_id,
    o.status <> 'archived' AS stands,
    i.node_id,
    g.schema_name
FROM neurigraph.facts AS f
INNER JOIN neurigraph.facts AS o ON f.root_id = o.root_id
INNER JOIN neurigraph.record_index AS i ON o.record_id = i.record_id
INNER JOIN neurigraph.graph_index AS g ON i.node_id = g.node_id
WHERE f.fact_id = %(fact_id)s AND o.extractor = 'stated' AND i.source_kind = 'note' AND NOT i.quarantined
ORDER BY o.version;

-- name: chains_of_records
-- Return one stated fact of other records for each chain of versions that has a fact of the given records.
SELECT DISTINCT ON (o.root_id) o.fact_id
FROM neurigraph.facts AS f
INNER JOIN neurigraph.facts AS o ON f.root_id = o.root_id
WHERE f.record_id = ANY(%(record_ids)s) AND o.record_id <> ALL(%(record_ids)s) AND o.extractor = 'stated'
ORDER BY o.root_id, o.version;
