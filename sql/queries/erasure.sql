-- Erasure of a record, a node or a user: the rows, the receipt, and the journal of objects.

-- name: begin_erasing
-- Permit deletes from the append-only logs for the rest of the transaction.
SELECT set_config('neurigraph.erasing', 'on', true);

-- name: open_erasure
-- Open an erasure of a subject, or return the open one: a second request continues it.
WITH made AS (
    INSERT INTO neurigraph.erasures (user_id, subject_kind, subject_id, requested_through)
    VALUES (%(user_id)s, %(kind)s, %(subject_id)s, %(through)s)
    ON CONFLICT (subject_kind, subject_id) WHERE finished_at IS NULL DO NOTHING
    RETURNING erasure_id
)

SELECT m.erasure_id FROM made AS m
UNION ALL
SELECT e.erasure_id FROM neurigraph.erasures AS e
WHERE e.subject_kind = %(kind)s AND e.subject_id = %(subject_id)s AND e.finished_at IS NULL;

-- name: hold_inbox
-- Wait for the transactions that write to the user's inbox, and make later ones wait for the end of this transaction.
SELECT pg_advisory_xact_lock(hashtextextended('neurigraph.inbox:' || %(user_id)s::text, 0));

-- name: revoke_keys
-- Revoke all keys of the user's graph, including keys of its members and personas.
UPDATE neurigraph.api_keys SET revoked_at = now()
WHERE user_id = %(user_id)s AND revoked_at IS NULL;

-- name: note_ended_keys
-- Write the hashes of the keys that the erasure ends to the receipt, so that holders learn why their keys ended. Runs
-- before the keys are revoked.
UPDATE neurigraph.erasures AS e SET
    kept = e.kept || jsonb_build_object('keys', (
        SELECT coalesce(jsonb_agg(encode(k.key_hash, 'hex')), '[]')
        FROM neurigraph.api_keys AS k
        WHERE (k.user_id = e.user_id OR k.role = 'member' AND k.subject_id = e.user_id::text)
            AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())
    ))
WHERE e.erasure_id = %(erasure_id)s AND NOT e.kept ? 'keys';

-- name: erasure_of_key
-- The erasure that ended a key: of the key's user, or, for example of an organization, one that still runs.
SELECT e.rows_erased_at IS NULL AS is_running
FROM neurigraph.erasures AS e
WHERE (e.user_id = %(user_id)s OR e.finished_at IS NULL) AND e.subject_kind = 'user' AND e.requested_through <> 'move'
    AND e.kept -> 'keys' @> jsonb_build_array(%(key_hash)s::text)
ORDER BY e.w_coordinate DESC
LIMIT 1;

-- name: erasure_of_user
-- The erasure of a user that runs, or after which the user no longer exists. A move does not count as an erasure.
SELECT e.rows_erased_at IS NULL AS is_running
FROM neurigraph.erasures AS e
WHERE e.user_id = %(user_id)s AND e.subject_kind = 'user' AND e.requested_through <> 'move'
    AND (e.rows_erased_at IS NULL OR NOT EXISTS (SELECT FROM neurigraph.users AS u WHERE u.user_id = e.user_id))
ORDER BY e.w_coordinate DESC
LIMIT 1;

-- name: latest_erasure
SELECT e.erasure_id
FROM neurigraph.erasures AS e
WHERE e.user_id = %(user_id)s AND e.subject_kind = %(kind)s AND e.subject_id = %(subject_id)s
ORDER BY e.w_coordinate DESC
LIMIT 1;

-- name: erasure
SELECT e.*
FROM neurigraph.erasures AS e
WHERE e.erasure_id = %(erasure_id)s;

-- name: erasures
-- Receipts of one user or of all, newest first.
SELECT e.*
FROM neurigraph.erasures AS e
WHERE (%(user_id)s::uuid IS NULL OR e.user_id = %(user_id)s)
    AND (e.w_coordinate, e.erasure_id) < (%(at)s::timestamptz, %(id)s::uuid)
