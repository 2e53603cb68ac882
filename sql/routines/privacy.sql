-- What is hidden from those who are not the owner of the graph, whatever they are granted.

-- The private sources, none for the owner: for the policies of all tables that tell of records, once a statement.
CREATE OR REPLACE FUNCTION neurigraph.hidden_sources() RETURNS uuid []
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT neurigraph_private.hidden_sources(neurigraph.claims())
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA neurigraph_private FROM PUBLIC;
REVOKE ALL ON FUNCTION neurigraph.hidden_sources() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.hidden_sources() TO neurigraph_agent, neurigraph_pipeline;

-- Beside whatever else lets them see a row, for everybody but the owner. The logs of records and files ask the
-- registries, whose policies these are.
DROP POLICY IF EXISTS not_hidden ON neurigraph.sources;
CREATE POLICY not_hidden ON neurigraph.sources AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (source_id <> ALL((SELECT neurigraph.hidden_sources())::uuid []));

DROP POLICY IF EXISTS not_hidden ON neurigraph.record_index;
CREATE POLICY not_hidden ON neurigraph.record_index AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (
    (SELECT neurigraph.hidden_sources() = '{}')
    OR split_part(source, ':', 2)::uuid <> ALL((SELECT neurigraph.hidden_sources())::uuid [])
);

DROP POLICY IF EXISTS not_hidden ON neurigraph.file_index;
CREATE POLICY not_hidden ON neurigraph.file_index AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (
    (SELECT neurigraph.hidden_sources() = '{}')
    OR record_id IN (SELECT r.record_id FROM neurigraph.record_index AS r)
);

-- What somebody else hands in is for the owner to hide.
DROP POLICY IF EXISTS owner_decides ON neurigraph.sources;
CREATE POLICY owner_decides ON neurigraph.sources AS RESTRICTIVE FOR INSERT TO neurigraph_agent
WITH CHECK (privacy = 'shared' OR user_id = (SELECT neurigraph.asking_user_id()));
