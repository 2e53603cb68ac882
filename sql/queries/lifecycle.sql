-- File states: access times, transitions, sweeps and audits. These queries make every transition; triggers of the
-- manifest refuse impossible ones and write the log.

-- name: set_cause
-- The cause of state changes, for the rest of the transaction; the log requires it.
SELECT set_config('neurigraph.compression_cause', %(cause)s, true);

-- name: locate_file
SELECT
    i.file_id,
    i.node_id,
    g.schema_name
FROM neurigraph.file_index AS i
INNER JOIN neurigraph.graph_index AS g ON i.node_id = g.node_id
WHERE i.file_id = %(file_id)s;

-- name: manifest
SELECT f.*
FROM {schema}.file_manifest AS f
WHERE f.file_id = %(file_id)s;

-- name: transcript
SELECT f.*
FROM {schema}.file_manifest AS f
WHERE f.record_id = %(record_id)s AND f.file_type = 'transcript'
LIMIT 1;

-- name: disable_synchronous_commit
-- Do not wait for the disk, in transactions that only set access times. A crash may lose the latest access times.
SET LOCAL synchronous_commit = off;

-- name: touch_file
SELECT neurigraph.touch_file(%(file_id)s, %(node_id)s, %(schema_name)s, %(ttl_seconds)s);

-- name: lease_file
-- Lease a dormant file, or take over a lease that expired, or that starts in the future because the clock was set back.
UPDATE {schema}.file_manifest AS f SET
    compression_state = 'rehydrating',
    lease = tstzrange(clock_timestamp(), clock_timestamp() + make_interval(secs => %(lease_seconds)s)),
    lease_holder = %(holder)s
WHERE f.file_id = %(file_id)s
    AND (
        f.compression_state = 'dormant'
        OR (f.compression_state = 'rehydrating' AND NOT f.lease @> clock_timestamp())
    )
RETURNING f.*;

-- name: renew_lease
UPDATE {schema}.file_manifest SET
    lease = tstzrange(clock_timestamp(), clock_timestamp() + make_interval(secs => %(lease_seconds)s))
WHERE file_id = %(file_id)s AND lease_holder = %(holder)s;

-- name: activate
UPDATE {schema}.file_manifest AS f SET
    compression_state = 'active',
    content_sha256 = %(content_sha256)s,
    recompress_after = clock_timestamp() + make_interval(secs => %(ttl_seconds)s)
WHERE f.file_id = %(file_id)s AND f.lease_holder = %(holder)s
RETURNING f.*;

-- name: fail_rehydration
UPDATE {schema}.file_manifest SET
    compression_state = 'dormant',
    last_failure = %(reason)s
WHERE file_id = %(file_id)s AND lease_holder = %(holder)s;

-- name: note_failure
UPDATE {schema}.file_manifest SET last_failure = %(reason)s
WHERE file_id = %(file_id)s AND last_failure IS DISTINCT FROM %(reason)s;

-- name: lock_file
SELECT f.*
FROM {schema}.file_manifest AS f
WHERE f.file_id = %(file_id)s
FOR NO KEY UPDATE;

-- name: make_dormant
UPDATE {schema}.file_manifest SET compression_state = 'dormant'
WHERE file_id = ANY(%(file_ids)s) AND compression_state = 'active';

-- name: dormancy_nodes
-- Nodes with active files, the longest unused first: of one user, of one node, or without an access for some seconds.
-- An access time in the future comes from a wrong clock and counts as old.
SELECT
    g.node_id,
    g.schema_name
FROM neurigraph.graph_index AS g
WHERE g.compression_state <> 'dormant' AND g.record_count > 0
    AND (%(user_id)s::uuid IS NULL OR g.user_id = %(user_id)s)
    AND (%(node_id)s::uuid IS NULL OR g.node_id = %(node_id)s)
    AND (
        %(seconds)s::double precision IS NULL OR g.last_accessed_at NOT BETWEEN
        now() - make_interval(secs => %(seconds)s) AND now() + interval '1 day'
    )
ORDER BY g.last_accessed_at, g.node_id;

-- name: dormancy_files
SELECT f.*
FROM {schema}.file_manifest AS f
WHERE f.compression_state = 'active' AND f.file_id > %(after)s
    AND (
        %(seconds)s::double precision IS NULL OR f.last_accessed_at NOT BETWEEN
        now() - make_interval(secs => %(seconds)s) AND now() + interval '1 day'
    )
