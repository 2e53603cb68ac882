-- One vote a voter and action. Only the function cast_vote writes votes, from the claims that it has checked.
CREATE TABLE neurigraph.action_votes (
    action_id uuid NOT NULL,
    user_id uuid NOT NULL,
    -- user:ID or persona:ID.
    voter text NOT NULL,
    approves boolean NOT NULL,
    key_id uuid,
    received_through neurigraph.received_through,
    voted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (action_id, voter),
    FOREIGN KEY (action_id, user_id) REFERENCES neurigraph.actions (action_id, user_id) ON DELETE CASCADE
);
CREATE INDEX action_votes_user_id ON neurigraph.action_votes (user_id);

ALTER TABLE neurigraph.action_votes ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON neurigraph.action_votes TO neurigraph_agent;
GRANT SELECT ON neurigraph.action_votes TO neurigraph_pipeline;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.action_votes TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.action_votes TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));

-- Callers other than the owner see only their own votes.
CREATE POLICY granted ON neurigraph.action_votes FOR SELECT TO neurigraph_agent
USING (voter = (SELECT neurigraph.asking_voter()));

CREATE POLICY not_hidden ON neurigraph.action_votes AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (EXISTS (SELECT FROM neurigraph.actions AS a WHERE a.action_id = action_votes.action_id));
