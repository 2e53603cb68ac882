-- Quarantine: memories that are kept and that no retrieval finds, until they are released.

-- Hidden from every caller. Set with the same column of the node's records.
ALTER TABLE neurigraph.record_index ADD COLUMN quarantined boolean NOT NULL DEFAULT false;
CREATE INDEX record_index_quarantined ON neurigraph.record_index (user_id, node_id) WHERE quarantined;
-- A node of which nothing is left but what records in quarantine made.
ALTER TABLE neurigraph.graph_index ADD COLUMN quarantined boolean NOT NULL DEFAULT false;

-- The log: what was put into quarantine, by whom, when and why. A quarantine is in force until it is released; what
-- meets it is hidden, also what is stored later.
CREATE TABLE neurigraph.quarantines (
    quarantine_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    -- What is met: all conditions that are set. A source has no foreign key, since the log outlives it.
    source_id uuid,
    key_id uuid,
    persona_id uuid,
    received_from timestamptz,
    received_until timestamptz,
    reason text NOT NULL CHECK (char_length(reason) BETWEEN 1 AND 500),
    requested_by text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    released_by text,
    released_at timestamptz,
    CHECK (num_nonnulls(source_id, key_id, persona_id, received_from, received_until) > 0),
    CHECK (received_until > received_from),
    CHECK ((released_at IS NULL) = (released_by IS NULL))
);
CREATE INDEX quarantines_in_force ON neurigraph.quarantines (user_id) WHERE released_at IS NULL;

-- The records that a quarantine in force holds. A record is visible again when none holds it.
CREATE TABLE neurigraph.quarantined_records (
    quarantine_id uuid NOT NULL REFERENCES neurigraph.quarantines ON DELETE CASCADE,
    record_id uuid NOT NULL REFERENCES neurigraph.record_index ON DELETE CASCADE,
    user_id uuid NOT NULL,
    PRIMARY KEY (quarantine_id, record_id)
);
CREATE INDEX quarantined_records_record_id ON neurigraph.quarantined_records (record_id);

-- The rows of the graph that a quarantine changed or deleted, as they were: a release puts them back unless they have
-- changed since. Erasures delete these rows, since they may contain erased words.
CREATE TABLE neurigraph.quarantine_changes (
    quarantine_id uuid NOT NULL REFERENCES neurigraph.quarantines ON DELETE CASCADE,
    user_id uuid NOT NULL,
    table_name text NOT NULL CHECK (table_name IN ('graph_index', 'node_edges', 'node_candidates')),
    row_id uuid NOT NULL,
    before jsonb NOT NULL,
    -- A digest of the row as the quarantine left it; null if it deleted the row.
    digest_after text,
    PRIMARY KEY (quarantine_id, table_name, row_id)
);

ALTER TABLE neurigraph.quarantines ENABLE ROW LEVEL SECURITY;
ALTER TABLE neurigraph.quarantined_records ENABLE ROW LEVEL SECURITY;
ALTER TABLE neurigraph.quarantine_changes ENABLE ROW LEVEL SECURITY;

GRANT SELECT ON neurigraph.quarantines, neurigraph.quarantined_records TO neurigraph_pipeline, neurigraph_agent;
GRANT SELECT, UPDATE ON neurigraph.quarantine_changes TO neurigraph_pipeline;
