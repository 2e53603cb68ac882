-- Facts: single statements that records make, and the records that wait to be read for them.

DO $$
BEGIN
    CREATE TYPE neurigraph.fact_kind AS ENUM (
        'event', 'state', 'preference', 'plan', 'decision', 'commitment', 'relation', 'quantity', 'other'
    );
    CREATE TYPE neurigraph.fact_stated_as AS ENUM ('statement', 'inference', 'observation');
    CREATE TYPE neurigraph.fact_impact AS ENUM ('high', 'medium', 'low');
EXCEPTION
    WHEN duplicate_object THEN NULL;
END
$$;

-- One table for all nodes: a fact belongs to its record, and goes, hides and moves with it.
CREATE TABLE IF NOT EXISTS neurigraph.facts (
    -- Follows from the record and the statement, so that reading a record again keeps the ids of what it still says.
    fact_id uuid PRIMARY KEY,
    record_id uuid NOT NULL REFERENCES neurigraph.record_index ON DELETE CASCADE,
    user_id uuid NOT NULL,
    -- The order within the record.
    seq integer NOT NULL CHECK (seq > 0),
    first_message integer NOT NULL CHECK (first_message > 0),
    last_message integer NOT NULL,
    -- Who said it.
    author text,
    statement text NOT NULL CHECK (char_length(statement) BETWEEN 1 AND 1000),
    kind neurigraph.fact_kind NOT NULL,
    stated_as neurigraph.fact_stated_as NOT NULL,
    -- The people that it is about; then the place, the reason and the manner.
    who text [] NOT NULL DEFAULT '{}' CHECK (cardinality(who) <= 20),
    where_context text,
    why text,
    how text,
    -- What it says of whom, if it has that form.
    subject text,
    predicate text,
    object text,
    -- When it happened or will happen. The length of the range is its precision.
    occurred tstzrange CHECK (NOT isempty(occurred)),
    expires_at timestamptz,
    confidence real NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    importance real NOT NULL CHECK (importance BETWEEN 0 AND 1),
    impact neurigraph.fact_impact NOT NULL,
    -- The language model that read the record.
    extractor text NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (record_id, seq),
    CHECK (last_message >= first_message),
    CHECK ((subject IS NULL) = (predicate IS NULL) AND (predicate IS NULL) = (object IS NULL))
);
CREATE INDEX IF NOT EXISTS facts_recorded_at ON neurigraph.facts (user_id, recorded_at, fact_id);
CREATE INDEX IF NOT EXISTS facts_who ON neurigraph.facts USING gin (who);

-- Records that wait to be read. Written by the commit, and by whoever wants a record read again.
CREATE TABLE IF NOT EXISTS neurigraph.pending_facts (
    record_id uuid PRIMARY KEY REFERENCES neurigraph.record_index ON DELETE CASCADE,
    user_id uuid NOT NULL,
    since timestamptz NOT NULL DEFAULT now(),
    attempts integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    -- A worker that takes the record moves this on, so it is also the worker's lease.
    next_attempt_at timestamptz NOT NULL DEFAULT now(),
    last_error text
);
CREATE INDEX IF NOT EXISTS pending_facts_due ON neurigraph.pending_facts (next_attempt_at);
CREATE INDEX IF NOT EXISTS pending_facts_user_id ON neurigraph.pending_facts (user_id);

ALTER TABLE neurigraph.facts ENABLE ROW LEVEL SECURITY;
ALTER TABLE neurigraph.pending_facts ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON neurigraph.facts TO neurigraph_agent;
GRANT SELECT ON neurigraph.pending_facts TO neurigraph_agent;
GRANT SELECT, INSERT, UPDATE, DELETE ON neurigraph.facts, neurigraph.pending_facts TO neurigraph_pipeline;

-- Until the policies of the routines are there, nothing is visible.
DROP POLICY IF EXISTS pipeline_all ON neurigraph.facts;
CREATE POLICY pipeline_all ON neurigraph.facts TO neurigraph_pipeline USING (true) WITH CHECK (true);
DROP POLICY IF EXISTS pipeline_all ON neurigraph.pending_facts;
CREATE POLICY pipeline_all ON neurigraph.pending_facts TO neurigraph_pipeline USING (true) WITH CHECK (true);

-- What was stored before is read, too.
INSERT INTO neurigraph.pending_facts (record_id, user_id)
SELECT r.record_id, r.user_id FROM neurigraph.record_index AS r
ON CONFLICT DO NOTHING;
