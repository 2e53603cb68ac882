-- The life of a file: which states follow each other, and that none is entered without an entry in the log. What the
-- triggers of every node's file_manifest call (node DDL 0003).

-- The specification names four events and four transitions, one of which had no word: dormant to rehydrating.
ALTER TYPE neurigraph.compression_event ADD VALUE 'rehydrating';

-- The order of a file's entries, which a clock that is set back does not change: the row of the file is locked while
-- they are numbered.
ALTER TABLE neurigraph.compression_state_log ADD COLUMN entry bigint GENERATED ALWAYS AS IDENTITY;

CREATE FUNCTION neurigraph.guard_file_state() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.compression_state <> 'active' THEN
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
CREATE FUNCTION neurigraph.log_file_state() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    cause text := nullif(current_setting('neurigraph.compression_cause', true), '');
    event text;
BEGIN
    IF TG_OP = 'INSERT' THEN
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

-- What the files of a node amount to: rehydrating when any is, else active when any is, else dormant; and when the
-- first of them is due to be compressed again.
CREATE FUNCTION neurigraph.summed_file_states(
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

-- Lets the shell of a node say so. The node is locked before its files are looked at, so that whoever comes last sees
-- what all others did; it is written only when it changes.
CREATE FUNCTION neurigraph.sum_file_states(wanted uuid, in_schema name) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM FROM neurigraph.graph_index AS g WHERE g.node_id = wanted FOR NO KEY UPDATE;
    UPDATE neurigraph.graph_index AS g SET compression_state = s.state, next_recompress_at = s.due
    FROM neurigraph.summed_file_states(in_schema) AS s
    WHERE g.node_id = wanted AND (g.compression_state, g.next_recompress_at) IS DISTINCT FROM (s.state, s.due);
END
$$;

-- Argument of the trigger: node_id.
CREATE FUNCTION neurigraph.sum_changed_file_states() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM neurigraph.sum_file_states(TG_ARGV[0]::uuid, TG_TABLE_SCHEMA);
    RETURN NULL;
END
$$;

-- Once a minute is often enough for a clock of days. A node that is being written to is passed over: its writer moves
-- the clock itself, and a question neither waits for it nor stands in its way.
CREATE FUNCTION neurigraph.touch_nodes(wanted uuid []) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    UPDATE neurigraph.graph_index AS g SET last_accessed_at = now()
    FROM (
        SELECT i.node_id
        FROM neurigraph.graph_index AS i
        WHERE i.node_id = ANY(wanted) AND i.last_accessed_at < now() - interval '1 minute'
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS idle
    WHERE g.node_id = idle.node_id
$$;

-- The clocks of a file that is opened, of its record and of its node. Only a file that was rehydrated is awake for a
-- while; one that has been since its commit has until it goes dormant. Its time is put off, unless the clock was set
-- back: then that of its node may be too late. A file that somebody else holds is passed over: it is being opened, or
-- put to sleep, at this moment.
CREATE FUNCTION neurigraph.touch_file(wanted uuid, in_node uuid, in_schema name, ttl_seconds double precision)
RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    set_back boolean;
BEGIN
    EXECUTE format(
        $query$
        WITH before AS (
            SELECT f.file_id, f.recompress_after
            FROM %1$I.file_manifest AS f
            WHERE f.file_id = $1
            FOR NO KEY UPDATE SKIP LOCKED
        ),

        touched AS (
            UPDATE %1$I.file_manifest AS f SET
                last_accessed_at = clock_timestamp(),
                recompress_after = CASE
                    WHEN b.recompress_after IS NOT NULL THEN clock_timestamp() + make_interval(secs => $2)
                END
            FROM before AS b
            WHERE f.file_id = b.file_id
            RETURNING f.record_id, f.recompress_after < b.recompress_after AS set_back
        ),

        of_record AS (
            UPDATE %1$I.metadata_records AS r SET last_accessed_at = now()
            FROM touched AS t
            WHERE r.record_id = t.record_id
                AND r.last_accessed_at NOT BETWEEN now() - interval '1 minute' AND now()
        )

        SELECT t.set_back FROM touched AS t
        $query$,
        in_schema
    ) INTO set_back USING wanted, ttl_seconds;
    PERFORM neurigraph.touch_nodes(ARRAY[in_node]);
    IF set_back THEN
        PERFORM neurigraph.sum_file_states(in_node, in_schema);
    END IF;
END
$$;

-- Where the lines of single messages lie in a transcript, for whoever may read its node, in one trip to the server: no
-- row for the absent and for what belongs to others. A line ends with its content, and the content before it ends
-- before it begins. Takes any file of the record, and sets its clocks, once a minute, without waiting for the disk: a
-- crash may lose the last of them. Works with the rights of the owner, since a face may not write.
CREATE FUNCTION neurigraph.open_messages(wanted_file uuid, wanted_messages bigint [], ttl_seconds double precision)
RETURNS TABLE (
    node_id uuid,
    schema_name text,
    file_id uuid,
    storage_path text,
    stored_bytes bigint,
    member_offsets bigint [],
    member_text_offsets bigint [],
    message integer,
    line_after bigint,
    content_end bigint
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    idle boolean;
BEGIN
    SELECT i.node_id, g.schema_name INTO node_id, schema_name
    FROM neurigraph.file_index AS i
    INNER JOIN neurigraph.graph_index AS g ON i.node_id = g.node_id
    WHERE i.file_id = wanted_file AND neurigraph.may_read_node(i.node_id);
    IF NOT FOUND THEN
        RETURN;
    END IF;
    FOR file_id, storage_path, stored_bytes, member_offsets, member_text_offsets, message, line_after, content_end, idle
    IN EXECUTE format(
        $query$
        SELECT
            t.file_id, t.storage_path, t.stored_bytes, t.member_offsets, t.member_text_offsets,
            m.message, coalesce(b.byte_offset + b.byte_length, 0), m.content_end,
            f.last_accessed_at NOT BETWEEN now() - interval '1 minute' AND now()
        FROM %1$I.file_manifest AS f
        INNER JOIN %1$I.file_manifest AS t ON f.record_id = t.record_id AND t.file_type = 'transcript'
        CROSS JOIN LATERAL (
            SELECT
                p.first_message AS message,
                min(p.seq) AS first_passage,
                max(p.byte_offset + p.byte_length) AS content_end
            FROM %1$I.passages AS p
            WHERE p.record_id = f.record_id AND p.first_message = ANY($2)
            GROUP BY p.first_message
        ) AS m
        LEFT JOIN %1$I.passages AS b ON f.record_id = b.record_id AND m.first_passage - 1 = b.seq
        WHERE f.file_id = $1
        ORDER BY m.message
        $query$,
        schema_name
    )
    USING wanted_file, wanted_messages
    LOOP
        RETURN NEXT;
    END LOOP;
    IF idle THEN
        PERFORM set_config('synchronous_commit', 'off', true);
        PERFORM neurigraph.touch_file(wanted_file, node_id, schema_name::name, ttl_seconds);
    END IF;
END
$$;

REVOKE ALL ON FUNCTION neurigraph.guard_file_state(), neurigraph.log_file_state(),
neurigraph.summed_file_states(name), neurigraph.sum_file_states(uuid, name), neurigraph.sum_changed_file_states(),
neurigraph.touch_nodes(uuid []), neurigraph.touch_file(uuid, uuid, name, double precision),
neurigraph.open_messages(uuid, bigint [], double precision)
FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.summed_file_states(name), neurigraph.sum_file_states(uuid, name),
neurigraph.touch_nodes(uuid []), neurigraph.touch_file(uuid, uuid, name, double precision)
TO neurigraph_pipeline;
GRANT EXECUTE ON FUNCTION neurigraph.open_messages(uuid, bigint [], double precision),
neurigraph.touch_nodes(uuid []) TO neurigraph_agent;
REVOKE INSERT ON neurigraph.compression_state_log FROM neurigraph_pipeline;

-- Which nodes a sweep has to look at: none whose files all sleep, and none without files.
CREATE INDEX graph_index_awake ON neurigraph.graph_index (last_accessed_at)
WHERE compression_state <> 'dormant' AND record_count > 0;
