-- Verdicts: the relation of a later fact to an earlier one, its reason, and its effect.
CREATE TABLE neurigraph.fact_verdicts (
    -- Later and earlier by the time in the world, not by the time of arrival.
    later_id uuid NOT NULL REFERENCES neurigraph.facts ON DELETE CASCADE,
    earlier_id uuid NOT NULL REFERENCES neurigraph.facts ON DELETE CASCADE,
    user_id uuid NOT NULL,
    verdict text NOT NULL CHECK (
        verdict IN ('same', 'updates', 'contradicts', 'elaborates', 'supports', 'depends_on')
    ),
    confidence real NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    reason text NOT NULL CHECK (char_length(reason) BETWEEN 1 AND 300),
    -- The missing conditions, if an update did not supersede the earlier fact by itself.
    missing text [] NOT NULL DEFAULT '{}',
    effect text NOT NULL CHECK (effect IN ('supersedes', 'disputes', 'flagged', 'none')),
    judged_by text NOT NULL,
    judged_at timestamptz NOT NULL DEFAULT now(),
    -- The fact, later or earlier, that entered the other fact's chain of versions with this verdict.
    entered text CHECK (entered IN ('later', 'earlier')),
    -- When a person, or a later decision, took back the effect.
    undone_at timestamptz,
    undone_by text,
    -- Derived from the pair, so a verdict has the same id after a restore.
    link_id uuid NOT NULL
    GENERATED ALWAYS AS (md5(later_id::text || earlier_id::text)::uuid) STORED,
    confirmed_at timestamptz,
    confirmed_by text,
    PRIMARY KEY (later_id, earlier_id),
    CHECK (later_id <> earlier_id),
    CHECK (entered IS NULL OR effect = 'supersedes'),
    CHECK ((undone_at IS NULL) = (undone_by IS NULL)),
    CHECK ((verdict = 'updates') OR effect <> 'supersedes'),
    CHECK ((verdict = 'contradicts') OR effect <> 'disputes'),
    CONSTRAINT fact_verdicts_decided_once CHECK (
        (confirmed_at IS NULL) = (confirmed_by IS NULL) AND (confirmed_at IS NULL OR undone_at IS NULL)
    )
);
CREATE INDEX fact_verdicts_earlier_id ON neurigraph.fact_verdicts (earlier_id);
CREATE INDEX fact_verdicts_user_id ON neurigraph.fact_verdicts (user_id);
CREATE UNIQUE INDEX fact_verdicts_link_id ON neurigraph.fact_verdicts (link_id);

ALTER TABLE neurigraph.fact_verdicts ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON neurigraph.fact_verdicts TO neurigraph_agent;
GRANT SELECT, INSERT, UPDATE, DELETE ON neurigraph.fact_verdicts TO neurigraph_pipeline;

-- Replaced when it changes: functions, triggers, policies.

-- A write sets off a new version of cached answers, and webhooks of a fact that is superseded or disputed.

CREATE OR REPLACE TRIGGER note_change AFTER INSERT OR DELETE OR UPDATE ON neurigraph.fact_verdicts
FOR EACH ROW EXECUTE FUNCTION neurigraph.note_row_change();

-- Trigger on verdicts: raise the event of a fact that another fact supersedes or disputes, if neither is withheld.
CREATE OR REPLACE FUNCTION neurigraph_private.raise_verdict(new_row neurigraph.fact_verdicts) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM neurigraph_private.raise_fact_event(
        CASE new_row.effect WHEN 'supersedes' THEN 'superseded' ELSE 'disputed' END,
        e.fact_id, e.record_id, 'pipeline', l.fact_id
    )
    FROM neurigraph.facts AS e, neurigraph.facts AS l
    WHERE e.fact_id = new_row.earlier_id AND l.fact_id = new_row.later_id AND NOT neurigraph.is_withheld(l.record_id, NULL);
END
$$;

CREATE OR REPLACE TRIGGER raised AFTER INSERT OR UPDATE OF effect ON neurigraph.fact_verdicts
FOR EACH ROW WHEN (new.effect IN ('supersedes', 'disputes')) EXECUTE FUNCTION neurigraph.raise_event();

CREATE POLICY pipeline_all ON neurigraph.fact_verdicts TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.fact_verdicts TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()) AND (SELECT neurigraph.sees_all_records()));

-- A verdict is visible to every caller who sees both facts.
CREATE POLICY granted ON neurigraph.fact_verdicts FOR SELECT TO neurigraph_agent
USING (
    EXISTS (SELECT FROM neurigraph.facts AS f WHERE f.fact_id = fact_verdicts.later_id)
    AND EXISTS (SELECT FROM neurigraph.facts AS f WHERE f.fact_id = fact_verdicts.earlier_id)
);
