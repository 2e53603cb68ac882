-- What was forgotten: receipts that name no more than ids, and the journal of the objects that are to be removed.

CREATE TYPE neurigraph.erasure_subject AS ENUM ('record', 'node', 'user');

CREATE TABLE neurigraph.erasures (
    erasure_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    -- No foreign key: the receipt outlives its user.
    user_id uuid NOT NULL,
    subject_kind neurigraph.erasure_subject NOT NULL,
    subject_id uuid NOT NULL,
    -- Through which face the owner asked for it.
    requested_through text NOT NULL,
    w_coordinate timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- How many rows of each kind, summed over the transactions that it took.
    erased jsonb NOT NULL DEFAULT '{}',
    -- Ids of what stays because something else needs it, by kind.
    kept jsonb NOT NULL DEFAULT '{}',
    rows_erased_at timestamptz,
    finished_at timestamptz,
    CHECK (finished_at IS NULL OR rows_erased_at IS NOT NULL)
);
CREATE UNIQUE INDEX erasures_under_way ON neurigraph.erasures (subject_kind, subject_id) WHERE finished_at IS NULL;
CREATE INDEX erasures_user_id ON neurigraph.erasures (user_id, w_coordinate);
CREATE INDEX erasures_subject_id ON neurigraph.erasures (subject_id);

CREATE TABLE neurigraph.erased_objects (
    erasure_id uuid NOT NULL REFERENCES neurigraph.erasures ON DELETE CASCADE,
    number bigint GENERATED ALWAYS AS IDENTITY,
    user_id uuid NOT NULL,
    -- Null once it is removed: keys are made of names.
    object_key text,
    -- Of the bytes as they lay in the store; null for what no row named, such as what a killed process left.
    sha256 bytea CHECK (octet_length(sha256) = 32),
    size_bytes bigint,
    PRIMARY KEY (erasure_id, number)
);
CREATE INDEX erased_objects_left ON neurigraph.erased_objects (erasure_id, number) WHERE object_key IS NOT NULL;

-- Whose deltas and entries these are, and which records another one took the place of: what is looked for when one of
-- them is forgotten.
CREATE INDEX delta_log_user_id ON neurigraph.delta_log (user_id);
CREATE INDEX delta_log_superseding ON neurigraph.delta_log ((delta_payload -> 'after' ->> 'superseded_by'))
WHERE delta_payload ->> 'operation' = 'supersede';
CREATE INDEX compression_state_log_user_id ON neurigraph.compression_state_log (user_id);

DO $$
DECLARE
    guarded text;
BEGIN
    FOREACH guarded IN ARRAY ARRAY['erasures', 'erased_objects'] LOOP
        EXECUTE format('ALTER TABLE neurigraph.%I ENABLE ROW LEVEL SECURITY', guarded);
        EXECUTE format('CREATE POLICY pipeline_all ON neurigraph.%I TO neurigraph_pipeline USING (true)', guarded);
        EXECUTE format(
            'CREATE POLICY own_rows ON neurigraph.%I TO neurigraph_agent '
            'USING (user_id = (SELECT neurigraph.asking_user_id()))', guarded
        );
        EXECUTE format('GRANT SELECT ON neurigraph.%I TO neurigraph_pipeline, neurigraph_agent', guarded);
    END LOOP;
END
$$;
