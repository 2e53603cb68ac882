-- The text of a digest, and the records that it was made of.
CREATE TABLE neurigraph.digests (
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
CREATE INDEX digests_made_at ON neurigraph.digests (user_id, made_at, digest_id);

ALTER TABLE neurigraph.digests ENABLE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON neurigraph.digests TO neurigraph_pipeline;
GRANT SELECT, DELETE ON neurigraph.digests TO neurigraph_agent;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.digests TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.digests TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));

CREATE POLICY granted ON neurigraph.digests FOR SELECT TO neurigraph_agent USING (neurigraph.sees_digest(digest_id));
