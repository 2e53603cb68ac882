-- Profiles of nodes: typical values of a node's records, rebuilt at night for changed nodes. A profile is made of
-- records and never outlives them: triggers (sql/tables/record_index.sql) remove it or mark it as stale.
CREATE TABLE neurigraph.profiles (
    node_id uuid NOT NULL,
    user_id uuid NOT NULL,
    -- shared: made of shared sources only, for everybody who may read the node. all: also made of private sources, for
    -- the owner alone; only nodes with private records have one.
    covers text NOT NULL CHECK (covers IN ('all', 'shared')),
    -- The number of current records of the node.
    records integer NOT NULL CHECK (records > 0),
    -- The number of records that the profile is made of: all, or a sample of a large node.
    sampled integer NOT NULL CHECK (sampled > 0),
    -- The number of sampled records with vectors of the model.
    embedded integer NOT NULL CHECK (embedded >= 0),
    embedding_model text,
    -- Directions that the vectors gather around, the largest share first.
    centroids halfvec(512) [] NOT NULL CHECK (cardinality(centroids) <= 4),
    -- For each centroid: share, records, record_id of the nearest one, and descriptors.
    centroid_records jsonb NOT NULL,
    -- Frequent entities and topics, each with the share of records that have it.
    descriptors text [] NOT NULL,
    weights real [] NOT NULL,
    -- The mean direction of the newest records and of the records before them; null if there are too few records.
    recent halfvec(512),
    baseline halfvec(512),
    recent_records integer NOT NULL DEFAULT 0,
    baseline_records integer NOT NULL DEFAULT 0,
    recent_from timestamptz,
    -- The cosine distance of the two mean directions.
    drift real,
    -- When the first and the last record occurred.
    first_at timestamptz NOT NULL,
    last_at timestamptz NOT NULL,
    -- Whether records were added or changed since the profile was made.
    is_stale boolean NOT NULL DEFAULT false,
    rebuilt_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (node_id, covers),
    CHECK (cardinality(descriptors) = cardinality(weights)),
    CHECK (num_nulls(recent, baseline, recent_from, drift) IN (0, 4)),
    FOREIGN KEY (node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE
);
CREATE INDEX profiles_user_id ON neurigraph.profiles (user_id);
CREATE INDEX profiles_stale ON neurigraph.profiles (node_id) WHERE is_stale;

ALTER TABLE neurigraph.profiles ENABLE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON neurigraph.profiles TO neurigraph_pipeline;
GRANT SELECT ON neurigraph.profiles TO neurigraph_agent;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.profiles TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.profiles TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));

-- Only the owner sees a profile of all records.
CREATE POLICY granted ON neurigraph.profiles FOR SELECT TO neurigraph_agent
USING (covers = 'shared' AND node_id IN (SELECT neurigraph.readable_nodes()));

-- Callers limited to some spaces see no profiles, because a profile is made of records of all spaces.
CREATE POLICY traceable ON neurigraph.profiles AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (
    (SELECT neurigraph.asking_tags() IS NULL)
    OR false
);
