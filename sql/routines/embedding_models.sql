-- The registry of embedding models follows the models of users.

-- Trigger on users.
CREATE OR REPLACE FUNCTION neurigraph.register_models() RETURNS trigger
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
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER models_registered AFTER INSERT OR DELETE OR UPDATE OF embedding_model, embedding_next_model
ON neurigraph.users
FOR EACH ROW EXECUTE FUNCTION neurigraph.register_models();

REVOKE ALL ON FUNCTION neurigraph.register_models() FROM PUBLIC;
