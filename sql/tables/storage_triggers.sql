-- The queue: one row a segment, a run of messages that is stored as one record or more.
CREATE TABLE neurigraph.storage_triggers (
    trigger_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL,
    source_id uuid NOT NULL,
    trigger_type neurigraph.trigger_type NOT NULL,
    first_message integer NOT NULL CHECK (first_message > 0),
    last_message integer NOT NULL,
    token_count bigint NOT NULL CHECK (token_count >= 0),
    state neurigraph.trigger_state NOT NULL DEFAULT 'pending',
    attempts integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    next_attempt_at timestamptz NOT NULL DEFAULT now(),
    -- The batch that has leased the segment.
    batch_id uuid,
    -- The run that has leased the segment.
    claimed_by text,
    -- The end of the lease, unless the run renews it.
    claimed_until timestamptz,
    last_error text,
    created_at timestamptz NOT NULL DEFAULT now(),
    stored_at timestamptz,
    -- The number of consecutive runs that died with the segment without an error. After the first such death the
    -- segment runs alone, so that another death identifies it.
    deaths integer NOT NULL DEFAULT 0 CHECK (deaths >= 0),
    -- Whether the messages of the segment may still have their content.
    bodies_kept boolean NOT NULL DEFAULT true,
    CHECK (last_message >= first_message),
    CHECK ((state = 'claimed') = (batch_id IS NOT NULL)),
    CHECK ((state = 'claimed') = (claimed_until IS NOT NULL)),
    CHECK ((state = 'claimed') = (claimed_by IS NOT NULL)),
    CHECK ((state = 'stored') = (stored_at IS NOT NULL)),
    UNIQUE (source_id, first_message),
    FOREIGN KEY (source_id, user_id) REFERENCES neurigraph.sources (source_id, user_id) ON DELETE CASCADE
);
CREATE INDEX storage_triggers_pending ON neurigraph.storage_triggers (next_attempt_at, created_at)
WHERE state = 'pending';
CREATE INDEX storage_triggers_claimed ON neurigraph.storage_triggers (claimed_until) WHERE state = 'claimed';
CREATE INDEX storage_triggers_batch ON neurigraph.storage_triggers (batch_id) WHERE batch_id IS NOT NULL;
CREATE INDEX storage_triggers_bodies_kept ON neurigraph.storage_triggers (stored_at)
WHERE stored_at IS NOT NULL AND bodies_kept;
-- The waiting segments of each user, longest waiting first.
CREATE INDEX storage_triggers_of_user ON neurigraph.storage_triggers (user_id, next_attempt_at)
WHERE state = 'pending';
CREATE INDEX storage_triggers_failed ON neurigraph.storage_triggers (source_id) WHERE state = 'failed';
-- Unfinished segments of one user, from which the states of the user's sources follow.
CREATE INDEX storage_triggers_unstored ON neurigraph.storage_triggers (user_id, source_id)
WHERE state <> 'stored';

ALTER TABLE neurigraph.storage_triggers ENABLE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE ON neurigraph.storage_triggers TO neurigraph_pipeline;
GRANT SELECT ON neurigraph.storage_triggers TO neurigraph_agent;
GRANT SELECT (
    trigger_id, user_id, source_id, trigger_type, first_message, last_message, token_count, state, attempts,
    next_attempt_at, created_at, stored_at, deaths
) ON neurigraph.storage_triggers TO neurigraph_analyst;

-- Replaced when it changes: functions, triggers, policies.

-- A write sets off the removal of the results of steps when a segment leaves its batch.

-- Trigger on storage_triggers: delete the results of steps when a segment leaves its batch.
CREATE OR REPLACE FUNCTION neurigraph.drop_step_results() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    DELETE FROM neurigraph.step_results AS r WHERE r.trigger_id = OLD.trigger_id;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER drop_step_results AFTER UPDATE OF batch_id ON neurigraph.storage_triggers
FOR EACH ROW WHEN (old.batch_id IS NOT NULL AND new.batch_id IS DISTINCT FROM old.batch_id)
EXECUTE FUNCTION neurigraph.drop_step_results();

REVOKE ALL ON FUNCTION neurigraph.drop_step_results() FROM PUBLIC;

CREATE POLICY pipeline_all ON neurigraph.storage_triggers TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY analyst_read ON neurigraph.storage_triggers FOR SELECT TO neurigraph_analyst USING (true);
CREATE POLICY own_rows ON neurigraph.storage_triggers TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));

CREATE POLICY by_member ON neurigraph.storage_triggers FOR SELECT TO neurigraph_agent
USING (source_id IN (SELECT neurigraph.sources_of_member()));

-- A persona sees how far the storing of its sources is, and why it failed.
CREATE POLICY handed_in ON neurigraph.storage_triggers FOR SELECT TO neurigraph_agent
USING (source_id IN (SELECT neurigraph.handed_in_sources()));

CREATE POLICY bound ON neurigraph.storage_triggers FOR SELECT TO neurigraph_agent
USING (
    user_id = (SELECT neurigraph.bound_user_id())
    AND source_id NOT IN (SELECT unnest((SELECT neurigraph.hidden_sources())))
);