ORDER BY e.w_coordinate DESC, e.erasure_id DESC
LIMIT %(limit)s;

-- name: unfinished
SELECT e.erasure_id
FROM neurigraph.erasures AS e
WHERE e.finished_at IS NULL
ORDER BY e.w_coordinate;

-- name: add_to_receipt
UPDATE neurigraph.erasures AS e SET
    erased = neurigraph_private.added(e.erased, %(erased)s),
    kept = e.kept || (
        SELECT coalesce(jsonb_object_agg(k.key, coalesce(e.kept -> k.key, '[]') || k.value), jsonb_build_object())
        FROM jsonb_each(%(kept)s) AS k
    )
WHERE e.erasure_id = %(erasure_id)s;

-- name: set_rows_erased
-- Store the number of erased rows, and remove ids of kept rows that were erased later from the receipt.
UPDATE neurigraph.erasures AS e SET
    rows_erased_at = coalesce(e.rows_erased_at, clock_timestamp()),
    kept = e.kept || jsonb_build_object(
        'sources', (
            SELECT coalesce(jsonb_agg(s.source_id ORDER BY s.source_id), '[]') FROM neurigraph.sources AS s
            WHERE s.source_id IN (SELECT a.id::uuid FROM jsonb_array_elements_text(e.kept -> 'sources') AS a (id))
        ),
        'originals', (
            SELECT coalesce(jsonb_agg(f.file_id ORDER BY f.file_id), '[]') FROM neurigraph.file_index AS f
            WHERE f.file_id IN (SELECT a.id::uuid FROM jsonb_array_elements_text(e.kept -> 'originals') AS a (id))
        )
    )
WHERE e.erasure_id = %(erasure_id)s;

-- name: set_finished
-- Finish an erasure, after every object is removed.
UPDATE neurigraph.erasures AS e SET finished_at = coalesce(e.finished_at, clock_timestamp())
WHERE e.erasure_id = %(erasure_id)s AND e.rows_erased_at IS NOT NULL
    AND NOT EXISTS (
        SELECT FROM neurigraph.erased_objects AS o WHERE o.erasure_id = e.erasure_id AND o.object_key IS NOT NULL
    );

-- name: note_objects
INSERT INTO neurigraph.erased_objects (erasure_id, user_id, object_key, sha256, size_bytes)
SELECT
    %(erasure_id)s,
    %(user_id)s,
    o.object_key,
    o.sha256,
    o.size_bytes
FROM unnest(%(keys)s::text [], %(digests)s::bytea [], %(sizes)s::bigint []) AS o (object_key, sha256, size_bytes);

-- name: objects_left
SELECT
    o.number,
    o.object_key
FROM neurigraph.erased_objects AS o
WHERE o.erasure_id = %(erasure_id)s AND o.object_key IS NOT NULL
ORDER BY o.number
LIMIT %(limit)s;

-- name: objects_removed
UPDATE neurigraph.erased_objects SET object_key = NULL
WHERE erasure_id = %(erasure_id)s AND number = ANY(%(numbers)s);

-- name: objects
-- The objects of records, which have rows in the file manifests.
SELECT
    encode(o.sha256, 'hex') AS sha256,
    o.size_bytes,
    o.object_key IS NULL AS removed
FROM neurigraph.erased_objects AS o
WHERE o.erasure_id = %(erasure_id)s AND o.size_bytes IS NOT NULL
ORDER BY o.number;

-- name: slug_of_user
SELECT u.slug
FROM neurigraph.users AS u
WHERE u.user_id = %(user_id)s;

-- name: node_of_record
SELECT
    r.node_id,
    g.schema_name
FROM neurigraph.record_index AS r
INNER JOIN neurigraph.graph_index AS g ON r.node_id = g.node_id
WHERE r.record_id = %(record_id)s AND r.user_id = %(user_id)s;

