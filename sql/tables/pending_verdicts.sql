-- Records whose facts are not yet compared with the known facts.
CREATE TABLE neurigraph.pending_verdicts (
    record_id uuid PRIMARY KEY REFERENCES neurigraph.record_index ON DELETE CASCADE,
    user_id uuid NOT NULL,
    since timestamptz NOT NULL DEFAULT now(),
    attempts integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    -- A worker that takes the record moves this time on, so the time is also the worker's lease.
    next_attempt_at timestamptz NOT NULL DEFAULT now(),
    last_error text
);
CREATE INDEX pending_verdicts_due ON neurigraph.pending_verdicts (next_attempt_at);
CREATE INDEX pending_verdicts_user_id ON neurigraph.pending_verdicts (user_id);

ALTER TABLE neurigraph.pending_verdicts ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON neurigraph.pending_verdicts TO neurigraph_agent;
GRANT SELECT, INSERT, UPDATE, DELETE ON neurigraph.pending_verdicts TO neurigraph_pipeline;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.pending_verdicts TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.pending_verdicts TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));

CREATE POLICY not_hidden ON neurigraph.pending_verdicts AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (
    (SELECT neurigraph.sees_all_records())
    OR record_id IN (SELECT r.record_id FROM neurigraph.record_index AS r)
);
