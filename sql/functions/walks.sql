-- Graph queries: walks from facts along links, versions and verdicts. One function checks all rights and all limits.

-- The memories that facts lead to, and the way to each: the facts first, then memories one step away, and so on.
-- `parent` is the step before. A link of a record also holds for its facts, at 0.7 of its strength. Versions of a fact,
-- and verdicts on a fact, are links, too. At most the 50 strongest links of a memory are followed, and 200 memories of
-- a level, without counting hidden memories. The walk ends after `patience` seconds. It may begin at a retracted fact.
CREATE OR REPLACE FUNCTION neurigraph.walk_facts(payload text, signature text, asked jsonb)
RETURNS TABLE (
    step integer, parent integer, hops integer, kind text, memory_id uuid, link_id uuid, relation text,
    is_forward boolean, words text, strength real, score double precision, label text, said_at timestamptz,
    is_wanted boolean, is_cut boolean, is_late boolean
)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = 'force_generic_plan' AS $$
#variable_conflict use_column
DECLARE
    begun CONSTANT timestamptz := clock_timestamp();
    asking CONSTANT jsonb := neurigraph_private.set_claims(payload, signature);
    graph CONSTANT uuid := asking ->> 'user_id';
    is_owner CONSTANT boolean NOT NULL := coalesce(asking ->> 'role' = 'user', false);
    readable CONSTANT uuid [] := ARRAY(SELECT r.node_id FROM neurigraph_private.reach(asking, 'read') AS r (node_id));
    hidden CONSTANT uuid [] := neurigraph_private.hidden_sources(asking);
    sees_all CONSTANT boolean NOT NULL := is_owner AND NOT EXISTS (
        SELECT FROM neurigraph.record_index AS r WHERE r.user_id = graph AND r.quarantined
    );
    forwards CONSTANT text [] := CASE WHEN asked -> 'forwards' <> 'null' THEN ARRAY(
        SELECT t.name FROM jsonb_array_elements_text(asked -> 'forwards') AS t (name)
    ) END;
    backwards CONSTANT text [] := CASE WHEN asked -> 'backwards' <> 'null' THEN ARRAY(
        SELECT t.name FROM jsonb_array_elements_text(asked -> 'backwards') AS t (name)
    ) END;
    people CONSTANT text [] := ARRAY(SELECT lower(p.name) FROM jsonb_array_elements_text(asked -> 'who') AS p (name));
    of_impact CONSTANT neurigraph.fact_impact := asked ->> 'impact';
    since CONSTANT timestamptz := asked ->> 'after';
    until CONSTANT timestamptz := asked ->> 'before';
    weakest CONSTANT real := asked ->> 'min_strength';
    depth CONSTANT integer := least(greatest((asked ->> 'depth')::integer, 0), 100);
    patience CONSTANT interval := make_interval(secs => (asked ->> 'patience')::double precision);
    with_archived CONSTANT boolean NOT NULL := coalesce((asked ->> 'with_archived')::boolean, false);
    known_at CONSTANT timestamptz := asked ->> 'at';
    true_at CONSTANT timestamptz := asked ->> 'valid_at';
    held_at CONSTANT timestamptz := coalesce(true_at, known_at, now());
    -- The memories reached so far, in the order of the walk.
    ids uuid [];
    kinds text [];
    -- The ctid of a fact's row, which does not change within the snapshot of the walk.
    places tid [];
    records uuid [];
    parents integer [];
    links uuid [];
    relations text [];
    directions boolean [];
    strengths real [];
    scores double precision [];
    levels integer [];
    -- The memories of the next level, as arrays.
    l record;
    first integer := 1;
    was_cut boolean NOT NULL := false;
    was_late boolean NOT NULL := false;
