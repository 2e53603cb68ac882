-- Quarantine: hiding memories from every retrieval, and showing them again. Queries run as neurigraph_owner unless
-- their comment says otherwise.

-- name: insert
INSERT INTO neurigraph.quarantines (
    user_id, source_id, key_id, persona_id, received_from, received_until, reason, requested_by
)
VALUES (
    %(user_id)s, %(source_id)s, %(key_id)s, %(persona_id)s, %(received_from)s, %(received_until)s, %(reason)s,
    %(requested_by)s
)
RETURNING quarantine_id;

-- name: in_force
-- The quarantine in force with the same conditions.
SELECT q.quarantine_id
FROM neurigraph.quarantines AS q
WHERE q.user_id = %(user_id)s AND q.released_at IS NULL
    AND (q.source_id, q.key_id, q.persona_id, q.received_from, q.received_until) IS NOT DISTINCT FROM (
        %(source_id)s::uuid, %(key_id)s::uuid, %(persona_id)s::uuid, %(received_from)s::timestamptz,
        %(received_until)s::timestamptz
    );

-- name: records_met
-- The records that a rule meets, with the values that quarantining needs.
SELECT
    r.record_id,
    r.node_id,
    r.messages,
    g.schema_name,
    i.created_at,
    i.quarantined
FROM neurigraph_private.records_met(jsonb_populate_record(NULL::neurigraph.quarantines, %(rule)s)) AS r
INNER JOIN neurigraph.record_index AS i ON r.record_id = i.record_id
INNER JOIN neurigraph.graph_index AS g ON r.node_id = g.node_id
ORDER BY r.node_id, r.record_id;

-- name: hold
INSERT INTO neurigraph.quarantined_records (quarantine_id, record_id, user_id)
SELECT
    %(quarantine_id)s,
    r.record_id,
    %(user_id)s
FROM unnest(%(record_ids)s::uuid []) AS r (record_id)
ON CONFLICT DO NOTHING;

-- name: revisions_met
-- The changes of records that a rule meets.
SELECT
    r.delta_id,
    r.record_id
FROM neurigraph_private.revisions_met(jsonb_populate_record(NULL::neurigraph.quarantines, %(rule)s)) AS r
ORDER BY r.record_id, r.delta_id;

-- name: hide_deltas
-- Hide changes that a rule meets, and deltas that earlier quarantines appended to the same records.
WITH met AS MATERIALIZED (
    SELECT
        r.delta_id,
        r.record_id
    FROM neurigraph_private.revisions_met(jsonb_populate_record(NULL::neurigraph.quarantines, %(rule)s)) AS r
)

INSERT INTO neurigraph.quarantined_deltas (quarantine_id, delta_id, record_id, user_id, reverts)
SELECT
    %(quarantine_id)s,
    m.delta_id,
    m.record_id,
    %(user_id)s,
    false
FROM met AS m
UNION ALL
SELECT
    %(quarantine_id)s,
    d.delta_id,
    d.record_id,
    %(user_id)s,
    true
FROM neurigraph.delta_log AS d
WHERE d.record_id IN (SELECT m.record_id FROM met AS m) AND neurigraph.kind_of_author(d.authored_by) = 'quarantine'
RETURNING record_id;

-- name: hide_reverts
-- Hide deltas that quarantines appended, in every quarantine in force that hides a change of the same record.
INSERT INTO neurigraph.quarantined_deltas (quarantine_id, delta_id, record_id, user_id, reverts)
SELECT DISTINCT
    q.quarantine_id,
    d.delta_id,
    d.record_id,
    d.user_id,
    true
FROM neurigraph.quarantined_deltas AS q
INNER JOIN neurigraph.delta_log AS d ON q.record_id = d.record_id
WHERE q.record_id = ANY(%(record_ids)s) AND neurigraph.kind_of_author(d.authored_by) = 'quarantine'
ON CONFLICT DO NOTHING;

-- name: show_deltas
DELETE FROM neurigraph.quarantined_deltas AS q WHERE q.quarantine_id = %(quarantine_id)s
RETURNING q.record_id;

-- name: visible_fields
-- The fields that hidden changes touch, with the values that visible changes give them.
SELECT
    i.record_id,
    i.node_id,
    g.schema_name,
    neurigraph_private.visible_fields(i.record_id) AS visible
FROM neurigraph.record_index AS i
INNER JOIN neurigraph.graph_index AS g ON i.node_id = g.node_id
WHERE i.record_id = ANY(%(record_ids)s)
ORDER BY i.record_id;

-- name: set_supersessions
UPDATE {schema}.metadata_records SET superseded = neurigraph_private.visible_supersessions(record_id)
WHERE record_id = %(record_id)s;

-- name: place
SELECT
    i.node_id,
    g.schema_name
FROM neurigraph.record_index AS i
INNER JOIN neurigraph.graph_index AS g ON i.node_id = g.node_id
WHERE i.record_id = %(record_id)s;

-- name: node
SELECT g.schema_name
FROM neurigraph.graph_index AS g
WHERE g.node_id = %(node_id)s AND g.user_id = %(user_id)s;