-- name: nodes_below
-- A node and all nodes below it, or all nodes of the user if no node is named; children before parents.
SELECT
    g.node_id,
    g.schema_name,
    n.names
FROM neurigraph.graph_index AS g
CROSS JOIN LATERAL neurigraph.names_along(g.path) AS n
WHERE g.user_id = %(user_id)s AND (%(node_id)s::uuid IS NULL OR g.path @> ARRAY[%(node_id)s::uuid])
ORDER BY g.layer_depth DESC, g.node_id
LIMIT %(limit)s;

-- name: records_of_nodes
SELECT r.record_id
FROM neurigraph.record_index AS r
WHERE r.node_id = ANY(%(node_ids)s)
ORDER BY r.record_id;

-- name: files
SELECT f.*
FROM {schema}.file_manifest AS f
WHERE %(record_id)s::uuid IS NULL OR f.record_id = %(record_id)s
ORDER BY f.file_id;

-- name: parts_of_sources
-- The ranges of messages that the records have of their sources.
SELECT
    r.record_id,
    r.source_id,
    r.source_kind,
    r.first_message,
    r.last_message
FROM {schema}.metadata_records AS r
WHERE %(record_id)s::uuid IS NULL OR r.record_id = %(record_id)s;

-- name: successor_of_records
-- The earliest stored of the other records of a source.
SELECT
    r.record_id,
    r.node_id,
    g.schema_name
FROM neurigraph.record_index AS r
INNER JOIN neurigraph.graph_index AS g ON r.node_id = g.node_id
WHERE r.user_id = %(user_id)s AND r.source_id = %(source_id)s AND r.record_id <> ALL(%(record_ids)s)
ORDER BY r.created_at, r.record_id
LIMIT 1;

-- name: original_of_upload
SELECT
    f.file_id,
    f.record_id
FROM neurigraph.uploads AS u
INNER JOIN neurigraph.file_index AS f ON u.file_id = f.file_id
WHERE u.source_id = %(source_id)s;

-- name: hand_over_file
SELECT neurigraph_private.hand_over_file(%(file_id)s, %(record_id)s) AS storage_path;

-- name: neighbours
SELECT DISTINCT CASE WHEN e.from_node_id = ANY(%(node_ids)s) THEN e.to_node_id ELSE e.from_node_id END AS node_id
FROM neurigraph.node_edges AS e
WHERE (e.from_node_id = ANY(%(node_ids)s)) <> (e.to_node_id = ANY(%(node_ids)s));

-- name: record_of_fact
-- The record of a fact, and whether the record is a note that states this fact and nothing else.
SELECT
    f.record_id,
    f.extractor = 'stated' AND i.source_kind = 'note' AS is_by_hand
FROM neurigraph.facts AS f
INNER JOIN neurigraph.record_index AS i ON f.record_id = i.record_id
WHERE f.fact_id = %(fact_id)s AND f.user_id = %(user_id)s;

-- name: erase_fact
-- Erase a fact. The fact's key stays, so that reading the record again does not restore the statement.
WITH erased AS (
    DELETE FROM neurigraph.facts AS f
    WHERE f.fact_id = %(fact_id)s AND f.user_id = %(user_id)s
    RETURNING f.record_id, f.user_id, f.statement_key
),

remembered AS (
    INSERT INTO neurigraph.forgotten_facts (record_id, statement_key, user_id)
    SELECT
        g.record_id,
        g.statement_key,
        g.user_id
    FROM erased AS g
    ON CONFLICT DO NOTHING
),

-- The record may be being read again at this moment, and its windows read so far may have the statement.
answers AS (
    DELETE FROM neurigraph.read_windows AS w
    WHERE w.record_id IN (SELECT g.record_id FROM erased AS g)
)

SELECT count(*) AS facts FROM erased;

