-- Users and the graph: nodes, edges, candidates for nodes, and staged nodes.

-- The text that full-text search finds a record or a node by. It is declared immutable because array_to_string is only
-- stable for element types that these arrays do not have. Generated columns store its results, so it is not replaced
-- like the functions of sql/routines: a migration that changes it computes these columns again.
CREATE FUNCTION neurigraph.record_tsv(
    language regconfig, title text, summary text, VARIADIC keywords text []
) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT to_tsvector(language, title || ' ' || summary || ' ' || coalesce(array_to_string(keywords, ' '), ''))
$$;
GRANT EXECUTE ON FUNCTION neurigraph.record_tsv(regconfig, text, text, text [])
TO neurigraph_agent, neurigraph_pipeline;

-- The owners of graphs: the top isolation boundary.
CREATE TABLE neurigraph.users (
    user_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    -- The name on the command line and the first part of schema names.
    slug text NOT NULL UNIQUE CHECK (slug ~ '^[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?$'),
    created_at timestamptz NOT NULL DEFAULT now(),
    -- The model whose vectors searches compare and centroids average; null until something is embedded.
    embedding_model text,
    -- The model that the user is moving to. It equals embedding_model once searches use it and only cleaning up is
    -- left.
    embedding_next_model text,
    -- Every role can read schema names in the catalog. If true, those of this user's nodes contain no node names.
    opaque_schema_names boolean NOT NULL DEFAULT false
);
CREATE INDEX users_moving ON neurigraph.users (user_id) WHERE embedding_next_model IS NOT NULL;

-- The registry of all nodes. A row is the part of a node that is always readable; the node's own tables are in the
-- schema that it names.
CREATE TABLE neurigraph.graph_index (
    node_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    node_name text NOT NULL CHECK (char_length(node_name) BETWEEN 1 AND 120),
    -- The name without differences of case, width and whitespace; unique among siblings.
    name_key text NOT NULL CHECK (name_key <> ''),
    node_type neurigraph.node_type NOT NULL DEFAULT 'concept',
    concept_kind neurigraph.concept_kind NOT NULL DEFAULT 'topic',
    -- Distance from the root, which is 0.
    layer_depth integer NOT NULL CHECK (layer_depth BETWEEN 0 AND 5),
    parent_node_id uuid,
    -- The ids from the root down to the node itself; set by the trigger place_node.
    path uuid [] NOT NULL DEFAULT '{}',
    -- The Postgres schema of the node's tables.
    schema_name text NOT NULL UNIQUE CHECK (octet_length(schema_name) <= 63),
    -- The state of the node's files: rehydrating if any file is, else active if any is, else dormant.
    compression_state neurigraph.compression_state NOT NULL DEFAULT 'active',
    last_accessed_at timestamptz NOT NULL DEFAULT now(),
    node_keywords text [],
    -- Other names that lead to the node.
    aliases text [] NOT NULL DEFAULT '{}',
    node_summary text,
    record_count integer NOT NULL DEFAULT 0 CHECK (record_count >= 0),
    -- The number of records whose embeddings the centroid averages.
    embedded_count integer NOT NULL DEFAULT 0 CHECK (embedded_count >= 0),
    -- The mean of the records' embeddings. It stays in TOAST so that a search by name does not read 6 kB a node.
    centroid vector(1536),
    -- The earliest time at which one of the node's files is to be compressed again.
    next_recompress_at timestamptz,
    -- The number of the file of sql/node that the node's tables are at.
    node_ddl_version integer NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- Weights in the order of node_keywords; a missing one counts 1. Frequent and recent keywords stay.
    keyword_weights real [] NOT NULL DEFAULT '{}',
    language regconfig NOT NULL DEFAULT 'pg_catalog.english',
    -- Full-text index of names, aliases, keywords and summary.
    tsv tsvector GENERATED ALWAYS AS (
        neurigraph.record_tsv(
            language, node_name, coalesce(node_summary, ''), VARIADIC aliases || coalesce(node_keywords, '{}')
        )
    ) STORED,
    -- The first 512 dimensions of the centroid, small enough to read for every node.
    routing_centroid halfvec(512) GENERATED ALWAYS AS (
        subvector(centroid, 1, 512)::halfvec(512)
    ) STORED,
    CONSTRAINT only_the_root_has_no_parent CHECK ((parent_node_id IS NULL) = (layer_depth = 0)),
    UNIQUE (node_id, user_id),
    UNIQUE (user_id, parent_node_id, name_key),
    FOREIGN KEY (parent_node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id)
);
CREATE UNIQUE INDEX one_root_per_user ON neurigraph.graph_index (user_id) WHERE layer_depth = 0;
CREATE INDEX graph_index_node_name ON neurigraph.graph_index (node_name);
CREATE INDEX graph_index_name_key ON neurigraph.graph_index (user_id, name_key);
CREATE INDEX graph_index_user_id ON neurigraph.graph_index (user_id);
CREATE INDEX graph_index_last_accessed_at ON neurigraph.graph_index (last_accessed_at);
CREATE INDEX graph_index_parent_node_id ON neurigraph.graph_index (parent_node_id);
CREATE INDEX graph_index_next_recompress_at ON neurigraph.graph_index (next_recompress_at)
WHERE next_recompress_at IS NOT NULL;
-- The nodes that a lifecycle sweep looks at: those with files that are not all dormant.
CREATE INDEX graph_index_awake ON neurigraph.graph_index (last_accessed_at)
WHERE compression_state <> 'dormant' AND record_count > 0;
CREATE INDEX graph_index_path ON neurigraph.graph_index USING gin (path);
CREATE INDEX graph_index_tsv ON neurigraph.graph_index USING gin (tsv);

