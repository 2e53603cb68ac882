-- Actions: changes that wait for a decision, because a standard requires an approval or because the pipeline is in
-- doubt. A row has ids, figures and words of closed vocabularies, never remembered text. A row is deleted with its
-- subject.
CREATE TABLE neurigraph.actions (
    action_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    kind text NOT NULL CHECK (kind IN (
        'store', 'delete', 'promote', 'archive', 'restore', 'supersede', 'link', 'merge_nodes', 'resolve', 'digest',
        'move'
    )),
    origin text NOT NULL CHECK (origin IN ('policy', 'doubt')),
    reason text NOT NULL CHECK (reason ~ '^[a-z][a-z_]{0,59}$'),
    -- The node whose standard applies: the node of the record, the node of the held note, or the subject itself.
    node_id uuid NOT NULL,
    -- The node that the first node is to be merged into or linked to.
    other_node_id uuid,
    record_id uuid REFERENCES neurigraph.record_index ON DELETE CASCADE,
    other_record_id uuid REFERENCES neurigraph.record_index ON DELETE CASCADE,
    fact_id uuid REFERENCES neurigraph.facts ON DELETE CASCADE,
    other_fact_id uuid REFERENCES neurigraph.facts ON DELETE CASCADE,
    -- The held note, and the number of its message.
    source_id uuid REFERENCES neurigraph.sources ON DELETE CASCADE,
    message integer CHECK (message > 0),
    -- Further values of this kind of action: numbers, booleans and single words.
    details jsonb NOT NULL DEFAULT '{}',
    -- The requester: a persona or a job of the pipeline. There is no foreign key, so that the actions of a deleted
    -- persona stay and are refused.
    persona_id uuid,
    job text CHECK (job ~ '^[a-z][a-z_]{0,59}$'),
    requested_by text NOT NULL GENERATED ALWAYS AS (coalesce('persona:' || persona_id::text, 'job:' || job)) STORED,
    requested_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz NOT NULL,
    -- A digest of the subject's state at the time of the proposal.
    expected text NOT NULL,
    state text NOT NULL DEFAULT 'open' CHECK (
        state IN ('open', 'approved', 'rejected', 'executed', 'failed', 'expired')
    ),
    decided_at timestamptz,
    finished_at timestamptz,
    -- The reason of a failure.
    failure text CHECK (failure ~ '^[a-z][a-z_]{0,59}$'),
    -- When somebody was notified that the action waits.
    told_at timestamptz,
    -- The key that recognises a repeated proposal, in either direction.
    digest text NOT NULL,
    UNIQUE (action_id, user_id),
    CHECK (num_nonnulls(persona_id, job) = 1),
    CHECK (expires_at > requested_at),
    CHECK ((state = 'open') = (decided_at IS NULL)),
    CHECK ((state IN ('open', 'approved')) = (finished_at IS NULL)),
    CHECK ((state = 'failed') = (failure IS NOT NULL)),
    CHECK ((kind = 'store') = (message IS NOT NULL)),
    CHECK (source_id IS NULL OR kind = 'store'),
    CHECK (fact_id IS NULL OR record_id IS NOT NULL),
    CHECK (other_fact_id IS NULL OR other_record_id IS NOT NULL),
    CONSTRAINT actions_have_no_words CHECK (
        jsonb_typeof(details) = 'object' AND octet_length(details::text) <= 4096
        AND NOT jsonb_path_exists(details, 'strict $.* ? (@.type() == "object" || @.type() == "array")')
        AND NOT jsonb_path_exists(
            details, 'strict $.* ? (@.type() == "string" && !(@ like_regex "^[A-Za-z0-9_:.+-]{1,100}$"))'
        )
    ),
    FOREIGN KEY (node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE,
    FOREIGN KEY (other_node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE
);
-- A proposal has at most one open or approved action.
CREATE UNIQUE INDEX actions_open_once ON neurigraph.actions (user_id, digest)
WHERE state IN ('open', 'approved');
CREATE INDEX actions_digest ON neurigraph.actions (user_id, digest);
CREATE INDEX actions_requested_at ON neurigraph.actions (user_id, requested_at, action_id);
CREATE INDEX actions_unfinished ON neurigraph.actions (expires_at) WHERE finished_at IS NULL;
CREATE INDEX actions_node_id ON neurigraph.actions (node_id);
CREATE INDEX actions_other_node_id ON neurigraph.actions (other_node_id) WHERE other_node_id IS NOT NULL;
CREATE INDEX actions_record_id ON neurigraph.actions (record_id) WHERE record_id IS NOT NULL;
CREATE INDEX actions_other_record_id ON neurigraph.actions (other_record_id)
WHERE other_record_id IS NOT NULL;
CREATE INDEX actions_fact_id ON neurigraph.actions (fact_id) WHERE fact_id IS NOT NULL;
CREATE INDEX actions_other_fact_id ON neurigraph.actions (other_fact_id) WHERE other_fact_id IS NOT NULL;
CREATE INDEX actions_source_id ON neurigraph.actions (source_id) WHERE source_id IS NOT NULL;

ALTER TABLE neurigraph.actions ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON neurigraph.actions TO neurigraph_agent;
GRANT SELECT, INSERT, UPDATE ON neurigraph.actions TO neurigraph_pipeline;

-- Replaced when it changes: functions, triggers, policies.

-- A write sets off webhooks of a new or decided action.

-- Trigger on actions: raise the event of an action that is opened, decided, carried out, failed or expired, unless its
-- subject is withheld.
CREATE OR REPLACE FUNCTION neurigraph_private.raise_action(
    operation text, old_row neurigraph.actions, new_row neurigraph.actions
) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    happened neurigraph.webhook_events;
BEGIN
    IF (operation = 'UPDATE' AND new_row.state = old_row.state) OR neurigraph.is_withheld(new_row.other_record_id, new_row.other_node_id)
        OR (new_row.source_id IS NOT NULL AND NOT neurigraph_private.is_shared(new_row.source_id))
    THEN
        RETURN;
    END IF;
    happened.event := 'action.' || CASE operation WHEN 'INSERT' THEN 'opened' ELSE new_row.state END;
    happened.user_id := new_row.user_id;
    happened.action_id := new_row.action_id;
    happened.node_id := new_row.node_id;
    happened.record_id := new_row.record_id;
    happened.fact_id := new_row.fact_id;
    happened.author := new_row.requested_by;
    PERFORM neurigraph_private.raise_event(happened);
END
$$;

CREATE OR REPLACE TRIGGER raised AFTER INSERT OR UPDATE OF state ON neurigraph.actions
FOR EACH ROW EXECUTE FUNCTION neurigraph.raise_event();

CREATE POLICY pipeline_all ON neurigraph.actions TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.actions TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));

