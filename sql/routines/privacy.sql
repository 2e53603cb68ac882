-- What is hidden from those who are not the owner of the graph, whatever they are granted.

-- The private sources of the graph that is asked about; none are hidden from its owner. Asked once a statement: by the
-- policies of every table that tells of records, and by the search.
CREATE OR REPLACE FUNCTION neurigraph.hidden_sources() RETURNS uuid []
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT ARRAY(
        SELECT s.source_id
        FROM (SELECT neurigraph.claims() AS asking OFFSET 0) AS c
        INNER JOIN neurigraph.sources AS s ON s.user_id = (c.asking ->> 'user_id')::uuid
        WHERE c.asking ->> 'role' <> 'user' AND s.privacy = 'private'
    )
$$;

REVOKE ALL ON FUNCTION neurigraph.hidden_sources() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.hidden_sources() TO neurigraph_agent, neurigraph_pipeline;