ORDER BY f.file_id
LIMIT %(limit)s
FOR NO KEY UPDATE SKIP LOCKED;

-- name: expiry_nodes
-- Nodes with files to compress again. A file that would stay active for longer than any lifetime is due, too, because
-- the clock was set back.
SELECT
    g.node_id,
    g.schema_name
FROM neurigraph.graph_index AS g
WHERE (%(user_id)s::uuid IS NULL OR g.user_id = %(user_id)s)
    AND g.next_recompress_at NOT BETWEEN
    now() - make_interval(secs => %(overdue_seconds)s) AND now() + make_interval(secs => %(seconds)s) + interval '1 day'
ORDER BY g.next_recompress_at, g.node_id;

-- name: expiry_files
SELECT f.*
FROM {schema}.file_manifest AS f
WHERE f.compression_state = 'active' AND f.file_id > %(after)s
    AND f.recompress_after NOT BETWEEN
    now() - make_interval(secs => %(overdue_seconds)s) AND now() + make_interval(secs => %(seconds)s) + interval '1 day'
ORDER BY f.file_id
LIMIT %(limit)s
FOR NO KEY UPDATE SKIP LOCKED;


-- name: sum_file_states
SELECT neurigraph.sum_file_states(%(node_id)s, %(schema_name)s);

-- name: rehydrating_nodes
SELECT
    g.node_id,
    g.schema_name
FROM neurigraph.graph_index AS g
WHERE g.compression_state = 'rehydrating' AND (%(user_id)s::uuid IS NULL OR g.user_id = %(user_id)s)
ORDER BY g.node_id;

-- name: stuck_files
-- Files whose rehydration is stuck. All files are locked before the first one is set to failed, which locks the node:
-- every transaction locks in this order.
SELECT
    f.file_id,
    f.file_name,
    f.lease_holder,
    lower(f.lease) AS since
FROM {schema}.file_manifest AS f
WHERE f.compression_state = 'rehydrating' AND NOT f.lease @> clock_timestamp()
ORDER BY f.file_id
LIMIT %(limit)s
FOR NO KEY UPDATE SKIP LOCKED;

-- name: history
-- The state history of a file, newest first.
SELECT
    l.event_type AS event,
    l.triggered_by,
    l.occurred_at,
    l.error_detail AS error
FROM neurigraph.compression_state_log AS l
WHERE l.file_id = %(file_id)s
ORDER BY l.entry DESC
LIMIT %(limit)s;

-- name: node_shell
SELECT
    g.node_id,
    g.schema_name,
    g.compression_state,
    g.last_accessed_at,
    g.next_recompress_at
FROM neurigraph.graph_index AS g
WHERE g.node_id = %(node_id)s;

-- name: totals_arm
-- The bytes of one node's files, by state. While a file is active, a working copy exists beside its compressed object.
SELECT
    {node_id}::uuid AS node_id,
    f.compression_state,
    count(*) AS files,
    coalesce(sum(f.size_bytes), 0)::bigint AS content_bytes,
    coalesce(
        sum(f.stored_bytes + CASE
            WHEN f.compression_state = 'active' AND f.compression_format = 'gzip' THEN f.size_bytes ELSE 0
        END), 0
    )::bigint AS occupied_bytes
FROM {schema}.file_manifest AS f
GROUP BY f.compression_state;

-- name: nodes_with_files
SELECT
    u.user_id,
    u.slug,
    g.node_id,
    g.schema_name,
    n.names
FROM neurigraph.graph_index AS g
INNER JOIN neurigraph.users AS u ON g.user_id = u.user_id
CROSS JOIN LATERAL neurigraph.names_along(g.path) AS n
WHERE g.record_count > 0 AND (%(user_id)s::uuid IS NULL OR g.user_id = %(user_id)s)
ORDER BY u.slug, n.names;

-- name: places_of_records
-- The nodes of some records, and of records that inherited an original from them.
SELECT
    r.record_id,
    r.node_id,
    g.schema_name
FROM neurigraph.record_index AS r
INNER JOIN neurigraph.graph_index AS g ON r.node_id = g.node_id
WHERE r.record_id = ANY(%(record_ids)s)
UNION
SELECT
    f.record_id,
    f.node_id,
    g.schema_name
