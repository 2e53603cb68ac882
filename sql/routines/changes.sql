-- What changed since a process read it: noted by triggers of the nodes' tables.

CREATE OR REPLACE FUNCTION neurigraph_private.node_version(wanted uuid) RETURNS TABLE (version text)
LANGUAGE sql STABLE ROWS 1 AS $$
    SELECT coalesce(string_agg(c.change::text, ',' ORDER BY c.change), '')
    FROM neurigraph.node_changes AS c WHERE c.node_id = wanted
$$;

CREATE OR REPLACE FUNCTION neurigraph_private.node_versions(owner uuid) RETURNS TABLE (node_id uuid, version text)
LANGUAGE sql STABLE AS $$
    SELECT c.node_id, string_agg(c.change::text, ',' ORDER BY c.change)
    FROM neurigraph.node_changes AS c WHERE c.user_id = owner GROUP BY c.node_id
$$;

-- On tables of nodes, once a statement. Argument of the trigger: user_id.
CREATE OR REPLACE FUNCTION neurigraph.note_node_change() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM neurigraph_private.note_change(TG_ARGV[0]::uuid);
    INSERT INTO neurigraph.node_changes (node_id, user_id, change)
    SELECT g.node_id, g.user_id, pg_current_xact_id()
    FROM neurigraph.graph_index AS g WHERE g.schema_name = TG_TABLE_SCHEMA
    ON CONFLICT DO NOTHING;
    IF FOUND THEN
        DELETE FROM neurigraph.node_changes AS c
        USING (
            SELECT o.node_id, o.change FROM neurigraph.node_changes AS o
            INNER JOIN neurigraph.graph_index AS g ON o.node_id = g.node_id AND g.schema_name = TG_TABLE_SCHEMA
            WHERE o.change < pg_snapshot_xmin(pg_current_snapshot())
            ORDER BY o.change
            LIMIT 16
            FOR UPDATE OF o SKIP LOCKED
        ) AS past
        WHERE c.node_id = past.node_id AND c.change = past.change;
    END IF;
    RETURN NULL;
END
$$;

REVOKE ALL ON FUNCTION neurigraph.note_node_change() FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA neurigraph_private FROM PUBLIC;
