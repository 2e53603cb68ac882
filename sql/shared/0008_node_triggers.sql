-- What the tables of every node schema call: registration at the root, and the searchable text of a record.

-- Arguments of the trigger: node_id and user_id of the node whose table it stands on.
CREATE FUNCTION neurigraph.register_record() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        DELETE FROM neurigraph.record_index AS r WHERE r.record_id = OLD.record_id;
        RETURN OLD;
    END IF;
    INSERT INTO neurigraph.record_index (record_id, node_id, user_id, source, content_hash, created_at)
    VALUES (
        NEW.record_id, TG_ARGV[0]::uuid, TG_ARGV[1]::uuid,
        NEW.source_kind || ':' || NEW.source_id, NEW.content_hash, NEW.created_at
    );
    RETURN NEW;
END
$$;

CREATE FUNCTION neurigraph.register_file() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        DELETE FROM neurigraph.file_index AS f WHERE f.file_id = OLD.file_id;
        RETURN OLD;
    END IF;
    INSERT INTO neurigraph.file_index (file_id, record_id, node_id, user_id)
    VALUES (NEW.file_id, NEW.record_id, TG_ARGV[0]::uuid, TG_ARGV[1]::uuid);
    RETURN NEW;
END
$$;

-- Immutable by construction: array_to_string is only stable because of types that these arrays do not hold.
CREATE FUNCTION neurigraph.record_tsv(
    language regconfig, title text, summary text, VARIADIC keywords text []
) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT to_tsvector(language, title || ' ' || summary || ' ' || coalesce(array_to_string(keywords, ' '), ''))
$$;

REVOKE ALL ON FUNCTION neurigraph.register_record(), neurigraph.register_file() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.record_tsv(regconfig, text, text, text [])
TO neurigraph_agent, neurigraph_pipeline;
