-- Members of organizations as callers, and the texts that they write.

-- The member of an organization that is the caller, the name to sign its messages with, and its sources.
CREATE OR REPLACE FUNCTION neurigraph.asking_member() RETURNS uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT neurigraph_private.member_of(neurigraph.claims())
$$;

CREATE OR REPLACE FUNCTION neurigraph.asking_member_name() RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT u.slug FROM neurigraph.users AS u WHERE u.user_id = neurigraph.asking_member()
$$;

CREATE OR REPLACE FUNCTION neurigraph.sources_of_member() RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT s.source_id
    FROM (SELECT neurigraph.claims() AS asking OFFSET 0) AS c
    INNER JOIN neurigraph.sources AS s ON s.user_id = (c.asking ->> 'user_id')::uuid
    WHERE s.member_id = neurigraph_private.member_of(c.asking)
$$;

REVOKE ALL ON FUNCTION neurigraph.asking_member(), neurigraph.asking_member_name(), neurigraph.sources_of_member()
FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.asking_member(), neurigraph.asking_member_name(), neurigraph.sources_of_member()
TO neurigraph_agent, neurigraph_pipeline;
