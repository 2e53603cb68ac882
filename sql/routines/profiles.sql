-- Profiles of nodes follow their records: what is erased, hidden, revised or moved away leaves no profile that was made
-- of it, and what comes or is superseded leaves one that says it is stale. A nightly asset makes them again.

-- Outdate the profiles that a record is part of: those of shared records change nothing when a private one changes, or
-- their readers would learn of it. With `gone` they are removed.
CREATE OR REPLACE FUNCTION neurigraph_private.outdate_profiles(node uuid, of_source text, gone boolean) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET plan_cache_mode = 'force_generic_plan' AS $$
BEGIN
    IF gone THEN
        DELETE FROM neurigraph.profiles AS p
        WHERE p.node_id = node AND (p.covers = 'all' OR NOT EXISTS (
            SELECT FROM neurigraph.sources AS s
            WHERE s.source_id = split_part(of_source, ':', 2)::uuid AND s.privacy = 'private'
        ));
    ELSE
        UPDATE neurigraph.profiles AS p SET is_stale = true
        WHERE p.node_id = node AND NOT p.is_stale AND (p.covers = 'all' OR NOT EXISTS (
            SELECT FROM neurigraph.sources AS s
            WHERE s.source_id = split_part(of_source, ':', 2)::uuid AND s.privacy = 'private'
        ));
    END IF;
END
$$;

-- Trigger on record_index.
CREATE OR REPLACE FUNCTION neurigraph.outdate_profiles_of_record() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'DELETE' OR (TG_OP = 'UPDATE' AND (OLD.node_id <> NEW.node_id OR NEW.quarantined)) THEN
        PERFORM neurigraph_private.outdate_profiles(OLD.node_id, OLD.source, true);
    END IF;
    IF TG_OP <> 'DELETE' AND NOT NEW.quarantined THEN
        PERFORM neurigraph_private.outdate_profiles(NEW.node_id, NEW.source, false);
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER profiles_new AFTER INSERT ON neurigraph.record_index
FOR EACH ROW EXECUTE FUNCTION neurigraph.outdate_profiles_of_record();
CREATE OR REPLACE TRIGGER profiles_gone AFTER DELETE ON neurigraph.record_index
FOR EACH ROW EXECUTE FUNCTION neurigraph.outdate_profiles_of_record();
CREATE OR REPLACE TRIGGER profiles_changed AFTER UPDATE OF node_id, quarantined, superseded ON neurigraph.record_index
FOR EACH ROW
WHEN (
    old.node_id <> new.node_id OR old.quarantined <> new.quarantined OR old.superseded IS DISTINCT FROM new.superseded
)
EXECUTE FUNCTION neurigraph.outdate_profiles_of_record();

-- Trigger on delta_log: words of a record that were replaced show no more, and new vectors change the profile.
CREATE OR REPLACE FUNCTION neurigraph.outdate_profiles_of_delta() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM neurigraph_private.outdate_profiles(i.node_id, i.source, NEW.delta_payload ->> 'operation' = 'revise')
    FROM neurigraph.record_index AS i WHERE i.record_id = NEW.record_id;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER profiles_changed AFTER INSERT ON neurigraph.delta_log
FOR EACH ROW WHEN (new.delta_payload ->> 'operation' IN ('revise', 'embed'))
EXECUTE FUNCTION neurigraph.outdate_profiles_of_delta();

-- Trigger on sources: what others see is made of shared sources only.
CREATE OR REPLACE FUNCTION neurigraph.outdate_profiles_of_source() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    nodes uuid [] := ARRAY(
        SELECT DISTINCT i.node_id FROM neurigraph.record_index AS i
        WHERE i.user_id = NEW.user_id AND i.source = NEW.kind || ':' || NEW.source_id
    );
BEGIN
    DELETE FROM neurigraph.profiles AS p
    WHERE p.node_id = ANY(nodes) AND p.covers = 'shared' AND NEW.privacy = 'private';
    UPDATE neurigraph.profiles AS p SET is_stale = true WHERE p.node_id = ANY(nodes) AND NOT p.is_stale;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER profiles_changed AFTER UPDATE OF privacy ON neurigraph.sources
FOR EACH ROW WHEN (old.privacy IS DISTINCT FROM new.privacy)
EXECUTE FUNCTION neurigraph.outdate_profiles_of_source();

-- Trigger on users: vectors of another model are compared now.
CREATE OR REPLACE FUNCTION neurigraph.outdate_profiles_of_user() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE neurigraph.profiles AS p SET is_stale = true WHERE p.user_id = NEW.user_id AND NOT p.is_stale;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER profiles_changed AFTER UPDATE OF embedding_model ON neurigraph.users
FOR EACH ROW WHEN (old.embedding_model IS DISTINCT FROM new.embedding_model)
EXECUTE FUNCTION neurigraph.outdate_profiles_of_user();

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA neurigraph_private FROM PUBLIC;
REVOKE ALL ON FUNCTION neurigraph.outdate_profiles_of_record(), neurigraph.outdate_profiles_of_delta(),
neurigraph.outdate_profiles_of_source(), neurigraph.outdate_profiles_of_user() FROM PUBLIC;
