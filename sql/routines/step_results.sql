-- Results of the steps of the ingestion job, which belong to a segment as long as its batch holds it.

-- Trigger on storage_triggers: a segment that leaves its batch takes the results of the steps along.
CREATE OR REPLACE FUNCTION neurigraph.drop_step_results() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    DELETE FROM neurigraph.step_results AS r WHERE r.trigger_id = OLD.trigger_id;
    RETURN NULL;
END
$$;
REVOKE ALL ON FUNCTION neurigraph.drop_step_results() FROM PUBLIC;

CREATE OR REPLACE TRIGGER drop_step_results AFTER UPDATE OF batch_id ON neurigraph.storage_triggers
FOR EACH ROW WHEN (old.batch_id IS NOT NULL AND new.batch_id IS DISTINCT FROM old.batch_id)
EXECUTE FUNCTION neurigraph.drop_step_results();
