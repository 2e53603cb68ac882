-- Links that lead from or to a memory itself, and facts with a version before them: few of all, and a walk asks for
-- them at each fact.
CREATE INDEX IF NOT EXISTS links_from_records ON neurigraph.links (from_record_id) WHERE from_fact_id IS NULL;
CREATE INDEX IF NOT EXISTS links_to_records ON neurigraph.links (to_record_id)
WHERE to_fact_id IS NULL AND to_record_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS facts_with_versions ON neurigraph.facts (root_id) WHERE version > 1;
