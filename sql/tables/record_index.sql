-- The node of each record, and the guarantee that a segment is stored once. Triggers of node tables write the rows: a
-- foreign key from a node's table would lock all writers out while a node is provisioned.
CREATE TABLE neurigraph.record_index (
    record_id uuid PRIMARY KEY,
    node_id uuid NOT NULL,
    user_id uuid NOT NULL,
    source_id uuid NOT NULL,
    -- The kind of the source, which never changes.
    source_kind neurigraph.source_kind NOT NULL,
    -- SHA-256 of the segment's content.
    content_hash bytea NOT NULL CHECK (octet_length(content_hash) = 32),
    created_at timestamptz NOT NULL DEFAULT now(),
    -- Hidden from every caller. set_quarantined() sets the same column of the node's records.
    quarantined boolean NOT NULL DEFAULT false,
    -- Columns by which lists of records filter, with the values of the node's tables, so that a list reads no node
    -- schema. The trigger register_record writes them.
    content_type neurigraph.content_type,
    occurred_at timestamptz,
    superseded boolean,
    -- The entities and topics in lower case, each once.
    entity_keys text [] NOT NULL DEFAULT '{}',
    topic_keys text [] NOT NULL DEFAULT '{}',
    UNIQUE (user_id, source_id, content_hash),
    FOREIGN KEY (node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE,
    -- Checked at the end of a transaction, because an erasure removes both rows.
    FOREIGN KEY (source_id, user_id) REFERENCES neurigraph.sources (source_id, user_id)
        DEFERRABLE INITIALLY DEFERRED
);
CREATE INDEX record_index_node_id ON neurigraph.record_index (node_id);
-- A backfill by days reads this index.
CREATE INDEX record_index_created_at ON neurigraph.record_index (created_at, record_id);
CREATE INDEX record_index_quarantined ON neurigraph.record_index (user_id, node_id) WHERE quarantined;
CREATE INDEX record_index_newest ON neurigraph.record_index (user_id, created_at, record_id);

ALTER TABLE neurigraph.record_index ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON neurigraph.record_index TO neurigraph_pipeline, neurigraph_agent;
GRANT SELECT (
    record_id, node_id, user_id, source_id, source_kind, created_at, quarantined, content_type, occurred_at,
    superseded
) ON neurigraph.record_index TO neurigraph_analyst;

-- Replaced when it changes: functions, triggers, policies.

-- A write sets off new counts of evidence, digests, profiles, waiting verdicts and the nodes of the record's
-- actions; the refusal of changes in a mirror; webhooks of a deleted record.

-- Trigger on record_index: records enter and leave mirrors only by a pull. Digests and profiles follow the record.
-- Actions follow the record to another node, whose standard applies from then on. Facts of a record that is released
-- from quarantine, or that is no longer superseded, wait for verdicts again.
CREATE OR REPLACE FUNCTION neurigraph.follow_record() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        DELETE FROM neurigraph.digest_records AS r WHERE r.record_id = NEW.record_id;
        IF NEW.node_id <> OLD.node_id THEN
            PERFORM neurigraph_private.refuse_in_mirror(ARRAY[NEW.node_id, OLD.node_id]);
            UPDATE neurigraph.actions AS a SET node_id = NEW.node_id
            WHERE a.record_id = NEW.record_id AND a.node_id <> NEW.node_id;
        END IF;
        IF (OLD.quarantined AND NOT NEW.quarantined) OR (OLD.superseded AND NOT NEW.superseded) THEN
            PERFORM neurigraph_private.wait_for_verdicts(ARRAY(
                SELECT f.record_id FROM neurigraph.facts AS f WHERE f.record_id = NEW.record_id LIMIT 1
            ));
        END IF;
    ELSIF TG_OP = 'INSERT' THEN
        PERFORM neurigraph_private.refuse_in_mirror(ARRAY[NEW.node_id]);
    END IF;
    IF TG_OP = 'DELETE' OR (TG_OP = 'UPDATE' AND (OLD.node_id <> NEW.node_id OR NEW.quarantined)) THEN
        PERFORM neurigraph_private.outdate_profiles(OLD.node_id, OLD.source_id, true);
    END IF;
    IF TG_OP <> 'DELETE' AND NOT NEW.quarantined THEN
        PERFORM neurigraph_private.outdate_profiles(NEW.node_id, NEW.source_id, false);
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER followed AFTER INSERT OR DELETE ON neurigraph.record_index
FOR EACH ROW EXECUTE FUNCTION neurigraph.follow_record();

CREATE OR REPLACE TRIGGER followed_changed AFTER UPDATE OF node_id, quarantined, superseded ON neurigraph.record_index
FOR EACH ROW WHEN (
    old.node_id <> new.node_id OR old.quarantined <> new.quarantined OR old.superseded IS DISTINCT FROM new.superseded
)
EXECUTE FUNCTION neurigraph.follow_record();

-- Trigger on record_index: evidence and mentions of records that are hidden or superseded no longer count, so edges,
-- candidates and aliases are summed again.
CREATE OR REPLACE FUNCTION neurigraph.sum_changed_records() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    changed uuid [] := ARRAY(
        SELECT c.record_id FROM added_rows AS c INNER JOIN removed_rows AS g ON c.record_id = g.record_id
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
REFERENCING OLD TABLE AS removed_rows NEW TABLE AS added_rows
FOR EACH STATEMENT EXECUTE FUNCTION neurigraph.sum_changed_records();

-- Raise the event of a deleted record. Deleting a node raises the events of its records itself, because the path of the
-- node is no longer known here.
CREATE OR REPLACE FUNCTION neurigraph_private.raise_record_gone(old_row neurigraph.record_index) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    happened neurigraph.webhook_events;
BEGIN
    IF old_row.quarantined OR NOT neurigraph_private.is_shared(old_row.source_id)
        OR NOT EXISTS (SELECT FROM neurigraph.graph_index AS g WHERE g.node_id = old_row.node_id)
    THEN
        RETURN;
    END IF;
    happened.event := 'record.forgotten';
    happened.user_id := old_row.user_id;
    happened.record_id := old_row.record_id;
    happened.node_id := old_row.node_id;
    happened.author := neurigraph_private.current_author();
    PERFORM neurigraph_private.raise_event(happened);
END
$$;

CREATE OR REPLACE TRIGGER raised AFTER DELETE ON neurigraph.record_index
FOR EACH ROW EXECUTE FUNCTION neurigraph.raise_event();

REVOKE ALL ON FUNCTION neurigraph.follow_record(), neurigraph.sum_changed_records() FROM PUBLIC;

CREATE POLICY pipeline_all ON neurigraph.record_index TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY analyst_read ON neurigraph.record_index FOR SELECT TO neurigraph_analyst USING (true);
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
        OR source_id NOT IN (SELECT unnest((SELECT neurigraph.hidden_sources())))
    )
);
