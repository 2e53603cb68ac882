-- Deliveries: each of one event to one webhook.
CREATE TABLE neurigraph.webhook_deliveries (
    delivery_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    event_id uuid NOT NULL REFERENCES neurigraph.webhook_events ON DELETE CASCADE,
    webhook_id uuid NOT NULL,
    user_id uuid NOT NULL,
    -- dead: given up. withheld: the subject of the event was hidden before the delivery was sent.
    state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'delivered', 'dead', 'withheld')),
    attempts integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    -- A worker that takes the delivery moves this time on, so the time is also the worker's lease.
    next_attempt_at timestamptz NOT NULL DEFAULT now(),
    -- The outcome of the last attempt: an HTTP status, or a word.
    last_status integer,
    last_error text CHECK (last_error ~ '^[a-z_]{1,40}$'),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    finished_at timestamptz,
    UNIQUE (event_id, webhook_id),
    CHECK ((state = 'waiting') = (finished_at IS NULL)),
    FOREIGN KEY (webhook_id, user_id) REFERENCES neurigraph.webhooks (webhook_id, user_id) ON DELETE CASCADE
);
CREATE INDEX webhook_deliveries_waiting ON neurigraph.webhook_deliveries (webhook_id, next_attempt_at)
WHERE state = 'waiting';
CREATE INDEX webhook_deliveries_created_at
ON neurigraph.webhook_deliveries (webhook_id, created_at, delivery_id);
CREATE INDEX webhook_deliveries_user_id ON neurigraph.webhook_deliveries (user_id);

ALTER TABLE neurigraph.webhook_deliveries ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON neurigraph.webhook_deliveries TO neurigraph_agent;
GRANT SELECT, UPDATE ON neurigraph.webhook_deliveries TO neurigraph_pipeline;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.webhook_deliveries TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.webhook_deliveries TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));

CREATE POLICY not_hidden ON neurigraph.webhook_deliveries AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (EXISTS (SELECT FROM neurigraph.webhook_events AS e WHERE e.event_id = webhook_deliveries.event_id));
