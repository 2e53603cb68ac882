-- Splitting of stored records: the rows that depend on messages follow these to new records.

-- name: stored_part
-- The messages of a record and its transcript, as far as a split depends on them, and why it is not split; null if it
-- may be. A text that only an uploaded file has is opened with the file.
SELECT
    r.first_message,
    r.last_message,
    r.created_at,
    f.storage_path,
    CASE
        WHEN r.superseded_by IS NOT NULL THEN 'another memory supersedes it'
        WHEN r.file_pointer <> f.storage_path THEN 'an uploaded file is opened with it'
        WHEN EXISTS (
            SELECT FROM neurigraph.record_index AS i
            INNER JOIN neurigraph.graph_index AS g ON i.node_id = g.node_id
            INNER JOIN neurigraph.graph_index AS p ON p.node_id = ANY(g.path)
            WHERE i.record_id = r.record_id AND p.node_type = 'persona'
        ) THEN 'a persona reads it at its node: move it first'
        WHEN EXISTS (
            SELECT FROM neurigraph.actions AS a
            WHERE r.record_id IN (a.record_id, a.other_record_id) AND a.finished_at IS NULL AND a.kind <> 'move'
        ) THEN 'a decision about it is open'
    END AS obstacle
FROM {schema}.metadata_records AS r
INNER JOIN {schema}.file_manifest AS f ON r.record_id = f.record_id AND f.file_type = 'transcript'
WHERE r.record_id = %(record_id)s;

-- name: set_aside
-- Return the mentions and the evidence that were read in a record as a whole. They stand until the parts have theirs,
-- so that no name, candidate or relation goes meanwhile; the mentions have a role that no reader of records writes, so
-- that those of the parts are not taken for repetitions.
WITH aside AS (
    UPDATE neurigraph.mentions AS m SET role = 'component'
    WHERE m.record_id = %(record_id)s AND m.fact_id IS NULL AND m.detected_by <> 'person'
    RETURNING m.mention_id
)

SELECT
    ARRAY(SELECT a.mention_id FROM aside AS a) AS mentions,
    ARRAY(
        SELECT v.evidence_id FROM neurigraph.edge_evidence AS v
        WHERE v.record_id = %(record_id)s AND v.fact_id IS NULL AND v.detected_by <> 'person'
    ) AS evidence;

-- name: delete_set_aside
WITH mentions AS (
    DELETE FROM neurigraph.mentions AS m WHERE m.mention_id = ANY(%(mentions)s)
)

DELETE FROM neurigraph.edge_evidence AS v WHERE v.evidence_id = ANY(%(evidence)s);

-- name: among_records
SELECT w.id
FROM ({found}) AS w
WHERE w.id = ANY(%(record_ids)s)
LIMIT 1;

-- name: move_facts
-- Give facts to the records that have their messages.
UPDATE neurigraph.facts AS f SET record_id = p.record_id
FROM unnest(%(record_ids)s::uuid [], %(first_messages)s::integer [], %(last_messages)s::integer [])
    AS p (record_id, first_message, last_message)
WHERE f.record_id = %(record_id)s AND f.last_message BETWEEN p.first_message AND p.last_message
    AND p.record_id <> f.record_id;

-- name: read_parts
-- Let the record wait to be read for facts, unless it waits already.
INSERT INTO neurigraph.pending_facts (record_id, user_id) VALUES (%(record_id)s, %(user_id)s)
ON CONFLICT DO NOTHING;

-- name: move_links
-- Give links to the records of their facts, which the trigger of the table reads again.
UPDATE neurigraph.links AS l SET relation = l.relation
FROM neurigraph.facts AS f
WHERE f.record_id = ANY(%(record_ids)s) AND f.fact_id IN (l.from_fact_id, l.to_fact_id);

-- name: move_links_of_records
-- Give links that begin at the record itself to the record that has the messages which show them. A signature names
-- the ends, so signed links stay.
UPDATE neurigraph.links AS l SET from_record_id = p.record_id
FROM unnest(%(record_ids)s::uuid [], %(first_messages)s::integer [], %(last_messages)s::integer [])
    AS p (record_id, first_message, last_message)
WHERE l.from_record_id = %(record_id)s AND l.from_fact_id IS NULL AND p.record_id <> l.from_record_id
    AND l.signature IS NULL AND cardinality(l.messages) > 0
    AND p.first_message <= ALL(l.messages) AND p.last_message >= ALL(l.messages);

-- name: move_statements_of_facts
WITH mentions AS (
    UPDATE neurigraph.mentions AS m SET record_id = f.record_id
    FROM neurigraph.facts AS f
    WHERE m.record_id = %(record_id)s AND m.fact_id = f.fact_id AND f.record_id <> m.record_id
)

UPDATE neurigraph.edge_evidence AS v SET record_id = f.record_id
FROM neurigraph.facts AS f
WHERE v.record_id = %(record_id)s AND v.fact_id = f.fact_id AND f.record_id <> v.record_id;

