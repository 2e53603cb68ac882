-- The changes of records: one chain a record, in the order of w. Only the function append_delta writes rows.
CREATE TABLE neurigraph.delta_log (
    delta_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    record_id uuid NOT NULL REFERENCES neurigraph.record_index ON DELETE CASCADE,
    -- The time of the change, always later than the time of the delta before.
    w_coordinate timestamptz NOT NULL,
    -- {"operation", "before", "after", "notes"}: the changed fields with their old and new values.
    delta_payload jsonb NOT NULL,
    previous_delta_id uuid REFERENCES neurigraph.delta_log ON DELETE CASCADE,
    -- The author as a name for readers, such as user:ID, pipeline:MODEL or quarantine:ID.
    authored_by text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The key of the caller who made the change; null for jobs, the command line, and deltas from before keys were
    -- recorded.
    key_id uuid
);
CREATE INDEX delta_log_record_id ON neurigraph.delta_log (record_id);
CREATE INDEX delta_log_w_coordinate ON neurigraph.delta_log (w_coordinate);
-- A chain has one first delta, no delta has two successors, and no two have the same time.
CREATE UNIQUE INDEX delta_log_one_beginning ON neurigraph.delta_log (record_id) WHERE previous_delta_id IS NULL;
CREATE UNIQUE INDEX delta_log_one_successor ON neurigraph.delta_log (previous_delta_id);
CREATE UNIQUE INDEX delta_log_chain ON neurigraph.delta_log (record_id, w_coordinate);
-- Erasure looks up the deltas of a user, and the records that an erased record supersedes.
CREATE INDEX delta_log_user_id ON neurigraph.delta_log (user_id);
CREATE INDEX delta_log_superseding ON neurigraph.delta_log ((delta_payload -> 'after' ->> 'superseded_by'))
WHERE delta_payload ->> 'operation' = 'supersede';

ALTER TABLE neurigraph.delta_log ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON neurigraph.delta_log TO neurigraph_pipeline, neurigraph_agent;

-- Replaced when it changes: functions, triggers, policies.

-- A write sets off webhooks of a changed record; changes and removals are refused.

CREATE OR REPLACE TRIGGER append_only BEFORE UPDATE OR DELETE ON neurigraph.delta_log
FOR EACH ROW EXECUTE FUNCTION neurigraph.refuse_change();

CREATE OR REPLACE TRIGGER append_only_truncate BEFORE TRUNCATE ON neurigraph.delta_log
FOR EACH STATEMENT EXECUTE FUNCTION neurigraph.refuse_change();

-- Raise the event of a record's change. Changes of vectors, tiers and the archive raise no event, because they concern
-- only this installation.
CREATE OR REPLACE FUNCTION neurigraph_private.raise_record_change(new_row neurigraph.delta_log) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    happened neurigraph.webhook_events;
BEGIN
    happened.event := 'record.' || CASE new_row.delta_payload ->> 'operation'
        WHEN 'create' THEN 'stored' WHEN 'revise' THEN 'revised' WHEN 'supersede' THEN 'superseded'
        WHEN 'restore' THEN 'restored' WHEN 'move' THEN 'moved'
    END;
    IF happened.event IS NULL THEN
        RETURN;
    END IF;
    happened.user_id := new_row.user_id;
    happened.record_id := new_row.record_id;
    happened.node_id := (SELECT i.node_id FROM neurigraph.record_index AS i WHERE i.record_id = new_row.record_id);
    happened.author := new_row.authored_by;
    IF happened.event = 'record.stored' THEN
        happened.author := neurigraph_private.sender_of(new_row.record_id);
    ELSIF happened.event = 'record.superseded' THEN
        happened.other_id := (
            SELECT i.record_id FROM neurigraph.record_index AS i
            WHERE i.record_id::text = new_row.delta_payload -> 'after' ->> 'superseded_by'
                AND NOT neurigraph.is_withheld(i.record_id, i.node_id)
        );
    END IF;
    PERFORM neurigraph_private.raise_event(happened);
END
$$;

CREATE OR REPLACE TRIGGER raised AFTER INSERT ON neurigraph.delta_log
FOR EACH ROW EXECUTE FUNCTION neurigraph.raise_event();

CREATE POLICY pipeline_all ON neurigraph.delta_log TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.delta_log TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));

-- Whether a record was split at a moment or later: its deltas until then tell of messages that it no longer has.
CREATE OR REPLACE FUNCTION neurigraph.is_split_since(wanted uuid, moment timestamptz) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM neurigraph.delta_log AS d
        WHERE d.record_id = wanted AND d.w_coordinate >= moment AND d.delta_payload ->> 'operation' = 'split'
    )
$$;

REVOKE ALL ON FUNCTION neurigraph.is_split_since(uuid, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.is_split_since(uuid, timestamptz) TO neurigraph_agent;

CREATE POLICY granted ON neurigraph.delta_log FOR SELECT TO neurigraph_agent
-- A third party sees memories only as they are now: words that were removed before sharing stay hidden. So do words of
-- messages that a split took to a node which others may not read.
USING (
    (SELECT neurigraph.claims() ->> 'role') <> 'third_party'
    AND EXISTS (SELECT FROM neurigraph.record_index AS r WHERE r.record_id = delta_log.record_id)
    AND NOT neurigraph.is_split_since(record_id, w_coordinate)
);

-- The logs of records and files in quarantine are hidden from the owner, too, and so are nodes that only quarantined
-- records made.
CREATE POLICY not_hidden ON neurigraph.delta_log AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (
    (
        (SELECT neurigraph.sees_all_records())
        OR record_id IN (SELECT r.record_id FROM neurigraph.record_index AS r)
    )
    AND delta_id <> ALL((SELECT neurigraph.hidden_deltas())::uuid [])
);
