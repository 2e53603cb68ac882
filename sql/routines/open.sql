-- Phase two, as far as the database has a part in it.

-- Where the lines of single messages lie in a transcript, for whoever may read its node, in one trip to the server: no
-- row for the absent and for what belongs to others. A line ends with its content, and the content before it ends
-- before it begins. Takes any file of the record, and sets its clocks, once a minute, without waiting for the disk: a
-- crash may lose the last of them. Works with the rights of the owner, since a face may not write.
CREATE OR REPLACE FUNCTION neurigraph.open_messages(
    wanted_file uuid, wanted_messages bigint [], ttl_seconds double precision
)
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
    asking jsonb := neurigraph.claims();
    idle boolean;
BEGIN
    SELECT i.node_id, g.schema_name INTO node_id, schema_name
    FROM neurigraph.file_index AS i
    INNER JOIN neurigraph.record_index AS r ON i.record_id = r.record_id
    INNER JOIN neurigraph.visible_nodes(asking) AS g ON i.node_id = g.node_id
    WHERE i.file_id = wanted_file
        AND split_part(r.source, ':', 2)::uuid <> ALL(neurigraph_private.hidden_sources(asking));
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

REVOKE ALL ON FUNCTION neurigraph.open_messages(uuid, bigint [], double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.open_messages(uuid, bigint [], double precision) TO neurigraph_agent;
