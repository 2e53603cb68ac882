-- One vote a voter and action. Only the function cast_vote writes votes, from the claims that it has checked.
CREATE TABLE neurigraph.action_votes (
    action_id uuid NOT NULL,
    user_id uuid NOT NULL,
    -- The persona that voted; null is the owner. There is no foreign key, because votes of a deleted persona must not
    -- become the owner's.
    persona_id uuid,
    approves boolean NOT NULL,
    key_id uuid,
    received_through neurigraph.received_through,
    voted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE NULLS NOT DISTINCT (action_id, persona_id),
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
USING (persona_id = (SELECT neurigraph.asking_persona()));

CREATE POLICY not_hidden ON neurigraph.action_votes AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (EXISTS (SELECT FROM neurigraph.actions AS a WHERE a.action_id = action_votes.action_id));
