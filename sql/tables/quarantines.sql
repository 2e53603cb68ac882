-- The log of quarantines: conditions, author, time and reason. A quarantine is in force until it is released. It hides
-- everything that meets its conditions, even records stored later.
CREATE TABLE neurigraph.quarantines (
    quarantine_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    -- A record is met if it meets all conditions that are not null. A source has no foreign key, because the log
    -- outlives it.
    source_id uuid,
    key_id uuid,
    persona_id uuid,
    received_from timestamptz,
    received_until timestamptz,
    reason text NOT NULL CHECK (char_length(reason) BETWEEN 1 AND 500),
    requested_by text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    released_by text,
    released_at timestamptz,
    CHECK (num_nonnulls(source_id, key_id, persona_id, received_from, received_until) > 0),
    CHECK (received_until > received_from),
    CHECK ((released_at IS NULL) = (released_by IS NULL))
);
CREATE INDEX quarantines_in_force ON neurigraph.quarantines (user_id) WHERE released_at IS NULL;

ALTER TABLE neurigraph.quarantines ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON neurigraph.quarantines TO neurigraph_pipeline, neurigraph_agent;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.quarantines TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.quarantines TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));
