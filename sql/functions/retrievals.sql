-- Retrievals: entries of the log, accesses of records that expire, and canaries that were retrieved.

-- Store that the caller retrieved some records: in the log if `is_logged`, and always for records that expire and for
-- canaries. Returns whether the graph has canaries that nobody has retrieved yet, the canaries that this call retrieved
-- first, and whether any record of the graph expires.
CREATE OR REPLACE FUNCTION neurigraph.note_retrieval(
    noted_operation text, returned uuid [], asked text, is_logged boolean
)
RETURNS TABLE (is_watched boolean, canary uuid, expires boolean)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = 'force_generic_plan' AS $$
DECLARE
    asking jsonb := neurigraph.claims();
    owner uuid := asking ->> 'user_id';
BEGIN
    IF owner IS NULL THEN
        RETURN;
    END IF;
    -- A log entry may be lost in a crash of the server.
    PERFORM set_config('synchronous_commit', 'off', true);
    IF is_logged THEN
        INSERT INTO neurigraph.retrievals (user_id, operation, role, subject_id, record_ids, question)
        VALUES (owner, noted_operation, asking ->> 'role', asking ->> 'sub', returned, asked);
    END IF;
    SELECT w.* INTO is_watched, expires FROM neurigraph_private.watches(owner) AS w;
    IF expires THEN
        PERFORM neurigraph_private.count_accesses(asking, returned);
    END IF;
    IF is_watched THEN
        RETURN QUERY
        UPDATE neurigraph.canaries AS c SET
            retrieved_at = clock_timestamp(),
            role = asking ->> 'role',
            subject_id = asking ->> 'sub',
            operation = noted_operation
        FROM neurigraph.record_index AS r
        WHERE c.user_id = owner AND c.retrieved_at IS NULL
            AND r.record_id = ANY(returned) AND r.user_id = owner AND r.source_id = c.source_id
        RETURNING true, c.source_id, note_retrieval.expires;
    END IF;
    IF NOT FOUND OR NOT is_watched THEN
        RETURN NEXT;
    END IF;
END
$$;

REVOKE ALL ON FUNCTION neurigraph.note_retrieval(text, uuid [], text, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.note_retrieval(text, uuid [], text, boolean) TO neurigraph_agent;
