-- Digests: texts that sum up records.
CREATE TABLE neurigraph.digests (
    -- Derived from the window or the covered records, so that the same digest exists once.
    digest_id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    -- The node and the time of a window; null for a digest of named records.
    node_id uuid,
    days integer CHECK (days IN (7, 30, 90)),
    starts_at timestamptz,
    ends_at timestamptz,
    -- shared: made of shared sources only. all: also made of private sources; only windows with private records have
    -- one.
    covers text NOT NULL CHECK (covers IN ('all', 'shared')),
    title text NOT NULL CHECK (char_length(title) BETWEEN 1 AND 200),
    text text NOT NULL CHECK (char_length(text) BETWEEN 1 AND 8000),
    -- The number of current records of the window. A digest of a large window covers only the most important records.
    records integer NOT NULL CHECK (records > 0),
    facts integer NOT NULL CHECK (facts >= 0),
    -- The language model that wrote the text.
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
