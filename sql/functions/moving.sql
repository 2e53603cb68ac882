-- Moving records between nodes. Triggers of node tables neither register nor erase records that move: the parameter
-- neurigraph.moving is on while move_records runs.

-- Whether move_records runs in this transaction.
CREATE OR REPLACE FUNCTION neurigraph.is_moving() RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(current_setting('neurigraph.moving', true), '') = 'on'
$$;

-- The tables of a node schema that hold records and their parts, with the depth of their references: 0 for
-- metadata_records, 1 for tables with a foreign key to it, and so on. Read from the catalog, so that a new node table
-- is moved without a change here.
CREATE OR REPLACE FUNCTION neurigraph_private.node_tables(schema_name name)
RETURNS TABLE (table_name name, depth integer)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    WITH RECURSIVE walked AS (
        SELECT c.oid, 0 AS depth
        FROM pg_class AS c
        WHERE c.relnamespace = to_regnamespace(quote_ident(schema_name)) AND c.relkind = 'r'
        UNION
        SELECT f.conrelid, w.depth + 1
        FROM walked AS w INNER JOIN pg_constraint AS f ON w.oid = f.confrelid
        WHERE f.contype = 'f' AND f.conrelid <> f.confrelid
    )

    SELECT c.relname, max(w.depth)
    FROM walked AS w
    INNER JOIN pg_class AS c ON w.oid = c.oid
    INNER JOIN pg_attribute AS a ON c.oid = a.attrelid AND a.attname = 'record_id' AND NOT a.attisdropped
    GROUP BY c.relname
$$;

-- Move records with all their rows into the tables of another node of the same user. Both nodes have the current DDL,
-- and the caller has locked both nodes and the records. Objects, log entries and evidence stay. A state log entry gets
-- the new node of its file, and the mention of the node that a record is filed at gets the record's new node.
CREATE OR REPLACE FUNCTION neurigraph_private.move_records(records uuid [], from_node uuid, to_node uuid) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    source name;
    target name;
    tables name [];
    current name;
    columns text;
BEGIN
    SELECT f.schema_name, t.schema_name INTO STRICT source, target
    FROM neurigraph.graph_index AS f
    INNER JOIN neurigraph.graph_index AS t ON f.user_id = t.user_id AND f.node_id <> t.node_id
    WHERE f.node_id = from_node AND t.node_id = to_node;
    PERFORM set_config('neurigraph.moving', 'on', true);
    SELECT array_agg(t.table_name ORDER BY t.depth, t.table_name) INTO STRICT tables
    FROM neurigraph_private.node_tables(source) AS t;
    FOREACH current IN ARRAY tables LOOP
        SELECT string_agg(quote_ident(a.attname), ', ') INTO columns
        FROM pg_attribute AS a
        WHERE a.attrelid = format('%I.%I', source, current)::regclass
            AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '';
        EXECUTE format(
            'INSERT INTO %2$I.%3$I (%4$s) SELECT %4$s FROM %1$I.%3$I AS r WHERE r.record_id = ANY($1)',
            source, target, current, columns
        ) USING records;
    END LOOP;
    -- Parts are deleted before their records: the foreign keys would delete them record by record.
    FOREACH current IN ARRAY ARRAY(
        SELECT t.name FROM unnest(tables) WITH ORDINALITY AS t (name, place) ORDER BY t.place DESC
    ) LOOP
        EXECUTE format('DELETE FROM %1$I.%2$I AS r WHERE r.record_id = ANY($1)', source, current) USING records;
    END LOOP;
    UPDATE neurigraph.mentions AS m SET node_id = to_node
    WHERE m.record_id = ANY(records) AND m.node_id = from_node AND m.role = 'subject';
    UPDATE neurigraph.segments AS s SET node_id = to_node WHERE s.record_id = ANY(records);
    UPDATE neurigraph.pending_embeddings AS p SET node_id = to_node WHERE p.record_id = ANY(records);
    UPDATE neurigraph.compression_state_log AS l SET node_id = to_node
    FROM neurigraph.file_index AS i
    WHERE l.file_id = i.file_id AND i.record_id = ANY(records);
    PERFORM set_config('neurigraph.moving', 'off', true);
    PERFORM neurigraph.sum_file_states(to_node, target);
END
$$;

REVOKE ALL ON FUNCTION neurigraph.is_moving() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.is_moving() TO neurigraph_pipeline;
