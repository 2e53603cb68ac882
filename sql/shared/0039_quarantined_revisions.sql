-- Quarantine of revisions: which key made each change of a record, and changes that a quarantine hides.

-- The key of the caller who made the change; null for jobs, the command line, and deltas from before.
ALTER TABLE neurigraph.delta_log ADD COLUMN key_id uuid;

-- The deltas that a quarantine in force hides. A record shows what the other deltas make of it. Those that a quarantine
-- itself appended to that end (reverts) are hidden with them.
CREATE TABLE neurigraph.quarantined_deltas (
    quarantine_id uuid NOT NULL REFERENCES neurigraph.quarantines ON DELETE CASCADE,
    delta_id uuid NOT NULL REFERENCES neurigraph.delta_log ON DELETE CASCADE,
    record_id uuid NOT NULL REFERENCES neurigraph.record_index ON DELETE CASCADE,
    user_id uuid NOT NULL,
    reverts boolean NOT NULL DEFAULT false,
    PRIMARY KEY (quarantine_id, delta_id)
);
CREATE INDEX quarantined_deltas_delta_id ON neurigraph.quarantined_deltas (delta_id);
CREATE INDEX quarantined_deltas_record_id ON neurigraph.quarantined_deltas (record_id);
CREATE INDEX quarantined_deltas_user_id ON neurigraph.quarantined_deltas (user_id);

-- Vectors of summaries that are not shown while a quarantine is in force: a release needs no embedder.
CREATE TABLE neurigraph.quarantined_vectors (
    record_id uuid NOT NULL REFERENCES neurigraph.record_index ON DELETE CASCADE,
    summary_digest text NOT NULL,
    user_id uuid NOT NULL,
    embedding text NOT NULL,
    embedding_model text NOT NULL,
    embedding_next text,
    embedding_next_model text,
    PRIMARY KEY (record_id, summary_digest)
);

ALTER TABLE neurigraph.quarantined_deltas ENABLE ROW LEVEL SECURITY;
ALTER TABLE neurigraph.quarantined_vectors ENABLE ROW LEVEL SECURITY;

GRANT SELECT ON neurigraph.quarantined_deltas TO neurigraph_pipeline, neurigraph_agent;
GRANT SELECT ON neurigraph.quarantined_vectors TO neurigraph_pipeline;
