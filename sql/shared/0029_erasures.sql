-- Erasures: receipts that contain ids only, and the journal of objects to remove.

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
    -- Ids, by kind, of what stays because something else needs it.
    kept jsonb NOT NULL DEFAULT '{}',
    rows_erased_at timestamptz,
    finished_at timestamptz,
    CHECK (finished_at IS NULL OR rows_erased_at IS NOT NULL)
);
CREATE UNIQUE INDEX erasures_under_way ON neurigraph.erasures (subject_kind, subject_id) WHERE finished_at IS NULL;
CREATE INDEX erasures_user_id ON neurigraph.erasures (user_id, w_coordinate);
CREATE INDEX erasures_subject_id ON neurigraph.erasures (subject_id);

-- The objects of an erasure.
CREATE TABLE neurigraph.erased_objects (
    erasure_id uuid NOT NULL REFERENCES neurigraph.erasures ON DELETE CASCADE,
    number bigint GENERATED ALWAYS AS IDENTITY,
    user_id uuid NOT NULL,
    -- Null once the object is removed, because keys contain names.
    object_key text,
    -- SHA-256 of the stored bytes; null for an object without a row, such as one that a killed process left behind.
    sha256 bytea CHECK (octet_length(sha256) = 32),
    size_bytes bigint,
    PRIMARY KEY (erasure_id, number)
);
CREATE INDEX erased_objects_left ON neurigraph.erased_objects (erasure_id, number) WHERE object_key IS NOT NULL;

ALTER TABLE neurigraph.erasures ENABLE ROW LEVEL SECURITY;
ALTER TABLE neurigraph.erased_objects ENABLE ROW LEVEL SECURITY;

GRANT SELECT ON neurigraph.erasures, neurigraph.erased_objects TO neurigraph_pipeline, neurigraph_agent;
