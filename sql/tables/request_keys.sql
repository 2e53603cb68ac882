-- Requests that may be repeated: a request with an `Idempotency-Key`, and its answer.
CREATE TABLE neurigraph.request_keys (
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    -- The caller: the id of the API key, or role and subject of a token.
    caller text NOT NULL CHECK (char_length(caller) BETWEEN 1 AND 500),
    key_hash bytea NOT NULL CHECK (octet_length(key_hash) = 32),
    -- SHA-256 of the request: a different request with the same key is an error.
    fingerprint bytea NOT NULL CHECK (octet_length(fingerprint) = 32),
    status smallint NOT NULL CHECK (status BETWEEN 200 AND 299),
    -- Ids and counts, never remembered text: a row without an answer makes the server read the object again.
    answer jsonb CHECK (octet_length(answer::text) <= 20000),
    -- The objects of the request: forgetting one of them removes the row.
    object_ids uuid [] NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (user_id, caller, key_hash)
);
CREATE INDEX request_keys_of_caller ON neurigraph.request_keys (user_id, caller, created_at);
CREATE INDEX request_keys_created_at ON neurigraph.request_keys USING brin (created_at);

ALTER TABLE neurigraph.request_keys ENABLE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, DELETE, UPDATE ON neurigraph.request_keys TO neurigraph_pipeline, neurigraph_agent;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.request_keys TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.request_keys TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));

-- Answers to requests are visible only to the caller who made the request, not even to other keys of the same user.
CREATE POLICY own_requests ON neurigraph.request_keys TO neurigraph_agent
USING (user_id = (SELECT (neurigraph.claims() ->> 'user_id')::uuid))
WITH CHECK (user_id = (SELECT (neurigraph.claims() ->> 'user_id')::uuid));

CREATE POLICY only_caller ON neurigraph.request_keys AS RESTRICTIVE TO neurigraph_agent
USING (caller = (SELECT neurigraph.asking_caller()))
WITH CHECK (caller = (SELECT neurigraph.asking_caller()));
