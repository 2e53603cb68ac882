-- Profiles of nodes: what characterises the records of a node, rebuilt at night for what changed. A profile is made of
-- records and never outlives them: triggers (sql/tables/record_index.sql) remove it or mark it as stale.
CREATE TABLE neurigraph.profiles (
    node_id uuid NOT NULL,
    user_id uuid NOT NULL,
    -- shared: made of shared sources only, for everybody who may read the node. all: also of private ones, for the
    -- owner alone; only nodes with such records have it.
    covers text NOT NULL CHECK (covers IN ('all', 'shared')),
    -- Current records of the node.
    records integer NOT NULL CHECK (records > 0),
    -- The records that all below is made of: all, or a sample of a large node.
    sampled integer NOT NULL CHECK (sampled > 0),
    -- Those of them with vectors of the model.
    embedded integer NOT NULL CHECK (embedded >= 0),
    embedding_model text,
    -- Directions that the vectors gather around, the largest share first.
    centroids halfvec(512) [] NOT NULL CHECK (cardinality(centroids) <= 4),
    -- For each centroid: share, records, record_id of the nearest one, and descriptors.
    centroid_records jsonb NOT NULL,
    -- Frequent entities and topics, each with the share of the records that have it.
    descriptors text [] NOT NULL,
    weights real [] NOT NULL,
    -- The mean direction of the newest records and of those before; null of too few records.
    recent halfvec(512),
    baseline halfvec(512),
    recent_records integer NOT NULL DEFAULT 0,
    baseline_records integer NOT NULL DEFAULT 0,
    recent_from timestamptz,
    -- Their cosine distance.
    drift real,
    -- When the first and the last record occurred.
    first_at timestamptz NOT NULL,
    last_at timestamptz NOT NULL,
    -- Whether records came or changed since.
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

-- A profile of all records is its owner's alone.
CREATE POLICY granted ON neurigraph.profiles FOR SELECT TO neurigraph_agent
USING (covers = 'shared' AND node_id IN (SELECT neurigraph.readable_nodes()));

-- Values of a node as a whole come from records of all spaces, so callers limited to some spaces see none. The same
-- holds for edges that nobody can trace to a record, for names that were given by hand, and for standards.
CREATE POLICY traceable ON neurigraph.profiles AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (
    (SELECT neurigraph.asking_tags() IS NULL)
    OR false
);
