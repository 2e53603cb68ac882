-- Users, the graph index and the registries that other tables hang on (specification, table 1).

CREATE TABLE neurigraph.users (
    user_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    slug text NOT NULL UNIQUE CHECK (slug ~ '^[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?$'),
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE neurigraph.graph_index (
    node_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    node_name text NOT NULL CHECK (char_length(node_name) BETWEEN 1 AND 120),
    -- Case-, width- and whitespace-insensitive form of the name; two siblings never share one.
    name_key text NOT NULL CHECK (name_key <> ''),
    node_type neurigraph.node_type NOT NULL DEFAULT 'concept',
    concept_kind neurigraph.concept_kind NOT NULL DEFAULT 'topic',
    layer_depth integer NOT NULL CHECK (layer_depth BETWEEN 0 AND 5),
    parent_node_id uuid,
    -- Ancestors from the root down to the node itself; kept by trigger.
    path uuid [] NOT NULL DEFAULT '{}',
    schema_name text NOT NULL UNIQUE CHECK (octet_length(schema_name) <= 63),
    compression_state neurigraph.compression_state NOT NULL DEFAULT 'active',
    last_accessed_at timestamptz NOT NULL DEFAULT now(),
    node_keywords text [],
    aliases text [] NOT NULL DEFAULT '{}',
    node_summary text,
    record_count integer NOT NULL DEFAULT 0 CHECK (record_count >= 0),
    -- How many records' embeddings the centroid is the mean of.
    embedded_count integer NOT NULL DEFAULT 0 CHECK (embedded_count >= 0),
    -- Left in TOAST on purpose: a search by name must not read 6 kB a node.
    centroid vector(1536),
    next_recompress_at timestamptz,
    node_ddl_version integer NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
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
CREATE INDEX graph_index_path ON neurigraph.graph_index USING gin (path);

-- Depth is the parent's plus one, so a cycle would have to grow deeper for ever: it cannot exist. That holds as long as
-- no node moves from under its children, whose depth and path follow from its own.
CREATE FUNCTION neurigraph.place_node() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    parent neurigraph.graph_index;
BEGIN
    IF TG_OP = 'UPDATE'
        AND (NEW.parent_node_id, NEW.layer_depth) IS DISTINCT FROM (OLD.parent_node_id, OLD.layer_depth)
        AND EXISTS (SELECT FROM neurigraph.graph_index AS g WHERE g.parent_node_id = OLD.node_id)
    THEN
        RAISE check_violation USING MESSAGE = 'a node with children stays where it is';
    END IF;
    IF NEW.parent_node_id IS NULL THEN
        NEW.path := ARRAY[NEW.node_id];
        RETURN NEW;
    END IF;
    SELECT * INTO parent FROM neurigraph.graph_index AS g
    WHERE g.node_id = NEW.parent_node_id AND g.user_id = NEW.user_id;
    IF NOT FOUND THEN
        RAISE foreign_key_violation USING MESSAGE = 'the parent node does not exist';
    END IF;
    IF NEW.node_id = ANY(parent.path) THEN
        RAISE check_violation USING MESSAGE = 'a node does not lie below itself';
    END IF;
    IF NEW.layer_depth IS DISTINCT FROM parent.layer_depth + 1 THEN
        RAISE check_violation USING MESSAGE = format(
            'a node below layer %s lies in layer %s, not %s',
            parent.layer_depth, parent.layer_depth + 1, NEW.layer_depth
        );
    END IF;
    NEW.path := parent.path || NEW.node_id;
    RETURN NEW;
END
$$;

CREATE TRIGGER place_node
BEFORE INSERT OR UPDATE OF parent_node_id, layer_depth, path ON neurigraph.graph_index
FOR EACH ROW EXECUTE FUNCTION neurigraph.place_node();

CREATE TABLE neurigraph.node_edges (
    edge_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL,
    from_node_id uuid NOT NULL,
    to_node_id uuid NOT NULL,
    relation text NOT NULL CHECK (char_length(relation) BETWEEN 1 AND 120),
    strength real NOT NULL DEFAULT 0.5 CHECK (strength BETWEEN 0 AND 1),
    -- How many records stated it.
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

-- Where each record and each file lives, and proof that a segment is stored once. Fed by triggers of the node
-- tables: a foreign key from there would lock all writers out while a node is provisioned.
CREATE TABLE neurigraph.record_index (
    record_id uuid PRIMARY KEY,
    node_id uuid NOT NULL,
    user_id uuid NOT NULL,
    source text NOT NULL,
    content_hash bytea NOT NULL CHECK (octet_length(content_hash) = 32),
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (user_id, source, content_hash),
    FOREIGN KEY (node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE
);
CREATE INDEX record_index_node_id ON neurigraph.record_index (node_id);

CREATE TABLE neurigraph.file_index (
    file_id uuid PRIMARY KEY,
    record_id uuid NOT NULL REFERENCES neurigraph.record_index ON DELETE CASCADE,
    node_id uuid NOT NULL,
    user_id uuid NOT NULL,
    FOREIGN KEY (node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE
);
CREATE INDEX file_index_record_id ON neurigraph.file_index (record_id);
CREATE INDEX file_index_node_id ON neurigraph.file_index (node_id);

CREATE TABLE neurigraph.warm_nodes (
    user_id uuid NOT NULL,
    node_id uuid NOT NULL,
    warmed_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, node_id),
    FOREIGN KEY (node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE
);
CREATE INDEX warm_nodes_expires_at ON neurigraph.warm_nodes (expires_at);
