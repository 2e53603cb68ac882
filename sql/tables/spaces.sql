-- A space of a user, by its container tag.
CREATE TABLE neurigraph.spaces (
    space_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 300),
    container_tag text NOT NULL CHECK (container_tag ~ '^[A-Za-z0-9_:-]{1,100}$'),
    -- Texts, numbers and booleans by name.
    metadata jsonb CHECK (jsonb_typeof(metadata) = 'object' AND octet_length(metadata::text) <= 32768),
    -- The text that tells language models about the sources of the space: data, never an instruction.
    entity_context text CHECK (char_length(entity_context) BETWEEN 1 AND 1500),
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (space_id, user_id),
    CONSTRAINT spaces_container_tag UNIQUE (user_id, container_tag)
);
CREATE INDEX spaces_created_at ON neurigraph.spaces (user_id, created_at, space_id);

ALTER TABLE neurigraph.spaces ENABLE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON neurigraph.spaces TO neurigraph_pipeline;
GRANT SELECT, INSERT, DELETE ON neurigraph.spaces TO neurigraph_agent;
GRANT UPDATE (name, metadata, entity_context) ON neurigraph.spaces TO neurigraph_agent;

-- Replaced when it changes: functions, triggers, policies.

-- A write sets off a new version of cached answers.

CREATE OR REPLACE TRIGGER note_change AFTER INSERT OR DELETE OR UPDATE OF container_tag ON neurigraph.spaces
FOR EACH ROW EXECUTE FUNCTION neurigraph.note_row_change();

CREATE POLICY pipeline_all ON neurigraph.spaces TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.spaces TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));

-- A caller that is limited to spaces sees these spaces, and which of the caller's sources are in them.
CREATE POLICY bound ON neurigraph.spaces FOR SELECT TO neurigraph_agent
USING (
    user_id = (SELECT (neurigraph.claims() ->> 'user_id')::uuid)
    AND container_tag = ANY((SELECT neurigraph.asking_tags())::text [])
);
