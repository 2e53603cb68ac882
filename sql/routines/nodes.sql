-- Node positions: every node is below its parent, in layers 0 to 5.

-- Trigger on graph_index: set the path. A node is one layer below its parent, so a cycle would have to grow deeper for
-- ever and cannot exist. Nodes below a node that moves follow it (carry_children), and moves within one graph do not
-- run at the same time.
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

-- Trigger on graph_index: nodes below a node that moved follow it, layer by layer. A constraint of the table refuses
-- layers below 5.
CREATE OR REPLACE FUNCTION neurigraph.carry_children() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE neurigraph.graph_index AS g SET layer_depth = NEW.layer_depth + 1, path = NEW.path || g.node_id
    WHERE g.parent_node_id = NEW.node_id;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER carry_children AFTER UPDATE OF parent_node_id, layer_depth, path ON neurigraph.graph_index
FOR EACH ROW WHEN (old.path IS DISTINCT FROM new.path) EXECUTE FUNCTION neurigraph.carry_children();

REVOKE ALL ON FUNCTION neurigraph.place_node(), neurigraph.carry_children() FROM PUBLIC;
