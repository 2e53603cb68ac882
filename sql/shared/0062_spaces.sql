-- Spaces: named sets of sources, which searches and keys can be limited to (sql/routines/spaces.sql).

-- A space of a user, by its container tag.
CREATE TABLE IF NOT EXISTS neurigraph.spaces (
    space_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 300),
    container_tag text NOT NULL CHECK (container_tag ~ '^[A-Za-z0-9_:-]{1,100}$'),
    -- Texts, numbers and booleans by name.
    metadata jsonb CHECK (jsonb_typeof(metadata) = 'object' AND octet_length(metadata::text) <= 32768),
    -- What language models are told about the sources of the space; data, never an instruction.
    entity_context text CHECK (char_length(entity_context) BETWEEN 1 AND 1500),
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (space_id, user_id),
    CONSTRAINT spaces_container_tag UNIQUE (user_id, container_tag)
);
CREATE INDEX IF NOT EXISTS spaces_created_at ON neurigraph.spaces (user_id, created_at, space_id);

-- The sources of each space; a source may be in several.
CREATE TABLE IF NOT EXISTS neurigraph.source_spaces (
    source_id uuid NOT NULL,
    space_id uuid NOT NULL,
    user_id uuid NOT NULL,
    added_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (source_id, space_id),
    FOREIGN KEY (source_id, user_id) REFERENCES neurigraph.sources (source_id, user_id) ON DELETE CASCADE,
    FOREIGN KEY (space_id, user_id) REFERENCES neurigraph.spaces (space_id, user_id) ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS source_spaces_space_id ON neurigraph.source_spaces (space_id, added_at, source_id);
CREATE INDEX IF NOT EXISTS source_spaces_user_id ON neurigraph.source_spaces (user_id);

-- The container tags that a key is limited to; null is no limit. They stay when a space is removed, so that its key
-- never sees more.
ALTER TABLE neurigraph.api_keys
ADD COLUMN IF NOT EXISTS container_tags text [] CHECK (cardinality(container_tags) BETWEEN 1 AND 100);

-- Callers that are limited to the same spaces share external ids, and nobody else finds out about them by trying.
ALTER TABLE neurigraph.sources ADD COLUMN IF NOT EXISTS binding uuid;
ALTER TABLE neurigraph.sources DROP CONSTRAINT IF EXISTS sources_external_id;
ALTER TABLE neurigraph.sources ADD CONSTRAINT sources_external_id
UNIQUE NULLS NOT DISTINCT (user_id, kind, external_id, persona_id, version, binding);

ALTER TABLE neurigraph.spaces ENABLE ROW LEVEL SECURITY;
ALTER TABLE neurigraph.source_spaces ENABLE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON neurigraph.spaces, neurigraph.source_spaces TO neurigraph_pipeline;
GRANT SELECT, INSERT, DELETE ON neurigraph.spaces, neurigraph.source_spaces TO neurigraph_agent;
GRANT UPDATE (name, metadata, entity_context) ON neurigraph.spaces TO neurigraph_agent;
GRANT SELECT (container_tags), INSERT (container_tags) ON neurigraph.api_keys TO neurigraph_agent;

-- Until the policies of the routines are there, nothing is visible.
DROP POLICY IF EXISTS pipeline_all ON neurigraph.spaces;
CREATE POLICY pipeline_all ON neurigraph.spaces TO neurigraph_pipeline USING (true) WITH CHECK (true);
DROP POLICY IF EXISTS pipeline_all ON neurigraph.source_spaces;
CREATE POLICY pipeline_all ON neurigraph.source_spaces TO neurigraph_pipeline USING (true) WITH CHECK (true);