-- name: move_definitions
-- Let the nodes that were made for the record be defined by the record that speaks of them now.
UPDATE neurigraph.graph_index AS g SET defined_by = n.record_id
FROM (
    SELECT DISTINCT ON (m.node_id)
        m.node_id,
        m.record_id
    FROM neurigraph.mentions AS m
    WHERE m.record_id = ANY(%(record_ids)s)
    ORDER BY m.node_id, m.record_id <> %(record_id)s, m.record_id
) AS n
WHERE g.node_id = n.node_id AND g.defined_by = %(record_id)s AND n.record_id <> %(record_id)s;

-- name: copy_retention
-- Give the new records the life of the record.
INSERT INTO neurigraph.record_retention (
    record_id, user_id, tier, lifetime, granted_until, expires_at, reason, access_count, access_days, last_access_at,
    hour_askers
)
SELECT
    n.record_id,
    t.user_id,
    t.tier,
    t.lifetime,
    t.granted_until,
    t.expires_at,
    t.reason,
    t.access_count,
    t.access_days,
    t.last_access_at,
    t.hour_askers
FROM neurigraph.record_retention AS t
CROSS JOIN unnest(%(new_ids)s::uuid []) AS n (record_id)
WHERE t.record_id = %(record_id)s;

-- name: copy_forgotten
-- Keep statements forgotten wherever they may be read again.
INSERT INTO neurigraph.forgotten_facts (record_id, statement_key, user_id)
SELECT
    n.record_id,
    o.statement_key,
    o.user_id
FROM neurigraph.forgotten_facts AS o
CROSS JOIN unnest(%(new_ids)s::uuid []) AS n (record_id)
WHERE o.record_id = %(record_id)s;

-- name: copy_retrievals
-- The log of a retrieval of the record also names the new records: the caller may have read their messages.
UPDATE neurigraph.retrievals AS r SET record_ids = r.record_ids || %(new_ids)s::uuid []
WHERE r.user_id = %(user_id)s AND %(record_id)s = ANY(r.record_ids);

-- name: wait_on
-- Let the new records wait wherever the record waits. A run that reads the record at this moment loses its lease:
-- it has read messages that the record no longer has. So have the windows that were read.
WITH windows AS (
    DELETE FROM neurigraph.read_windows AS w WHERE w.record_id = %(record_id)s
),

restarted AS (
    UPDATE neurigraph.pending_facts AS p SET attempts = p.attempts + 1, next_attempt_at = now()
    WHERE p.record_id = %(record_id)s
    RETURNING p.user_id
),

to_read AS (
    INSERT INTO neurigraph.pending_facts (record_id, user_id)
    SELECT
        n.record_id,
        r.user_id
    FROM restarted AS r CROSS JOIN unnest(%(new_ids)s::uuid []) AS n (record_id)
)

INSERT INTO neurigraph.pending_verdicts (record_id, user_id)
SELECT
    n.record_id,
    v.user_id
FROM neurigraph.pending_verdicts AS v CROSS JOIN unnest(%(new_ids)s::uuid []) AS n (record_id)
WHERE v.record_id = %(record_id)s;

-- name: origins_of_records
-- The records that some records were split from, directly or through others, and when. Their deltas until then tell of
-- the messages that the others have.
WITH RECURSIVE origins AS (
    SELECT
        d.record_id,
        d.w_coordinate
    FROM neurigraph.delta_log AS d
    WHERE d.user_id = %(user_id)s AND d.delta_payload ->> 'operation' = 'split'
        AND d.delta_payload -> 'after' -> 'parts' ?| %(record_ids)s::text []
    UNION
    SELECT
        d.record_id,
        d.w_coordinate
    FROM origins AS o
    INNER JOIN neurigraph.delta_log AS d
        ON d.user_id = %(user_id)s AND d.delta_payload ->> 'operation' = 'split'
            AND d.delta_payload -> 'after' -> 'parts' ? o.record_id::text
)

SELECT
    o.record_id,
    max(o.w_coordinate) AS moment
FROM origins AS o
GROUP BY o.record_id;

-- name: erase_words_before
-- Remove words from the deltas of a record until it was split: a past state shows the words of the present instead.
UPDATE neurigraph.delta_log AS d SET
    delta_payload = d.delta_payload || jsonb_build_object(
        'before', coalesce((d.delta_payload -> 'before') - %(words)s::text [], jsonb_build_object()),
        'after', coalesce(d.delta_payload -> 'after', jsonb_build_object()) || coalesce((
            SELECT jsonb_object_agg(w.name, CASE jsonb_typeof(d.delta_payload -> 'after' -> w.name)
                WHEN 'array' THEN '[]'::jsonb ELSE '""'::jsonb
            END)
            FROM unnest(%(words)s::text []) AS w (name)
            WHERE d.delta_payload -> 'after' ? w.name
        ), jsonb_build_object()),
        'notes', jsonb_build_array()
    )
WHERE d.record_id = %(record_id)s AND d.w_coordinate <= %(moment)s;