-- name: keep_vector
INSERT INTO neurigraph.quarantined_vectors (
    record_id, summary_digest, user_id, embedding, embedding_model, embedding_next, embedding_next_model
)
SELECT
    r.record_id,
    md5(r.summary),
    %(user_id)s,
    r.embedding::text,
    r.embedding_model,
    r.embedding_next::text,
    r.embedding_next_model
FROM {schema}.metadata_records AS r
WHERE r.record_id = %(record_id)s
ON CONFLICT (record_id, summary_digest) DO UPDATE SET
    embedding = excluded.embedding,
    embedding_model = excluded.embedding_model,
    embedding_next = excluded.embedding_next,
    embedding_next_model = excluded.embedding_next_model;

-- name: kept_vector
-- The stored vector of a summary, unless it is of another model than the one in use.
SELECT
    v.embedding::vector AS embedding,
    false AS embedding_pending,
    v.embedding_model,
    v.embedding_next::vector AS embedding_next,
    v.embedding_next_model
FROM neurigraph.quarantined_vectors AS v
WHERE v.record_id = %(record_id)s AND v.summary_digest = md5(%(summary)s) AND v.embedding_model = %(model)s;

-- name: no_vector
-- The values of a summary without a vector: the record is pending, as after a commit.
SELECT
    array_fill(0, ARRAY[1536])::vector AS embedding,
    true AS embedding_pending,
    NULL AS embedding_model,
    NULL AS embedding_next,
    NULL AS embedding_next_model;

-- name: forget_vectors
-- Delete vectors of records of which no change is hidden any more.
DELETE FROM neurigraph.quarantined_vectors AS v
WHERE v.record_id = ANY(%(record_ids)s) AND NOT EXISTS (
    SELECT FROM neurigraph.quarantined_deltas AS q WHERE q.record_id = v.record_id
);

-- name: set_quarantined
SELECT neurigraph_private.set_quarantined(%(record_ids)s, %(hidden)s);

-- name: remember_graph
CREATE TEMPORARY TABLE graph_before ON COMMIT DROP AS
SELECT
    g.node_id,
    neurigraph_private.changeable(g) AS content
FROM neurigraph.graph_index AS g
WHERE g.user_id = %(user_id)s;

-- name: note_changes
-- Store the shells that changed since they were remembered. A shell that an earlier quarantine changed stays as the
-- earlier quarantine stored it.
INSERT INTO neurigraph.quarantine_changes (quarantine_id, user_id, table_name, row_id, before, digest_after)
SELECT
    %(quarantine_id)s,
    %(user_id)s,
    'graph_index',
    b.node_id,
    b.content,
    md5(neurigraph_private.changeable(g)::text)
FROM pg_temp.graph_before AS b
INNER JOIN neurigraph.graph_index AS g ON b.node_id = g.node_id
WHERE b.content IS DISTINCT FROM neurigraph_private.changeable(g);

-- name: hide_nodes
-- Hide nodes that were made for the given records and that have no visible record, no visible node below, no edge, and
-- no grant. Runs for one layer at a time, the deepest first.
UPDATE neurigraph.graph_index AS g SET quarantined = true
WHERE g.user_id = %(user_id)s AND g.layer_depth = %(layer)s AND g.node_type = 'concept' AND NOT g.quarantined
    AND g.defined_by = ANY(%(record_ids)s::uuid [])
    AND NOT EXISTS (
        SELECT FROM neurigraph.record_index AS i WHERE i.node_id = g.node_id AND NOT i.quarantined
    )
    AND NOT EXISTS (
        SELECT FROM neurigraph.graph_index AS c WHERE c.parent_node_id = g.node_id AND NOT c.quarantined
    )
    AND NOT EXISTS (
        SELECT FROM neurigraph.node_edges AS e
        WHERE g.node_id IN (e.from_node_id, e.to_node_id) AND e.evidence_count > 0
    )
    AND NOT EXISTS (
        SELECT FROM neurigraph.permission_grants AS p WHERE p.target_node_id = g.node_id AND p.revoked_at IS NULL
    )
RETURNING g.node_id;

-- name: lock
SELECT
    q.quarantine_id,
    q.released_at
FROM neurigraph.quarantines AS q
WHERE q.quarantine_id = %(quarantine_id)s AND q.user_id = %(user_id)s
FOR NO KEY UPDATE;

-- name: release
UPDATE neurigraph.quarantines SET released_at = clock_timestamp(), released_by = %(released_by)s
WHERE quarantine_id = %(quarantine_id)s;

-- name: let_go
-- Release records, and return those that no other quarantine in force holds and that are not in the archive.
WITH freed AS (
    DELETE FROM neurigraph.quarantined_records AS r WHERE r.quarantine_id = %(quarantine_id)s
    RETURNING r.record_id
)

SELECT
    f.record_id,
    i.node_id,
    g.schema_name