FROM neurigraph.file_index AS f
INNER JOIN neurigraph.graph_index AS g ON f.node_id = g.node_id
WHERE f.file_id = ANY(%(original_ids)s);

-- name: files_of_records
SELECT f.*
FROM {schema}.file_manifest AS f
WHERE f.record_id = ANY(%(record_ids)s);

-- name: lock_files_of_records
SELECT f.*
FROM {schema}.file_manifest AS f
WHERE f.record_id = ANY(%(record_ids)s)
FOR NO KEY UPDATE;

-- name: guard_objects
-- Transactions that name a record's objects hold this shared lock, and a transaction that removes an object waits for
-- it.
SELECT pg_advisory_xact_lock_shared(hashtextextended('neurigraph.objects:' || r.record_id::text, 0))
FROM unnest(%(record_ids)s::uuid []) AS r (record_id);

-- name: lock_objects
-- Lock a record's objects. No record moves at the same time, because neither node would name the objects of a moving
-- record.
SELECT
    pg_advisory_xact_lock(hashtextextended('neurigraph.places', 0)),
    pg_advisory_xact_lock(hashtextextended('neurigraph.objects:' || %(record_id)s::text, 0));

-- name: keep_from_restoring
-- Keep restores from beginning, unless one is running: nobody sees the rows of its objects yet.
SELECT pg_try_advisory_xact_lock(hashtextextended('neurigraph.restoring', 0)) AS is_alone;

-- name: now
SELECT clock_timestamp() AS now;

-- name: nodes_to_verify
SELECT
    g.node_id,
    g.schema_name
FROM neurigraph.graph_index AS g
WHERE (%(user_id)s::uuid IS NULL OR g.user_id = %(user_id)s)
    AND (%(node_id)s::uuid IS NULL OR g.node_id = %(node_id)s)
ORDER BY g.node_id;

-- name: verify_shell
-- A node's row and its tables, read in one snapshot.
SELECT
    g.record_count,
    g.embedded_count,
    g.compression_state,
    g.next_recompress_at,
    s.state,
    s.due,
    r.records,
    r.embedded,
    u.embedding_next_model IS NOT NULL AS moving
FROM neurigraph.graph_index AS g
INNER JOIN neurigraph.users AS u ON g.user_id = u.user_id
CROSS JOIN neurigraph.summed_file_states(g.schema_name) AS s
CROSS JOIN LATERAL (
    SELECT
        count(*) AS records,
        count(*) FILTER (WHERE m.embedding_model = u.embedding_model) AS embedded
    FROM {schema}.metadata_records AS m
    INNER JOIN neurigraph.record_index AS i ON m.record_id = i.record_id AND NOT i.quarantined
) AS r
WHERE g.node_id = %(node_id)s;

-- name: verify_registries
-- Records and files that only the node or only the registry has, or that differ in both; records without their file;
-- and records of a source that replaces a wrong one.
SELECT
    m.record_id AS id,
    'the record is not in record_index' AS fault
FROM {schema}.metadata_records AS m
LEFT JOIN neurigraph.record_index AS i
    ON m.record_id = i.record_id AND i.node_id = %(node_id)s AND m.content_hash = i.content_hash
WHERE i.record_id IS NULL
UNION ALL
SELECT
    i.record_id,
    'record_index has other keywords or times than the record'
FROM neurigraph.record_index AS i
INNER JOIN {schema}.metadata_records AS m ON i.record_id = m.record_id
WHERE (i.content_type, i.occurred_at, i.superseded, i.entity_keys, i.topic_keys) IS DISTINCT FROM (
    m.content_type, m.occurred_at, m.superseded_by IS NOT NULL,
    neurigraph.keyword_keys(m.kw_entities), neurigraph.keyword_keys(m.kw_topics)
)
UNION ALL
SELECT
    i.record_id,
    'a record is hidden although neither a quarantine nor the archive holds it, or shown although one does'
FROM neurigraph.record_index AS i
INNER JOIN {schema}.metadata_records AS m ON i.record_id = m.record_id
WHERE i.quarantined <> m.quarantined OR i.quarantined <> (
    EXISTS (
        SELECT FROM neurigraph.quarantined_records AS q
        INNER JOIN neurigraph.quarantines AS u ON q.quarantine_id = u.quarantine_id
        WHERE q.record_id = i.record_id AND u.released_at IS NULL
    )
    OR EXISTS (
        SELECT FROM neurigraph.record_retention AS t WHERE t.record_id = i.record_id AND t.archived_at IS NOT NULL
    )
)
UNION ALL
SELECT
    i.record_id,
    'record_index names a record that the node does not have'
