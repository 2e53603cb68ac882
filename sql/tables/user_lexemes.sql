-- The number of a user's passages in which a lexeme occurs. A speaker counts as a lexeme: `@` and the name in lower
-- case, which cannot be a lexeme of a text.
CREATE TABLE neurigraph.user_lexemes (
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    lexeme text COLLATE "C" NOT NULL,
    passages bigint NOT NULL CHECK (passages >= 0),
    PRIMARY KEY (user_id, lexeme)
);

ALTER TABLE neurigraph.user_lexemes ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON neurigraph.user_lexemes TO neurigraph_pipeline;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.user_lexemes TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.user_lexemes TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));
