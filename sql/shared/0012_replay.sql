-- Replaying what failed for good: back into the queue with fresh attempts. A failure is replayed once: asking again,
-- or asking for one whose segment was stored meanwhile, changes nothing.

CREATE INDEX pipeline_failures_trigger_id ON neurigraph.pipeline_failures (trigger_id);
CREATE INDEX pipeline_failures_user_id ON neurigraph.pipeline_failures (user_id, occurred_at);

-- The named failures, or all open ones; of one user, or of everybody. Works with the rights of whoever calls.
CREATE FUNCTION neurigraph.replay_failures(wanted uuid [], of_user uuid)
RETURNS TABLE (failure_id uuid, outcome text)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    -- One order for everybody, and a statement of its own: those that follow see what whoever came first has done.
    PERFORM t.trigger_id
    FROM neurigraph.storage_triggers AS t
    WHERE t.trigger_id IN (
        SELECT f.trigger_id FROM neurigraph.pipeline_failures AS f
        WHERE CASE WHEN wanted IS NULL THEN f.replayed_at IS NULL ELSE f.failure_id = ANY(wanted) END
            AND (of_user IS NULL OR f.user_id = of_user)
    )
    ORDER BY t.trigger_id
    FOR NO KEY UPDATE;

    RETURN QUERY
    WITH found AS MATERIALIZED (
        SELECT
            f.failure_id,
            f.trigger_id,
            CASE
                WHEN f.replayed_at IS NOT NULL THEN 'already_replayed'
                WHEN t.state = 'failed' THEN 'replayed'
                WHEN t.state = 'stored' THEN 'stored_meanwhile'
                ELSE 'already_replayed'
            END AS outcome
        FROM neurigraph.pipeline_failures AS f
        INNER JOIN neurigraph.storage_triggers AS t ON f.trigger_id = t.trigger_id
        WHERE CASE WHEN wanted IS NULL THEN f.replayed_at IS NULL ELSE f.failure_id = ANY(wanted) END
            AND (of_user IS NULL OR f.user_id = of_user)
    ),

    queued AS (
        UPDATE neurigraph.storage_triggers AS t SET
            state = 'pending', attempts = 0, next_attempt_at = now(), last_error = NULL
        FROM (SELECT DISTINCT i.trigger_id FROM found AS i WHERE i.outcome = 'replayed') AS r
        WHERE t.trigger_id = r.trigger_id
    ),

    marked AS (
        UPDATE neurigraph.pipeline_failures AS f SET replayed_at = now()
        FROM (SELECT DISTINCT i.trigger_id FROM found AS i WHERE i.outcome <> 'already_replayed') AS r
        WHERE f.trigger_id = r.trigger_id AND f.replayed_at IS NULL
    )

    SELECT i.failure_id, i.outcome FROM found AS i ORDER BY i.failure_id;
END
$$;

-- The only way for a face to change the queue: failures of the user who is asking, and nobody else's.
CREATE FUNCTION neurigraph.replay_own_failures(wanted uuid [])
RETURNS TABLE (failure_id uuid, outcome text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    asking uuid := neurigraph.asking_user_id();
BEGIN
    IF asking IS NOT NULL THEN
        RETURN QUERY SELECT r.failure_id, r.outcome FROM neurigraph.replay_failures(wanted, asking) AS r;
    END IF;
END
$$;

REVOKE ALL ON FUNCTION neurigraph.replay_failures(uuid [], uuid), neurigraph.replay_own_failures(uuid []) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.replay_failures(uuid [], uuid) TO neurigraph_pipeline;
GRANT EXECUTE ON FUNCTION neurigraph.replay_own_failures(uuid []) TO neurigraph_agent;
