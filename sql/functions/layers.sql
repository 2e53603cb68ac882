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

-- The metadata layers of some nodes, for a process that ranks them in memory. `records` and `passages` are rows of
-- fixed width; the arrays and vectors beside them are in the same order. A record without a file has the file id zero.
-- Each passage that may be found has two vectors, its own and that of its window; a vector of another model than the
-- one in use is zeros. Where sources are hidden from the caller, a layer has only the records that the caller sees, and
-- the version of this part of the node (see seen_parts). A layer of candidates for a single question has no version,
-- because it is not cached. A caller that has the whole node in its cache passes the node's `horizon` (transactions
-- from the horizon on may have been running when the node was read). If the changes since the horizon are known,
-- `changed` lists the changed records, 16 bytes of id each, and the layer has only the changed records that still
-- exist. If the question names a form of `packs`, a whole node is returned as a pack, and `changed` lists the records
-- that changed since the pack. The vectors of that pack have the version `pack_version`.
CREATE OR REPLACE FUNCTION neurigraph.layers(question jsonb, nodes uuid [], horizons bigint [], embedding halfvec)
RETURNS TABLE (
    node_id uuid, version text, model text, horizon bigint, pack bytea, pack_version text, changed bytea,
    records bytea, titles text [], summaries text [], source_kinds text [], source_names text [], origins text [],
    file_states text [], superseded text [], record_lexemes text [], summary_vectors bytea,
    passages bytea, authors text [], external_ids text [], sections text [], vectors bytea, lexemes text,
    frequencies text
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
    -- The length of a full window, in passages.
    window_length double precision NOT NULL := (
        SELECT sum(w.weight::double precision) FROM jsonb_array_elements_text(question -> 'window_weights') AS w (weight)
    );
    words tsquery;
    rare text [];
    weights double precision [];
    node record;
    candidates record;
    found record;
    filter text;
    packed uuid [];
    changed_records uuid [];
    -- Whether vector indexes choose candidates, and only the candidates are read.
    by_index boolean;
BEGIN
    IF hidden = '{}' AND question ? 'packs' THEN
        FOR node_id, version, model, horizon, pack, pack_version IN
            SELECT p.node_id, p.version, p.model, p.horizon, p.layer, p.version
            FROM neurigraph_private.packs_in_force(
                asking,
                ARRAY(SELECT a.node_id FROM unnest(nodes, horizons) AS a (node_id, horizon) WHERE a.horizon IS NULL),
                (question ->> 'packs')::integer
            ) AS p
        LOOP
            packed := packed || node_id;
            RETURN NEXT;
        END LOOP;
    END IF;
    FOR node IN
        SELECT
            g.node_id AS id, g.schema_name, u.embedding_model AS model, w.is_indexed,
            CASE WHEN now_running - a.horizon >= 0 THEN a.horizon END AS since,
            q.records AS part, q.version AS part_version,
            -- Beyond the dimensions of its model a vector holds zeros.
            coalesce(
                CASE WHEN u.embedding_model = question ->> 'model' THEN (question ->> 'dimensions')::integer END, 1536
            ) AS width
        FROM unnest(nodes, horizons) AS a (node_id, horizon)
        INNER JOIN neurigraph.visible_nodes(asking) AS g ON a.node_id = g.node_id
        INNER JOIN neurigraph.users AS u ON g.user_id = u.user_id
        LEFT JOIN neurigraph.node_statistics AS s ON g.node_id = s.node_id
        LEFT JOIN neurigraph_private.seen_parts(asking, hidden, CASE WHEN hidden <> '{}' THEN nodes END) AS q
            ON a.node_id = q.node_id
        CROSS JOIN LATERAL (
            SELECT s.vector_index IS NOT NULL AND u.embedding_next_model IS NULL AND question ? 'candidates'
                AND NOT asking ? 'container_tags' AS is_indexed
        ) AS w
        WHERE packed IS NULL OR a.node_id <> ALL(packed)
    LOOP
        node_id := node.id;
        model := node.model;
        pack := NULL;
        pack_version := NULL;
        -- Changes are listed for whole nodes, and a caller from whom sources are hidden has only a part of a node.
        changed_records := CASE WHEN hidden = '{}' THEN neurigraph_private.changed_since(node.id, node.since) END;
        IF hidden = '{}' AND changed_records IS NULL AND question ? 'packs' THEN
            SELECT p.* INTO pack, pack_version, changed_records
            FROM neurigraph_private.pack_before(node.id, node.model, (question ->> 'packs')::integer) AS p;
        END IF;
        by_index := node.is_indexed AND changed_records IS NULL;
        version := CASE WHEN NOT by_index THEN coalesce(
            node.part_version, (SELECT v.version FROM neurigraph_private.node_version(node.id) AS v)
        ) END;
        horizon := CASE WHEN version IS NOT NULL AND hidden = '{}' THEN now_running END;
        changed := CASE WHEN changed_records IS NOT NULL THEN coalesce(
            (SELECT string_agg(uuid_send(c.record_id), '') FROM unnest(changed_records) AS c (record_id)), ''
        ) END;
        IF changed_records = '{}' THEN
            SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
            INTO
                records, titles, summaries, source_kinds, source_names, origins, file_states, superseded,
                record_lexemes, summary_vectors, passages, authors, external_ids, sections, vectors, lexemes,
                frequencies;
            RETURN NEXT;
            CONTINUE;
        END IF;
        filter := 'WHERE NOT r.quarantined';
        SELECT NULL::uuid [] AS records, NULL::integer [] AS seqs, NULL::boolean [] AS are_eligible INTO candidates;
        IF by_index THEN
            IF rare IS NULL THEN
                SELECT array_agg(r.lexeme), array_agg(r.weight::double precision) INTO rare, weights
                FROM jsonb_each_text(question -> 'rare') AS r (lexeme, weight);
                SELECT string_agg(w.word::text, ' | ')::tsquery INTO words
                FROM jsonb_array_elements_text(question -> 'stems') AS l (stem)
                CROSS JOIN LATERAL plainto_tsquery('simple', l.stem) AS w (word)
                WHERE numnode(w.word) > 0;
            END IF;
            filter := concat_ws(
                ' AND ', neurigraph_private.record_filter(question),
                CASE WHEN EXISTS (SELECT FROM neurigraph.record_index AS i WHERE i.node_id = node.id AND i.quarantined)
                    THEN 'NOT r.quarantined' END,
                CASE WHEN hidden <> '{}' THEN 'r.source_id NOT IN (SELECT unnest((SELECT neurigraph.hidden_sources())))' END
            );
            SELECT c.* INTO candidates FROM neurigraph_private.candidates_of(
                node.schema_name, filter, question, rare, weights,
                CASE WHEN node.model = question ->> 'model' THEN embedding END
            ) AS c;
            -- Also read the records whose summaries match best: more than a search shows beside the candidates'
            -- records.
            filter := format(
                'WHERE r.record_id IN (SELECT k.record_id FROM unnest($1) AS k (record_id) UNION (SELECT r.record_id'
                ' FROM %I.metadata_records AS r WHERE r.tsv @@ $2 AND %s ORDER BY ts_rank(r.tsv, $2, 1) DESC LIMIT %s))',
                node.schema_name, filter, greatest((question ->> 'limit')::integer, 50)
            );
        ELSIF coalesce(changed_records, node.part) IS NOT NULL THEN
            candidates.records := coalesce(changed_records, node.part);
            filter := 'WHERE r.record_id = ANY($1) AND NOT r.quarantined';
        END IF;

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
                ) AS records,
                array_agg(r.title) AS titles,
                array_agg(r.summary) AS summaries,
                array_agg(r.source_kind::text) AS source_kinds,
                array_agg(s.external_id) AS source_names,
                -- Records from before origins were recorded have only a persona.
                array_agg(jsonb_build_object(
                    'persona_id', CASE WHEN r.received_at IS NULL THEN s.persona_id ELSE r.persona_id END,
                    'key_id', r.key_id, 'received_through', r.received_through, 'received_at', r.received_at,
                    'source', neurigraph.source_details(s, r.first_message)
                )::text) AS origins,
                array_agg(f.compression_state::text) AS file_states,
                array_agg(
                    -- A record that was superseded by a record in quarantine is current.
                    CASE WHEN r.superseded <> '{}' AND NOT EXISTS (
                        SELECT FROM neurigraph.record_index AS i
                        WHERE i.record_id = r.superseded_by AND i.quarantined
                    ) THEN neurigraph_private.seconds_of(r.superseded) END
                ) AS superseded,
                array_agg(array_to_string(tsvector_to_array(r.tsv), ' ')) AS lexemes,
                string_agg(coalesce(%4$I.vector_send(%4$I.subvector(%3$s, 1, $4)), $5), '') AS summary_vectors,
                array_agg(CASE WHEN r.received_at IS NULL THEN
                    CASE WHEN s.persona_id IS NOT NULL THEN 'persona' WHEN r.source_kind = 'upload' THEN 'document' END
                END::neurigraph.voice) AS voices,
                array_agg(r.record_id) AS ids,
                array_agg(r.source_id) AS sources,
                array_agg(r.embedding_model) AS models,
                array_agg(r.embedding_next_model) AS next_models
            FROM %5$s AS r
            LEFT JOIN %1$I.file_manifest AS f ON r.record_id = f.record_id AND r.file_pointer = f.storage_path
            LEFT JOIN neurigraph.sources AS s ON r.source_id = s.source_id
            %2$s$records$,
            node.schema_name,
            filter,
            neurigraph_private.vector_in_use('embedding', 'r'),
            vectors_schema,
            format('%I.metadata_records', node.schema_name)
        ) INTO found
        USING
            candidates.records, words, node.model, least(node.width, 1536),
            decode(repeat('00', 4 + 4 * least(node.width, 1536)), 'hex');
        records := found.records;
        titles := found.titles;
        summaries := found.summaries;
        source_kinds := found.source_kinds;
        file_states := found.file_states;
        superseded := found.superseded;
        record_lexemes := found.lexemes;
        summary_vectors := found.summary_vectors;
        source_names := found.source_names;
        origins := found.origins;

        EXECUTE format(
            $passages$SELECT
                string_agg(
                    uuid_send(p.record_id) || int4send(p.seq) || int4send(p.first_message)
                    || float4send(coalesce(p.window_length, $11 * p.lexeme_count)::real)
                    || int4send(
                        -- Passages from before voices were recorded get their voice from their source or role.
                        256 * coalesce(
                            array_position($13, coalesce(p.voice, r.voice, CASE p.role
                                WHEN 'user' THEN 'owner' WHEN 'assistant' THEN 'assistant' WHEN 'system' THEN 'system'
                                WHEN 'tool' THEN 'tool' END::neurigraph.voice)),
                            0
                        )
                        + coalesce(array_position($14, p.role), 0)
                    )
                    || int8send(coalesce(p.statement_key, 0))
                    || int4send(cardinality(p.lexemes)) || int4send(%3$s), ''
                ),
                array_agg(p.author),
                array_agg(m.external_id),
                array_agg(p.section),
                string_agg(
                    coalesce(%6$I.halfvec_send(%6$I.subvector(%4$s, 1, $8)), $9)
                    || coalesce(%6$I.halfvec_send(%6$I.subvector(%5$s, 1, $8)), $9), ''
                ) FILTER (WHERE %7$s),
                string_agg(array_to_string(p.lexemes, ' '), ' '),
                string_agg(array_to_string(p.frequencies, ' '), ' ')
            FROM %1$s AS p
            INNER JOIN unnest($1, $2, $4, $5, $12)
                AS r (record_id, source_id, embedding_model, embedding_next_model, voice)
                ON p.record_id = r.record_id
            LEFT JOIN neurigraph.messages AS m ON r.source_id = m.source_id AND p.first_message = m.seq
            %2$s$passages$,
            format('%I.passages', node.schema_name),
            CASE WHEN by_index THEN
                'INNER JOIN unnest($6, $7, $10) AS k (record_id, seq, is_eligible)'
                ' ON p.record_id = k.record_id AND p.seq = k.seq' END,
            CASE WHEN by_index THEN 'k.is_eligible::integer' ELSE '1' END,
            neurigraph_private.vector_in_use('embedding', 'p'),
            neurigraph_private.vector_in_use('window_embedding', 'p'),
            vectors_schema,
            CASE WHEN by_index THEN 'k.is_eligible' ELSE 'true' END
        ) INTO passages, authors, external_ids, sections, vectors, lexemes, frequencies
        USING
            found.ids, found.sources, node.model, found.models, found.next_models,
            candidates.records, candidates.seqs,
            least(node.width, 512), decode(repeat('00', 4 + 2 * least(node.width, 512)), 'hex'),
            candidates.are_eligible, window_length, found.voices, enum_range(NULL::neurigraph.voice),
            enum_range(NULL::neurigraph.message_role);
        RETURN NEXT;
    END LOOP;
END
$$;

-- SQL text for the vector of the model in use (bound to $3): the column itself, or the `_next` column while the user
-- moves from one model to another.
CREATE OR REPLACE FUNCTION neurigraph_private.vector_in_use(column_name text, place text) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT format(
        'CASE WHEN r.embedding_model = $3 THEN %2$s.%1$s WHEN r.embedding_next_model = $3 THEN %2$s.%1$s_next END',
        column_name, place
    )
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
    LEFT JOIN neurigraph.node_statistics AS s ON g.node_id = s.node_id
    CROSS JOIN LATERAL neurigraph_private.node_version(g.node_id) AS v
    WHERE w.expires_at > now() AND s.vector_index IS NULL AND neurigraph.hidden_sources() = '{}'
    ORDER BY w.expires_at DESC, g.node_id
    LIMIT most;
END
$$;

REVOKE ALL ON FUNCTION neurigraph.layers(jsonb, uuid [], bigint [], halfvec), neurigraph.staged(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.layers(jsonb, uuid [], bigint [], halfvec), neurigraph.staged(integer)
TO neurigraph_agent;
