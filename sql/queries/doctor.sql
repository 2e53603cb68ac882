-- Queries of the doctor, to the database of the memories and to Dagster's.

-- name: server
-- The server. `ahead` is the number of seconds by which the newest sign of life lies in the future.
SELECT
    current_setting('server_version') AS version,
    (SELECT e.extversion FROM pg_catalog.pg_extension AS e WHERE e.extname = 'vector') AS vector,
    extract(EPOCH FROM clock_timestamp())::double precision AS clock,
    coalesce(
        (SELECT extract(EPOCH FROM max(h.beat_at) - clock_timestamp()) FROM neurigraph.heartbeats AS h), 0
    )::double precision AS ahead;

-- name: others_at_personas
-- Personas with memories at or below them that no persona sent and that nobody pinned, moved or mirrored there.
SELECT
    p.node_id,
    u.slug,
    count(*) AS records
FROM neurigraph.graph_index AS p
INNER JOIN neurigraph.users AS u ON p.user_id = u.user_id
INNER JOIN neurigraph.graph_index AS g ON p.user_id = g.user_id AND g.path @> ARRAY[p.node_id]
INNER JOIN neurigraph.record_index AS i ON g.node_id = i.node_id
INNER JOIN neurigraph.sources AS s ON i.source_id = s.source_id
WHERE p.node_type = 'persona' AND s.persona_id IS NULL
    -- An import of a vault pins a note by the note's folder.
    AND NOT EXISTS (
        SELECT FROM neurigraph.notes AS n
        WHERE n.source_id = s.source_id AND n.pinned AND s.external_id !~ '^(vault|basic-memory):'
    )
    AND NOT EXISTS (
        SELECT FROM neurigraph.delta_log AS d
        WHERE d.record_id = i.record_id AND d.delta_payload ->> 'operation' = 'move'
    )
    AND NOT EXISTS (SELECT FROM neurigraph.peers AS m WHERE m.user_id = g.user_id AND g.path @> ARRAY[m.mount_node_id])
GROUP BY p.node_id, u.slug
ORDER BY u.slug, p.node_id;

-- name: nodes_at_personas
-- The schemas of personas and of the nodes below them.
SELECT
    p.node_id,
    u.slug,
    g.schema_name
FROM neurigraph.graph_index AS p
INNER JOIN neurigraph.users AS u ON p.user_id = u.user_id
INNER JOIN neurigraph.graph_index AS g ON p.user_id = g.user_id AND g.path @> ARRAY[p.node_id]
WHERE p.node_type = 'persona'
ORDER BY u.slug, p.node_id;

-- name: mixed_records
-- Records of a persona's conversations with a message from somebody else, unless somebody moved the records here.
SELECT count(*) AS records
FROM {schema}.metadata_records AS r
INNER JOIN neurigraph.sources AS s ON r.source_id = s.source_id
WHERE s.persona_id IS NOT NULL
    AND EXISTS (
        SELECT FROM neurigraph.messages AS m
        WHERE m.source_id = r.source_id AND m.seq BETWEEN r.first_message AND r.last_message
            AND m.received_through IS NOT NULL AND m.persona_id IS DISTINCT FROM s.persona_id
    )
    AND NOT EXISTS (
        SELECT FROM neurigraph.delta_log AS d
        WHERE d.record_id = r.record_id AND d.delta_payload ->> 'operation' = 'move'
    );

-- name: has_dagster
SELECT EXISTS (
    SELECT FROM pg_catalog.pg_database AS d WHERE d.datname = current_database() || '_dagster'
) AS present;

-- name: has_records
SELECT to_regclass('runs') IS NOT NULL AND to_regclass('asset_check_executions') IS NOT NULL AS present;

-- name: failed_checks
-- Asset checks whose newest finished evaluation failed.
SELECT
    n.check_name,
    n.is_error
FROM (
    SELECT DISTINCT ON (c.asset_key, c.check_name)
        c.check_name,
        c.execution_status,
        c.evaluation_event LIKE '%%AssetCheckSeverity.ERROR%%' AS is_error
    FROM asset_check_executions AS c
    WHERE c.execution_status IN ('SUCCEEDED', 'FAILED')
    ORDER BY c.asset_key, c.check_name, c.id DESC
) AS n
WHERE n.execution_status = 'FAILED'
ORDER BY n.check_name;

-- name: failed_runs
-- Runs that failed in the last day, newest first.
SELECT
    r.run_id,
    r.pipeline_name AS job,
    r.update_timestamp AT TIME ZONE 'UTC' AS ended_at
FROM runs AS r
WHERE r.status = 'FAILURE' AND r.update_timestamp > (now() AT TIME ZONE 'UTC') - interval '1 day'
ORDER BY r.id DESC
LIMIT %(limit)s;
