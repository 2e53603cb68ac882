-- The changes of facts after they were read or stated, in the order of w. A trigger writes the rows, and deleting a
-- fact deletes its rows.
CREATE TABLE neurigraph.fact_deltas (
    fact_id uuid NOT NULL REFERENCES neurigraph.facts ON DELETE CASCADE,
    w_coordinate timestamptz NOT NULL,
    user_id uuid NOT NULL,
    operation text NOT NULL CHECK (operation IN ('change', 'confirm', 'retract', 'restore', 'forget')),
    -- The changed fields with their old and new values.
    old_values jsonb NOT NULL,
    new_values jsonb NOT NULL,
    authored_by text NOT NULL,
    key_id uuid,
    PRIMARY KEY (fact_id, w_coordinate)
);
CREATE INDEX fact_deltas_user_id ON neurigraph.fact_deltas (user_id);

ALTER TABLE neurigraph.fact_deltas ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON neurigraph.fact_deltas TO neurigraph_agent, neurigraph_pipeline;

-- Replaced when it changes: functions, triggers, policies.

-- A write sets off webhooks of a changed fact.

-- Trigger on fact_deltas: raise the event of a changed fact.
CREATE OR REPLACE FUNCTION neurigraph_private.raise_fact_change(new_row neurigraph.fact_deltas) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM neurigraph_private.raise_fact_event(
        CASE new_row.operation
            WHEN 'change' THEN 'changed' WHEN 'confirm' THEN 'confirmed' WHEN 'retract' THEN 'retracted'
            WHEN 'restore' THEN 'restored' ELSE 'forgotten'
        END,
        f.fact_id, f.record_id, new_row.authored_by
    )
    FROM neurigraph.facts AS f WHERE f.fact_id = new_row.fact_id;
END
$$;

CREATE OR REPLACE TRIGGER raised AFTER INSERT ON neurigraph.fact_deltas
FOR EACH ROW EXECUTE FUNCTION neurigraph.raise_event();

CREATE POLICY pipeline_all ON neurigraph.fact_deltas TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.fact_deltas TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));

-- Changes of a fact are visible with the fact, except to third parties, who see facts only as they are now.
CREATE POLICY granted ON neurigraph.fact_deltas FOR SELECT TO neurigraph_agent
USING ((SELECT neurigraph.claims() ->> 'role') <> 'third_party');

CREATE POLICY not_hidden ON neurigraph.fact_deltas AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (EXISTS (SELECT FROM neurigraph.facts AS f WHERE f.fact_id = fact_deltas.fact_id));