-- Relations between nodes of one user.
CREATE TABLE neurigraph.node_edges (
    edge_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL,
    from_node_id uuid NOT NULL,
    to_node_id uuid NOT NULL,
    relation text NOT NULL CHECK (char_length(relation) BETWEEN 1 AND 120),
    strength real NOT NULL DEFAULT 0.5 CHECK (strength BETWEEN 0 AND 1),
    -- The number of records that state the relation.
    evidence_count integer NOT NULL DEFAULT 1 CHECK (evidence_count > 0),
    created_at timestamptz NOT NULL DEFAULT now(),
    last_seen_at timestamptz NOT NULL DEFAULT now(),
    CHECK (from_node_id <> to_node_id),
    UNIQUE (from_node_id, to_node_id, relation),
    FOREIGN KEY (from_node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE,
    FOREIGN KEY (to_node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE
);
CREATE INDEX node_edges_to_node_id ON neurigraph.node_edges (to_node_id);
CREATE INDEX node_edges_user_id ON neurigraph.node_edges (user_id);

-- Concepts that may become nodes: evidence from several segments adds up here until it suffices.
CREATE TABLE neurigraph.node_candidates (
    -- Derived from user, kind, name and parent: a path of long names would not fit into an index.
    candidate_id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    concept_kind neurigraph.concept_kind NOT NULL,
    name_key text NOT NULL CHECK (name_key <> ''),
    node_name text NOT NULL CHECK (char_length(node_name) BETWEEN 1 AND 120),
    -- Names from layer 1 down of the node below which the concept was mentioned.
    parent_path text [] NOT NULL,
    confidence double precision NOT NULL CHECK (confidence > 0 AND confidence <= 1),
    -- The number of segments that mention the concept.
    segments integer NOT NULL DEFAULT 1 CHECK (segments > 0),
    -- Relations stated before the node exists: {"from", "label", "strength"}.
    edges jsonb NOT NULL DEFAULT '[]',
    first_seen_at timestamptz NOT NULL DEFAULT now(),
    last_seen_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX node_candidates_name_key ON neurigraph.node_candidates (user_id, concept_kind, name_key);
CREATE INDEX node_candidates_confidence ON neurigraph.node_candidates (user_id, confidence DESC);

-- Nodes staged near the hits of a question; rows expire by themselves.
CREATE TABLE neurigraph.warm_nodes (
    user_id uuid NOT NULL,
    node_id uuid NOT NULL,
    warmed_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, node_id),
    FOREIGN KEY (node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE
);
CREATE INDEX warm_nodes_expires_at ON neurigraph.warm_nodes (expires_at);

ALTER TABLE neurigraph.users ENABLE ROW LEVEL SECURITY;
ALTER TABLE neurigraph.graph_index ENABLE ROW LEVEL SECURITY;
ALTER TABLE neurigraph.node_edges ENABLE ROW LEVEL SECURITY;
ALTER TABLE neurigraph.node_candidates ENABLE ROW LEVEL SECURITY;
ALTER TABLE neurigraph.warm_nodes ENABLE ROW LEVEL SECURITY;

GRANT SELECT ON neurigraph.users TO neurigraph_pipeline, neurigraph_agent;
GRANT UPDATE (embedding_model, embedding_next_model) ON neurigraph.users TO neurigraph_pipeline;
GRANT SELECT, INSERT, UPDATE ON neurigraph.graph_index, neurigraph.node_edges TO neurigraph_pipeline;
GRANT SELECT, INSERT, UPDATE, DELETE ON neurigraph.node_candidates, neurigraph.warm_nodes TO neurigraph_pipeline;
-- Functions that check the claims write access times and staged nodes.
GRANT SELECT ON neurigraph.graph_index, neurigraph.node_edges, neurigraph.node_candidates, neurigraph.warm_nodes
TO neurigraph_agent;