-- name: count_of_records
SELECT
    (SELECT count(*) FROM neurigraph.delta_log AS d WHERE d.record_id = ANY(%(record_ids)s)) AS deltas,
    (
        SELECT count(*) FROM neurigraph.compression_state_log AS l
        INNER JOIN neurigraph.file_index AS f ON l.file_id = f.file_id
        WHERE f.record_id = ANY(%(record_ids)s)
    ) AS state_changes,
    (SELECT count(*) FROM neurigraph.mentions AS m WHERE m.record_id = ANY(%(record_ids)s)) AS mentions,
    (SELECT count(*) FROM neurigraph.edge_evidence AS v WHERE v.record_id = ANY(%(record_ids)s)) AS evidence,
    (SELECT count(*) FROM neurigraph.facts AS f WHERE f.record_id = ANY(%(record_ids)s)) AS facts;

-- name: counts_of_graph
-- Count the edges, candidates and links of a user. Edges and candidates are deleted with their last evidence, and links
-- with their ends.
SELECT
    (SELECT count(*) FROM neurigraph.node_edges AS e WHERE e.user_id = %(user_id)s) AS edges,
    (SELECT count(*) FROM neurigraph.node_candidates AS c WHERE c.user_id = %(user_id)s) AS candidates,
    (SELECT count(*) FROM neurigraph.links AS l WHERE l.user_id = %(user_id)s) AS links;

-- name: count_of_nodes
SELECT
    (
        SELECT coalesce(sum(s.passages), 0)::bigint FROM neurigraph.node_statistics AS s
        WHERE s.node_id = ANY(%(node_ids)s)
    ) AS passages,
    (
        SELECT count(*) FROM neurigraph.permission_grants AS p WHERE p.target_node_id = ANY(%(node_ids)s)
    ) AS grants;

-- name: count_of_segment
SELECT coalesce(sum(s.passages), 0) AS passages
FROM neurigraph.segments AS s
WHERE s.record_id = %(record_id)s;

-- name: erase_files
DELETE FROM {schema}.file_manifest WHERE record_id = %(record_id)s;

-- name: erase_quarantine_changes
-- Erase the shells that quarantines store for a release, because they may contain erased words. A release still knows
-- which shells to compute again.
UPDATE neurigraph.quarantine_changes SET before = jsonb_build_object('quarantined', false), digest_after = NULL
WHERE user_id = %(user_id)s;

-- name: erase_record
-- Erase a record. Its registrations, deltas and log entries are deleted with it.
DELETE FROM {schema}.metadata_records WHERE record_id = %(record_id)s;

-- name: superseded_records
-- Records that one of the given records supersedes, if the caller may write to their nodes.
SELECT DISTINCT
    i.record_id,
    i.node_id,
    g.schema_name
FROM neurigraph.delta_log AS d
INNER JOIN neurigraph.record_index AS i ON d.record_id = i.record_id
INNER JOIN neurigraph.graph_index AS g ON i.node_id = g.node_id
WHERE d.delta_payload ->> 'operation' = 'supersede' AND d.user_id = %(user_id)s
    AND d.delta_payload -> 'after' ->> 'superseded_by' = ANY(%(superseding)s)
    AND d.record_id <> ALL(%(record_ids)s)
ORDER BY i.node_id, i.record_id;

-- name: clear_supersession
UPDATE {schema}.metadata_records SET superseded_by = NULL
WHERE record_id = %(record_id)s AND superseded_by = ANY(%(superseding)s);

-- name: erase_retrievals
-- Remove the ids of erased records from the log of retrievals, with the questions that found these records.
UPDATE neurigraph.retrievals AS r SET
    record_ids = ARRAY(SELECT k.id FROM unnest(r.record_ids) AS k (id) WHERE k.id <> ALL(%(record_ids)s::uuid [])),
    question = NULL
WHERE r.user_id = %(user_id)s AND r.record_ids && %(record_ids)s::uuid [];

