-- File states: allowed transitions, their log, and the state of a node that follows from its files.

-- Trigger on file_manifest: refuse transitions that do not exist. A file that is moved keeps its state.
CREATE OR REPLACE FUNCTION neurigraph.guard_file_state() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.compression_state <> 'active' AND NOT neurigraph.is_moving() THEN
            RAISE check_violation USING MESSAGE = 'a new file is active';
        END IF;
    ELSIF NEW.compression_state <> OLD.compression_state THEN
        IF (OLD.compression_state::text, NEW.compression_state::text) NOT IN (
            ('active', 'dormant'), ('dormant', 'rehydrating'), ('rehydrating', 'active'), ('rehydrating', 'dormant')
        ) THEN
            RAISE check_violation USING MESSAGE = format(
                'a file that is %s does not become %s', OLD.compression_state, NEW.compression_state
            );
        END IF;
        IF NEW.compression_state <> 'active' THEN
            NEW.recompress_after := NULL;
        ELSIF NEW.recompress_after IS NULL THEN
            RAISE check_violation USING MESSAGE = 'a rehydrated file needs recompress_after, the time at which it is compressed again';
        END IF;
        IF NEW.compression_state <> 'rehydrating' THEN
            NEW.lease := NULL;
            NEW.lease_holder := NULL;
        END IF;
        IF NEW.compression_state = 'active' THEN
            NEW.last_failure := NULL;
        ELSIF OLD.compression_state = 'rehydrating' AND NEW.last_failure IS NULL THEN
            RAISE check_violation USING MESSAGE = 'a failed rehydration needs last_failure, the reason';
        END IF;
    END IF;
    RETURN NEW;
END
$$;

-- Log the state of a new file (operation INSERT), or a change of its state or of its last failure. The transaction's
-- parameter neurigraph.compression_cause states the cause. Without the parameter no state can change, because the cause
-- in the log is never null.
CREATE OR REPLACE FUNCTION neurigraph_private.log_file_state(
    operation text, node uuid, owner uuid, file uuid, old_state neurigraph.compression_state,
    new_state neurigraph.compression_state, was_due boolean, old_failure text, new_failure text
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    cause text := nullif(current_setting('neurigraph.compression_cause', true), '');
    event text;
BEGIN
    IF operation = 'INSERT' THEN
        IF neurigraph.is_moving() THEN
            RETURN;
        END IF;
        -- A committed file has a working copy beside its compressed object, so its first entry is decompressed.
        event := 'decompressed';
        cause := coalesce(cause, 'scheduler');
    ELSIF new_state <> old_state THEN
        event := CASE
            WHEN new_state = 'rehydrating' THEN 'rehydrating'
            WHEN new_state = 'active' THEN 'decompressed'
            WHEN old_state = 'rehydrating' THEN 'failed'
            WHEN was_due THEN 'recompressed'
            ELSE 'compressed'
        END;
    ELSIF new_failure IS DISTINCT FROM old_failure AND new_failure IS NOT NULL THEN
        event := 'failed';
    ELSE
        RETURN;
    END IF;
    INSERT INTO neurigraph.compression_state_log (
        user_id, file_id, node_id, event_type, triggered_by, error_detail
    )
    VALUES (
        owner, file, node, event::neurigraph.compression_event, cause::neurigraph.compression_cause,
        CASE WHEN event = 'failed' THEN new_failure END
    );
END
$$;

-- The state of a node from its files: rehydrating if any file is, else active if any is, else dormant; and the earliest
-- time at which one of the files is to be compressed again.
CREATE OR REPLACE FUNCTION neurigraph.summed_file_states(
    in_schema name, OUT state neurigraph.compression_state, OUT due timestamptz
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    EXECUTE format(
        $query$
        SELECT
            CASE
                WHEN EXISTS (SELECT FROM %1$I.file_manifest AS f WHERE f.compression_state = 'rehydrating')
                    THEN 'rehydrating'
                WHEN EXISTS (SELECT FROM %1$I.file_manifest AS f WHERE f.compression_state = 'active')
                    THEN 'active'
                WHEN EXISTS (SELECT FROM %1$I.file_manifest) THEN 'dormant'
                ELSE 'active'
            END::neurigraph.compression_state,
            (SELECT min(f.recompress_after) FROM %1$I.file_manifest AS f)
        $query$,
        in_schema
    ) INTO state, due;
END
$$;

-- Update the state in the node's row. The function locks the node before it reads the files, so that the last of
-- several writers sees the changes of all. It writes the row only if the state changes.
CREATE OR REPLACE FUNCTION neurigraph.sum_file_states(wanted uuid, in_schema name) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM FROM neurigraph.graph_index AS g WHERE g.node_id = wanted FOR NO KEY UPDATE;
    UPDATE neurigraph.graph_index AS g SET compression_state = s.state, next_recompress_at = s.due
    FROM neurigraph.summed_file_states(in_schema) AS s
    WHERE g.node_id = wanted AND (g.compression_state, g.next_recompress_at) IS DISTINCT FROM (s.state, s.due);
END
$$;

-- Handle a statement on the files of a node, or a new, changed or deleted file. A file is registered before its state
-- is logged, because the log entry refers to the registered file.
CREATE OR REPLACE FUNCTION neurigraph_private.follow_file(
    level text, operation text, node uuid, owner uuid, in_schema name, file uuid, record uuid,
    old_state neurigraph.compression_state, new_state neurigraph.compression_state, was_due boolean, old_failure text,
    new_failure text
) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF level = 'STATEMENT' THEN
        PERFORM neurigraph.sum_file_states(node, in_schema);
        RETURN;
    END IF;
    IF operation <> 'UPDATE' THEN
        PERFORM neurigraph_private.register_file(operation, node, owner, file, record);
    END IF;
    IF operation <> 'DELETE' THEN
        PERFORM neurigraph_private.log_file_state(
            operation, node, owner, file, old_state, new_state, was_due, old_failure, new_failure
        );
    END IF;
END
$$;

-- Trigger on file_manifest: register files and log their states; after statements, sum up the state of the node.
-- Arguments: node_id and user_id. NEW is null for a deleted row. Runs with the owner's rights, because no other role
-- writes the log.
CREATE OR REPLACE FUNCTION neurigraph.follow_file() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM neurigraph_private.follow_file(
        TG_LEVEL, TG_OP, TG_ARGV[0]::uuid, TG_ARGV[1]::uuid, TG_TABLE_SCHEMA, coalesce(NEW.file_id, OLD.file_id),
        NEW.record_id, OLD.compression_state, NEW.compression_state, OLD.recompress_after IS NOT NULL, OLD.last_failure,
        NEW.last_failure
    );
    RETURN NEW;
END
$$;

REVOKE ALL ON FUNCTION neurigraph.guard_file_state(), neurigraph.follow_file(), neurigraph.summed_file_states(name),
neurigraph.sum_file_states(uuid, name) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.summed_file_states(name), neurigraph.sum_file_states(uuid, name)
TO neurigraph_pipeline;
