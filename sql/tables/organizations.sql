-- Graphs that belong to an organization instead of a person. The row of users is the graph, and the slug of the user is
-- the organization's slug.
CREATE TABLE neurigraph.organizations (
    user_id uuid PRIMARY KEY REFERENCES neurigraph.users ON DELETE CASCADE,
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 300),
    -- Texts, numbers and booleans by name.
    metadata jsonb NOT NULL DEFAULT '{}' CHECK (
        jsonb_typeof(metadata) = 'object' AND octet_length(metadata::text) <= 32768
    ),
    created_at timestamptz NOT NULL DEFAULT now()
);

ALTER TABLE neurigraph.organizations ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON neurigraph.organizations TO neurigraph_pipeline;
GRANT SELECT ON neurigraph.organizations TO neurigraph_agent;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.organizations TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.organizations TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));

-- The policies by which members see organizations.
CREATE POLICY by_members ON neurigraph.organizations FOR SELECT TO neurigraph_agent
USING (user_id IN (SELECT neurigraph.organizations_of_caller('member')));
