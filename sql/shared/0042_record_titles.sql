-- The titles of each graph's records, as digests: no two records that are stored get the same one.
CREATE TABLE IF NOT EXISTS neurigraph.record_titles (
    record_id uuid PRIMARY KEY REFERENCES neurigraph.record_index ON DELETE CASCADE,
    user_id uuid NOT NULL,
    title_key bigint NOT NULL
);
CREATE INDEX IF NOT EXISTS record_titles_title_key ON neurigraph.record_titles (user_id, title_key);

ALTER TABLE neurigraph.record_titles ENABLE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS pipeline_all ON neurigraph.record_titles;
CREATE POLICY pipeline_all ON neurigraph.record_titles TO neurigraph_pipeline USING (true) WITH CHECK (true);
GRANT SELECT ON neurigraph.record_titles TO neurigraph_pipeline;

-- As neurigraph_private.title_key, which is created after the migrations.
DO $$
DECLARE
    node record;
BEGIN
    FOR node IN
        SELECT g.schema_name, g.user_id FROM neurigraph.graph_index AS g
        WHERE to_regclass(format('%I.metadata_records', g.schema_name)) IS NOT NULL
    LOOP
        EXECUTE format(
            'INSERT INTO neurigraph.record_titles (record_id, user_id, title_key) '
            'SELECT r.record_id, $1, hashtextextended(''neurigraph.title:'' || $1 || '':'' || lower(r.title), 0) '
            'FROM %I.metadata_records AS r ON CONFLICT DO NOTHING', node.schema_name
        ) USING node.user_id;
    END LOOP;
END
$$;
