-- Mirrors are read-only. Below a mount node only the pull of the peer named by the parameter neurigraph.mirroring
-- writes, and a restore, which sets the parameter to `all`.

-- Refuse changes of a mirror that do not come from a pull.
CREATE OR REPLACE FUNCTION neurigraph_private.refuse_in_mirror(nodes uuid []) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF EXISTS (
        SELECT FROM neurigraph.peers AS p
        LEFT JOIN neurigraph.mirrored_nodes AS m ON p.peer_id = m.peer_id AND m.node_id = ANY(nodes)
        WHERE (p.mount_node_id = ANY(nodes) OR m.node_id IS NOT NULL)
            AND coalesce(current_setting('neurigraph.mirroring', true), '') NOT IN (p.peer_id::text, 'all')
    ) THEN
        RAISE EXCEPTION USING
            ERRCODE = 'NG004',
            MESSAGE = 'this node mirrors another installation and is read-only here: change it at its publisher';
    END IF;
END
$$;

-- Refuse changes of a mirrored memory's words that do not come from its publisher.
CREATE OR REPLACE FUNCTION neurigraph_private.refuse_words(record uuid) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM neurigraph_private.refuse_in_mirror(
        ARRAY(SELECT m.node_id FROM neurigraph.mirrored_records AS m WHERE m.record_id = record)
    );
END
$$;
