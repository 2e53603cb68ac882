-- The registry of all nodes. A row is the part of a node that is always readable. The node's own tables are in the
-- schema that the row names.
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
    -- The number of the schema version of the node's tables: the version of sql/node.sql, or of the last migration.
    node_ddl_version integer NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- Weights in the order of node_keywords; a missing weight counts 1. Frequent and recent keywords stay.
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
    -- Whether only records in quarantine still support the node.
    quarantined boolean NOT NULL DEFAULT false,
    -- The record that a node was made for, which gives the node its definition and its first keywords. There is no
    -- foreign key, because the record refers to its node. Null for nodes that people made.
    defined_by uuid,
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
-- The nodes that a lifecycle sweep visits: nodes with files of which at least one is not dormant.
CREATE INDEX graph_index_awake ON neurigraph.graph_index (last_accessed_at)
WHERE compression_state <> 'dormant' AND record_count > 0;
CREATE INDEX graph_index_path ON neurigraph.graph_index USING gin (path);
CREATE INDEX graph_index_tsv ON neurigraph.graph_index USING gin (tsv);
-- Queries list parents before their children.
CREATE INDEX graph_index_by_depth ON neurigraph.graph_index (user_id, layer_depth, node_id);
CREATE INDEX graph_index_defined_by ON neurigraph.graph_index (defined_by) WHERE defined_by IS NOT NULL;

ALTER TABLE neurigraph.graph_index ENABLE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE ON neurigraph.graph_index TO neurigraph_pipeline;
-- Functions that check the claims write access times and staged nodes.
GRANT SELECT ON neurigraph.graph_index TO neurigraph_agent;
GRANT SELECT (
    node_id, user_id, node_type, concept_kind, layer_depth, parent_node_id, path, compression_state,
    last_accessed_at, record_count, embedded_count, created_at, quarantined
) ON neurigraph.graph_index TO neurigraph_analyst;

-- Replaced when it changes: functions, triggers, policies.

-- A write sets off the place of the node and its children in the tree, the refusal of changes in a mirror, a new
-- version of cached answers, and webhooks.

CREATE OR REPLACE TRIGGER note_change AFTER INSERT OR DELETE OR UPDATE OF
node_name, concept_kind, layer_depth, parent_node_id, path, schema_name, compression_state, aliases, node_keywords,
node_summary, record_count, centroid, language, node_ddl_version, quarantined ON neurigraph.graph_index
FOR EACH ROW EXECUTE FUNCTION neurigraph.note_row_change();

-- Trigger on graph_index: set the path. A node is one layer below its parent, so a cycle would have to grow deeper for
-- ever and cannot exist. The nodes below a moved node follow it (follow_node), and moves within one graph take turns.
CREATE OR REPLACE FUNCTION neurigraph.place_node() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    parent neurigraph.graph_index;
BEGIN
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
        RAISE check_violation USING MESSAGE = 'a node cannot be below itself';
    END IF;
    IF NEW.layer_depth IS DISTINCT FROM parent.layer_depth + 1 THEN
        RAISE check_violation USING MESSAGE = format(
            'a child of a node in layer %s is in layer %s, not %s',
            parent.layer_depth, parent.layer_depth + 1, NEW.layer_depth
        );
    END IF;
    NEW.path := parent.path || NEW.node_id;
    RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER place_node
BEFORE INSERT OR UPDATE OF parent_node_id, layer_depth, path ON neurigraph.graph_index
FOR EACH ROW EXECUTE FUNCTION neurigraph.place_node();

-- Trigger on graph_index: nodes below a mount node are added, moved and renamed only by a pull. The nodes below a moved
-- node follow it, layer by layer. A constraint of the table refuses layers below 5.
CREATE OR REPLACE FUNCTION neurigraph.follow_node() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        PERFORM neurigraph_private.refuse_in_mirror(ARRAY[NEW.parent_node_id]);
        RETURN NULL;
    END IF;
    IF NEW.parent_node_id IS DISTINCT FROM OLD.parent_node_id OR NEW.node_name <> OLD.node_name THEN
        -- The mount node itself may be renamed and moved.
        PERFORM neurigraph_private.refuse_in_mirror(ARRAY[NEW.parent_node_id, OLD.parent_node_id]);
    END IF;
    IF NEW.path <> OLD.path THEN
        UPDATE neurigraph.graph_index AS g SET layer_depth = NEW.layer_depth + 1, path = NEW.path || g.node_id
        WHERE g.parent_node_id = NEW.node_id;
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER followed AFTER INSERT OR UPDATE OF parent_node_id, node_name, layer_depth, path
ON neurigraph.graph_index
FOR EACH ROW EXECUTE FUNCTION neurigraph.follow_node();

-- Raise the events of a change of a node.
CREATE OR REPLACE FUNCTION neurigraph_private.raise_node_change(
    operation text, old_row neurigraph.graph_index, new_row neurigraph.graph_index
) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    happened neurigraph.webhook_events;
    lost uuid;
BEGIN
    happened.user_id := CASE operation WHEN 'DELETE' THEN old_row.user_id ELSE new_row.user_id END;
    happened.node_id := CASE operation WHEN 'DELETE' THEN old_row.node_id ELSE new_row.node_id END;
    happened.author := neurigraph_private.current_author();
    IF operation = 'DELETE' THEN
        FOR lost IN
            SELECT i.record_id FROM neurigraph.record_index AS i WHERE i.node_id = old_row.node_id
        LOOP
            happened.event := 'record.forgotten';
            happened.record_id := lost;
            PERFORM neurigraph_private.raise_event(happened);
        END LOOP;
        happened.event := 'node.removed';
        happened.record_id := NULL;
        PERFORM neurigraph_private.raise_event(happened);
        RETURN;
    END IF;
    IF operation = 'INSERT' THEN
        happened.event := 'node.created';
        PERFORM neurigraph_private.raise_event(happened);
        RETURN;
    END IF;
    IF new_row.node_name <> old_row.node_name THEN
        happened.event := 'node.renamed';
        PERFORM neurigraph_private.raise_event(happened);
    END IF;
    IF new_row.parent_node_id IS DISTINCT FROM old_row.parent_node_id THEN
        happened.event := 'node.moved';
        PERFORM neurigraph_private.raise_event(happened);
    END IF;
END
$$;

CREATE OR REPLACE TRIGGER raised AFTER INSERT OR UPDATE OF node_name, parent_node_id ON neurigraph.graph_index
FOR EACH ROW EXECUTE FUNCTION neurigraph.raise_event();

CREATE OR REPLACE TRIGGER raised_before BEFORE DELETE ON neurigraph.graph_index
FOR EACH ROW EXECUTE FUNCTION neurigraph.raise_event();

REVOKE ALL ON FUNCTION neurigraph.place_node(), neurigraph.follow_node() FROM PUBLIC;

CREATE POLICY pipeline_all ON neurigraph.graph_index TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY analyst_read ON neurigraph.graph_index FOR SELECT TO neurigraph_analyst USING (true);
CREATE POLICY own_rows ON neurigraph.graph_index TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));

CREATE POLICY granted ON neurigraph.graph_index FOR SELECT TO neurigraph_agent
USING (node_id IN (SELECT neurigraph.readable_nodes()));

CREATE POLICY not_hidden ON neurigraph.graph_index AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (NOT quarantined);
