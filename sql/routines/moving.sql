-- Records on their way from one node to another, and what the triggers of nodes do otherwise meanwhile: what is moved
-- is neither registered anew nor erased. The parameter neurigraph.moving says so while move_records runs.

CREATE OR REPLACE FUNCTION neurigraph.is_moving() RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(current_setting('neurigraph.moving', true), '') = 'on'
$$;

-- Takes records with their files and passages over into the tables of another node of the same user. Both nodes have
-- the current DDL, and whoever calls has locked them and what is moved. Objects stay where they are, and so do the
-- entries of both logs; an entry of the state log goes on naming the node of its file.
CREATE OR REPLACE FUNCTION neurigraph_private.move_records(records uuid [], from_node uuid, to_node uuid) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    source name;
    target name;
    moved name;
    columns text;
BEGIN
    SELECT f.schema_name, t.schema_name INTO STRICT source, target
    FROM neurigraph.graph_index AS f
    INNER JOIN neurigraph.graph_index AS t ON f.user_id = t.user_id AND f.node_id <> t.node_id
    WHERE f.node_id = from_node AND t.node_id = to_node;
    PERFORM set_config('neurigraph.moving', 'on', true);
    FOREACH moved IN ARRAY ARRAY['metadata_records', 'file_manifest', 'passages'] LOOP
        SELECT string_agg(quote_ident(a.attname), ', ') INTO columns
        FROM pg_attribute AS a
        WHERE a.attrelid = format('%I.%I', source, moved)::regclass
            AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '';
        EXECUTE format(
            'INSERT INTO %2$I.%3$I (%4$s) SELECT %4$s FROM %1$I.%3$I AS r WHERE r.record_id = ANY($1)',
            source, target, moved, columns
        ) USING records;
    END LOOP;
    -- Passages and files are not left to the foreign keys: those delete record by record.
    FOREACH moved IN ARRAY ARRAY['passages', 'file_manifest', 'metadata_records'] LOOP
        EXECUTE format('DELETE FROM %1$I.%2$I AS r WHERE r.record_id = ANY($1)', source, moved) USING records;
    END LOOP;
    UPDATE neurigraph.pending_embeddings AS p SET node_id = to_node WHERE p.record_id = ANY(records);
    UPDATE neurigraph.compression_state_log AS l SET node_id = to_node
    FROM neurigraph.file_index AS i
    WHERE l.file_id = i.file_id AND i.record_id = ANY(records);
    PERFORM set_config('neurigraph.moving', 'off', true);
    PERFORM neurigraph.sum_file_states(to_node, target);
END
$$;

-- Arguments of the trigger: node_id and user_id of the node whose table it stands on.
CREATE OR REPLACE FUNCTION neurigraph.register_record() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF NOT neurigraph.is_moving() THEN
            DELETE FROM neurigraph.record_index AS r WHERE r.record_id = OLD.record_id;
        END IF;
        RETURN OLD;
    END IF;
    IF NOT neurigraph.is_moving() THEN
        INSERT INTO neurigraph.record_index (record_id, node_id, user_id, source, content_hash, created_at)
        VALUES (
            NEW.record_id, TG_ARGV[0]::uuid, TG_ARGV[1]::uuid,
            NEW.source_kind || ':' || NEW.source_id, NEW.content_hash, NEW.created_at
        );
        RETURN NEW;
    END IF;
    UPDATE neurigraph.record_index AS r SET node_id = TG_ARGV[0]::uuid
    WHERE r.record_id = NEW.record_id AND r.user_id = TG_ARGV[1]::uuid;
    IF NOT FOUND THEN
        RAISE foreign_key_violation USING MESSAGE = 'a record that is moved is one of its user';
    END IF;
    RETURN NEW;
END
$$;

