-- Registration: record_index and file_index follow the tables of all nodes.

-- Trigger on metadata_records. Arguments: node_id and user_id of the node.
CREATE OR REPLACE FUNCTION neurigraph.register_record() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF NOT neurigraph.is_moving() THEN
            DELETE FROM neurigraph.record_index AS r WHERE r.record_id = OLD.record_id;
        END IF;
        RETURN OLD;
    END IF;
    IF NOT neurigraph.is_moving() THEN
        INSERT INTO neurigraph.record_index (record_id, node_id, user_id, source, content_hash, created_at)
        VALUES (
            NEW.record_id, TG_ARGV[0]::uuid, TG_ARGV[1]::uuid,
            NEW.source_kind || ':' || NEW.source_id, NEW.content_hash, NEW.created_at
        );
        RETURN NEW;
    END IF;
    UPDATE neurigraph.record_index AS r SET node_id = TG_ARGV[0]::uuid
    WHERE r.record_id = NEW.record_id AND r.user_id = TG_ARGV[1]::uuid;
    IF NOT FOUND THEN
        RAISE foreign_key_violation USING MESSAGE = 'a record can only move between nodes of its own user';
    END IF;
    RETURN NEW;
END
$$;

-- Trigger on file_manifest. Arguments: node_id and user_id of the node.
CREATE OR REPLACE FUNCTION neurigraph.register_file() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF NOT neurigraph.is_moving() THEN
            DELETE FROM neurigraph.file_index AS f WHERE f.file_id = OLD.file_id;
        END IF;
        RETURN OLD;
    END IF;
    IF NOT neurigraph.is_moving() THEN
        INSERT INTO neurigraph.file_index (file_id, record_id, node_id, user_id)
        VALUES (NEW.file_id, NEW.record_id, TG_ARGV[0]::uuid, TG_ARGV[1]::uuid);
        RETURN NEW;
    END IF;
    UPDATE neurigraph.file_index AS f SET node_id = TG_ARGV[0]::uuid
    WHERE f.file_id = NEW.file_id AND f.user_id = TG_ARGV[1]::uuid;
    IF NOT FOUND THEN
        RAISE foreign_key_violation USING MESSAGE = 'a file can only move between nodes of its own user';
    END IF;
    RETURN NEW;
END
$$;

REVOKE ALL ON FUNCTION neurigraph.register_record(), neurigraph.register_file() FROM PUBLIC;