-- A persona sees actions that it requested and actions that it may decide, if it sees all their subjects. Third parties
-- see no actions.
CREATE POLICY granted ON neurigraph.actions FOR SELECT TO neurigraph_agent
USING (
    action_id IN (SELECT neurigraph.actions_of_persona())
    AND node_id IN (SELECT neurigraph.readable_nodes())
    AND (other_node_id IS NULL OR other_node_id IN (SELECT neurigraph.readable_nodes()))
);

-- An action about a hidden record or fact is hidden with it; an action about a quarantined one also from the owner.
CREATE POLICY not_hidden ON neurigraph.actions AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (
    (record_id IS NULL OR EXISTS (SELECT FROM neurigraph.record_index AS r WHERE r.record_id = actions.record_id))
    AND (
        other_record_id IS NULL
        OR EXISTS (SELECT FROM neurigraph.record_index AS r WHERE r.record_id = actions.other_record_id)
    )
    AND (fact_id IS NULL OR EXISTS (SELECT FROM neurigraph.facts AS f WHERE f.fact_id = actions.fact_id))
    AND (other_fact_id IS NULL OR EXISTS (SELECT FROM neurigraph.facts AS f WHERE f.fact_id = actions.other_fact_id))
);

-- Callers limited to some spaces see no actions: nobody can trace an action to a record of these spaces.
CREATE POLICY traceable ON neurigraph.actions AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (
    (SELECT neurigraph.asking_tags() IS NULL)
    OR false
);
