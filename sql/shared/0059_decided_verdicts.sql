-- Verdicts on pairs of facts are shown as links: with an id, and with who confirmed them.

-- Follows from the pair, so a verdict has it again after a restore.
ALTER TABLE neurigraph.fact_verdicts
ADD COLUMN IF NOT EXISTS link_id uuid NOT NULL
GENERATED ALWAYS AS (md5(later_id::text || earlier_id::text)::uuid) STORED,
ADD COLUMN IF NOT EXISTS confirmed_at timestamptz,
ADD COLUMN IF NOT EXISTS confirmed_by text;
ALTER TABLE neurigraph.fact_verdicts DROP CONSTRAINT IF EXISTS fact_verdicts_decided_once;
ALTER TABLE neurigraph.fact_verdicts ADD CONSTRAINT fact_verdicts_decided_once CHECK (
    (confirmed_at IS NULL) = (confirmed_by IS NULL) AND (confirmed_at IS NULL OR undone_at IS NULL)
);
CREATE UNIQUE INDEX IF NOT EXISTS fact_verdicts_link_id ON neurigraph.fact_verdicts (link_id);
