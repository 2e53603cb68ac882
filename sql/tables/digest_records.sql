-- The records that a digest is derived from. Deleting one of these rows deletes the digest.
CREATE TABLE neurigraph.digest_records (
    digest_id uuid NOT NULL,
    record_id uuid NOT NULL REFERENCES neurigraph.record_index ON DELETE CASCADE,
    user_id uuid NOT NULL,
    PRIMARY KEY (digest_id, record_id),
    FOREIGN KEY (digest_id, user_id) REFERENCES neurigraph.digests (digest_id, user_id) ON DELETE CASCADE
);
CREATE INDEX digest_records_record_id ON neurigraph.digest_records (record_id);
CREATE INDEX digest_records_user_id ON neurigraph.digest_records (user_id);

ALTER TABLE neurigraph.digest_records ENABLE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON neurigraph.digest_records TO neurigraph_pipeline;
GRANT SELECT ON neurigraph.digest_records TO neurigraph_agent;

-- Replaced when it changes: functions, triggers, policies.

-- A write sets off the refusal of a record that is not current; deleting a row sets off deleting its digest.

-- Trigger on digest_records: delete a digest with the first of its rows. A digest covers only current records of its
-- user, and a shared digest covers no private source. Concurrent changes of a record or source wait for the locks, and
-- then find this digest.
CREATE OR REPLACE FUNCTION neurigraph.guard_digest() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        DELETE FROM neurigraph.digests AS d WHERE d.digest_id = OLD.digest_id;
        RETURN NULL;
    END IF;
    PERFORM FROM neurigraph.record_index AS i
    WHERE i.record_id = NEW.record_id AND i.user_id = NEW.user_id AND NOT i.quarantined AND i.superseded IS NOT TRUE
    FOR SHARE;
    IF NOT FOUND THEN
        RAISE check_violation USING MESSAGE = format('the record %s is not current', NEW.record_id);
    END IF;
    PERFORM FROM neurigraph.sources AS s
    WHERE s.source_id = (
        SELECT i.source_id FROM neurigraph.record_index AS i WHERE i.record_id = NEW.record_id
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
FOR EACH ROW EXECUTE FUNCTION neurigraph.guard_digest();

CREATE OR REPLACE TRIGGER uncovered AFTER DELETE ON neurigraph.digest_records
FOR EACH ROW EXECUTE FUNCTION neurigraph.guard_digest();

REVOKE ALL ON FUNCTION neurigraph.guard_digest() FROM PUBLIC;

CREATE POLICY pipeline_all ON neurigraph.digest_records TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.digest_records TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));

CREATE POLICY granted ON neurigraph.digest_records FOR SELECT TO neurigraph_agent
USING (neurigraph.sees_digest(digest_id));
