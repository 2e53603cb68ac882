-- The node of each record, and the guarantee that a segment is stored once. Triggers of node tables write the rows: a
-- foreign key from there would lock all writers out while a node is provisioned.
CREATE TABLE neurigraph.record_index (
    record_id uuid PRIMARY KEY,
    node_id uuid NOT NULL,
    user_id uuid NOT NULL,
    -- Kind and id of the source: kind:uuid.
    source text NOT NULL,
    -- SHA-256 of the segment's content.
    content_hash bytea NOT NULL CHECK (octet_length(content_hash) = 32),
    created_at timestamptz NOT NULL DEFAULT now(),
    -- Hidden from every caller. Set with the same column of the node's records.
    quarantined boolean NOT NULL DEFAULT false,
    -- What lists of records filter by, as in the node's own tables, so that a list reads no node schema. The trigger
    -- register_record writes it.
    content_type neurigraph.content_type,
    occurred_at timestamptz,
    superseded boolean,
    -- The entities and topics in lower case, each once.
    entity_keys text [] NOT NULL DEFAULT '{}',
    topic_keys text [] NOT NULL DEFAULT '{}',
    UNIQUE (user_id, source, content_hash),
    FOREIGN KEY (node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE
);
CREATE INDEX record_index_node_id ON neurigraph.record_index (node_id);
-- A backfill by days walks over this index.
CREATE INDEX record_index_created_at ON neurigraph.record_index (created_at, record_id);
CREATE INDEX record_index_quarantined ON neurigraph.record_index (user_id, node_id) WHERE quarantined;
CREATE INDEX record_index_newest ON neurigraph.record_index (user_id, created_at, record_id);

ALTER TABLE neurigraph.record_index ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON neurigraph.record_index TO neurigraph_pipeline, neurigraph_agent;

-- Replaced when it changes: functions, triggers, policies.

-- A write sets off what follows from the record: counts of records, evidence, digests, profiles, waiting verdicts and
-- the nodes of its actions; the refusal of changes in a mirror; webhooks of a record that is gone.

-- Trigger on record_index: an action follows its record to another node, whose standard applies from then on.
CREATE OR REPLACE FUNCTION neurigraph.move_actions() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE neurigraph.actions AS a SET node_id = NEW.node_id
    WHERE a.record_id = NEW.record_id AND a.node_id <> NEW.node_id;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER actions_follow AFTER UPDATE OF node_id ON neurigraph.record_index
FOR EACH ROW WHEN (old.node_id <> new.node_id) EXECUTE FUNCTION neurigraph.move_actions();

CREATE OR REPLACE TRIGGER uncovered AFTER UPDATE OF node_id, quarantined, superseded ON neurigraph.record_index
FOR EACH ROW
WHEN (
    old.node_id <> new.node_id OR old.quarantined <> new.quarantined OR old.superseded IS DISTINCT FROM new.superseded
)
EXECUTE FUNCTION neurigraph.uncover_changed_record();

-- Trigger on record_index: records that are hidden or superseded count no more, and others may have been said later.
CREATE OR REPLACE FUNCTION neurigraph.sum_changed_records() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    changed uuid [] := ARRAY(
        SELECT c.record_id FROM come AS c INNER JOIN gone AS g ON c.record_id = g.record_id
        WHERE c.quarantined <> g.quarantined OR c.superseded IS DISTINCT FROM g.superseded
            OR c.occurred_at IS DISTINCT FROM g.occurred_at
    );
BEGIN
    IF changed <> '{}' THEN
        PERFORM neurigraph_private.sum_records(changed);
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER summed AFTER UPDATE ON neurigraph.record_index
REFERENCING OLD TABLE AS gone NEW TABLE AS come
FOR EACH STATEMENT EXECUTE FUNCTION neurigraph.sum_changed_records();

-- Trigger on record_index: records enter and leave mirrors only as at home.
CREATE OR REPLACE FUNCTION neurigraph.guard_mirrored_records() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM neurigraph_private.refuse_in_mirror(
        CASE WHEN TG_OP = 'UPDATE' THEN ARRAY[NEW.node_id, OLD.node_id] ELSE ARRAY[NEW.node_id] END
    );
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER guard_mirrors AFTER INSERT OR UPDATE OF node_id ON neurigraph.record_index
FOR EACH ROW EXECUTE FUNCTION neurigraph.guard_mirrored_records();

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

-- Trigger on record_index: count the records of users.
CREATE OR REPLACE FUNCTION neurigraph.count_records() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO neurigraph.user_statistics AS s (user_id, records, passages, lexemes)
    SELECT c.user_id, count(*), 0, 0 FROM changed AS c
    INNER JOIN neurigraph.users AS u ON c.user_id = u.user_id
    GROUP BY c.user_id
    ON CONFLICT (user_id) DO UPDATE SET
        records = s.records + CASE TG_OP WHEN 'DELETE' THEN -excluded.records ELSE excluded.records END;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER count_added AFTER INSERT ON neurigraph.record_index
REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION neurigraph.count_records();

CREATE OR REPLACE TRIGGER count_removed AFTER DELETE ON neurigraph.record_index
REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION neurigraph.count_records();

-- Trigger on record_index: the same for all facts of a record that is released, or that nothing supersedes any more.
CREATE OR REPLACE FUNCTION neurigraph.wait_with_record() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO neurigraph.pending_verdicts (record_id, user_id)
    SELECT NEW.record_id, NEW.user_id
    WHERE EXISTS (SELECT FROM neurigraph.facts AS f WHERE f.record_id = NEW.record_id)
    ON CONFLICT (record_id) DO UPDATE SET next_attempt_at = now(), attempts = 0;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER facts_wait_again AFTER UPDATE OF quarantined, superseded ON neurigraph.record_index
FOR EACH ROW WHEN ((old.quarantined AND NOT new.quarantined) OR (old.superseded AND NOT new.superseded))
EXECUTE FUNCTION neurigraph.wait_with_record();

-- Trigger on the registry of records: one is gone. The records of a node that goes are named with the node, because
-- its path is not known any more here.
CREATE OR REPLACE FUNCTION neurigraph.raise_record_gone() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    happened neurigraph.webhook_events;
BEGIN
    IF OLD.quarantined OR NOT neurigraph_private.is_shared(OLD.source)
        OR NOT EXISTS (SELECT FROM neurigraph.graph_index AS g WHERE g.node_id = OLD.node_id)
    THEN
        RETURN NULL;
    END IF;
    happened.event := 'record.forgotten';
    happened.user_id := OLD.user_id;
    happened.record_id := OLD.record_id;
    happened.node_id := OLD.node_id;
    happened.author := neurigraph_private.current_author();
    PERFORM neurigraph_private.raise_event(happened);
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER raised AFTER DELETE ON neurigraph.record_index
FOR EACH ROW EXECUTE FUNCTION neurigraph.raise_record_gone();

REVOKE ALL ON FUNCTION neurigraph.move_actions(), neurigraph.sum_changed_records(), neurigraph.guard_mirrored_records(),
neurigraph.outdate_profiles_of_record(), neurigraph.count_records(), neurigraph.wait_with_record(),
neurigraph.raise_record_gone() FROM PUBLIC;

CREATE POLICY pipeline_all ON neurigraph.record_index TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.record_index TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));

CREATE POLICY granted ON neurigraph.record_index FOR SELECT TO neurigraph_agent
USING (node_id IN (SELECT neurigraph.readable_nodes()));

CREATE POLICY not_hidden ON neurigraph.record_index AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (
    NOT quarantined
    AND (
        (SELECT neurigraph.sees_all_sources())
        OR split_part(source, ':', 2)::uuid NOT IN (SELECT unnest((SELECT neurigraph.hidden_sources())))
    )
);
