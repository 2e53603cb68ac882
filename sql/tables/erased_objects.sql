-- The objects that an erasure removes.
CREATE TABLE neurigraph.erased_objects (
    erasure_id uuid NOT NULL REFERENCES neurigraph.erasures ON DELETE CASCADE,
    number bigint GENERATED ALWAYS AS IDENTITY,
    user_id uuid NOT NULL,
    -- The object key; null once the object is removed, because keys contain names.
    object_key text,
    -- SHA-256 of the stored bytes; null for an object without a row, such as an object that a killed process left
    -- behind.
    sha256 bytea CHECK (octet_length(sha256) = 32),
    size_bytes bigint,
    PRIMARY KEY (erasure_id, number)
);
CREATE INDEX erased_objects_left ON neurigraph.erased_objects (erasure_id, number) WHERE object_key IS NOT NULL;

ALTER TABLE neurigraph.erased_objects ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON neurigraph.erased_objects TO neurigraph_pipeline, neurigraph_agent;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.erased_objects TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.erased_objects TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));
