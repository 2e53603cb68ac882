-- Digests: what some records say, in a few sentences: those of a node within 7, 30 or 90 days, or those that the owner
-- named. A digest goes in the transaction in which a record that it covers goes, changes or is hidden
-- (sql/routines/digests.sql).

-- The text of a digest, and what it was made of.
CREATE TABLE IF NOT EXISTS neurigraph.digests (
    -- Follows from what it covers, so the same is there once.
    digest_id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    -- The node and the time of a window; null of a digest of named records.
    node_id uuid,
    days integer CHECK (days IN (7, 30, 90)),
    starts_at timestamptz,
    ends_at timestamptz,
    -- shared: made of shared sources only. all: also of private ones; only windows with such records have it.
    covers text NOT NULL CHECK (covers IN ('all', 'shared')),
    title text NOT NULL CHECK (char_length(title) BETWEEN 1 AND 200),
    text text NOT NULL CHECK (char_length(text) BETWEEN 1 AND 8000),
    -- Current records of the window; a large window is covered by the most important ones.
    records integer NOT NULL CHECK (records > 0),
    facts integer NOT NULL CHECK (facts >= 0),
    -- The language model that put it into words.
    made_by text NOT NULL,
    made_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (digest_id, user_id),
    UNIQUE (node_id, days, starts_at, covers),
    CHECK (num_nulls(node_id, days, starts_at, ends_at) IN (0, 4)),
    CHECK (ends_at > starts_at),
    FOREIGN KEY (node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS digests_made_at ON neurigraph.digests (user_id, made_at, digest_id);

-- The records that a digest is derived from. A digest goes with the first of these rows that goes.
CREATE TABLE IF NOT EXISTS neurigraph.digest_records (
    digest_id uuid NOT NULL,
    record_id uuid NOT NULL REFERENCES neurigraph.record_index ON DELETE CASCADE,
    user_id uuid NOT NULL,
    PRIMARY KEY (digest_id, record_id),
    FOREIGN KEY (digest_id, user_id) REFERENCES neurigraph.digests (digest_id, user_id) ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS digest_records_record_id ON neurigraph.digest_records (record_id);
CREATE INDEX IF NOT EXISTS digest_records_user_id ON neurigraph.digest_records (user_id);

-- Windows that could not be put into words, and when they are tried again.
CREATE TABLE IF NOT EXISTS neurigraph.digest_failures (
    node_id uuid NOT NULL,
    user_id uuid NOT NULL,
    days integer NOT NULL CHECK (days IN (7, 30, 90)),
    starts_at timestamptz NOT NULL,
    covers text NOT NULL CHECK (covers IN ('all', 'shared')),
    attempts integer NOT NULL CHECK (attempts > 0),
    next_attempt_at timestamptz NOT NULL,
    -- The class of the error: its text may have words of a record.
    error text NOT NULL CHECK (error ~ '^[A-Za-z]{1,60}$'),
    PRIMARY KEY (node_id, days, starts_at, covers),
    FOREIGN KEY (node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS digest_failures_user_id ON neurigraph.digest_failures (user_id);

ALTER TABLE neurigraph.digests ENABLE ROW LEVEL SECURITY;
ALTER TABLE neurigraph.digest_records ENABLE ROW LEVEL SECURITY;
ALTER TABLE neurigraph.digest_failures ENABLE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON neurigraph.digests, neurigraph.digest_records, neurigraph.digest_failures
TO neurigraph_pipeline;
GRANT SELECT, DELETE ON neurigraph.digests TO neurigraph_agent;
GRANT SELECT ON neurigraph.digest_records, neurigraph.digest_failures TO neurigraph_agent;

-- Until the policies of the routines are there, nothing is visible.
DROP POLICY IF EXISTS pipeline_all ON neurigraph.digests;
CREATE POLICY pipeline_all ON neurigraph.digests TO neurigraph_pipeline USING (true) WITH CHECK (true);
DROP POLICY IF EXISTS pipeline_all ON neurigraph.digest_records;
CREATE POLICY pipeline_all ON neurigraph.digest_records TO neurigraph_pipeline USING (true) WITH CHECK (true);
DROP POLICY IF EXISTS pipeline_all ON neurigraph.digest_failures;
CREATE POLICY pipeline_all ON neurigraph.digest_failures TO neurigraph_pipeline USING (true) WITH CHECK (true);
