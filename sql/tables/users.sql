-- The owners of graphs: the top isolation boundary.
CREATE TABLE neurigraph.users (
    user_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    -- The name on the command line and the first part of schema names.
    slug text NOT NULL UNIQUE CHECK (slug ~ '^[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?$'),
    created_at timestamptz NOT NULL DEFAULT now(),
    -- The model whose vectors searches compare and centroids average; null until something is embedded.
    embedding_model text,
    -- The model that the user is moving to. It equals embedding_model from the moment searches use it until cleaning up
    -- is done.
    embedding_next_model text,
    -- Every role can read schema names in the catalog. If true, the schema names of this user's nodes contain no node
    -- names.
    opaque_schema_names boolean NOT NULL DEFAULT false
);
CREATE INDEX users_moving ON neurigraph.users (user_id) WHERE embedding_next_model IS NOT NULL;

ALTER TABLE neurigraph.users ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON neurigraph.users TO neurigraph_pipeline, neurigraph_agent;
GRANT UPDATE (embedding_model, embedding_next_model) ON neurigraph.users TO neurigraph_pipeline;
GRANT SELECT (user_id, slug, created_at, embedding_model)
ON neurigraph.users TO neurigraph_analyst;

-- Replaced when it changes: functions, triggers, policies.

-- A write sets off the registry of embedding models, the staleness of profiles, and a new version of cached answers.

CREATE OR REPLACE TRIGGER note_change AFTER UPDATE OF embedding_model, embedding_next_model ON neurigraph.users
FOR EACH ROW EXECUTE FUNCTION neurigraph.note_row_change();

-- Trigger on users: register the models, and mark profiles as stale after a change of the model.
CREATE OR REPLACE FUNCTION neurigraph.follow_user() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO neurigraph.embedding_models (model)
        SELECT m.name FROM unnest(ARRAY[NEW.embedding_model, NEW.embedding_next_model]) AS m (name)
        WHERE m.name <> '' AND NOT EXISTS (SELECT FROM neurigraph.embedding_models AS k WHERE k.model = m.name)
        ON CONFLICT DO NOTHING;
    END IF;
    IF TG_OP <> 'INSERT' AND (TG_OP = 'DELETE' OR OLD.embedding_model IS DISTINCT FROM NEW.embedding_model) THEN
        UPDATE neurigraph.embedding_models AS k SET last_used_at = now() WHERE k.model = OLD.embedding_model;
        UPDATE neurigraph.profiles AS p SET is_stale = true WHERE p.user_id = NEW.user_id AND NOT p.is_stale;
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER followed AFTER INSERT OR DELETE OR UPDATE OF embedding_model, embedding_next_model
ON neurigraph.users
FOR EACH ROW EXECUTE FUNCTION neurigraph.follow_user();

REVOKE ALL ON FUNCTION neurigraph.follow_user() FROM PUBLIC;

CREATE POLICY pipeline_all ON neurigraph.users TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY analyst_read ON neurigraph.users FOR SELECT TO neurigraph_analyst USING (true);
CREATE POLICY own_rows ON neurigraph.users TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));
