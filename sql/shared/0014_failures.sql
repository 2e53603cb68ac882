-- What kills its process, what cannot be read, and bodies that stay for a while: each bears a mark, so that nobody has
-- to search for it.

ALTER TABLE neurigraph.storage_triggers
-- How many runs in a row died with it, without a word. From the first on it goes alone, so that the next death tells
-- which of a batch it was.
ADD COLUMN deaths integer NOT NULL DEFAULT 0 CHECK (deaths >= 0),
-- Whether its messages may still have their bodies.
ADD COLUMN bodies_kept boolean NOT NULL DEFAULT true;
DROP INDEX neurigraph.storage_triggers_stored;
CREATE INDEX storage_triggers_bodies_kept ON neurigraph.storage_triggers (stored_at)
WHERE stored_at IS NOT NULL AND bodies_kept;

-- An upload that cannot be read fails like a segment that cannot be stored, and is replayed like one.
ALTER TABLE neurigraph.pipeline_failures
ALTER COLUMN trigger_id DROP NOT NULL,
ADD COLUMN upload_id uuid REFERENCES neurigraph.uploads ON DELETE CASCADE,
ADD CHECK (num_nonnulls(trigger_id, upload_id) = 1);
CREATE INDEX pipeline_failures_upload_id ON neurigraph.pipeline_failures (upload_id) WHERE upload_id IS NOT NULL;

INSERT INTO neurigraph.pipeline_failures (upload_id, user_id, step, error, attempts)
SELECT
    u.source_id,
    u.user_id,
    'read_uploads',
    u.error,
    u.attempts
FROM neurigraph.uploads AS u
WHERE u.state = 'failed';

-- A face tries an upload again by replaying its failure, and in no other way.
REVOKE UPDATE ON neurigraph.uploads FROM neurigraph_agent;

-- The named failures, or all open ones; of one user, or of everybody. Works with the rights of whoever calls.
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
    -- One order for everybody, and statements of their own: what follows sees what whoever came first has done.
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
