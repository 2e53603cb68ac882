-- Opening files: transcripts with their segments, and the access times of files, records and nodes.

-- Update the access times of nodes, at most once a minute. A node that another transaction has locked is skipped: its
-- writer updates the time, and neither transaction waits for the other.
CREATE OR REPLACE FUNCTION neurigraph.touch_nodes(wanted uuid []) RETURNS void
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

-- Update the access times of a file, its record and its node. Only a rehydrated file has a time at which it is
-- compressed again, and an access moves that time; a file that has been active since its commit stays active until it
-- goes dormant. If the clock was set back, the node's time is computed again. A file that another transaction has
-- locked is skipped, because that transaction is opening or compressing the file.
CREATE OR REPLACE FUNCTION neurigraph.touch_file(
    wanted uuid, in_node uuid, in_schema name, ttl_seconds double precision
)
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

-- The transcripts of files with their search segments, which say where messages are and who speaks, for a caller who
-- may read their nodes, in one round trip and one statement a node; no row for an absent or invisible file. Accepts
-- any file of the record, and updates its access times at most once a minute, without waiting for the disk: a crash
-- may lose the latest. Without seconds, no access time changes. Runs with the owner's rights, since interfaces may not
-- write.
CREATE OR REPLACE FUNCTION neurigraph.open_transcripts(wanted uuid [], ttl_seconds double precision)
RETURNS TABLE (
    asked_file uuid,
    node_id uuid,
    schema_name text,
    file_id uuid,
    storage_path text,
    stored_bytes bigint,
    member_offsets bigint [],
    member_text_offsets bigint [],
    segment bytea,
    persona text
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    asking jsonb := neurigraph.claims();
    files uuid [];
    is_idle boolean;
    idle uuid [];
    idle_file uuid;
BEGIN
    FOR node_id, schema_name, files IN
        SELECT g.node_id, g.schema_name, array_agg(i.file_id)
        FROM unnest(wanted) AS w (file_id)
        INNER JOIN neurigraph.file_index AS i ON w.file_id = i.file_id
        INNER JOIN neurigraph.record_index AS r ON i.record_id = r.record_id
        INNER JOIN neurigraph.visible_nodes(asking) AS g ON i.node_id = g.node_id
        WHERE NOT r.quarantined
            AND r.source_id <> ALL(neurigraph_private.hidden_sources(asking))
        GROUP BY g.node_id, g.schema_name
    LOOP
        idle := ARRAY[]::uuid [];
        FOR
            asked_file, file_id, storage_path, stored_bytes, member_offsets, member_text_offsets, segment, persona, is_idle
        IN EXECUTE format(
            $query$
            SELECT
                f.file_id, t.file_id, t.storage_path, t.stored_bytes, t.member_offsets, t.member_text_offsets,
                s.content, (SELECT g.node_name FROM neurigraph.visible_nodes($2) AS g WHERE g.node_id = r.persona_id),
                f.last_accessed_at NOT BETWEEN now() - interval '1 minute' AND now()
            FROM %1$I.file_manifest AS f
            INNER JOIN %1$I.metadata_records AS r ON f.record_id = r.record_id
            INNER JOIN %1$I.file_manifest AS t ON f.record_id = t.record_id AND t.file_type = 'transcript'
            INNER JOIN neurigraph.segments AS s ON f.record_id = s.record_id
            WHERE f.file_id = ANY($1)
            ORDER BY f.file_id
            $query$,
            schema_name
        )
        USING files, asking
        LOOP
            IF is_idle AND ttl_seconds IS NOT NULL AND asked_file <> ALL(idle) THEN
                idle := idle || asked_file;
            END IF;
            RETURN NEXT;
        END LOOP;
        FOREACH idle_file IN ARRAY idle
        LOOP
            PERFORM set_config('synchronous_commit', 'off', true);
            PERFORM neurigraph.touch_file(idle_file, node_id, schema_name::name, ttl_seconds);
        END LOOP;
    END LOOP;
END
$$;

REVOKE ALL ON FUNCTION neurigraph.touch_nodes(uuid []), neurigraph.touch_file(uuid, uuid, name, double precision),
neurigraph.open_transcripts(uuid [], double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.touch_nodes(uuid []), neurigraph.touch_file(uuid, uuid, name, double precision)
TO neurigraph_pipeline;
GRANT EXECUTE ON FUNCTION neurigraph.open_transcripts(uuid [], double precision) TO neurigraph_agent;
