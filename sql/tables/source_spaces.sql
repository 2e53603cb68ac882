-- The sources of each space; a source may be in several.
CREATE TABLE neurigraph.source_spaces (
    source_id uuid NOT NULL,
    space_id uuid NOT NULL,
    user_id uuid NOT NULL,
    added_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (source_id, space_id),
    FOREIGN KEY (source_id, user_id) REFERENCES neurigraph.sources (source_id, user_id) ON DELETE CASCADE,
    FOREIGN KEY (space_id, user_id) REFERENCES neurigraph.spaces (space_id, user_id) ON DELETE CASCADE
);
CREATE INDEX source_spaces_space_id ON neurigraph.source_spaces (space_id, added_at, source_id);
CREATE INDEX source_spaces_user_id ON neurigraph.source_spaces (user_id);

ALTER TABLE neurigraph.source_spaces ENABLE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON neurigraph.source_spaces TO neurigraph_pipeline;
GRANT SELECT, INSERT, DELETE ON neurigraph.source_spaces TO neurigraph_agent;

-- Replaced when it changes: functions, triggers, policies.

-- A write sets off a new version of cached answers.

CREATE OR REPLACE TRIGGER note_change AFTER INSERT OR DELETE OR UPDATE ON neurigraph.source_spaces
FOR EACH ROW EXECUTE FUNCTION neurigraph.note_row_change();

CREATE POLICY pipeline_all ON neurigraph.source_spaces TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.source_spaces TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));

CREATE POLICY bound ON neurigraph.source_spaces FOR SELECT TO neurigraph_agent
USING (
    space_id IN (SELECT p.space_id FROM neurigraph.spaces AS p WHERE (SELECT neurigraph.asking_tags() IS NOT NULL))
    AND source_id NOT IN (SELECT unnest((SELECT neurigraph.hidden_sources())))
);
