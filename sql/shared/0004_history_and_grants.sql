-- The append-only logs and the permission grants (specification, tables 4 to 6).

CREATE TABLE neurigraph.compression_state_log (
    log_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    file_id uuid NOT NULL REFERENCES neurigraph.file_index ON DELETE CASCADE,
    node_id uuid NOT NULL REFERENCES neurigraph.graph_index ON DELETE CASCADE,
    event_type neurigraph.compression_event NOT NULL,
    triggered_by neurigraph.compression_cause NOT NULL,
    occurred_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    error_detail text,
    CHECK ((error_detail IS NOT NULL) = (event_type = 'failed'))
);
CREATE INDEX compression_state_log_file_id ON neurigraph.compression_state_log (file_id);
CREATE INDEX compression_state_log_node_id ON neurigraph.compression_state_log (node_id);
CREATE INDEX compression_state_log_event_type ON neurigraph.compression_state_log (event_type);
CREATE INDEX compression_state_log_occurred_at ON neurigraph.compression_state_log (occurred_at);

CREATE TABLE neurigraph.delta_log (
    delta_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    record_id uuid NOT NULL REFERENCES neurigraph.record_index ON DELETE CASCADE,
    w_coordinate timestamptz NOT NULL,
    delta_payload jsonb NOT NULL,
    previous_delta_id uuid REFERENCES neurigraph.delta_log ON DELETE CASCADE,
    authored_by text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX delta_log_record_id ON neurigraph.delta_log (record_id);
CREATE INDEX delta_log_w_coordinate ON neurigraph.delta_log (w_coordinate);
-- A chain has one beginning, and no delta has two successors.
CREATE UNIQUE INDEX delta_log_one_beginning ON neurigraph.delta_log (record_id) WHERE previous_delta_id IS NULL;
CREATE UNIQUE INDEX delta_log_one_successor ON neurigraph.delta_log (previous_delta_id);

-- Erasure is the owner's alone, and only when it says so for the transaction.
CREATE FUNCTION neurigraph.refuse_change() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'DELETE'
        AND current_user = 'neurigraph_owner'
        AND current_setting('neurigraph.erasing', true) = 'on'
    THEN
        RETURN OLD;
    END IF;
    RAISE insufficient_privilege USING MESSAGE = format('%s is append-only', TG_TABLE_NAME);
END
$$;

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON neurigraph.compression_state_log
FOR EACH ROW EXECUTE FUNCTION neurigraph.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON neurigraph.compression_state_log
FOR EACH STATEMENT EXECUTE FUNCTION neurigraph.refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON neurigraph.delta_log
FOR EACH ROW EXECUTE FUNCTION neurigraph.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON neurigraph.delta_log
FOR EACH STATEMENT EXECUTE FUNCTION neurigraph.refuse_change();

CREATE TABLE neurigraph.permission_grants (
    grant_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    subject_id text NOT NULL CHECK (subject_id <> ''),
    subject_type neurigraph.subject_type NOT NULL,
    target_node_id uuid NOT NULL,
    grant_type neurigraph.grant_type NOT NULL,
    grantor_user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    granted_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    revoked_at timestamptz,
    CONSTRAINT the_grantor_owns_the_graph CHECK (grantor_user_id = user_id),
    CONSTRAINT third_parties_only_read CHECK (subject_type <> 'third_party' OR grant_type = 'read'),
    FOREIGN KEY (target_node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE
);
CREATE INDEX permission_grants_subject_id ON neurigraph.permission_grants (subject_id);
CREATE INDEX permission_grants_target_node_id ON neurigraph.permission_grants (target_node_id);
CREATE INDEX permission_grants_subject_type ON neurigraph.permission_grants (subject_type);
CREATE INDEX permission_grants_revoked_at ON neurigraph.permission_grants (revoked_at);

CREATE TABLE neurigraph.api_keys (
    key_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    -- SHA-256 of a key with 256 random bits: nothing to guess, so no slow hash is needed.
    key_hash bytea NOT NULL UNIQUE CHECK (octet_length(key_hash) = 32),
    label text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    revoked_at timestamptz
);
CREATE INDEX api_keys_user_id ON neurigraph.api_keys (user_id);
