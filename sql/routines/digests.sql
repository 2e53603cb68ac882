-- Digests follow the records that they cover: one that is erased, moved, revised, superseded, hidden or made private
-- takes its digests along in the same transaction. A nightly asset makes them again of what is left.

-- Whether the caller sees all records that a digest covers.
CREATE OR REPLACE FUNCTION neurigraph.sees_digest(wanted uuid) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM neurigraph.digests AS d
        WHERE d.digest_id = wanted AND d.user_id = (c.asking ->> 'user_id')::uuid
            AND EXISTS (SELECT FROM neurigraph.digest_records AS r WHERE r.digest_id = wanted)
            AND NOT EXISTS (
                SELECT FROM neurigraph.digest_records AS r
                INNER JOIN neurigraph.record_index AS i ON r.record_id = i.record_id
                WHERE r.digest_id = wanted AND NOT (
                    NOT i.quarantined
                    AND i.node_id IN (SELECT v.node_id FROM neurigraph.visible_nodes(c.asking) AS v)
                    AND split_part(i.source, ':', 2)::uuid <> ALL(neurigraph_private.hidden_sources(c.asking))
                )
            )
    )
    FROM (SELECT neurigraph.claims() AS asking OFFSET 0) AS c
$$;

DROP POLICY IF EXISTS granted ON neurigraph.digests;
CREATE POLICY granted ON neurigraph.digests FOR SELECT TO neurigraph_agent USING (neurigraph.sees_digest(digest_id));

DROP POLICY IF EXISTS granted ON neurigraph.digest_records;
CREATE POLICY granted ON neurigraph.digest_records FOR SELECT TO neurigraph_agent
USING (neurigraph.sees_digest(digest_id));

-- Trigger on digest_records: a digest covers only current records of its user, and a shared one no private source. The
-- locks let those who change one of them wait, and then find this digest.
CREATE OR REPLACE FUNCTION neurigraph.require_current_record() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM FROM neurigraph.record_index AS i
    WHERE i.record_id = NEW.record_id AND i.user_id = NEW.user_id AND NOT i.quarantined AND i.superseded IS NOT TRUE
    FOR SHARE;
    IF NOT FOUND THEN
        RAISE check_violation USING MESSAGE = format('the record %s is not current', NEW.record_id);
    END IF;
    PERFORM FROM neurigraph.sources AS s
    WHERE s.source_id = (
        SELECT split_part(i.source, ':', 2)::uuid FROM neurigraph.record_index AS i WHERE i.record_id = NEW.record_id
    ) AND s.privacy = 'private'
    AND EXISTS (SELECT FROM neurigraph.digests AS d WHERE d.digest_id = NEW.digest_id AND d.covers = 'shared')
    FOR SHARE;
    IF FOUND THEN
        RAISE check_violation USING MESSAGE = format('the record %s is private', NEW.record_id);
    END IF;
    RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER current_only BEFORE INSERT OR UPDATE ON neurigraph.digest_records
FOR EACH ROW EXECUTE FUNCTION neurigraph.require_current_record();

-- Trigger on digest_records: a digest goes with the first record that it covers.
CREATE OR REPLACE FUNCTION neurigraph.drop_uncovered_digests() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    DELETE FROM neurigraph.digests AS d WHERE d.digest_id IN (SELECT g.digest_id FROM gone AS g);
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER uncovered AFTER DELETE ON neurigraph.digest_records
REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION neurigraph.drop_uncovered_digests();

-- Trigger on record_index: what covers a record that moved, was hidden or superseded, or is current again.
CREATE OR REPLACE FUNCTION neurigraph.uncover_changed_record() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    DELETE FROM neurigraph.digest_records AS r WHERE r.record_id = NEW.record_id;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER uncovered AFTER UPDATE OF node_id, quarantined, superseded ON neurigraph.record_index
FOR EACH ROW
WHEN (
    old.node_id <> new.node_id OR old.quarantined <> new.quarantined OR old.superseded IS DISTINCT FROM new.superseded
)
EXECUTE FUNCTION neurigraph.uncover_changed_record();

-- The same on delta_log: words that were replaced show no more.
CREATE OR REPLACE TRIGGER uncovered AFTER INSERT ON neurigraph.delta_log
FOR EACH ROW WHEN (new.delta_payload ->> 'operation' = 'revise')
EXECUTE FUNCTION neurigraph.uncover_changed_record();

-- Trigger on sources: who may read its records changes, so digests of them are made again.
CREATE OR REPLACE FUNCTION neurigraph.uncover_changed_source() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    DELETE FROM neurigraph.digest_records AS r USING neurigraph.record_index AS i
    WHERE r.record_id = i.record_id AND i.user_id = NEW.user_id AND i.source = NEW.kind || ':' || NEW.source_id;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER uncovered AFTER UPDATE OF privacy ON neurigraph.sources
FOR EACH ROW WHEN (old.privacy IS DISTINCT FROM new.privacy)
EXECUTE FUNCTION neurigraph.uncover_changed_source();

REVOKE ALL ON FUNCTION neurigraph.sees_digest(uuid), neurigraph.require_current_record(),
neurigraph.drop_uncovered_digests(), neurigraph.uncover_changed_record(), neurigraph.uncover_changed_source()
FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.sees_digest(uuid) TO neurigraph_agent, neurigraph_pipeline;
