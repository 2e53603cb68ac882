-- The append-only logs: changes of records, and changes of the state of files.

-- The state log of files. A function of the owner writes it.
CREATE TABLE neurigraph.compression_state_log (
    log_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    file_id uuid NOT NULL REFERENCES neurigraph.file_index ON DELETE CASCADE,
    -- The node that has the file now.
    node_id uuid NOT NULL REFERENCES neurigraph.graph_index ON DELETE CASCADE,
    event_type neurigraph.compression_event NOT NULL,
    triggered_by neurigraph.compression_cause NOT NULL,
    occurred_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    error_detail text,
    -- The order of a file's entries even if the clock is set back: the file is locked while they are numbered.
    entry bigint GENERATED ALWAYS AS IDENTITY,
    CHECK ((error_detail IS NOT NULL) = (event_type = 'failed'))
);
CREATE INDEX compression_state_log_file_id ON neurigraph.compression_state_log (file_id);
CREATE INDEX compression_state_log_node_id ON neurigraph.compression_state_log (node_id);
CREATE INDEX compression_state_log_user_id ON neurigraph.compression_state_log (user_id);
CREATE INDEX compression_state_log_event_type ON neurigraph.compression_state_log (event_type);
CREATE INDEX compression_state_log_occurred_at ON neurigraph.compression_state_log (occurred_at);

-- The changes of records: one chain a record, in the order of w. Only the function append_delta writes it.
CREATE TABLE neurigraph.delta_log (
    delta_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    record_id uuid NOT NULL REFERENCES neurigraph.record_index ON DELETE CASCADE,
    -- The time of the change, later than that of the delta before.
    w_coordinate timestamptz NOT NULL,
    -- {"operation", "before", "after", "notes"}: the changed fields with their old and new values.
    delta_payload jsonb NOT NULL,
    previous_delta_id uuid REFERENCES neurigraph.delta_log ON DELETE CASCADE,
    authored_by text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
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

ALTER TABLE neurigraph.compression_state_log ENABLE ROW LEVEL SECURITY;
ALTER TABLE neurigraph.delta_log ENABLE ROW LEVEL SECURITY;

GRANT SELECT ON neurigraph.compression_state_log, neurigraph.delta_log TO neurigraph_pipeline, neurigraph_agent;
