-- Registration: record_index, record_titles and file_index follow the tables of all nodes.
--
-- A connection compiles a trigger function, and plans each of its expressions, once for every trigger, and so once for
-- every node. Therefore a function of neurigraph_private, planned once for all nodes, does the work of a node's
-- trigger, and the trigger function calls it with values (a function that takes a row is compiled for each type of
-- row). Trigger functions return NEW even where Postgres ignores the result, because NULL would be one more expression
-- to plan.

-- The digest of a title within a graph, without regard to case. Two titles with one digest count as the same.
CREATE OR REPLACE FUNCTION neurigraph_private.title_key(owner uuid, title text) RETURNS bigint
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT hashtextextended('neurigraph.title:' || owner || ':' || lower(title), 0)
$$;

-- For each of some records the first of its titles, a list of texts, that no other record of the graph has and none of
-- those before it gets; null without one. The titles stay free until the transaction ends. A title that another
-- transaction considers at the same time counts as taken, so nobody waits.
CREATE OR REPLACE FUNCTION neurigraph.free_titles(owner uuid, wanted uuid [], titles jsonb) RETURNS text []
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    candidate text;
    digest bigint;
    given bigint [] := '{}';
    free text [] := array_fill(NULL::text, ARRAY[cardinality(wanted)]);
BEGIN
    FOR place IN 1..cardinality(wanted) LOOP
        FOREACH candidate IN ARRAY ARRAY(SELECT jsonb_array_elements_text(titles -> (place - 1))) LOOP
            digest := neurigraph_private.title_key(owner, candidate);
            CONTINUE WHEN digest = ANY(given) OR NOT pg_try_advisory_xact_lock(digest);
            CONTINUE WHEN EXISTS (
                SELECT FROM neurigraph.record_titles AS t
                WHERE t.user_id = owner AND t.title_key = digest AND t.record_id <> wanted[place]
            );
            given := given || digest;
            free[place] := candidate;
            EXIT;
        END LOOP;
    END LOOP;
    RETURN free;
END
$$;

-- Keywords in the form of record_index, in lower case and once each, so that lists compare them without regard to case.
CREATE OR REPLACE FUNCTION neurigraph.keyword_keys(keywords text []) RETURNS text []
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(array_agg(DISTINCT lower(k.word)), '{}') FROM unnest(keywords) AS k (word)
$$;

-- Register a new, changed or deleted row of metadata_records.
CREATE OR REPLACE FUNCTION neurigraph_private.register_record(
    operation text, node uuid, owner uuid, record uuid, title text, source_id uuid, source_kind neurigraph.source_kind,
    content_hash bytea,
    created_at timestamptz, content_type neurigraph.content_type, occurred_at timestamptz, superseded boolean,
    entities text [], topics text []
) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    IF operation = 'DELETE' THEN
        IF NOT neurigraph.is_moving() THEN
            DELETE FROM neurigraph.record_index AS r WHERE r.record_id = record;
        END IF;
    ELSIF operation = 'UPDATE' THEN
        UPDATE neurigraph.record_index AS r SET
            content_hash = register_record.content_hash,
            content_type = register_record.content_type,
            occurred_at = register_record.occurred_at,
            superseded = register_record.superseded,
            entity_keys = neurigraph.keyword_keys(entities),
            topic_keys = neurigraph.keyword_keys(topics)
        WHERE r.record_id = record;
    ELSIF NOT neurigraph.is_moving() THEN
        INSERT INTO neurigraph.record_index (
            record_id, node_id, user_id, source_id, source_kind, content_hash, created_at,
            content_type, occurred_at, superseded, entity_keys, topic_keys
        )
        VALUES (
            record, node, owner, source_id, source_kind, content_hash, created_at, content_type, occurred_at, superseded,
            neurigraph.keyword_keys(entities), neurigraph.keyword_keys(topics)
        );
        INSERT INTO neurigraph.record_titles (record_id, user_id, title_key)
        VALUES (record, owner, neurigraph_private.title_key(owner, title));
    ELSE
        UPDATE neurigraph.record_index AS r SET node_id = node WHERE r.record_id = record AND r.user_id = owner;
        IF NOT FOUND THEN
            RAISE foreign_key_violation USING MESSAGE = 'a record can only move between nodes of its own user';
        END IF;
    END IF;
END
$$;

-- Trigger on metadata_records. Arguments: node_id and user_id of the node. NEW is null for a deleted row.
CREATE OR REPLACE FUNCTION neurigraph.register_record() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM neurigraph_private.register_record(
        TG_OP, TG_ARGV[0]::uuid, TG_ARGV[1]::uuid, coalesce(NEW.record_id, OLD.record_id), NEW.title,
        NEW.source_id, NEW.source_kind, NEW.content_hash, NEW.created_at, NEW.content_type, NEW.occurred_at,
        NEW.superseded_by IS NOT NULL, NEW.kw_entities, NEW.kw_topics
    );
    RETURN NEW;
END
$$;

-- Register a new or deleted row of file_manifest.
CREATE OR REPLACE FUNCTION neurigraph_private.register_file(
    operation text, node uuid, owner uuid, file uuid, record uuid
) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF operation = 'DELETE' THEN
        IF NOT neurigraph.is_moving() THEN
            DELETE FROM neurigraph.file_index AS f WHERE f.file_id = file;
        END IF;
    ELSIF NOT neurigraph.is_moving() THEN
        INSERT INTO neurigraph.file_index (file_id, record_id, node_id, user_id) VALUES (file, record, node, owner);
    ELSE
        UPDATE neurigraph.file_index AS f SET node_id = node WHERE f.file_id = file AND f.user_id = owner;
        IF NOT FOUND THEN
            RAISE foreign_key_violation USING MESSAGE = 'a file can only move between nodes of its own user';
        END IF;
    END IF;
END
$$;

REVOKE ALL ON FUNCTION neurigraph.free_titles(uuid, uuid [], jsonb), neurigraph.keyword_keys(text []),
neurigraph.register_record() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.free_titles(uuid, uuid [], jsonb), neurigraph.keyword_keys(text [])
TO neurigraph_pipeline;
