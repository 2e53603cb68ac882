-- Vector operators and functions that every search_path finds.

-- The extension is in a schema that the administrator chose, and a pinned search_path does not include it. Postgres
-- parses the bodies of these functions when it creates them, so that no search_path matters later. The bodies are
-- simple enough to be inlined, so that indexes are used.
DO $$
DECLARE
    extension_schema text := (
        SELECT n.nspname FROM pg_catalog.pg_extension AS e
        INNER JOIN pg_catalog.pg_namespace AS n ON e.extnamespace = n.oid WHERE e.extname = 'vector'
    );
    kind text;
BEGIN
    FOREACH kind IN ARRAY ARRAY['vector', 'halfvec'] LOOP
        EXECUTE format(
            -- The first `width` numbers in binary form: a header of four bytes, then the numbers in network order.
            'CREATE OR REPLACE FUNCTION neurigraph_private.bytes_of(a %1$I.%2$I, width integer) '
            'RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN %1$I.%3$I(%1$I.subvector(a, 1, width))',
            extension_schema, kind, kind || '_send'
        );
    END LOOP;
END
$$;