-- name: erase_request_keys
-- Remove stored answers to requests about an erased object.
DELETE FROM neurigraph.request_keys AS k
WHERE k.user_id = %(user_id)s AND k.object_ids && %(object_ids)s::uuid [];

-- name: erase_evidence
-- Erase the evidence of all records in one statement: record by record, edges with evidence from many records would be
-- summed again for each.
WITH mentions AS (
    DELETE FROM neurigraph.mentions AS m WHERE m.record_id = ANY(%(record_ids)s)
)

DELETE FROM neurigraph.edge_evidence AS v WHERE v.record_id = ANY(%(record_ids)s);

-- name: erase_nodes
-- Erase nodes. All rows of shared tables that belong to the nodes and their records are deleted with them.
DELETE FROM neurigraph.graph_index WHERE node_id = ANY(%(node_ids)s) AND user_id = %(user_id)s;

-- name: erase_persona_rights
-- Erase keys of personas, and grants to personas, whose nodes are erased.
WITH keys AS (
    DELETE FROM neurigraph.api_keys
    WHERE user_id = %(user_id)s AND role = 'persona' AND subject_id = ANY(%(node_ids)s::text [])
    RETURNING key_id
),

grants AS (
    DELETE FROM neurigraph.permission_grants
    WHERE user_id = %(user_id)s AND subject_type = 'persona' AND subject_id = ANY(%(node_ids)s::text [])
    RETURNING grant_id
)

SELECT
    (SELECT count(*) FROM keys) AS keys,
    (SELECT count(*) FROM grants) AS grants;

-- name: drop_schema
DROP SCHEMA {schema} CASCADE;

-- name: erase_messages
DELETE FROM neurigraph.messages AS m
USING unnest(%(source_ids)s::uuid [], %(first_messages)s::integer [], %(last_messages)s::integer [])
    AS r (source_id, first_message, last_message)
WHERE m.source_id = r.source_id AND m.seq BETWEEN r.first_message AND r.last_message AND m.user_id = %(user_id)s;

-- name: finished_sources
-- Sources of which nothing is left: no record, no waiting segment, and no message to come.
SELECT
    s.source_id,
    u.staging_key,
    u.sha256,
    u.size_bytes
FROM neurigraph.sources AS s
LEFT JOIN neurigraph.uploads AS u ON s.source_id = u.source_id
WHERE s.source_id = ANY(%(source_ids)s) AND s.user_id = %(user_id)s
    AND s.ended_at IS NOT NULL AND s.stored_through = s.last_message
    AND NOT EXISTS (
        SELECT FROM neurigraph.record_index AS r
        WHERE r.user_id = s.user_id AND r.source_id = s.source_id
    )
ORDER BY s.source_id
FOR UPDATE OF s;

-- name: emptied_exports
-- Uploaded exports whose last conversations are among the given sources.
SELECT
    u.source_id,
    u.staging_key,
    u.sha256,
    u.size_bytes
FROM neurigraph.uploads AS u
WHERE u.user_id = %(user_id)s AND u.imported -> 'format' IS NOT NULL
    AND u.source_id IN (SELECT s.upload_id FROM neurigraph.sources AS s WHERE s.source_id = ANY(%(source_ids)s))
    AND NOT EXISTS (
        SELECT FROM neurigraph.sources AS o
        WHERE o.upload_id = u.source_id AND o.source_id <> ALL(%(source_ids)s)
    )
ORDER BY u.source_id
FOR UPDATE OF u;

-- name: erase_sources
DELETE FROM neurigraph.sources WHERE source_id = ANY(%(source_ids)s) AND user_id = %(user_id)s;

-- name: clear_titles
-- Clear the title, address, author and metadata of an open conversation whose messages were erased, so that it starts
-- again without them.
UPDATE neurigraph.sources AS s SET title = NULL, url = NULL, author = NULL, metadata = NULL
WHERE s.source_id = ANY(%(source_ids)s) AND s.user_id = %(user_id)s
    AND s.ended_at IS NULL AND s.stored_through = s.last_message
    AND NOT EXISTS (
        SELECT FROM neurigraph.record_index AS r
        WHERE r.user_id = s.user_id AND r.source_id = s.source_id
    );

