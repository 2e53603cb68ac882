-- One receipt for each record, node or user that was forgotten.
CREATE TABLE neurigraph.erasures (
    erasure_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    -- Without a foreign key: the receipt outlives its user.
    user_id uuid NOT NULL,
    subject_kind neurigraph.erasure_subject NOT NULL,
    subject_id uuid NOT NULL,
    -- The interface that the owner used.
    requested_through text NOT NULL,
    w_coordinate timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Numbers of erased rows by kind, summed over all transactions.
    erased jsonb NOT NULL DEFAULT '{}',
    -- Ids, by kind, of rows that stay because others need them.
    kept jsonb NOT NULL DEFAULT '{}',
    rows_erased_at timestamptz,
    finished_at timestamptz,
    CHECK (finished_at IS NULL OR rows_erased_at IS NOT NULL)
);
CREATE UNIQUE INDEX erasures_under_way ON neurigraph.erasures (subject_kind, subject_id) WHERE finished_at IS NULL;
CREATE INDEX erasures_user_id ON neurigraph.erasures (user_id, w_coordinate);
CREATE INDEX erasures_subject_id ON neurigraph.erasures (subject_id);

ALTER TABLE neurigraph.erasures ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON neurigraph.erasures TO neurigraph_pipeline, neurigraph_agent;

-- Replaced when it changes: functions, triggers, policies.

-- A write sets off webhooks of a finished erasure.

-- Trigger on receipts: raise the event of a complete erasure, which names the receipt.
CREATE OR REPLACE FUNCTION neurigraph_private.raise_erasure(new_row neurigraph.erasures) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    happened neurigraph.webhook_events;
BEGIN
    happened.event := 'erasure.finished';
    happened.user_id := new_row.user_id;
    happened.erasure_id := new_row.erasure_id;
    PERFORM neurigraph_private.raise_event(happened);
END
$$;

CREATE OR REPLACE TRIGGER raised AFTER UPDATE OF finished_at ON neurigraph.erasures
FOR EACH ROW WHEN (old.finished_at IS NULL AND new.finished_at IS NOT NULL) EXECUTE FUNCTION neurigraph.raise_event();

CREATE POLICY pipeline_all ON neurigraph.erasures TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.erasures TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));
