-- Totals of a user. Writers of one user's statistics lock this row first, before the row of any lexeme.
CREATE TABLE neurigraph.user_statistics (
    user_id uuid PRIMARY KEY REFERENCES neurigraph.users ON DELETE CASCADE,
    records bigint NOT NULL CHECK (records >= 0),
    passages bigint NOT NULL CHECK (passages >= 0),
    lexemes bigint NOT NULL CHECK (lexemes >= 0)
);

ALTER TABLE neurigraph.user_statistics ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON neurigraph.user_statistics TO neurigraph_pipeline;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.user_statistics TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.user_statistics TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));
