-- Windows for which no digest could be written, and the time of the next attempt.
CREATE TABLE neurigraph.digest_failures (
    node_id uuid NOT NULL,
    user_id uuid NOT NULL,
    days integer NOT NULL CHECK (days IN (7, 30, 90)),
    starts_at timestamptz NOT NULL,
    covers text NOT NULL CHECK (covers IN ('all', 'shared')),
    attempts integer NOT NULL CHECK (attempts > 0),
    next_attempt_at timestamptz NOT NULL,
    -- The class of the error, without the error's text, which may contain words of a record.
    error text NOT NULL CHECK (error ~ '^[A-Za-z]{1,60}$'),
    PRIMARY KEY (node_id, days, starts_at, covers),
    FOREIGN KEY (node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE
);
CREATE INDEX digest_failures_user_id ON neurigraph.digest_failures (user_id);

ALTER TABLE neurigraph.digest_failures ENABLE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON neurigraph.digest_failures TO neurigraph_pipeline;
GRANT SELECT ON neurigraph.digest_failures TO neurigraph_agent;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.digest_failures TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.digest_failures TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));
