-- The states of facts: versions, what people decide about them, and what each change was. Facts that people state by
-- hand are notes, whose row says what the fact has besides its words.

DO $$
BEGIN
    CREATE TYPE neurigraph.fact_status AS ENUM ('active', 'disputed', 'archived');
EXCEPTION
    WHEN duplicate_object THEN NULL;
END
$$;
ALTER TYPE neurigraph.erasure_subject ADD VALUE IF NOT EXISTS 'fact';

-- A chain of versions has one root. The next version that stands supersedes the one before: this is not stored again.
ALTER TABLE neurigraph.facts
ADD COLUMN IF NOT EXISTS root_id uuid,
ADD COLUMN IF NOT EXISTS version integer NOT NULL DEFAULT 1 CHECK (version > 0),
-- What people, or later verdicts, say of it. A retracted fact is archived.
ADD COLUMN IF NOT EXISTS status neurigraph.fact_status NOT NULL DEFAULT 'active',
ADD COLUMN IF NOT EXISTS confirmed_at timestamptz,
-- When it stopped being true, if somebody said so.
ADD COLUMN IF NOT EXISTS valid_until timestamptz,
ADD COLUMN IF NOT EXISTS pinned boolean NOT NULL DEFAULT false,
ADD COLUMN IF NOT EXISTS tags text [] NOT NULL DEFAULT '{}' CHECK (cardinality(tags) <= 20),
ADD COLUMN IF NOT EXISTS metadata jsonb NOT NULL DEFAULT '{}',
ADD COLUMN IF NOT EXISTS updated_at timestamptz NOT NULL DEFAULT now(),
-- From this time on it is hidden, and 30 days later erased; the sweep notes when and why it hid it.
ADD COLUMN IF NOT EXISTS forget_after timestamptz,
ADD COLUMN IF NOT EXISTS forgotten_at timestamptz,
ADD COLUMN IF NOT EXISTS forget_reason text;
UPDATE neurigraph.facts SET root_id = fact_id
WHERE root_id IS NULL;
ALTER TABLE neurigraph.facts ALTER COLUMN root_id SET NOT NULL;

ALTER TABLE neurigraph.facts DROP CONSTRAINT IF EXISTS facts_first_is_root;
ALTER TABLE neurigraph.facts ADD CONSTRAINT facts_first_is_root CHECK ((version = 1) = (root_id = fact_id));
ALTER TABLE neurigraph.facts DROP CONSTRAINT IF EXISTS facts_one_of_a_version;
-- Deferred: when a version goes, the ones after it move up together.
ALTER TABLE neurigraph.facts ADD CONSTRAINT facts_one_of_a_version UNIQUE (root_id, version)
DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE neurigraph.facts DROP CONSTRAINT IF EXISTS facts_record_id_seq_key;
ALTER TABLE neurigraph.facts ADD CONSTRAINT facts_record_id_seq_key UNIQUE (record_id, seq)
DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE neurigraph.facts DROP CONSTRAINT IF EXISTS facts_forgotten_for_a_reason;
ALTER TABLE neurigraph.facts ADD CONSTRAINT facts_forgotten_for_a_reason
CHECK ((forgotten_at IS NULL) = (forget_reason IS NULL) AND forget_reason <> '');
-- Flat, and at most 16 KiB.
ALTER TABLE neurigraph.facts DROP CONSTRAINT IF EXISTS facts_flat_metadata;
ALTER TABLE neurigraph.facts ADD CONSTRAINT facts_flat_metadata CHECK (
    jsonb_typeof(metadata) = 'object' AND octet_length(metadata::text) <= 16384
    AND NOT jsonb_path_exists(metadata, 'strict $.* ? (@.type() == "object" || @.type() == "array")')
);
-- Facts that say the same, without regard to case and the last stop.
CREATE INDEX IF NOT EXISTS facts_restated ON neurigraph.facts (user_id, md5(rtrim(lower(statement), '.! ')));
CREATE INDEX IF NOT EXISTS facts_tags ON neurigraph.facts USING gin (tags);
CREATE INDEX IF NOT EXISTS facts_to_forget ON neurigraph.facts (forget_after) WHERE forget_after IS NOT NULL;

-- The changes of facts after they were read or stated, in the order of w. A trigger writes them; they go with the fact.
CREATE TABLE IF NOT EXISTS neurigraph.fact_deltas (
    fact_id uuid NOT NULL REFERENCES neurigraph.facts ON DELETE CASCADE,
    w_coordinate timestamptz NOT NULL,
    user_id uuid NOT NULL,
    operation text NOT NULL CHECK (operation IN ('change', 'confirm', 'retract', 'restore', 'forget')),
    -- The changed fields with their old and new values.
    old_values jsonb NOT NULL,
    new_values jsonb NOT NULL,
    authored_by text NOT NULL,
    key_id uuid,
    PRIMARY KEY (fact_id, w_coordinate)
);
CREATE INDEX IF NOT EXISTS fact_deltas_user_id ON neurigraph.fact_deltas (user_id);

-- Statements that were forgotten alone, as digests, so that reading their record again does not bring them back.
CREATE TABLE IF NOT EXISTS neurigraph.forgotten_facts (
    record_id uuid NOT NULL REFERENCES neurigraph.record_index ON DELETE CASCADE,
    digest text NOT NULL,
    user_id uuid NOT NULL,
    PRIMARY KEY (record_id, digest)
);
CREATE INDEX IF NOT EXISTS forgotten_facts_user_id ON neurigraph.forgotten_facts (user_id);

ALTER TABLE neurigraph.notes
-- What the fact that this note states has besides its words; null for other notes.
ADD COLUMN IF NOT EXISTS fact jsonb CHECK (jsonb_typeof(fact) = 'object'),
-- The fact that it is the next version of.
ADD COLUMN IF NOT EXISTS follows uuid REFERENCES neurigraph.facts ON DELETE SET NULL;
CREATE INDEX IF NOT EXISTS notes_follows ON neurigraph.notes (follows) WHERE follows IS NOT NULL;

ALTER TABLE neurigraph.fact_deltas ENABLE ROW LEVEL SECURITY;
ALTER TABLE neurigraph.forgotten_facts ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON neurigraph.fact_deltas TO neurigraph_agent, neurigraph_pipeline;
GRANT SELECT, INSERT ON neurigraph.forgotten_facts TO neurigraph_pipeline;