BEGIN
    SELECT
        array_agg(s.fact_id ORDER BY s.place), array_agg('fact'::text ORDER BY s.place),
        array_agg(s.at ORDER BY s.place), array_agg(s.record_id ORDER BY s.place), array_agg(NULL::integer), array_agg(NULL::uuid),
        array_agg(NULL::text), array_agg(NULL::boolean), array_agg(1::real),
        array_agg(s.score ORDER BY s.place), array_agg(0)
    INTO ids, kinds, places, records, parents, links, relations, directions, strengths, scores, levels
    FROM (
        SELECT
            f.fact_id, f.ctid AS at, f.record_id, (q.seed ->> 'score')::double precision AS score, q.place
        FROM jsonb_array_elements(asked -> 'seeds') WITH ORDINALITY AS q (seed, place)
        INNER JOIN neurigraph.facts AS f ON f.fact_id = (q.seed ->> 'fact_id')::uuid
        INNER JOIN neurigraph.record_index AS r ON f.record_id = r.record_id
        WHERE f.user_id = graph AND r.user_id = graph
            AND neurigraph_private.may_enter_record(r, sees_all, is_owner, readable, hidden)
            AND neurigraph_private.fact_stands(f, true, known_at, true_at)
        ORDER BY q.place
        LIMIT 200
    ) AS s;
    FOR hop IN 1..depth LOOP
        EXIT WHEN first > coalesce(cardinality(ids), 0);
        IF clock_timestamp() > begun + patience THEN
            was_late := true;
            EXIT;
        END IF;
        -- The arrays are in the order of the sorted subquery.
        SELECT
            array_agg(n.id) AS ids, array_agg(n.kind) AS kinds, array_agg(n.at) AS places,
            array_agg(n.record_id) AS records, array_agg(n.parent) AS parents, array_agg(n.link_id) AS links,
            array_agg(n.relation) AS relations, array_agg(n.is_forward) AS directions,
            array_agg(n.strength) AS strengths, array_agg(n.score) AS scores, array_agg(hop) AS levels,
            count(*) > 200 AS is_cut
        INTO l
        FROM (
            SELECT b.* FROM (
                SELECT DISTINCT ON (s.id)
                    s.*, from_place.parent, from_place.score * s.strength * coalesce(t.weight, 0.5) * 0.7 AS score
                FROM (
                    SELECT
                        q.id, q.kind, q.score, (first + q.place - 1)::integer AS parent, q.record_id, x.root_id, x.version,
                        -- Few memories have links of their own and few facts have versions: a look into two small
                        -- indexes finds the others.
                        q.kind = 'fact' AND (
                            EXISTS (
                                SELECT FROM neurigraph.links AS k
                                WHERE k.from_record_id = q.record_id AND k.from_fact_id IS NULL
                            )
                            OR EXISTS (
                                SELECT FROM neurigraph.links AS k
                                WHERE k.to_record_id = q.record_id AND k.to_fact_id IS NULL
                            )
                        ) AS with_record,
                        EXISTS (
                            SELECT FROM neurigraph.facts AS v WHERE v.root_id = x.root_id AND v.version > 1
                        ) AS has_versions
                    FROM unnest(ids[first:], kinds[first:], places[first:], records[first:], scores[first:])
                    WITH ORDINALITY AS q (id, kind, at, record_id, score, place)
                    LEFT JOIN neurigraph.facts AS x ON q.at = x.ctid
                ) AS from_place
                CROSS JOIN LATERAL (
                    SELECT e.* FROM (
                        -- Links of the memory, and of a fact's record.
                        SELECT g.link_id, g.id, g.kind, g.at, g.record_id, g.relation, g.is_forward,
                            g.strength * p.share AS strength
                        FROM (
                            SELECT from_place.id AS id, 1::real AS share
                            UNION ALL SELECT from_place.record_id, 0.7::real WHERE from_place.with_record
                        ) AS p
                        CROSS JOIN LATERAL (
                            (
                                SELECT
                                    k.link_id, k.to_id AS id,
                                    CASE
                                        WHEN k.to_fact_id IS NOT NULL THEN 'fact'
                                        WHEN k.to_record_id IS NOT NULL THEN 'record'
                                        WHEN k.to_node_id IS NOT NULL THEN 'node' ELSE 'source'
                                    END AS kind,
                                    x.ctid AS at, k.to_record_id AS record_id, k.relation, true AS is_forward, k.strength
                                FROM neurigraph.links AS k
                                LEFT JOIN neurigraph.facts AS x ON k.to_fact_id = x.fact_id
                                WHERE k.from_id = p.id AND k.user_id = graph AND k.strength >= weakest
                                    AND (
                                        forwards IS NULL OR k.relation = ANY(forwards)
                                        OR (k.bidirectional AND k.relation = ANY(backwards))
                                    )
                                    AND neurigraph_private.link_held(k, known_at, held_at)
                                    AND (
                                        k.to_fact_id IS NULL
                                        OR neurigraph_private.fact_stands(x, with_archived, known_at, true_at)
                                    )
                                    AND CASE
                                        WHEN k.to_record_id IS NOT NULL
                                            THEN sees_all OR coalesce((
                                                SELECT neurigraph_private.may_enter_record(r, false, is_owner, readable, hidden)
                                                FROM neurigraph.record_index AS r WHERE r.record_id = k.to_record_id
                                            ), false)
                                        ELSE neurigraph_private.may_enter_end(
                                            k.to_node_id, k.to_source_id, is_owner, readable, hidden
                                        )
                                    END
                                ORDER BY k.strength DESC
                                LIMIT 50
                            )
                            UNION ALL
                            (
                                SELECT
                                    k.link_id, k.from_id AS id,
                                    CASE WHEN k.from_fact_id IS NOT NULL THEN 'fact' ELSE 'record' END AS kind,
                                    x.ctid AS at, k.from_record_id AS record_id, k.relation, false AS is_forward, k.strength
                                FROM neurigraph.links AS k
                                LEFT JOIN neurigraph.facts AS x ON k.from_fact_id = x.fact_id
                                WHERE k.to_id = p.id AND k.user_id = graph AND k.strength >= weakest
                                    AND (
                                        backwards IS NULL OR k.relation = ANY(backwards)
                                        OR (k.bidirectional AND k.relation = ANY(forwards))
                                    )
                                    AND neurigraph_private.link_held(k, known_at, held_at)
                                    AND (
                                        k.from_fact_id IS NULL
                                        OR neurigraph_private.fact_stands(x, with_archived, known_at, true_at)
                                    )
                                    AND (
                                        sees_all OR coalesce((
                                            SELECT neurigraph_private.may_enter_record(r, false, is_owner, readable, hidden)
                                            FROM neurigraph.record_index AS r WHERE r.record_id = k.from_record_id
                                        ), false)
                                    )
                                ORDER BY k.strength DESC
                                LIMIT 50
                            )
                        ) AS g
                        -- The version before and the version after, among the facts that the caller sees.
                        UNION ALL
                        SELECT NULL, c.fact_id, 'fact', c.at, c.record_id, 'supersedes', c.is_forward, 1::real
                        FROM (
                            (
                                SELECT x.fact_id, x.ctid AS at, x.record_id, true AS is_forward
                                FROM neurigraph.facts AS x
                                INNER JOIN neurigraph.record_index AS r ON x.record_id = r.record_id
                                WHERE from_place.has_versions AND x.root_id = from_place.root_id
                                    AND x.version < from_place.version
                                    AND (forwards IS NULL OR 'supersedes' = ANY(forwards))
                                    AND neurigraph_private.fact_stands(x, with_archived, known_at, true_at)
                                    AND neurigraph_private.may_enter_record(r, sees_all, is_owner, readable, hidden)
                                ORDER BY x.version DESC
                                LIMIT 1
                            )
                            UNION ALL
                            (
                                SELECT x.fact_id, x.ctid, x.record_id, false
                                FROM neurigraph.facts AS x
                                INNER JOIN neurigraph.record_index AS r ON x.record_id = r.record_id
                                WHERE from_place.has_versions AND x.root_id = from_place.root_id
                                    AND x.version > from_place.version
                                    AND (backwards IS NULL OR 'supersedes' = ANY(backwards))
                                    AND neurigraph_private.fact_stands(x, with_archived, known_at, true_at)
                                    AND neurigraph_private.may_enter_record(r, sees_all, is_owner, readable, hidden)
                                ORDER BY x.version
                                LIMIT 1
                            )
                        ) AS c
                        UNION ALL
                        SELECT NULL, v.fact_id, 'fact', v.at, v.record_id, v.relation, v.is_forward, v.confidence
                        FROM (
                            SELECT x.fact_id, x.ctid AS at, x.record_id, w.relation, w.is_forward, w.confidence
                            FROM (
                                SELECT
                                    j.earlier_id AS fact_id, true AS is_forward, j.confidence,
                                    CASE j.effect WHEN 'supersedes' THEN j.effect ELSE j.verdict END AS relation
                                FROM neurigraph.fact_verdicts AS j
                                WHERE j.later_id = from_place.id AND from_place.kind = 'fact'
                                    AND (j.undone_at IS NULL OR j.undone_at > known_at)
                                    AND (known_at IS NULL OR j.judged_at <= known_at)
                                UNION ALL
                                SELECT
                                    j.later_id, false, j.confidence,
                                    CASE j.effect WHEN 'supersedes' THEN j.effect ELSE j.verdict END
                                FROM neurigraph.fact_verdicts AS j
                                WHERE j.earlier_id = from_place.id AND from_place.kind = 'fact'
                                    AND (j.undone_at IS NULL OR j.undone_at > known_at)
                                    AND (known_at IS NULL OR j.judged_at <= known_at)
                            ) AS w
                            INNER JOIN neurigraph.facts AS x ON w.fact_id = x.fact_id
                            INNER JOIN neurigraph.record_index AS r ON x.record_id = r.record_id
                            WHERE w.confidence >= weakest
                                AND w.relation IN ('supersedes', 'contradicts', 'elaborates', 'supports', 'depends_on')
                                AND CASE WHEN w.is_forward OR w.relation = 'contradicts'
                                    THEN forwards IS NULL OR w.relation = ANY(forwards)
                                    ELSE backwards IS NULL OR w.relation = ANY(backwards)
                                END
                                AND neurigraph_private.fact_stands(x, with_archived, known_at, true_at)
                                AND neurigraph_private.may_enter_record(r, sees_all, is_owner, readable, hidden)
                            ORDER BY w.confidence DESC, x.fact_id
                            LIMIT 50
                        ) AS v
                        -- The facts of a memory that was reached by a link.
                        UNION ALL
                        SELECT NULL, y.fact_id, 'fact', y.at, y.record_id, 'derived_from', false, y.confidence
                        FROM (
                            SELECT x.fact_id, x.ctid AS at, x.record_id, x.confidence
                            FROM neurigraph.facts AS x
                            WHERE x.record_id = from_place.id AND from_place.kind = 'record' AND x.confidence >= weakest
                                AND neurigraph_private.fact_stands(x, with_archived, known_at, true_at)
                            ORDER BY x.confidence DESC, x.seq
                            LIMIT 50
                        ) AS y
                    ) AS e
                    WHERE e.strength >= weakest
                    ORDER BY e.strength DESC, e.id
                    LIMIT 50
                ) AS s
                LEFT JOIN neurigraph.relation_types AS t ON s.relation = t.name
                WHERE s.id NOT IN (SELECT u.id FROM unnest(ids) AS u (id))
                ORDER BY s.id, score DESC, from_place.parent
            ) AS b
            ORDER BY b.score DESC, b.id
            LIMIT 201
        ) AS n;
        first := cardinality(ids) + 1;
        was_cut := was_cut OR l.is_cut;
        ids := ids || l.ids[:200];
        kinds := kinds || l.kinds[:200];
        places := places || l.places[:200];
        records := records || l.records[:200];
        parents := parents || l.parents[:200];
        links := links || l.links[:200];
        relations := relations || l.relations[:200];
        directions := directions || l.directions[:200];
        strengths := strengths || l.strengths[:200];
        scores := scores || l.scores[:200];
        levels := levels || l.levels[:200];
    END LOOP;
    RETURN QUERY
    SELECT
        w.place::integer, w.parent, w.level, w.kind, w.id, w.link_id, w.relation, w.is_forward,
        CASE WHEN w.is_forward THEN t.forward ELSE t.backward END, w.strength, w.score,
        coalesce(left(f.statement, 300), n.node_name, o.title),
        CASE WHEN f.fact_id IS NOT NULL OR w.kind = 'record'
            THEN coalesce(lower(f.occurred), r.occurred_at, r.created_at) END,
        f.fact_id IS NOT NULL
        AND (w.level = 0 OR of_impact IS NULL OR f.impact = of_impact)
        AND (
            people = '{}' OR lower(f.subject) = ANY(people)
            OR EXISTS (SELECT FROM unnest(f.who) AS p (name) WHERE lower(p.name) = ANY(people))
        )
        AND (since IS NULL OR coalesce(upper(f.occurred), r.occurred_at, r.created_at) >= since)
        AND (until IS NULL OR coalesce(lower(f.occurred), r.occurred_at, r.created_at) < until),
        was_cut, was_late
    FROM unnest(ids, kinds, places, records, parents, links, relations, directions, strengths, scores, levels)
    WITH ORDINALITY AS w (
        id, kind, at, record_id, parent, link_id, relation, is_forward, strength, score, level, place
    )
    LEFT JOIN neurigraph.relation_types AS t ON w.relation = t.name
    LEFT JOIN neurigraph.facts AS f ON w.at = f.ctid
    LEFT JOIN neurigraph.record_index AS r ON w.record_id = r.record_id
    LEFT JOIN neurigraph.graph_index AS n ON n.node_id = CASE w.kind WHEN 'node' THEN w.id WHEN 'record' THEN r.node_id END
    LEFT JOIN neurigraph.sources AS o ON w.kind = 'source' AND w.id = o.source_id
    ORDER BY w.place;
END
$$;

REVOKE ALL ON FUNCTION neurigraph.walk_facts(text, text, jsonb) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.walk_facts(text, text, jsonb) TO neurigraph_agent;
