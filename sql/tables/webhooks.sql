-- The subscriptions of graph owners to events, by URL. The secrets of webhooks are derived and not stored.
CREATE TABLE neurigraph.webhooks (
    webhook_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    url text NOT NULL CHECK (char_length(url) BETWEEN 1 AND 2000),
    -- Names of events, such as record.stored, record.* or *.
    events text [] NOT NULL CHECK (cardinality(events) BETWEEN 1 AND 50),
    -- Only events at nodes whose path matches, or at nodes below them; null means all nodes.
    path_glob text CHECK (char_length(path_glob) BETWEEN 1 AND 500),
    -- Only changes by this author: user:ID, persona:ID or pipeline; null means all authors.
    author text CHECK (author ~ '^((user|persona):[0-9a-f-]{36}|pipeline)$'),
    -- The number of the secret, which a rotation raises. Until rotated_until, deliveries are also signed with the
    -- secret before.
    secret_version integer NOT NULL DEFAULT 1 CHECK (secret_version > 0),
    rotated_until timestamptz,
    -- SHA-256 of the current secret: nothing is sent if the derived secret has another hash.
    secret_hash bytea NOT NULL CHECK (octet_length(secret_hash) = 32),
    -- gone: the receiver answered 410.
    state text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'paused', 'gone')),
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (webhook_id, user_id)
);
CREATE INDEX webhooks_user_id ON neurigraph.webhooks (user_id, created_at);

ALTER TABLE neurigraph.webhooks ENABLE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON neurigraph.webhooks TO neurigraph_agent;
GRANT SELECT ON neurigraph.webhooks TO neurigraph_pipeline;
GRANT UPDATE (state) ON neurigraph.webhooks TO neurigraph_pipeline;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.webhooks TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.webhooks TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));
