-- Verdicts on pairs of facts: what the later one means for the earlier one, and what followed from it. Records that
-- wait until their facts are compared with the known ones.

-- What a later fact means for an earlier one, with the reason, and what followed from it.
CREATE TABLE IF NOT EXISTS neurigraph.fact_verdicts (
    -- In the world's order, whichever of them arrived first.
    later_id uuid NOT NULL REFERENCES neurigraph.facts ON DELETE CASCADE,
    earlier_id uuid NOT NULL REFERENCES neurigraph.facts ON DELETE CASCADE,
    user_id uuid NOT NULL,
    verdict text NOT NULL CHECK (
        verdict IN ('same', 'updates', 'contradicts', 'elaborates', 'supports', 'depends_on')
    ),
    confidence real NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    reason text NOT NULL CHECK (char_length(reason) BETWEEN 1 AND 300),
    -- Why an update did not supersede by itself.
    missing text [] NOT NULL DEFAULT '{}',
    effect text NOT NULL CHECK (effect IN ('supersedes', 'disputes', 'flagged', 'none')),
    judged_by text NOT NULL,
    judged_at timestamptz NOT NULL DEFAULT now(),
    -- The one of the two that entered the other's chain of versions with this verdict.
    entered text CHECK (entered IN ('later', 'earlier')),
    -- When a person, or a later decision, took the effect back.
    undone_at timestamptz,
    undone_by text,
    PRIMARY KEY (later_id, earlier_id),
    CHECK (later_id <> earlier_id),
    CHECK (entered IS NULL OR effect = 'supersedes'),
    CHECK ((undone_at IS NULL) = (undone_by IS NULL)),
    CHECK ((verdict = 'updates') OR effect <> 'supersedes'),
    CHECK ((verdict = 'contradicts') OR effect <> 'disputes')
);
CREATE INDEX IF NOT EXISTS fact_verdicts_earlier_id ON neurigraph.fact_verdicts (earlier_id);
CREATE INDEX IF NOT EXISTS fact_verdicts_user_id ON neurigraph.fact_verdicts (user_id);

-- Records whose facts were not yet compared with the known ones.
CREATE TABLE IF NOT EXISTS neurigraph.pending_verdicts (
    record_id uuid PRIMARY KEY REFERENCES neurigraph.record_index ON DELETE CASCADE,
    user_id uuid NOT NULL,
    since timestamptz NOT NULL DEFAULT now(),
    attempts integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    -- A worker that takes the record moves this on, so it is also the worker's lease.
    next_attempt_at timestamptz NOT NULL DEFAULT now(),
    last_error text
);
CREATE INDEX IF NOT EXISTS pending_verdicts_due ON neurigraph.pending_verdicts (next_attempt_at);
CREATE INDEX IF NOT EXISTS pending_verdicts_user_id ON neurigraph.pending_verdicts (user_id);

-- Facts of a subject, by its first word: also of those who have a name in common.
CREATE INDEX IF NOT EXISTS facts_subject ON neurigraph.facts (user_id, split_part(lower(subject), ' ', 1))
WHERE subject IS NOT NULL;

ALTER TABLE neurigraph.fact_verdicts ENABLE ROW LEVEL SECURITY;
ALTER TABLE neurigraph.pending_verdicts ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON neurigraph.fact_verdicts, neurigraph.pending_verdicts TO neurigraph_agent;
GRANT SELECT, INSERT, UPDATE, DELETE ON neurigraph.fact_verdicts, neurigraph.pending_verdicts TO neurigraph_pipeline;

-- Until the policies of the routines are there, nothing is visible.
DROP POLICY IF EXISTS pipeline_all ON neurigraph.fact_verdicts;
CREATE POLICY pipeline_all ON neurigraph.fact_verdicts TO neurigraph_pipeline USING (true) WITH CHECK (true);
DROP POLICY IF EXISTS pipeline_all ON neurigraph.pending_verdicts;
CREATE POLICY pipeline_all ON neurigraph.pending_verdicts TO neurigraph_pipeline USING (true) WITH CHECK (true);

-- What is known already is compared, too.
INSERT INTO neurigraph.pending_verdicts (record_id, user_id)
SELECT DISTINCT f.record_id, f.user_id FROM neurigraph.facts AS f
ON CONFLICT DO NOTHING;
