-- One row for each transaction that changed something of a user. Writers insert their own rows and never wait. The set
-- of visible rows is the version of the user's data. Old rows are deleted as new ones come, so no version recurs.
CREATE TABLE neurigraph.user_changes (
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    change xid8 NOT NULL,
    PRIMARY KEY (user_id, change)
);

ALTER TABLE neurigraph.user_changes ENABLE ROW LEVEL SECURITY;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.user_changes TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.user_changes TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));