-- name: candidates
SELECT
    c.candidate_id,
    c.parent_path
FROM neurigraph.node_candidates AS c
WHERE c.user_id = %(user_id)s;

-- name: erase_candidates
DELETE FROM neurigraph.node_candidates WHERE candidate_id = ANY(%(candidate_ids)s);

-- name: count_of_inbox
SELECT
    (SELECT count(*) FROM neurigraph.messages AS m WHERE m.user_id = %(user_id)s) AS messages,
    (SELECT count(*) FROM neurigraph.storage_triggers AS t WHERE t.user_id = %(user_id)s) AS segments,
    (SELECT count(*) FROM neurigraph.uploads AS u WHERE u.user_id = %(user_id)s) AS uploads,
    (SELECT count(*) FROM neurigraph.pipeline_failures AS f WHERE f.user_id = %(user_id)s) AS failures;

-- name: staged
SELECT
    u.staging_key,
    u.sha256,
    u.size_bytes
FROM neurigraph.uploads AS u
WHERE u.user_id = %(user_id)s AND u.staging_key IS NOT NULL;

-- name: erase_inbox
-- Erase the keys, candidates, dropped files, messages, segments, uploads and failures of a user, and sources without
-- records. Sources with records stay until the user is deleted, because records reference them.
WITH keys AS (
    DELETE FROM neurigraph.api_keys WHERE user_id = %(user_id)s
    RETURNING key_id
),

candidates AS (
    DELETE FROM neurigraph.node_candidates WHERE user_id = %(user_id)s
    RETURNING candidate_id
),

dropped AS (
    DELETE FROM neurigraph.dropped_files WHERE user_id = %(user_id)s
    RETURNING file_name
),

messages AS (
    DELETE FROM neurigraph.messages WHERE user_id = %(user_id)s
),

segments AS (
    DELETE FROM neurigraph.storage_triggers WHERE user_id = %(user_id)s
),

uploads AS (
    DELETE FROM neurigraph.uploads WHERE user_id = %(user_id)s
),

failures AS (
    DELETE FROM neurigraph.pipeline_failures WHERE user_id = %(user_id)s
),

sources AS (
    DELETE FROM neurigraph.sources AS s
    WHERE s.user_id = %(user_id)s AND NOT EXISTS (
        SELECT FROM neurigraph.record_index AS r WHERE r.user_id = s.user_id AND r.source_id = s.source_id
    )
    RETURNING s.source_id
)

SELECT
    (SELECT count(*) FROM keys) AS keys,
    (SELECT count(*) FROM candidates) AS candidates,
    (SELECT count(*) FROM dropped) AS dropped_files,
    (SELECT count(*) FROM sources) AS sources;

-- name: lock_user
-- Lock the user. Writers of this user's data wait, and then do not find the user.
SELECT u.user_id
FROM neurigraph.users AS u
WHERE u.user_id = %(user_id)s
FOR UPDATE;

-- name: count_of_sources
SELECT count(*) AS sources
FROM neurigraph.sources AS s
WHERE s.user_id = %(user_id)s;

-- name: erase_user
DELETE FROM neurigraph.users WHERE user_id = %(user_id)s;

-- name: node_of_user
SELECT g.layer_depth
FROM neurigraph.graph_index AS g
WHERE g.node_id = %(node_id)s AND g.user_id = %(user_id)s;

-- name: is_mirrored
-- Whether a record, or a node other than a mount node, is part of a mirror.
SELECT EXISTS (
    SELECT FROM neurigraph.mirrored_records AS r WHERE r.record_id = %(subject_id)s
    UNION ALL
    SELECT FROM neurigraph.mirrored_nodes AS n WHERE n.node_id = %(subject_id)s
) AS mirrored;
