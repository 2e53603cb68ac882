-- One row for each search, answer or opened file, if logging is on. Record ids have no foreign keys: a record may be
-- forgotten between the answer and its entry, and forgetting removes the record's id from the log.
CREATE TABLE neurigraph.retrievals (
    retrieval_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    asked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    operation text NOT NULL CHECK (operation IN ('search', 'ask', 'open')),
    -- The caller, from the claims: the owner of the graph, a persona (its node) or a third party (its name).
    role text NOT NULL,
    subject_id text NOT NULL,
    record_ids uuid [] NOT NULL,
    -- The text of the question; null unless the settings ask for it.
    question text
);
-- Entries are read by user and time, and removed by time.
CREATE INDEX retrievals_user_id ON neurigraph.retrievals (user_id, asked_at);
CREATE INDEX retrievals_asked_at ON neurigraph.retrievals USING brin (asked_at);

ALTER TABLE neurigraph.retrievals ENABLE ROW LEVEL SECURITY;
-- Only neurigraph.note_retrieval writes entries, so that no caller can state another caller.
GRANT SELECT ON neurigraph.retrievals TO neurigraph_pipeline, neurigraph_agent;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.retrievals TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.retrievals TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));
