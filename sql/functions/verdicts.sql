-- Verdicts on facts: the links and versions that decide which fact stands, for the facts that the caller sees.

-- Links of a fact that people made or confirmed and that change the belief in the fact: dependencies in either
-- direction, contradictions and repetitions. Links that a revoked key signed do not count.
CREATE OR REPLACE FUNCTION neurigraph.stated_links(wanted uuid)
RETURNS TABLE (fact_id uuid, relation text, strength real, is_start boolean)
LANGUAGE sql STABLE AS $$
    SELECT
        CASE l.from_fact_id WHEN wanted THEN l.to_fact_id ELSE l.from_fact_id END,
        l.relation,
        l.strength * l.confidence,
        l.from_fact_id = wanted
    FROM neurigraph.links AS l
    WHERE wanted IN (l.from_id, l.to_id) AND l.from_fact_id IS NOT NULL AND l.to_fact_id IS NOT NULL
        AND (l.detected_by = 'person' OR l.verdict = 'confirmed') AND l.verdict <> 'rejected' AND l.valid @> now()
        AND (
            l.relation = 'depends_on'
            -- Contradictions and repetitions count only if the owner stated or confirmed them: they change the belief
            -- in the fact at the other end.
            OR (l.relation IN ('contradicts', 'duplicates') AND 'user' IN (
                neurigraph.kind_of_author(l.observed_by), neurigraph.kind_of_author(l.verdict_by)
            ))
        )
        AND NOT EXISTS (
            SELECT FROM neurigraph.signing_keys AS k WHERE k.key_id = l.key_id AND k.revoked_at IS NOT NULL
        )
$$;

-- The facts that replace or dispute a fact, among the facts that the caller sees: the next version that stands, or else
-- a fact that supersedes it by a verdict. Confirming a fact ends earlier disputes about it. The function has no
-- settings of its own, so that Postgres inlines it: a call for each row would take longer than reading the row.
CREATE OR REPLACE FUNCTION neurigraph.replacing(wanted uuid)
RETURNS TABLE (superseded_by uuid, superseded_at timestamptz, disputed_by uuid [])
LANGUAGE sql STABLE AS $$
    SELECT
        coalesce(c.fact_id, r.later_id),
        coalesce(c.recorded_at, r.judged_at),
        (
            SELECT array_agg(o.fact_id ORDER BY o.fact_id)
            FROM neurigraph.fact_verdicts AS v
            INNER JOIN neurigraph.facts AS o ON o.fact_id = CASE v.later_id WHEN wanted THEN v.earlier_id ELSE v.later_id END
            WHERE (v.later_id = wanted OR v.earlier_id = wanted) AND v.effect = 'disputes' AND v.undone_at IS NULL
                AND (f.confirmed_at IS NULL OR f.confirmed_at < v.judged_at)
                AND o.status <> 'archived' AND o.forgotten_at IS NULL
                AND (o.forget_after IS NULL OR o.forget_after > now())
                AND NOT EXISTS (
                    SELECT FROM neurigraph.fact_verdicts AS x
                    WHERE x.earlier_id = o.fact_id AND x.effect = 'supersedes' AND x.undone_at IS NULL
                )
        )
    FROM neurigraph.facts AS f
    LEFT JOIN LATERAL (
        SELECT o.fact_id, o.recorded_at FROM neurigraph.facts AS o
        WHERE o.root_id = f.root_id AND o.version > f.version AND o.status <> 'archived' AND o.forgotten_at IS NULL
            AND (o.forget_after IS NULL OR o.forget_after > now())
        ORDER BY o.version
        LIMIT 1
    ) AS c ON true
    LEFT JOIN LATERAL (
        SELECT v.later_id, v.judged_at
        FROM neurigraph.fact_verdicts AS v
        INNER JOIN neurigraph.facts AS o ON v.later_id = o.fact_id
        WHERE v.earlier_id = f.fact_id AND v.effect = 'supersedes' AND v.undone_at IS NULL
            AND o.status <> 'archived' AND o.forgotten_at IS NULL
            AND (o.forget_after IS NULL OR o.forget_after > now())
        ORDER BY v.judged_at, v.later_id
        LIMIT 1
    ) AS r ON true
    WHERE f.fact_id = wanted
$$;

REVOKE ALL ON FUNCTION neurigraph.stated_links(uuid), neurigraph.replacing(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.stated_links(uuid), neurigraph.replacing(uuid)
TO neurigraph_agent, neurigraph_pipeline;
