-- Other names and typed ids of nodes. graph_index.aliases has the aliases that a question may use. An alias stands
-- while a mention uses it or a person gave it.
CREATE TABLE neurigraph.node_aliases (
    alias_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL,
    node_id uuid NOT NULL,
    alias_type neurigraph.alias_type NOT NULL DEFAULT 'name',
    value text NOT NULL CHECK (char_length(value) BETWEEN 1 AND 500),
    -- The value without differences of case, width and whitespace.
    value_key text NOT NULL CHECK (value_key <> ''),
    -- Whether somebody vouches for the alias, and that person.
    verified boolean NOT NULL DEFAULT false,
    verified_by text,
    -- The person who gave the alias; null if only mentions use it.
    given_by text,
    created_at timestamptz NOT NULL DEFAULT now(),
    CHECK (verified = (verified_by IS NOT NULL)),
    UNIQUE (node_id, alias_type, value_key),
    FOREIGN KEY (node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE
);
-- Two people may share a name, but not an address.
CREATE UNIQUE INDEX node_aliases_one_bearer ON neurigraph.node_aliases (user_id, alias_type, value_key)
WHERE alias_type NOT IN ('name', 'former_name');
CREATE INDEX node_aliases_value_key ON neurigraph.node_aliases (user_id, value_key);

ALTER TABLE neurigraph.node_aliases ENABLE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON neurigraph.node_aliases TO neurigraph_pipeline;
GRANT SELECT ON neurigraph.node_aliases TO neurigraph_agent;

-- Replaced when it changes: functions, triggers, policies.

-- A write sets off a new projection of the node's aliases into graph_index.

CREATE OR REPLACE TRIGGER summed_new AFTER INSERT ON neurigraph.node_aliases
REFERENCING NEW TABLE AS added_rows
FOR EACH STATEMENT EXECUTE FUNCTION neurigraph.sum_evidence();

CREATE OR REPLACE TRIGGER summed_changed AFTER UPDATE ON neurigraph.node_aliases
REFERENCING OLD TABLE AS removed_rows NEW TABLE AS added_rows
FOR EACH STATEMENT EXECUTE FUNCTION neurigraph.sum_evidence();

CREATE OR REPLACE TRIGGER summed_gone AFTER DELETE ON neurigraph.node_aliases
REFERENCING OLD TABLE AS removed_rows FOR EACH STATEMENT EXECUTE FUNCTION neurigraph.sum_evidence();

CREATE POLICY pipeline_all ON neurigraph.node_aliases TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.node_aliases TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));

-- An alias is visible with its node, if a person gave it or a visible mention uses it.
CREATE POLICY granted ON neurigraph.node_aliases FOR SELECT TO neurigraph_agent
USING (node_id IN (SELECT neurigraph.readable_nodes()));

CREATE POLICY not_hidden ON neurigraph.node_aliases AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (
    given_by IS NOT NULL
    OR EXISTS (SELECT FROM neurigraph.mentions AS m WHERE m.alias_id = node_aliases.alias_id)
);

-- A caller limited to some spaces sees no alias that was only given by hand: nobody can trace it to a record of these
-- spaces.
CREATE POLICY traceable ON neurigraph.node_aliases AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (
    (SELECT neurigraph.asking_tags() IS NULL)
    OR EXISTS (SELECT FROM neurigraph.mentions AS m WHERE m.alias_id = node_aliases.alias_id)
);
