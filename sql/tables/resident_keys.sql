-- Hashes of residents' keys, for keys that are too old to name their user.
CREATE TABLE neurigraph.resident_keys (
    key_hash bytea PRIMARY KEY,
    resident_id uuid NOT NULL REFERENCES neurigraph.residents ON DELETE CASCADE
);
CREATE INDEX resident_keys_resident ON neurigraph.resident_keys (resident_id);

GRANT SELECT, INSERT, UPDATE, DELETE ON neurigraph.resident_keys TO neurigraph_pipeline;
