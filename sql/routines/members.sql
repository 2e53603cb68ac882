-- Members of organizations as callers: who asks, and what they write.

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

-- A member sends conversations, events, notes and files, sees how far the storing of these is, and why it failed.
ALTER TABLE neurigraph.sources ALTER COLUMN member_id SET DEFAULT neurigraph.asking_member();
DROP POLICY IF EXISTS by_member ON neurigraph.sources;
CREATE POLICY by_member ON neurigraph.sources TO neurigraph_agent
USING (member_id = (SELECT neurigraph.asking_member()))
WITH CHECK (
    member_id = (SELECT neurigraph.asking_member())
    AND user_id = (SELECT (neurigraph.claims() ->> 'user_id')::uuid)
);
DROP POLICY IF EXISTS true_member ON neurigraph.sources;
CREATE POLICY true_member ON neurigraph.sources AS RESTRICTIVE FOR INSERT TO neurigraph_agent
WITH CHECK (member_id IS NOT DISTINCT FROM (SELECT neurigraph.asking_member()));
DROP POLICY IF EXISTS by_member ON neurigraph.messages;
CREATE POLICY by_member ON neurigraph.messages TO neurigraph_agent
USING (source_id IN (SELECT neurigraph.sources_of_member()));
DROP POLICY IF EXISTS by_member ON neurigraph.notes;
CREATE POLICY by_member ON neurigraph.notes TO neurigraph_agent
USING (source_id IN (SELECT neurigraph.sources_of_member()));
DROP POLICY IF EXISTS by_member ON neurigraph.uploads;
CREATE POLICY by_member ON neurigraph.uploads TO neurigraph_agent
USING (source_id IN (SELECT neurigraph.sources_of_member()));
DROP POLICY IF EXISTS by_member ON neurigraph.storage_triggers;
CREATE POLICY by_member ON neurigraph.storage_triggers FOR SELECT TO neurigraph_agent
USING (source_id IN (SELECT neurigraph.sources_of_member()));
DROP POLICY IF EXISTS by_member ON neurigraph.pipeline_failures;
CREATE POLICY by_member ON neurigraph.pipeline_failures FOR SELECT TO neurigraph_agent
USING (
    trigger_id IN (
        SELECT t.trigger_id FROM neurigraph.storage_triggers AS t
        WHERE t.source_id IN (SELECT neurigraph.sources_of_member())
    )
    OR upload_id IN (SELECT neurigraph.sources_of_member())
);

-- The owner of a graph makes sources private, and a member of an organization own ones; what others send starts as
-- shared.
DROP POLICY IF EXISTS owner_decides ON neurigraph.sources;
CREATE POLICY owner_decides ON neurigraph.sources AS RESTRICTIVE FOR INSERT TO neurigraph_agent
WITH CHECK (
    privacy = 'shared'
    OR user_id IN ((SELECT neurigraph.asking_user_id()), (SELECT neurigraph.bound_user_id()))
    OR member_id = (SELECT neurigraph.asking_member())
);
