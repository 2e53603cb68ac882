-- Registration: record_index and file_index follow the tables of all nodes.

-- Keywords as record_index has them, so that lists compare them without regard to case.
CREATE OR REPLACE FUNCTION neurigraph.keyword_keys(keywords text []) RETURNS text []
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(array_agg(DISTINCT lower(k.word)), '{}') FROM unnest(keywords) AS k (word)
$$;

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
    IF TG_OP = 'UPDATE' THEN
        UPDATE neurigraph.record_index AS r SET
            content_type = NEW.content_type,
            occurred_at = NEW.occurred_at,
            superseded = NEW.superseded_by IS NOT NULL,
            entity_keys = neurigraph.keyword_keys(NEW.kw_entities),
            topic_keys = neurigraph.keyword_keys(NEW.kw_topics)
        WHERE r.record_id = NEW.record_id;
        RETURN NEW;
    END IF;
    IF NOT neurigraph.is_moving() THEN
        INSERT INTO neurigraph.record_index (
            record_id, node_id, user_id, source, content_hash, created_at,
            content_type, occurred_at, superseded, entity_keys, topic_keys
        )
        VALUES (
            NEW.record_id, TG_ARGV[0]::uuid, TG_ARGV[1]::uuid,
            NEW.source_kind || ':' || NEW.source_id, NEW.content_hash, NEW.created_at,
            NEW.content_type, NEW.occurred_at, NEW.superseded_by IS NOT NULL,
            neurigraph.keyword_keys(NEW.kw_entities), neurigraph.keyword_keys(NEW.kw_topics)
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

REVOKE ALL ON FUNCTION neurigraph.keyword_keys(text []), neurigraph.register_record(), neurigraph.register_file()
FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.keyword_keys(text []) TO neurigraph_pipeline;
