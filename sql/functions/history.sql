-- History: the deltas of records, written by one function, and the reconstruction of any past state.

-- Append a change of a record to its chain, in the transaction that changes the record. The record's registry row is
-- locked until the end of the transaction, so chains do not fork. `w` is the time of this server, and always later than
-- `w` of the delta before, even if the clock is set back; the first delta has the record's creation time. A revision or
-- a split removes the digests and profiles that were made of the old words, and new vectors mark profiles as stale.
CREATE OR REPLACE FUNCTION neurigraph.append_delta(
    changed uuid, operation text, old_values jsonb, new_values jsonb, author text, notes jsonb DEFAULT '[]',
    OUT delta_id uuid, OUT w timestamptz
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    record neurigraph.record_index;
    latest record;
BEGIN
    SELECT i.* INTO record FROM neurigraph.record_index AS i WHERE i.record_id = changed FOR NO KEY UPDATE;
    SELECT d.delta_id, d.w_coordinate INTO latest
    FROM neurigraph.delta_log AS d WHERE d.record_id = changed ORDER BY d.w_coordinate DESC LIMIT 1;
    INSERT INTO neurigraph.delta_log AS d (
        user_id, record_id, w_coordinate, delta_payload, previous_delta_id, authored_by, key_id
    )
    VALUES (
        record.user_id,
        changed,
        CASE
            WHEN latest.delta_id IS NULL THEN record.created_at
            ELSE greatest(clock_timestamp(), latest.w_coordinate + interval '1 microsecond')
        END,
        jsonb_build_object('operation', operation, 'before', old_values, 'after', new_values, 'notes', notes),
        latest.delta_id,
        author,
        nullif(current_setting('neurigraph.author_key', true), '')::uuid
    )
    RETURNING d.delta_id, d.w_coordinate INTO append_delta.delta_id, append_delta.w;
    IF operation IN ('revise', 'split') THEN
        DELETE FROM neurigraph.digest_records AS r WHERE r.record_id = changed;
    END IF;
    IF operation IN ('revise', 'split', 'embed') THEN
        PERFORM neurigraph_private.outdate_profiles(record.node_id, record.source_id, operation <> 'embed');
    END IF;
END
$$;

-- Trigger on metadata_records: write a delta with the values that change. The transaction's parameter neurigraph.author
-- states the author. Without the parameter no change is possible, because the author in the log is never null.
CREATE OR REPLACE FUNCTION neurigraph.log_record_change() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    old_values jsonb;
    new_values jsonb;
    moment timestamptz;
BEGIN
    IF NEW.title <> OLD.title THEN
        UPDATE neurigraph.record_titles AS t SET title_key = neurigraph_private.title_key(t.user_id, NEW.title)
        WHERE t.record_id = NEW.record_id;
    END IF;
    SELECT jsonb_object_agg(o.key, o.value), jsonb_object_agg(o.key, n.value) INTO old_values, new_values
    FROM jsonb_each(jsonb_build_object(
        'title', OLD.title, 'summary', OLD.summary, 'kw_entities', OLD.kw_entities, 'kw_topics', OLD.kw_topics,
        'kw_dates', OLD.kw_dates, 'kw_relationships', OLD.kw_relationships, 'embedding_model', OLD.embedding_model,
        'superseded_by', OLD.superseded_by
    )) AS o
    INNER JOIN jsonb_each(jsonb_build_object(
        'title', NEW.title, 'summary', NEW.summary, 'kw_entities', NEW.kw_entities, 'kw_topics', NEW.kw_topics,
        'kw_dates', NEW.kw_dates, 'kw_relationships', NEW.kw_relationships, 'embedding_model', NEW.embedding_model,
        'superseded_by', NEW.superseded_by
    )) AS n ON o.key = n.key AND o.value <> n.value;
    IF old_values IS NULL THEN
        RETURN NEW;
    END IF;
    IF old_values - 'embedding_model' <> '{}' THEN
        PERFORM neurigraph_private.refuse_words(NEW.record_id);
    END IF;
    SELECT a.w INTO moment FROM neurigraph.append_delta(
        NEW.record_id,
        CASE
            WHEN NEW.superseded_by IS DISTINCT FROM OLD.superseded_by
                THEN CASE WHEN NEW.superseded_by IS NULL THEN 'restore' ELSE 'supersede' END
            WHEN old_values - 'embedding_model' = '{}' THEN 'embed'
            ELSE 'revise'
        END,
        old_values,
        new_values,
        nullif(current_setting('neurigraph.author', true), '')
    ) AS a;
    IF OLD.superseded_by IS NULL AND NEW.superseded_by IS NOT NULL THEN
        NEW.superseded := OLD.superseded + tstzmultirange(tstzrange(moment, NULL));
    ELSIF OLD.superseded_by IS NOT NULL AND NEW.superseded_by IS NULL THEN
        NEW.superseded := OLD.superseded * tstzmultirange(tstzrange(NULL, moment));
    END IF;
    RETURN NEW;
END
$$;

-- Hide, in values of a delta, other nodes and records that the caller may not see. The owner sees all values, even ids
-- of deleted nodes and records.
CREATE OR REPLACE FUNCTION neurigraph.visible_values(stated jsonb) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE
        WHEN NOT stated ?| ARRAY['node_id', 'superseded_by'] OR neurigraph.claims() ->> 'role' = 'user' THEN stated
        ELSE stated
            || CASE WHEN stated ? 'node_id' THEN '{"node_id": null, "node_path": null}' ELSE '{}'::jsonb END
            || coalesce((
                SELECT jsonb_build_object('node_id', g.node_id, 'node_path', n.node_path)
                FROM neurigraph.graph_index AS g CROSS JOIN LATERAL neurigraph.names_along(g.path) AS n
                WHERE g.node_id = (stated ->> 'node_id')::uuid
            ), '{}')
            || CASE WHEN stated ? 'superseded_by' THEN jsonb_build_object('superseded_by', (
                SELECT i.record_id FROM neurigraph.record_index AS i
                WHERE i.record_id = (stated ->> 'superseded_by')::uuid
            )) ELSE '{}' END
    END
$$;

-- The fields of a record that had other values at a moment than now: for each field, the value that the first delta
-- after the moment replaced. This function and the functions below run with the caller's rights, so deltas that the
-- caller may not see are invisible.
CREATE OR REPLACE FUNCTION neurigraph.values_then(wanted uuid, moment timestamptz) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(jsonb_object_agg(b.key, b.value), '{}')
    FROM (
        SELECT DISTINCT ON (v.key) v.key, v.value
        FROM neurigraph.delta_log AS d
        CROSS JOIN LATERAL jsonb_each(d.delta_payload -> 'before') AS v
        WHERE d.record_id = wanted AND d.w_coordinate > moment
        ORDER BY v.key, d.w_coordinate
    ) AS b
$$;

-- The fields that a memory shows, alone and in lists, as arguments of jsonb_build_object: r is the row of the record,
-- and f the row of its file. A new field needs a line here and in the view.
CREATE OR REPLACE FUNCTION neurigraph.record_fields() RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT
        $fields$
        'record_id', r.record_id, 'title', r.title, 'summary', r.summary, 'content_type', r.content_type,
        'trigger_type', r.trigger_type, 'embedding_pending', r.embedding_pending,
        'kw_entities', coalesce(r.kw_entities, '{}'), 'kw_topics', coalesce(r.kw_topics, '{}'),
        'kw_dates', coalesce(r.kw_dates, '{}'), 'kw_relationships', coalesce(r.kw_relationships, '{}'),
        'occurred_at', r.occurred_at, 'created_at', r.created_at, 'source_kind', r.source_kind,
        'source_id', r.source_id, 'superseded_by', r.superseded_by, 'file_id', f.file_id, 'file_name', f.file_name,
        'compression_state', f.compression_state, 'size_bytes', f.size_bytes, 'stored_bytes', f.stored_bytes
        $fields$
$$;

-- A record as it was at a moment, with the delta that led to this state. Null if the caller does not see the record, if
-- the record did not exist yet, or if a third party asks for a past state. The function is stable and so uses one
-- snapshot, in which the current row and the deltas fit each other.
CREATE OR REPLACE FUNCTION neurigraph.record_at(wanted uuid, moment timestamptz) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    node neurigraph.graph_index;
    state jsonb;
BEGIN
    SELECT g.* INTO node
    FROM neurigraph.record_index AS i INNER JOIN neurigraph.graph_index AS g ON i.node_id = g.node_id
    WHERE i.record_id = wanted;
    -- A past state is rebuilt from deltas, which third parties do not see.
    IF NOT FOUND OR (moment < 'infinity' AND neurigraph.claims() ->> 'role' = 'third_party') THEN
        RETURN NULL;
    END IF;
    EXECUTE format(
        $query$
        SELECT jsonb_build_object(
            %2$s, 'embedding_model', r.embedding_model,
            'first_message', r.first_message, 'last_message', r.last_message,
            'received_through', r.received_through, 'received_at', r.received_at, 'importance', r.importance,
            'source', (
                SELECT neurigraph.source_details(s, r.first_message) FROM neurigraph.sources AS s
                WHERE s.source_id = r.source_id
            ),
            'persona_id', (
                SELECT g.node_id FROM neurigraph.graph_index AS g WHERE g.node_id = r.persona_id
            )
        )
        FROM %1$I.metadata_records AS r
        LEFT JOIN %1$I.file_manifest AS f ON r.record_id = f.record_id AND r.file_pointer = f.storage_path
        WHERE r.record_id = $1 AND r.created_at <= $2
        $query$,
        node.schema_name,
        neurigraph.record_fields()
    ) INTO state USING wanted, moment;
    RETURN state || neurigraph.visible_values(
        jsonb_build_object(
            'node_id', node.node_id,
            'node_path', (SELECT n.node_path FROM neurigraph.names_along(node.path) AS n),
            'superseded_by', state -> 'superseded_by'
        ) || coalesce((
            SELECT to_jsonb(t) - ARRAY['record_id', 'access_count', 'access_days']
            FROM neurigraph.retention_of(ARRAY[wanted]) AS t
        ), '{"tier": "long", "expires_at": null, "expiry_reason": null}')
        || (neurigraph.values_then(wanted, moment) - ARRAY['archived_at', 'archived_reason'])
    ) || coalesce((
        SELECT jsonb_build_object('delta_id', d.delta_id, 'w', d.w_coordinate)
        FROM neurigraph.delta_log AS d
        WHERE d.record_id = wanted AND (d.w_coordinate <= moment OR d.previous_delta_id IS NULL)
        ORDER BY d.w_coordinate DESC LIMIT 1
    ), '{"delta_id": null, "w": null}');
END
$$;

-- Trigger on the append-only logs. Only the owner deletes entries, or removes words from deltas, and only in a
-- transaction that sets neurigraph.erasing; while records move, the node of an entry follows its file.
CREATE OR REPLACE FUNCTION neurigraph.refuse_change() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF current_user = 'neurigraph_owner' THEN
        IF TG_OP = 'DELETE' AND current_setting('neurigraph.erasing', true) = 'on' THEN
            RETURN OLD;
        END IF;
        IF TG_OP = 'UPDATE' AND current_setting('neurigraph.erasing', true) = 'on'
            AND to_jsonb(NEW) - 'delta_payload' = to_jsonb(OLD) - 'delta_payload'
        THEN
            RETURN NEW;
        END IF;
        IF TG_OP = 'UPDATE' AND neurigraph.is_moving()
            AND to_jsonb(NEW) - 'node_id' = to_jsonb(OLD) - 'node_id'
        THEN
            RETURN NEW;
        END IF;
    END IF;
    IF TG_NARGS > 0 THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = TG_ARGV[0];
    END IF;
    RAISE insufficient_privilege USING MESSAGE = format('%s is append-only', TG_TABLE_NAME);
END
$$;

REVOKE ALL ON FUNCTION neurigraph.append_delta(uuid, text, jsonb, jsonb, text, jsonb), neurigraph.log_record_change(),
neurigraph.visible_values(jsonb), neurigraph.values_then(uuid, timestamptz), neurigraph.record_at(uuid, timestamptz),
neurigraph.record_fields(), neurigraph.refuse_change() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.append_delta(uuid, text, jsonb, jsonb, text, jsonb) TO neurigraph_pipeline;
GRANT EXECUTE ON FUNCTION neurigraph.visible_values(jsonb), neurigraph.values_then(uuid, timestamptz),
neurigraph.record_fields(), neurigraph.record_at(uuid, timestamptz) TO neurigraph_agent;