FROM neurigraph.record_index AS i
LEFT JOIN {schema}.metadata_records AS m ON i.record_id = m.record_id
WHERE i.node_id = %(node_id)s AND m.record_id IS NULL
UNION ALL
SELECT
    f.file_id,
    'the file is not in file_index'
FROM {schema}.file_manifest AS f
LEFT JOIN neurigraph.file_index AS i
    ON f.file_id = i.file_id AND i.node_id = %(node_id)s AND f.record_id = i.record_id
WHERE i.file_id IS NULL
UNION ALL
SELECT
    i.file_id,
    'file_index names a file that the node does not have'
FROM neurigraph.file_index AS i
LEFT JOIN {schema}.file_manifest AS f ON i.file_id = f.file_id
WHERE i.node_id = %(node_id)s AND f.file_id IS NULL
UNION ALL
SELECT
    m.record_id,
    'the source of the record replaces another one than the version before it'
FROM {schema}.metadata_records AS m
INNER JOIN neurigraph.sources AS s ON m.source_id = s.source_id
INNER JOIN neurigraph.sources AS b ON s.replaces = b.source_id
WHERE b.version >= s.version
    OR (b.user_id, b.kind, b.external_id, b.persona_id, b.member_id)
    IS DISTINCT FROM (s.user_id, s.kind, s.external_id, s.persona_id, s.member_id)
UNION ALL
SELECT
    m.record_id,
    'the record points at no file'
FROM {schema}.metadata_records AS m
LEFT JOIN {schema}.file_manifest AS f ON m.record_id = f.record_id AND m.file_pointer = f.storage_path
WHERE f.file_id IS NULL;

-- name: verify_log
-- Files whose last log entries do not lead to their state. A file is dormant after a failed rehydration, and another
-- failure may be logged while it is rehydrated.
SELECT
    f.file_id AS id,
    'the file is ' || f.compression_state || ', and the log ends with ' || coalesce(l.event::text, 'nothing') AS fault
FROM {schema}.file_manifest AS f
LEFT JOIN LATERAL (
    SELECT
        c.event_type AS event,
        EXISTS (
            SELECT FROM neurigraph.compression_state_log AS c2
            WHERE c2.file_id = f.file_id AND c2.event_type = 'failed' AND c2.entry > c.entry
        ) AS then_failed
    FROM neurigraph.compression_state_log AS c
    WHERE c.file_id = f.file_id AND c.event_type <> 'failed'
    ORDER BY c.entry DESC
    LIMIT 1
) AS l ON true
WHERE f.compression_state::text <> ALL(CASE
    WHEN l.event IN ('compressed', 'recompressed') THEN ARRAY['dormant']
    WHEN l.event = 'decompressed' THEN ARRAY['active']
    WHEN l.event = 'rehydrating' AND l.then_failed THEN ARRAY['dormant', 'rehydrating']
    WHEN l.event = 'rehydrating' THEN ARRAY['rehydrating']
    ELSE ARRAY[]::text []
END);

-- name: files_after
SELECT f.*
FROM {schema}.file_manifest AS f
WHERE f.file_id > %(after)s
ORDER BY f.file_id
LIMIT %(limit)s;

-- name: segment_of_record
SELECT
    s.content,
    s.passages,
    s.words,
    s.vectors,
    s.next_vectors
FROM neurigraph.segments AS s
WHERE s.record_id = %(record_id)s;

-- name: set_record_count
UPDATE neurigraph.graph_index AS g SET record_count = (
    SELECT count(*) FROM {schema}.metadata_records AS m
    INNER JOIN neurigraph.record_index AS i ON m.record_id = i.record_id AND NOT i.quarantined
)
WHERE g.node_id = %(node_id)s;

-- name: clear_failure
UPDATE {schema}.file_manifest SET last_failure = NULL
WHERE file_id = %(file_id)s AND last_failure IS NOT NULL AND compression_state <> 'rehydrating';

-- name: sample_files
SELECT
    i.file_id,
    i.node_id,
    g.schema_name
FROM neurigraph.file_index AS i
INNER JOIN neurigraph.graph_index AS g ON i.node_id = g.node_id
ORDER BY random()
LIMIT %(count)s;
