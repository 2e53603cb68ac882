-- Where nodes lie: below their parents, in layers 0 to 5.

-- Depth is the parent's plus one, so a cycle would have to grow deeper for ever: it cannot exist. Whoever moves a node
-- takes what lies below it along (carry_children), and no two of one user's graph move at once.
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

-- What lies below a node that moved follows, layer by layer; below layer 5 the constraint of the table ends it.
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
