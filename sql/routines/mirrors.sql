-- Mirrors are read-only: only the pull whose peer the parameter neurigraph.mirroring names writes below a mount node,
-- and a restore, for which it is all.

-- Refuse what changes a mirror from here.
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
            MESSAGE = 'this node mirrors another installation and is read-only here: change it at its home';
    END IF;
END
$$;

-- Trigger on record_index: records enter and leave mirrors only as at home.
CREATE OR REPLACE FUNCTION neurigraph.guard_mirrored_records() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM neurigraph_private.refuse_in_mirror(
        CASE WHEN TG_OP = 'UPDATE' THEN ARRAY[NEW.node_id, OLD.node_id] ELSE ARRAY[NEW.node_id] END
    );
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER guard_mirrors AFTER INSERT OR UPDATE OF node_id ON neurigraph.record_index
FOR EACH ROW EXECUTE FUNCTION neurigraph.guard_mirrored_records();

-- Trigger on graph_index: nodes below a mount node appear, move and change their names only as at home.
CREATE OR REPLACE FUNCTION neurigraph.guard_mirrored_nodes() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        PERFORM neurigraph_private.refuse_in_mirror(ARRAY[NEW.parent_node_id]);
    ELSIF NEW.parent_node_id IS DISTINCT FROM OLD.parent_node_id OR NEW.node_name <> OLD.node_name THEN
        -- The mount node itself may be renamed and moved.
        PERFORM neurigraph_private.refuse_in_mirror(ARRAY[NEW.parent_node_id, OLD.parent_node_id]);
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER guard_mirrors AFTER INSERT OR UPDATE OF parent_node_id, node_name ON neurigraph.graph_index
FOR EACH ROW EXECUTE FUNCTION neurigraph.guard_mirrored_nodes();

-- Refuse other words for a mirrored memory than those of its home.
CREATE OR REPLACE FUNCTION neurigraph_private.refuse_words(record uuid) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM neurigraph_private.refuse_in_mirror(
        ARRAY(SELECT m.node_id FROM neurigraph.mirrored_records AS m WHERE m.record_id = record)
    );
END
$$;

REVOKE ALL ON FUNCTION neurigraph_private.refuse_in_mirror(uuid []), neurigraph_private.refuse_words(uuid),
neurigraph.guard_mirrored_records(), neurigraph.guard_mirrored_nodes() FROM PUBLIC;
