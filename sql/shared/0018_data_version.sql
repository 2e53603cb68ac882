-- Whether anything changed that an answer may depend on, so that an answer may be kept and is never stale.

-- One row for each transaction that changed something of a user's. Writers insert rows of their own and wait for
-- nobody; the rows that a reader sees are the version. Old rows go as new ones come, so no version comes back.
CREATE TABLE neurigraph.user_changes (
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    change xid8 NOT NULL,
    PRIMARY KEY (user_id, change)
);
ALTER TABLE neurigraph.user_changes ENABLE ROW LEVEL SECURITY;
CREATE POLICY pipeline_all ON neurigraph.user_changes TO neurigraph_pipeline USING (true);
CREATE POLICY own_rows ON neurigraph.user_changes TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()));

CREATE FUNCTION neurigraph_private.data_version(owner uuid) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT md5(coalesce(string_agg(c.change::text, ',' ORDER BY c.change), ''))
    FROM neurigraph.user_changes AS c WHERE c.user_id = owner
$$;

CREATE FUNCTION neurigraph_private.note_change(owner uuid) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    -- Once a transaction and user is enough.
    IF current_setting('neurigraph.changed', true) = owner::text || pg_current_xact_id() THEN
        RETURN;
    END IF;
    INSERT INTO neurigraph.user_changes (user_id, change)
    SELECT u.user_id, pg_current_xact_id() FROM neurigraph.users AS u WHERE u.user_id = owner
    ON CONFLICT DO NOTHING;
    DELETE FROM neurigraph.user_changes AS c
    USING (
        SELECT o.change FROM neurigraph.user_changes AS o
        WHERE o.user_id = owner AND o.change < pg_snapshot_xmin(pg_current_snapshot())
        ORDER BY o.change
        LIMIT 16
        FOR UPDATE SKIP LOCKED
    ) AS old
    WHERE c.user_id = owner AND c.change = old.change;
    PERFORM set_config('neurigraph.changed', owner::text || pg_current_xact_id(), true);
END
$$;

-- On tables of nodes, once a statement. Argument of the trigger: user_id.
CREATE FUNCTION neurigraph.note_node_change() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM neurigraph_private.note_change(TG_ARGV[0]::uuid);
    RETURN NULL;
END
$$;

-- On shared tables, for each row.
CREATE FUNCTION neurigraph.note_row_change() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM neurigraph_private.note_change(CASE WHEN TG_OP = 'DELETE' THEN OLD.user_id ELSE NEW.user_id END);
    RETURN NULL;
END
$$;

CREATE TRIGGER note_change AFTER INSERT OR DELETE OR UPDATE OF
node_name, concept_kind, layer_depth, parent_node_id, path, schema_name, compression_state, aliases, node_keywords,
node_summary, record_count, centroid, language, node_ddl_version ON neurigraph.graph_index
FOR EACH ROW EXECUTE FUNCTION neurigraph.note_row_change();
CREATE TRIGGER note_change AFTER INSERT OR DELETE OR UPDATE OF
from_node_id, to_node_id, relation ON neurigraph.node_edges
FOR EACH ROW EXECUTE FUNCTION neurigraph.note_row_change();
CREATE TRIGGER note_change AFTER UPDATE OF embedding_model, embedding_next_model ON neurigraph.users
FOR EACH ROW EXECUTE FUNCTION neurigraph.note_row_change();
CREATE TRIGGER note_change AFTER INSERT OR DELETE OR UPDATE ON neurigraph.permission_grants
FOR EACH ROW EXECUTE FUNCTION neurigraph.note_row_change();
CREATE TRIGGER note_change AFTER UPDATE OF vector_index ON neurigraph.node_statistics
FOR EACH ROW EXECUTE FUNCTION neurigraph.note_row_change();

REVOKE ALL ON FUNCTION neurigraph.note_node_change(), neurigraph.note_row_change() FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA neurigraph_private FROM PUBLIC;
