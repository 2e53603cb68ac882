-- What was retrieved: the log of retrievals, and canaries, which nobody should ever retrieve.

-- One row for each search, answer or opened file, if logging is on. No foreign keys to records: they may be forgotten
-- between the answer and its entry, and forgetting removes their ids from the log.
CREATE TABLE neurigraph.retrievals (
    retrieval_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    asked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    operation text NOT NULL CHECK (operation IN ('search', 'ask', 'open')),
    -- Who asked, from the claims: the owner of the graph, a persona (its node) or a third party (its name).
    role text NOT NULL,
    subject_id text NOT NULL,
    record_ids uuid [] NOT NULL,
    -- Null unless the settings ask for it.
    question text
);
-- Entries are read by user and time, and removed by time.
CREATE INDEX retrievals_user_id ON neurigraph.retrievals (user_id, asked_at);
CREATE INDEX retrievals_asked_at ON neurigraph.retrievals USING brin (asked_at);

-- Planted conversations. The first retrieval is written here, and no later one.
CREATE TABLE neurigraph.canaries (
    source_id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    planted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    retrieved_at timestamptz,
    role text,
    subject_id text,
    operation text,
    FOREIGN KEY (source_id, user_id) REFERENCES neurigraph.sources (source_id, user_id) ON DELETE CASCADE,
    CHECK (num_nulls(retrieved_at, role, subject_id, operation) IN (0, 4))
);
CREATE INDEX canaries_watched ON neurigraph.canaries (user_id) WHERE retrieved_at IS NULL;

ALTER TABLE neurigraph.retrievals ENABLE ROW LEVEL SECURITY;
ALTER TABLE neurigraph.canaries ENABLE ROW LEVEL SECURITY;

-- Entries are written by neurigraph.note_retrieval alone, so that no caller can write one in another's name.
GRANT SELECT ON neurigraph.retrievals, neurigraph.canaries TO neurigraph_pipeline, neurigraph_agent;
GRANT INSERT (source_id, user_id) ON neurigraph.canaries TO neurigraph_agent;
