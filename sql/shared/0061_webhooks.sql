-- Webhooks: subscriptions, the outbox of events, and what became of each delivery. Rows have ids and words of closed
-- vocabularies, never remembered text.

-- The addresses that the owner of a graph wants to be called. Their secrets are not here: they are derived.
CREATE TABLE IF NOT EXISTS neurigraph.webhooks (
    webhook_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    url text NOT NULL CHECK (char_length(url) BETWEEN 1 AND 2000),
    -- Names of events, such as record.stored, record.* or *.
    events text [] NOT NULL CHECK (cardinality(events) BETWEEN 1 AND 50),
    -- Only events at the nodes whose path matches, and below them.
    path_glob text CHECK (char_length(path_glob) BETWEEN 1 AND 500),
    -- Only what this author did: user:ID, persona:ID or pipeline.
    author text CHECK (author ~ '^((user|persona):[0-9a-f-]{36}|pipeline)$'),
    -- Counts rotations. Until rotated_until, deliveries are signed with the secret before, too.
    secret_version integer NOT NULL DEFAULT 1 CHECK (secret_version > 0),
    rotated_until timestamptz,
    -- SHA-256 of the current secret: nothing is sent if the derived one is another.
    secret_hash bytea NOT NULL CHECK (octet_length(secret_hash) = 32),
    -- gone: the receiver answered 410.
    state text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'paused', 'gone')),
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (webhook_id, user_id)
);
CREATE INDEX IF NOT EXISTS webhooks_user_id ON neurigraph.webhooks (user_id, created_at);

-- What happened, for users with webhooks that want it. Triggers write it in the transaction of the change. Ids have no
-- foreign keys, because a receiver also has to hear that something is gone.
CREATE TABLE IF NOT EXISTS neurigraph.webhook_events (
    event_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    event text NOT NULL CHECK (event ~ '^[a-z]{1,20}\.[a-z]{1,20}$'),
    occurred_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    author text CHECK (author ~ '^[a-z_]{1,20}(:[0-9a-f-]{36})?$'),
    node_id uuid,
    record_id uuid,
    fact_id uuid,
    -- The record or fact that supersedes or disputes it.
    other_id uuid,
    action_id uuid,
    erasure_id uuid
);
CREATE INDEX IF NOT EXISTS webhook_events_user_id ON neurigraph.webhook_events (user_id);
CREATE INDEX IF NOT EXISTS webhook_events_occurred_at ON neurigraph.webhook_events (occurred_at);

-- One event for one webhook.
CREATE TABLE IF NOT EXISTS neurigraph.webhook_deliveries (
    delivery_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    event_id uuid NOT NULL REFERENCES neurigraph.webhook_events ON DELETE CASCADE,
    webhook_id uuid NOT NULL,
    user_id uuid NOT NULL,
    -- dead: given up. withheld: what it is about was hidden before it was sent.
    state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'delivered', 'dead', 'withheld')),
    attempts integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    -- A worker that takes the delivery moves this on, so it is also the worker's lease.
    next_attempt_at timestamptz NOT NULL DEFAULT now(),
    -- How the last attempt ended: a status, or a word.
    last_status integer,
    last_error text CHECK (last_error ~ '^[a-z_]{1,40}$'),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    finished_at timestamptz,
    UNIQUE (event_id, webhook_id),
    CHECK ((state = 'waiting') = (finished_at IS NULL)),
    FOREIGN KEY (webhook_id, user_id) REFERENCES neurigraph.webhooks (webhook_id, user_id) ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS webhook_deliveries_waiting ON neurigraph.webhook_deliveries (webhook_id, next_attempt_at)
WHERE state = 'waiting';
CREATE INDEX IF NOT EXISTS webhook_deliveries_created_at
ON neurigraph.webhook_deliveries (webhook_id, created_at, delivery_id);
CREATE INDEX IF NOT EXISTS webhook_deliveries_user_id ON neurigraph.webhook_deliveries (user_id);

ALTER TABLE neurigraph.webhooks ENABLE ROW LEVEL SECURITY;
ALTER TABLE neurigraph.webhook_events ENABLE ROW LEVEL SECURITY;
ALTER TABLE neurigraph.webhook_deliveries ENABLE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON neurigraph.webhooks TO neurigraph_agent;
GRANT SELECT ON neurigraph.webhook_events, neurigraph.webhook_deliveries TO neurigraph_agent;
GRANT SELECT ON neurigraph.webhooks TO neurigraph_pipeline;
GRANT UPDATE (state) ON neurigraph.webhooks TO neurigraph_pipeline;
GRANT SELECT, DELETE ON neurigraph.webhook_events TO neurigraph_pipeline;
GRANT SELECT, UPDATE ON neurigraph.webhook_deliveries TO neurigraph_pipeline;

-- The routines add the policies for the owners of graphs; until then these see nothing.
DO $$
DECLARE
    guarded text;
BEGIN
    FOREACH guarded IN ARRAY ARRAY['webhooks', 'webhook_events', 'webhook_deliveries'] LOOP
        EXECUTE format('DROP POLICY IF EXISTS pipeline_all ON neurigraph.%I', guarded);
        EXECUTE format(
            'CREATE POLICY pipeline_all ON neurigraph.%I TO neurigraph_pipeline USING (true) WITH CHECK (true)', guarded
        );
    END LOOP;
END
$$;
