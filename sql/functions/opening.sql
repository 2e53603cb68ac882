-- Opening files: byte ranges of messages, and the access times of files, records and nodes.

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

-- The byte ranges of messages of transcripts, for a caller who may read the nodes, in one round trip and one statement
-- a node; no row for an absent or invisible file. For each file the caller gives numbers of messages, or null for all.
-- A line ends with its content, and starts after the content before it. The function accepts any file of the record,
-- and updates its access times at most once a minute, without waiting for the disk: a crash may lose the latest access
-- times. It runs with the owner's rights, because interfaces may not write.
CREATE OR REPLACE FUNCTION neurigraph.open_messages(wanted jsonb, ttl_seconds double precision)
RETURNS TABLE (
    asked_file uuid,
    node_id uuid,
    schema_name text,
    file_id uuid,
    storage_path text,
    stored_bytes bigint,
    member_offsets bigint [],
    member_text_offsets bigint [],
    message integer,
    line_after bigint,
    content_end bigint,
    voice neurigraph.voice,
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
        FROM jsonb_to_recordset(wanted) AS w (file_id uuid)
        INNER JOIN neurigraph.file_index AS i ON w.file_id = i.file_id
        INNER JOIN neurigraph.record_index AS r ON i.record_id = r.record_id
        INNER JOIN neurigraph.visible_nodes(asking) AS g ON i.node_id = g.node_id
        WHERE NOT r.quarantined
            AND r.source_id <> ALL(neurigraph_private.hidden_sources(asking))
        GROUP BY g.node_id, g.schema_name
    LOOP
        idle := ARRAY[]::uuid [];
        FOR
            asked_file, file_id, storage_path, stored_bytes, member_offsets, member_text_offsets, message, line_after,
            content_end, voice, persona, is_idle
        IN EXECUTE format(
            $query$
            SELECT
                f.file_id, t.file_id, t.storage_path, t.stored_bytes, t.member_offsets, t.member_text_offsets,
                m.message, coalesce(b.byte_offset + b.byte_length, 0), m.content_end,
                m.voice, (SELECT g.node_name FROM neurigraph.visible_nodes($3) AS g WHERE g.node_id = m.persona_id),
                f.last_accessed_at NOT BETWEEN now() - interval '1 minute' AND now()
            FROM jsonb_to_recordset($2) AS w (file_id uuid, messages bigint [])
            INNER JOIN %1$I.file_manifest AS f ON w.file_id = f.file_id
            INNER JOIN %1$I.file_manifest AS t ON f.record_id = t.record_id AND t.file_type = 'transcript'
            CROSS JOIN LATERAL (
                SELECT
                    p.first_message AS message,
                    min(p.seq) AS first_passage,
                    max(p.byte_offset + p.byte_length) AS content_end,
                    min(o.persona_id::text)::uuid AS persona_id,
                    -- Passages from before voices were recorded get their voice from their source or role.
                    min(coalesce(p.voice, CASE
                        WHEN o.persona_id IS NOT NULL THEN 'persona'
                        WHEN o.source_kind = 'upload' THEN 'document'
                        WHEN p.role = 'user' THEN 'owner'
                        ELSE p.role::text
                    END::neurigraph.voice)) AS voice
                FROM %1$I.passages AS p
                INNER JOIN (
                    SELECT
                        r.record_id, r.source_kind,
                        CASE WHEN r.received_at IS NULL THEN s.persona_id ELSE r.persona_id END AS persona_id
                    FROM %1$I.metadata_records AS r LEFT JOIN neurigraph.sources AS s ON r.source_id = s.source_id
                ) AS o ON p.record_id = o.record_id
                WHERE p.record_id = f.record_id AND (w.messages IS NULL OR p.first_message = ANY(w.messages))
                GROUP BY p.first_message
            ) AS m
            LEFT JOIN %1$I.passages AS b ON f.record_id = b.record_id AND m.first_passage - 1 = b.seq
            WHERE f.file_id = ANY($1)
            ORDER BY f.file_id, m.message
            $query$,
            schema_name
        )
        USING files, wanted, asking
        LOOP
            IF is_idle AND asked_file <> ALL(idle) THEN
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
neurigraph.open_messages(jsonb, double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.touch_nodes(uuid []), neurigraph.touch_file(uuid, uuid, name, double precision)
TO neurigraph_pipeline;
GRANT EXECUTE ON FUNCTION neurigraph.open_messages(jsonb, double precision) TO neurigraph_agent;
