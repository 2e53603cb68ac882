-- Registration: record_index, record_titles and file_index follow the tables of all nodes.

-- The digest of a title within a graph, without regard to case. Two titles with one digest count as the same.
CREATE OR REPLACE FUNCTION neurigraph_private.title_key(owner uuid, title text) RETURNS bigint
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT hashtextextended('neurigraph.title:' || owner || ':' || lower(title), 0)
$$;

-- The first of some titles that no other record of the graph has, or null. It stays free until the transaction ends. A
-- title that another transaction considers at the same time counts as taken, so nobody waits.
CREATE OR REPLACE FUNCTION neurigraph.free_title(owner uuid, wanted uuid, titles text []) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    candidate text;
    digest bigint;
BEGIN
    FOREACH candidate IN ARRAY titles LOOP
        digest := neurigraph_private.title_key(owner, candidate);
        CONTINUE WHEN NOT pg_try_advisory_xact_lock(digest);
        CONTINUE WHEN EXISTS (
            SELECT FROM neurigraph.record_titles AS t
            WHERE t.user_id = owner AND t.title_key = digest AND t.record_id <> wanted
        );
        RETURN candidate;
    END LOOP;
    RETURN NULL;
END
$$;

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
        INSERT INTO neurigraph.record_titles (record_id, user_id, title_key)
        VALUES (
            NEW.record_id, TG_ARGV[1]::uuid, neurigraph_private.title_key(TG_ARGV[1]::uuid, NEW.title)
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

REVOKE ALL ON FUNCTION neurigraph_private.title_key(uuid, text), neurigraph.free_title(uuid, uuid, text []),
neurigraph.keyword_keys(text []), neurigraph.register_record(), neurigraph.register_file() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.free_title(uuid, uuid, text []), neurigraph.keyword_keys(text [])
TO neurigraph_pipeline;
