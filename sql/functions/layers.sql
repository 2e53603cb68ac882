-- The metadata layers of nodes, for a process that ranks in memory. Each node is read by its own statement: its schema
-- name is quoted, the caller may see its id, and compared values are bound, never part of the text.

-- The spans in which a record was superseded, as JSON pairs of seconds since 1970.
CREATE OR REPLACE FUNCTION neurigraph_private.seconds_of(spans tstzmultirange) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN (
        SELECT jsonb_agg(jsonb_build_array(extract(EPOCH FROM lower(t.span)), extract(EPOCH FROM upper(t.span))))
        FROM unnest(spans) AS t (span)
    );
END
$$;

-- The metadata layers of some nodes, for a process that ranks them in memory. `records` are rows of fixed width; the
-- arrays and vectors beside them are in the same order. A record without a file has the file id zero. A record has
-- its search segment and the vectors of that, both empty if it has none; vectors of another model than the one in
-- use are not sent. Where sources are hidden from the caller, a layer has the records that it sees, and the version
-- of this part of the node (see seen_parts). A caller that has the whole node in its cache passes its `horizon`
-- (transactions from there on may have been running when it was read). If the changes since then are known,
-- `changed` lists these records, 16 bytes of id each, and only records that exist now are returned. If the caller
-- names a form of packs, a whole node is returned as it was packed, and `changed` lists the records that are not in
-- it. The vectors of that pack are those of `pack_version`.
CREATE OR REPLACE FUNCTION neurigraph.layers(
    nodes uuid [], horizons bigint [], packs integer, asked_model text, dimensions integer
)
RETURNS TABLE (
    node_id uuid, version text, model text, horizon bigint, pack bytea, pack_version text, changed bytea,
    records bytea, titles text [], summaries text [], source_kinds text [], source_names text [], origins text [],
    file_states text [], superseded text [], record_lexemes text [], summary_vectors bytea,
    segments bytea [], vectors bytea []
)
LANGUAGE plpgsql STABLE SECURITY DEFINER
-- work_mem is large because the whole result goes to the caller: writing it to a temporary file would only delay it.
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = 'force_generic_plan' SET work_mem = '256MB' AS $$
DECLARE
    asking jsonb := neurigraph.claims();
    hidden uuid [] := neurigraph_private.hidden_sources(asking);
    -- On a replica a snapshot does not list all running transactions, so the horizon is null there.
    now_running bigint := CASE WHEN NOT pg_is_in_recovery()
        THEN pg_snapshot_xmin(pg_current_snapshot())::text::bigint END;
    vectors_schema name := (
        SELECT n.nspname FROM pg_extension AS e
        INNER JOIN pg_namespace AS n ON e.extnamespace = n.oid WHERE e.extname = 'vector'
    );
    node record;
    packed uuid [];
    changed_records uuid [];
