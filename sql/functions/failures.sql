-- Failures: replay of segments and uploads whose last attempt failed.

-- Put failed work back into the queue with new attempts: the named failures, or all open ones; of one user, or of all.
-- A failure is replayed once: a second call, or one after the segment was stored, changes nothing. Runs with the
-- caller's rights.
CREATE OR REPLACE FUNCTION neurigraph.replay_failures(wanted uuid [], of_user uuid)
RETURNS TABLE (failure_id uuid, outcome text)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    chosen uuid [] := ARRAY(
        SELECT f.failure_id FROM neurigraph.pipeline_failures AS f
        WHERE CASE WHEN wanted IS NULL THEN f.replayed_at IS NULL ELSE f.failure_id = ANY(wanted) END
            AND (of_user IS NULL OR f.user_id = of_user)
    );
BEGIN
    -- Each lock is a statement of its own, and all callers take the locks in one order: a statement after a lock sees
    -- the changes of the caller that held the lock before.
    PERFORM FROM neurigraph.storage_triggers AS t
    WHERE t.trigger_id IN (
        SELECT f.trigger_id FROM neurigraph.pipeline_failures AS f WHERE f.failure_id = ANY(chosen)
    )
    ORDER BY t.trigger_id FOR NO KEY UPDATE;
    PERFORM FROM neurigraph.uploads AS u
    WHERE u.source_id IN (
        SELECT f.upload_id FROM neurigraph.pipeline_failures AS f WHERE f.failure_id = ANY(chosen)
    )
    ORDER BY u.source_id FOR NO KEY UPDATE;

    RETURN QUERY
    WITH found AS MATERIALIZED (
        SELECT
            f.failure_id,
            f.trigger_id,
            f.upload_id,
            CASE
                WHEN f.replayed_at IS NOT NULL THEN 'already_replayed'
                WHEN t.state = 'failed' OR u.state = 'failed' THEN 'replayed'
                WHEN t.state = 'stored' OR u.state = 'extracted' THEN 'stored_meanwhile'
                ELSE 'already_replayed'
            END AS outcome
        FROM neurigraph.pipeline_failures AS f
        LEFT JOIN neurigraph.storage_triggers AS t ON f.trigger_id = t.trigger_id
        LEFT JOIN neurigraph.uploads AS u ON f.upload_id = u.source_id
        WHERE f.failure_id = ANY(chosen)
    ),

    queued AS (
        UPDATE neurigraph.storage_triggers AS t SET
            state = 'pending', attempts = 0, next_attempt_at = now(), last_error = NULL
        WHERE t.trigger_id IN (SELECT i.trigger_id FROM found AS i WHERE i.outcome = 'replayed')
    ),

    received AS (
        UPDATE neurigraph.uploads AS u SET state = 'received', attempts = 0, next_attempt_at = now(), error = NULL
        WHERE u.source_id IN (SELECT i.upload_id FROM found AS i WHERE i.outcome = 'replayed')
    ),

    marked AS (
        UPDATE neurigraph.pipeline_failures AS f SET replayed_at = now()
        FROM (SELECT DISTINCT i.trigger_id, i.upload_id FROM found AS i WHERE i.outcome <> 'already_replayed') AS r
        WHERE (f.trigger_id = r.trigger_id OR f.upload_id = r.upload_id) AND f.replayed_at IS NULL
    )

    SELECT i.failure_id, i.outcome FROM found AS i ORDER BY i.failure_id;
END
$$;

-- Replay failures of the user who is the caller, or, for a member, failures of the member's own sources. An interface
-- can change the queue by this function only.
CREATE OR REPLACE FUNCTION neurigraph.replay_own_failures(wanted uuid [])
RETURNS TABLE (failure_id uuid, outcome text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    asking uuid := neurigraph.asking_user_id();
BEGIN
    IF asking IS NOT NULL THEN
        RETURN QUERY SELECT r.failure_id, r.outcome FROM neurigraph.replay_failures(wanted, asking) AS r;
    ELSIF neurigraph.asking_member() IS NOT NULL THEN
        RETURN QUERY SELECT r.failure_id, r.outcome
        FROM neurigraph.replay_failures(
            ARRAY(
                SELECT f.failure_id
                FROM neurigraph.pipeline_failures AS f
                LEFT JOIN neurigraph.storage_triggers AS t ON f.trigger_id = t.trigger_id
                WHERE f.failure_id = ANY(wanted)
                    AND coalesce(f.upload_id, t.source_id) IN (SELECT neurigraph.sources_of_member())
            ),
            (neurigraph.claims() ->> 'user_id')::uuid
        ) AS r;
    END IF;
END
$$;

REVOKE ALL ON FUNCTION neurigraph.replay_failures(uuid [], uuid), neurigraph.replay_own_failures(uuid []) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.replay_failures(uuid [], uuid) TO neurigraph_pipeline;
GRANT EXECUTE ON FUNCTION neurigraph.replay_own_failures(uuid []) TO neurigraph_agent;