FROM freed AS f
INNER JOIN neurigraph.record_index AS i ON f.record_id = i.record_id
INNER JOIN neurigraph.graph_index AS g ON i.node_id = g.node_id
WHERE NOT EXISTS (
    SELECT FROM neurigraph.quarantined_records AS o
    WHERE o.record_id = f.record_id AND o.quarantine_id <> %(quarantine_id)s
)
AND NOT EXISTS (
    SELECT FROM neurigraph.record_retention AS a WHERE a.record_id = f.record_id AND a.archived_at IS NOT NULL
)
ORDER BY i.node_id, f.record_id;

-- name: successor
-- Another quarantine in force that holds some of the same records. It takes over the changes of the released
-- quarantine.
SELECT o.quarantine_id
FROM neurigraph.quarantined_records AS r
INNER JOIN neurigraph.quarantined_records AS o ON r.record_id = o.record_id AND r.quarantine_id <> o.quarantine_id
WHERE r.quarantine_id = %(quarantine_id)s
ORDER BY o.quarantine_id
LIMIT 1;

-- name: hand_on
UPDATE neurigraph.quarantine_changes AS c SET quarantine_id = %(successor)s
WHERE c.quarantine_id = %(quarantine_id)s AND NOT EXISTS (
    SELECT FROM neurigraph.quarantine_changes AS o
    WHERE o.quarantine_id = %(successor)s AND o.table_name = c.table_name AND o.row_id = c.row_id
);

-- name: restore_shells
-- Restore the shells that nothing changed since.
UPDATE neurigraph.graph_index AS g SET
    node_keywords = b.node_keywords,
    keyword_weights = b.keyword_weights,
    node_summary = b.node_summary,
    centroid = b.centroid,
    embedded_count = b.embedded_count,
    record_count = b.record_count,
    language = b.language,
    quarantined = b.quarantined
FROM neurigraph.quarantine_changes AS c
CROSS JOIN LATERAL jsonb_populate_record(NULL::neurigraph.graph_index, c.before) AS b
WHERE c.quarantine_id = %(quarantine_id)s AND g.node_id = c.row_id
    AND c.digest_after = md5(neurigraph_private.changeable(g)::text);

-- name: changed_shells
-- The shells that changed since the quarantine: they are computed again.
SELECT g.node_id
FROM neurigraph.quarantine_changes AS c
INNER JOIN neurigraph.graph_index AS g ON c.row_id = g.node_id
WHERE c.quarantine_id = %(quarantine_id)s AND c.before IS DISTINCT FROM neurigraph_private.changeable(g)
ORDER BY g.node_id;

-- name: show_nodes
-- Show nodes, and the nodes above them.
UPDATE neurigraph.graph_index AS g SET quarantined = false
WHERE g.quarantined AND g.node_id IN (
    SELECT a.node_id FROM neurigraph.graph_index AS n CROSS JOIN LATERAL unnest(n.path) AS a (node_id)
    WHERE n.node_id = ANY(%(node_ids)s)
);

-- name: forget_changes
DELETE FROM neurigraph.quarantine_changes AS c
WHERE c.quarantine_id = %(quarantine_id)s;

-- name: quarantines
-- The log of quarantines of one graph, newest first. Runs as the caller.
SELECT
    q.quarantine_id,
    q.source_id,
    q.key_id,
    q.persona_id,
    q.received_from AS received_after,
    q.received_until AS received_before,
    q.reason,
    q.requested_by,
    q.created_at,
    q.released_by,
    q.released_at,
    (
        SELECT count(*) FROM neurigraph.quarantined_records AS r WHERE r.quarantine_id = q.quarantine_id
    ) AS record_count,
    (
        SELECT count(*) FROM neurigraph.quarantined_deltas AS d
        WHERE d.quarantine_id = q.quarantine_id AND NOT d.reverts
    ) AS revision_count
FROM neurigraph.quarantines AS q
WHERE q.user_id = %(user_id)s
    AND (%(quarantine_id)s::uuid IS NULL OR q.quarantine_id = %(quarantine_id)s)
    AND (%(with_released)s OR q.released_at IS NULL)
    AND (q.created_at, q.quarantine_id) < (%(at)s::timestamptz, %(id)s::uuid)
ORDER BY q.created_at DESC, q.quarantine_id DESC
LIMIT %(limit)s;

-- name: has_source
SELECT s.source_id
FROM neurigraph.sources AS s
WHERE s.source_id = %(source_id)s AND s.user_id = %(user_id)s;

-- name: has_key
-- Find a key that exists, or a message that a deleted key handed in.
SELECT k.key_id
FROM neurigraph.api_keys AS k
WHERE k.key_id = %(key_id)s AND k.user_id = %(user_id)s
UNION ALL
SELECT m.key_id
FROM neurigraph.messages AS m
WHERE m.key_id = %(key_id)s AND m.user_id = %(user_id)s
LIMIT 1;

-- name: has_persona
SELECT s.persona_id
FROM neurigraph.sources AS s
WHERE s.persona_id = %(persona_id)s AND s.user_id = %(user_id)s
UNION ALL
SELECT g.node_id
FROM neurigraph.graph_index AS g
WHERE g.node_id = %(persona_id)s AND g.user_id = %(user_id)s AND g.node_type = 'persona'
LIMIT 1;