CREATE OR REPLACE FUNCTION neurigraph.register_file() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF NOT neurigraph.is_moving() THEN
            DELETE FROM neurigraph.file_index AS f WHERE f.file_id = OLD.file_id;
        END IF;
        RETURN OLD;
    END IF;
    IF NOT neurigraph.is_moving() THEN
        INSERT INTO neurigraph.file_index (file_id, record_id, node_id, user_id)
        VALUES (NEW.file_id, NEW.record_id, TG_ARGV[0]::uuid, TG_ARGV[1]::uuid);
        RETURN NEW;
    END IF;
    UPDATE neurigraph.file_index AS f SET node_id = TG_ARGV[0]::uuid
    WHERE f.file_id = NEW.file_id AND f.user_id = TG_ARGV[1]::uuid;
    IF NOT FOUND THEN
        RAISE foreign_key_violation USING MESSAGE = 'a file that is moved is one of its user';
    END IF;
    RETURN NEW;
END
$$;

-- A file that is moved stays in the state it is in, and nothing befalls it that belongs in its log.
CREATE OR REPLACE FUNCTION neurigraph.guard_file_state() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.compression_state <> 'active' AND NOT neurigraph.is_moving() THEN
            RAISE check_violation USING MESSAGE = 'a file begins active';
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
            RAISE check_violation USING MESSAGE = 'a file that was rehydrated says when it is compressed again';
        END IF;
        IF NEW.compression_state <> 'rehydrating' THEN
            NEW.lease := NULL;
            NEW.lease_holder := NULL;
        END IF;
        IF NEW.compression_state = 'active' THEN
            NEW.last_failure := NULL;
        ELSIF OLD.compression_state = 'rehydrating' AND NEW.last_failure IS NULL THEN
            RAISE check_violation USING MESSAGE = 'a rehydration that is given up says why';
        END IF;
    END IF;
    RETURN NEW;
END
$$;

-- Arguments of the trigger: node_id and user_id of the node whose table it stands on. Who caused it is said by the
-- parameter neurigraph.compression_cause, for the transaction; without it no state changes, since the column of the log
-- is never null. Works with the rights of the owner: nobody else writes the log.
CREATE OR REPLACE FUNCTION neurigraph.log_file_state() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    cause text := nullif(current_setting('neurigraph.compression_cause', true), '');
    event text;
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF neurigraph.is_moving() THEN
            RETURN NULL;
        END IF;
        -- A committed file has its working copy beside the compressed object: its first entry says so.
        event := 'decompressed';
        cause := coalesce(cause, 'scheduler');
    ELSIF NEW.compression_state <> OLD.compression_state THEN
        event := CASE
            WHEN NEW.compression_state = 'rehydrating' THEN 'rehydrating'
            WHEN NEW.compression_state = 'active' THEN 'decompressed'
            WHEN OLD.compression_state = 'rehydrating' THEN 'failed'
            WHEN OLD.recompress_after IS NULL THEN 'compressed'
            ELSE 'recompressed'
        END;
    ELSIF NEW.last_failure IS DISTINCT FROM OLD.last_failure AND NEW.last_failure IS NOT NULL THEN
        event := 'failed';
    ELSE
        RETURN NULL;
    END IF;
    INSERT INTO neurigraph.compression_state_log (
        user_id, file_id, node_id, event_type, triggered_by, error_detail
    )
    VALUES (
        TG_ARGV[1]::uuid, NEW.file_id, TG_ARGV[0]::uuid,
        event::neurigraph.compression_event, cause::neurigraph.compression_cause,
        CASE WHEN event = 'failed' THEN NEW.last_failure END
    );
    RETURN NULL;
END
$$;

-- Of the append-only logs. Erasure is the owner's alone, and only when it says so for the transaction; and which node
-- an entry names follows its file.
CREATE OR REPLACE FUNCTION neurigraph.refuse_change() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF current_user = 'neurigraph_owner' THEN
        IF TG_OP = 'DELETE' AND current_setting('neurigraph.erasing', true) = 'on' THEN
            RETURN OLD;
        END IF;
        IF TG_OP = 'UPDATE' AND neurigraph.is_moving()
            AND to_jsonb(NEW) - 'node_id' = to_jsonb(OLD) - 'node_id'
        THEN
            RETURN NEW;
        END IF;
    END IF;
    RAISE insufficient_privilege USING MESSAGE = format('%s is append-only', TG_TABLE_NAME);
END
$$;

REVOKE ALL ON FUNCTION neurigraph.is_moving(), neurigraph_private.move_records(uuid [], uuid, uuid)
FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.is_moving() TO neurigraph_pipeline;
