-- Events for which a user's webhook has a subscription. Triggers write an event in the transaction of the change. Ids
-- have no foreign keys, because a receiver also has to hear about deleted things.
CREATE TABLE neurigraph.webhook_events (
    event_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    event text NOT NULL CHECK (event ~ '^[a-z]{1,20}\.[a-z]{1,20}$'),
    occurred_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    author text CHECK (author ~ '^[a-z_]{1,20}(:[0-9a-f-]{36})?$'),
    node_id uuid,
    record_id uuid,
    fact_id uuid,
    -- The record or fact that supersedes or disputes the subject of the event.
    other_id uuid,
    action_id uuid,
    erasure_id uuid
);
CREATE INDEX webhook_events_user_id ON neurigraph.webhook_events (user_id);
CREATE INDEX webhook_events_occurred_at ON neurigraph.webhook_events (occurred_at);

ALTER TABLE neurigraph.webhook_events ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON neurigraph.webhook_events TO neurigraph_agent;
GRANT SELECT, DELETE ON neurigraph.webhook_events TO neurigraph_pipeline;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.webhook_events TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.webhook_events TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));

-- Events about rows in quarantine are hidden from the owner, too, and so are their deliveries.
CREATE POLICY not_hidden ON neurigraph.webhook_events AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (
    coalesce(record_id <> ALL((SELECT neurigraph.quarantined_ids())::uuid []), true)
    AND coalesce(node_id <> ALL((SELECT neurigraph.quarantined_ids())::uuid []), true)
);
