-- Erasure: the parts of forgetting that are more than deleting rows.

-- Give a file to another record of the same user, in any node, when the file is the original of an upload with other
-- remaining parts. The state log gets no entry. The object stays at its key, which is returned. The other record is
-- opened by the file from now on.
CREATE OR REPLACE FUNCTION neurigraph_private.hand_over_file(wanted uuid, successor uuid, OUT storage_path text)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    source name;
    target name;
    target_node uuid;
    columns text;
BEGIN
    SELECT g.schema_name INTO STRICT source
    FROM neurigraph.file_index AS f INNER JOIN neurigraph.graph_index AS g ON f.node_id = g.node_id
    WHERE f.file_id = wanted;
    SELECT g.schema_name, g.node_id INTO STRICT target, target_node
    FROM neurigraph.record_index AS r INNER JOIN neurigraph.graph_index AS g ON r.node_id = g.node_id
    WHERE r.record_id = successor;
    IF source = target THEN
        EXECUTE format('UPDATE %I.file_manifest AS f SET record_id = $2 WHERE f.file_id = $1', source)
        USING wanted, successor;
    ELSE
        SELECT string_agg(quote_ident(a.attname), ', ') INTO columns
        FROM pg_attribute AS a
        WHERE a.attrelid = format('%I.file_manifest', source)::regclass
            AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' AND a.attname <> 'record_id';
        PERFORM set_config('neurigraph.moving', 'on', true);
        EXECUTE format(
            'INSERT INTO %2$I.file_manifest (record_id, %3$s) '
            'SELECT $2, %3$s FROM %1$I.file_manifest AS f WHERE f.file_id = $1', source, target, columns
        ) USING wanted, successor;
        EXECUTE format('DELETE FROM %I.file_manifest AS f WHERE f.file_id = $1', source) USING wanted;
        UPDATE neurigraph.compression_state_log AS l SET node_id = target_node WHERE l.file_id = wanted;
        PERFORM set_config('neurigraph.moving', 'off', true);
        PERFORM neurigraph.sum_file_states(target_node, target);
    END IF;
    UPDATE neurigraph.file_index AS f SET record_id = successor WHERE f.file_id = wanted;
    EXECUTE format(
        'UPDATE %1$I.metadata_records AS r SET file_pointer = f.storage_path '
        'FROM %1$I.file_manifest AS f WHERE f.file_id = $1 AND r.record_id = f.record_id RETURNING r.file_pointer', target
    ) INTO storage_path USING wanted;
END
$$;

-- The sum of two JSON objects of counts, name by name.
CREATE OR REPLACE FUNCTION neurigraph_private.added(counts jsonb, more jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(jsonb_object_agg(n.name, n.total), '{}')
    FROM (
        SELECT c.key AS name, sum(c.value::bigint) AS total
        FROM (
            SELECT a.key, a.value FROM jsonb_each_text(counts) AS a
            UNION ALL
            SELECT b.key, b.value FROM jsonb_each_text(more) AS b
        ) AS c
        GROUP BY c.key
    ) AS n
$$;

-- Refuse new messages and keys while a user is being forgotten. An erasure begins only after the transactions that hold
-- the lock have ended.
CREATE OR REPLACE FUNCTION neurigraph_private.refuse_while_forgotten(owner uuid) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(hashtextextended('neurigraph.inbox:' || owner, 0));
    IF EXISTS (
        SELECT FROM neurigraph.erasures AS e
        WHERE e.subject_kind = 'user' AND e.subject_id = owner AND e.finished_at IS NULL
            AND e.rows_erased_at IS NULL
    ) THEN
        RAISE EXCEPTION USING
            ERRCODE = 'NG005',
            MESSAGE = 'this user is being forgotten: nothing more is stored';
    END IF;
END
$$;

-- The unstored messages that personas handed in: the right to file them ends with the persona's keys. Messages of
-- others in the same conversations are left out. Without personas: all messages in a user's inbox.
CREATE OR REPLACE FUNCTION neurigraph.waiting_messages(owner uuid, personas uuid [])
RETURNS TABLE (source_id uuid, seq integer)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT m.source_id, m.seq
    FROM neurigraph.sources AS s
    INNER JOIN neurigraph.messages AS m ON s.source_id = m.source_id
    WHERE s.user_id = owner
        AND (
            personas IS NULL
            OR s.persona_id = ANY(personas) AND (m.received_through IS NULL OR m.persona_id = s.persona_id)
        )
        AND m.seq > s.stored_through
        AND NOT EXISTS (
            SELECT FROM neurigraph.storage_triggers AS t
            WHERE t.source_id = m.source_id AND t.state = 'stored' AND m.seq BETWEEN t.first_message AND t.last_message
        )
$$;

REVOKE ALL ON FUNCTION neurigraph.waiting_messages(uuid, uuid []) FROM PUBLIC;
