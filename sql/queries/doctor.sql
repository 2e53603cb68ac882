-- What the doctor asks the database and Dagster's tables in it.

-- name: server
-- `ahead` is by how many seconds the newest sign of life lies in the future.
SELECT
    current_setting('server_version') AS version,
    (SELECT e.extversion FROM pg_catalog.pg_extension AS e WHERE e.extname = 'vector') AS vector,
    extract(EPOCH FROM clock_timestamp())::double precision AS clock,
    coalesce(
        (SELECT extract(EPOCH FROM max(h.beat_at) - clock_timestamp()) FROM neurigraph.heartbeats AS h), 0
    )::double precision AS ahead;

-- name: has_dagster
SELECT
    to_regclass('dagster.runs') IS NOT NULL AND to_regclass('dagster.asset_check_executions') IS NOT NULL AS present;

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
    FROM dagster.asset_check_executions AS c
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
FROM dagster.runs AS r
WHERE r.status = 'FAILURE' AND r.update_timestamp > (now() AT TIME ZONE 'UTC') - interval '1 day'
ORDER BY r.id DESC
LIMIT %(limit)s;
