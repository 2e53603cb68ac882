-- Versions of files in a drop folder that were read: each became a source or has an error. The files stay in the
-- folder.
CREATE TABLE neurigraph.dropped_files (
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    file_name text NOT NULL,
    version text NOT NULL,
    source_id uuid REFERENCES neurigraph.uploads ON DELETE CASCADE,
    error text,
    seen_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, file_name, version),
    CHECK ((source_id IS NULL) = (error IS NOT NULL))
);
CREATE INDEX dropped_files_source_id ON neurigraph.dropped_files (source_id);

ALTER TABLE neurigraph.dropped_files ENABLE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE ON neurigraph.dropped_files TO neurigraph_pipeline;
GRANT SELECT ON neurigraph.dropped_files TO neurigraph_agent;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.dropped_files TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.dropped_files TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));
