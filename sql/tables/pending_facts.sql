-- Records that wait to be read for facts. The commit writes the rows, and every request to read a record again.
CREATE TABLE neurigraph.pending_facts (
    record_id uuid PRIMARY KEY REFERENCES neurigraph.record_index ON DELETE CASCADE,
    user_id uuid NOT NULL,
    since timestamptz NOT NULL DEFAULT now(),
    attempts integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    -- A worker that takes the record moves this time on, so the time is also the worker's lease.
    next_attempt_at timestamptz NOT NULL DEFAULT now(),
    last_error text
);
CREATE INDEX pending_facts_due ON neurigraph.pending_facts (next_attempt_at);
CREATE INDEX pending_facts_user_id ON neurigraph.pending_facts (user_id);

ALTER TABLE neurigraph.pending_facts ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON neurigraph.pending_facts TO neurigraph_agent;
GRANT SELECT, INSERT, UPDATE, DELETE ON neurigraph.pending_facts TO neurigraph_pipeline;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.pending_facts TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.pending_facts TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));

CREATE POLICY not_hidden ON neurigraph.pending_facts AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (
    (SELECT neurigraph.sees_all_records())
    OR record_id IN (SELECT r.record_id FROM neurigraph.record_index AS r)
);