BEGIN
    IF hidden = '{}' AND packs IS NOT NULL THEN
        FOR node_id, version, model, horizon, pack, pack_version IN
            SELECT p.node_id, p.version, p.model, p.horizon, p.layer, p.version
            FROM neurigraph_private.packs_in_force(
                asking,
                ARRAY(SELECT a.node_id FROM unnest(nodes, horizons) AS a (node_id, horizon) WHERE a.horizon IS NULL),
                packs
            ) AS p
        LOOP
            packed := packed || node_id;
            RETURN NEXT;
        END LOOP;
    END IF;
    FOR node IN
        SELECT
            g.node_id AS id, g.schema_name, u.embedding_model AS model,
            CASE WHEN now_running - a.horizon >= 0 THEN a.horizon END AS since,
            q.records AS part, q.version AS part_version,
            -- Beyond the dimensions of its model a vector holds zeros.
            CASE WHEN u.embedding_model = asked_model THEN least(dimensions, 1536) ELSE 1536 END AS width
        FROM unnest(nodes, horizons) AS a (node_id, horizon)
        INNER JOIN neurigraph.visible_nodes(asking) AS g ON a.node_id = g.node_id
        INNER JOIN neurigraph.users AS u ON g.user_id = u.user_id
        LEFT JOIN neurigraph_private.seen_parts(asking, hidden, CASE WHEN hidden <> '{}' THEN nodes END) AS q
            ON a.node_id = q.node_id
        WHERE packed IS NULL OR a.node_id <> ALL(packed)
    LOOP
        node_id := node.id;
        model := node.model;
        pack := NULL;
        pack_version := NULL;
        -- Changes are listed for whole nodes, and a caller from whom sources are hidden has only a part of a node.
        changed_records := CASE WHEN hidden = '{}' THEN neurigraph_private.changed_since(node.id, node.since) END;
        IF hidden = '{}' AND changed_records IS NULL AND packs IS NOT NULL THEN
            SELECT p.* INTO pack, pack_version, changed_records
            FROM neurigraph_private.pack_before(node.id, node.model, packs) AS p;
        END IF;
        version := coalesce(
            node.part_version, (SELECT v.version FROM neurigraph_private.node_version(node.id) AS v)
        );
        horizon := CASE WHEN version IS NOT NULL AND hidden = '{}' THEN now_running END;
        changed := CASE WHEN changed_records IS NOT NULL THEN coalesce(
            (SELECT string_agg(uuid_send(c.record_id), '') FROM unnest(changed_records) AS c (record_id)), ''
        ) END;
        EXECUTE format(
            $records$SELECT
                string_agg(
                    uuid_send(r.record_id)
                    || float8send(extract(EPOCH FROM r.occurred_at)::double precision)
                    || float8send(extract(EPOCH FROM r.created_at)::double precision)
                    || uuid_send(r.source_id)
                    || uuid_send(coalesce(f.file_id, '00000000-0000-0000-0000-000000000000'))
                    -- Importance counts only for records of the owner: other writers cannot lift their notes in the
                    -- ranking.
                    || float4send(coalesce(CASE WHEN r.persona_id IS NULL THEN r.importance END, 0.5)), ''
                ),
                array_agg(r.title),
                array_agg(r.summary),
                array_agg(r.source_kind::text),
                array_agg(s.external_id),
                array_agg(jsonb_build_object(
                    'persona_id', r.persona_id, 'key_id', r.key_id, 'received_through', r.received_through,
                    'received_at', r.received_at, 'source', neurigraph.source_details(s, r.first_message)
                )::text),
                array_agg(f.compression_state::text),
                array_agg(
                    -- A record that was superseded by a record in quarantine is current.
                    CASE WHEN r.superseded <> '{}' AND NOT EXISTS (
                        SELECT FROM neurigraph.record_index AS i
                        WHERE i.record_id = r.superseded_by AND i.quarantined
                    ) THEN neurigraph_private.seconds_of(r.superseded) END
                ),
                array_agg(array_to_string(tsvector_to_array(r.tsv), ' ')),
                string_agg(coalesce(%4$I.vector_send(%4$I.subvector(%3$s, 1, $4)), $3), ''),
                array_agg(coalesce(g.content, '')),
                array_agg(coalesce(CASE WHEN g.model = $2 THEN g.vectors WHEN g.next_model = $2 THEN g.next_vectors END, ''))
            FROM %1$I.metadata_records AS r
            LEFT JOIN %1$I.file_manifest AS f ON r.record_id = f.record_id AND r.file_pointer = f.storage_path
            LEFT JOIN neurigraph.sources AS s ON r.source_id = s.source_id
            LEFT JOIN neurigraph.segments AS g ON r.record_id = g.record_id
            WHERE NOT r.quarantined%2$s$records$,
            node.schema_name,
            CASE WHEN coalesce(changed_records, node.part) IS NOT NULL THEN ' AND r.record_id = ANY($1)' END,
            'CASE WHEN r.embedding_model = $2 THEN r.embedding WHEN r.embedding_next_model = $2 THEN r.embedding_next END',
            vectors_schema
        )
        INTO
            records, titles, summaries, source_kinds, source_names, origins, file_states, superseded, record_lexemes,
            summary_vectors, segments, vectors
        USING
            coalesce(changed_records, node.part), node.model, decode(repeat('00', 4 + 4 * node.width), 'hex'), node.width;
        RETURN NEXT;
    END LOOP;
END
$$;

-- The staged nodes that the caller may see and cache, last staged first, with their versions.
CREATE OR REPLACE FUNCTION neurigraph.staged(most integer) RETURNS TABLE (node_id uuid, version text, model text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY
    SELECT g.node_id, v.version, u.embedding_model
    FROM neurigraph.visible_nodes(neurigraph.claims()) AS g
    INNER JOIN neurigraph.warm_nodes AS w ON g.node_id = w.node_id AND g.user_id = w.user_id
    INNER JOIN neurigraph.users AS u ON g.user_id = u.user_id
    CROSS JOIN LATERAL neurigraph_private.node_version(g.node_id) AS v
    WHERE w.expires_at > now() AND neurigraph.hidden_sources() = '{}'
    ORDER BY w.expires_at DESC, g.node_id
    LIMIT most;
END
$$;

REVOKE ALL ON FUNCTION neurigraph.layers(uuid [], bigint [], integer, text, integer), neurigraph.staged(integer)
FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.layers(uuid [], bigint [], integer, text, integer), neurigraph.staged(integer)
TO neurigraph_agent;
